// Slices are opened one after the other; the first one says what the others have to be.
#include "host/runtime/multislice_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace weft::runtime {
namespace {

std::string described(const ChipSet& slice) {
  return fmt::format("{} chips of {} with links of {} bytes a second", fmt::join(slice.shape().size, "x"),
                     slice.chip().name, slice.link_bytes_per_second());
}

bool alike(const ChipSet& a, const ChipSet& b) {
  return a.chip().name == b.chip().name && a.shape().size == b.shape().size && a.shape().wraps == b.shape().wraps &&
         a.link_bytes_per_second() == b.link_bytes_per_second();
}

}  // namespace

Error on_slice(uint32_t slice, Error error) {
  error.message = fmt::format("slice {}: {}", slice, error.message);
  return error;
}

Result<MultisliceSession> MultisliceSession::open(const std::vector<std::string>& names) {
  if (names.empty()) return Error{WEFT_ERROR_INVALID_ARGUMENT, "no slice: at least one is due"};
  MultisliceSession session;
  for (uint32_t number = 0; number < names.size(); number++) {
    auto slice = ChipSet::open_slice(names[number]);
    if (!slice.ok()) return on_slice(number, slice.error());
    session.slices_.push_back(std::move(slice.value()));
    const ChipSet &first = session.slices_.front(), &last = session.slices_.back();
    if (!alike(first, last))
      return on_slice(
          number, Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}, but slice 0 has {}: slices of one job are alike",
                                                                 described(last), described(first))});
  }
  return session;
}

}  // namespace weft::runtime
