#include "model/ici/multislice.hpp"

#include <catch2/catch.hpp>

using namespace weft::ici;

namespace {

Slice slice_of(const char* name) { return std::get<Slice>(parse_slice(name)); }

MultisliceOptions options(uint32_t slices, uint64_t bytes, Grain grain) {
  return {.slices = slices,
          .bytes = bytes,
          .framing = false,
          .grain = grain,
          .chips_per_host = 8,
          .host_bytes_per_second = 25'000'000'000};
}

}  // namespace

TEST_CASE("collectives over slices take what their closed form says: flows within 0.1 %, packets within 2 %") {
  const struct {
    const char* slice;
    uint32_t slices;
    uint64_t bytes;
    uint32_t chips_per_host;
  } cases[] = {{"v5e-16x16", 2, 64u << 20, 8},
               {"v5p-4x4x8", 4, 128u << 20, 4},
               {"v4-4x4x4", 3, 3u << 24, 4},
               {"v5e-4x4", 16, 16u << 20, 8},
               {"v5e-1x1", 4, 8u << 20, 8}};
  for (const auto& one : cases) {
    const auto slice = slice_of(one.slice);
    for (const auto grain : {Grain::kFlows, Grain::kPackets}) {
      if (grain == Grain::kPackets && slice.chips() * one.slices > 256) continue;  // seconds; scripts/figures has them
      for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
        auto what = options(one.slices, one.bytes, grain);
        what.chips_per_host = one.chips_per_host;
        what.kind = kind;
        const auto found = run_multislice(slice, what);
        INFO(one.slice << " times " << one.slices << ", kind " << static_cast<int>(kind));
        CHECK(found.finished);
        CHECK(found.us == Approx(multislice_us(slice, what)).epsilon(grain == Grain::kFlows ? 1e-3 : 2e-2));
        CHECK(found.reduced_us <= found.exchanged_us);
        CHECK(found.exchanged_us <= found.us);
        CHECK((found.reduced_us == 0) == (kind == CollectiveKind::kAllGather || slice.chips() == 1));
      }
    }
  }
}

TEST_CASE("one slice needs no hosts") {
  const auto slice = slice_of("v5e-4x4");
  const auto found = run_multislice(slice, options(1, 1u << 20, Grain::kPackets));
  CHECK(found.finished);
  CHECK(found.dcn_bytes == 0);
  CHECK(found.exchanged_us == found.reduced_us);
}

TEST_CASE("a host's wire carries 2 (S - 1) / S of its chips' shares, whatever the pieces") {
  const auto slice = slice_of("v5e-4x4");
  for (const uint32_t pieces : {1u, 4u}) {
    auto what = options(4, 1u << 20, Grain::kPackets);
    what.pieces = pieces;
    const auto found = run_multislice(slice, what);
    CHECK(found.finished);
    CHECK(found.dcn_bytes == 2 * 3 * ((8u << 20) / 16) / 4);
  }
}

TEST_CASE("pieces overlap what is in the slices with what is between them, down to what the slower one takes") {
  const auto slice = slice_of("v5e-16x16");
  auto what = options(4, 256u << 20, Grain::kFlows);
  const auto whole = run_multislice(slice, what);
  what.pieces = 8;
  const auto cut = run_multislice(slice, what);
  CHECK(cut.finished);
  const double between = whole.exchanged_us - whole.reduced_us, within = whole.us - between;
  CHECK(cut.us < whole.us);
  CHECK(cut.us >= std::max(between, within));
  // a piece's reduction before and its gathering after, and latencies, are all that is left
  CHECK(cut.us <= std::max(between, within) + within / 8 + 4 * 20 + 40);
}

TEST_CASE("axes that take no part leave chips with arrays of their own: a host carries the more for them") {
  const auto slice = slice_of("v5e-4x4");
  auto what = options(2, 1u << 20, Grain::kPackets);
  what.axes = 1;
  const auto found = run_multislice(slice, what);
  CHECK(found.finished);
  CHECK(found.dcn_bytes == (8u << 20) / 4);
}

TEST_CASE("an array smaller than its parts, and one of odd length, still ends") {
  const auto slice = slice_of("v5e-4x4");
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather})
    for (const uint64_t bytes : {1u, 7u, 1'000'003u})
      for (const uint32_t pieces : {1u, 3u}) {
        auto what = options(5, bytes, Grain::kPackets);
        what.pieces = pieces;
        what.framing = true;
        what.kind = kind;
        INFO(bytes << " bytes in " << pieces);
        CHECK(run_multislice(slice, what).finished);
      }
}
