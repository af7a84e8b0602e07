#include "model/sim/rank_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "model/chip/rank_wire.hpp"

namespace weft::sim {
namespace {

using Bytes = chip::RankLink::Bytes;

constexpr size_t kEvents = 4096;  // of a rank in an exchange

/// The largest of what the ranks say.
uint64_t agree(chip::RankLink& link, uint64_t own) {
  std::vector<Bytes> out(link.ranks()), in(link.ranks());
  for (unsigned rank = 0; rank < link.ranks(); rank++)
    if (rank != link.rank()) chip::WireWriter(out[rank]).put(own);
  link.exchange(out, in);
  for (unsigned rank = 0; rank < link.ranks(); rank++)
    if (rank != link.rank()) own = std::max(own, chip::WireReader(in[rank]).get<uint64_t>());
  return own;
}

}  // namespace

std::string rank_trace_path(const std::string& path, unsigned rank) {
  return rank == 0 ? path : fmt::format("{}.rank{}", path, rank);
}

bool gather_trace(chip::RankLink& link, TraceFile& trace, std::string& error) {
  const bool gives = link.rank() != 0;
  const uint64_t rounds = agree(link, gives ? (trace.events() + kEvents - 1) / kEvents : 0);
  std::vector<Bytes> out(link.ranks()), in(link.ranks());
  for (uint64_t round = 0; round < rounds; round++) {
    out[0].clear();
    if (gives) {
      const auto give = [writer = chip::WireWriter(out[0])](const TracePlace& place, std::string_view json) mutable {
        writer.put(place);
        writer.put_all(std::vector<char>(json.begin(), json.end()));
      };
      if (!trace.for_each(round * kEvents, kEvents, give) && error.empty())
        error = fmt::format("--trace: the part of rank {} cannot be read: {}", link.rank(), std::strerror(errno));
    }
    link.exchange(out, in);
    for (const Bytes& bytes : in) {
      for (chip::WireReader reader(bytes); !gives && !reader.empty();) {
        const auto place = reader.get<TracePlace>();
        const auto json = reader.get_all<char>();
        trace.event(place, {json.data(), json.size()});
      }
    }
  }
  if (!gives)
    trace.finish();
  else if (error.empty())
    trace.remove();
  link.wait_for_all();  // who ends before the others is waited for no longer than a few seconds
  return error.empty();
}

}  // namespace weft::sim
