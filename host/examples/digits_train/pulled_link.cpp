// By an injected fault, as tests do it.
#include "host/examples/digits_train/pulled_link.hpp"

#include <fmt/format.h>

#include "host/runtime/driver_error.hpp"
#include "host/tools/live/links_snapshot.hpp"
#include "weft/weft.h"

namespace weft::examples {
namespace {

Result<weft_link_info> look(const runtime::ChipSet& chips, uint32_t chip, uint32_t port) {
  weft_link_info info = WEFT_INIT(weft_link_info);
  if (const auto status = weft_slice_get_link(chips.slice(), chip, port, &info); status != WEFT_ERROR_OK)
    return runtime::driver_error(status);
  return info;
}

}  // namespace

Result<PulledLink> find_link(const runtime::ChipSet& chips, const std::string& name, uint32_t packet) {
  if (chips.slice() == nullptr)
    return Error{WEFT_ERROR_INVALID_ARGUMENT, "a link can be pulled on a slice only: --slice or --listen names one"};
  const auto place = tools::parse_link_name(name);
  if (!place.ok()) return place.error();
  const auto [chip, port] = place.value();
  const auto link = look(chips, chip, port);
  if (!link.ok()) return link.error();
  if (link.value().state == WEFT_LINK_STATE_ABSENT)
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("link {}: chip {} has no neighbour there", name, chip)};
  return PulledLink{chip, port, packet};
}

Status pull(const runtime::ChipSet& chips, const PulledLink& link) {
  weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
  fault.kind = WEFT_INJECTED_FAULT_LINK_DOWN;
  fault.target = link.port;
  fault.nth = link.packet;
  if (const auto status = weft_fault_inject(chips.device(link.chip), &fault); status != WEFT_ERROR_OK)
    return chips.error(link.chip, status);
  return Ok{};
}

Result<std::string> pulled_text(const runtime::ChipSet& chips, const PulledLink& link) {
  const auto links = tools::links_of(chips.slice(), "");
  if (!links.ok()) return links.error();
  uint32_t up = 0;
  const tools::LinkSnapshot* pulled = nullptr;
  for (const auto& one : links.value().links) {
    if (one.chip == link.chip && one.port == link.port) pulled = &one;
    if (one.state == "up" && one.chip < one.neighbor) up++;
  }
  const std::string name = tools::link_name(link.chip, link.port);
  if (pulled->state != "down")
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("link {} was not pulled: it has carried {} packets, --pull-at asks for {}", name,
                             pulled->packets, link.packet)};
  return fmt::format("{} to {} with packet {}: {}; {} links are up", name, *pulled->neighbor, link.packet,
                     pulled->state, up);
}

}  // namespace weft::examples
