// MSI-X masks and pending bits.
#include "model/chip/msix.hpp"

#include <catch2/catch.hpp>
#include <vector>

using weft::chip::Msix;

namespace {

struct Sink : weft::chip::InterruptSink {
  bool signal(unsigned vector) override {
    if (listening) seen.push_back(vector);
    return listening;
  }
  bool listening = true;
  std::vector<unsigned> seen;
};

struct Fixture {
  Fixture() {
    msix.set_sink(&sink);
    msix.set_control(true, false);
    for (unsigned v = 0; v < Msix::kVectors; v++) msix.set_vector_mask(v, false);
  }
  uint64_t pending_bits() const { return msix.read(4096) | uint64_t{msix.read(4100)} << 32; }
  Msix msix;
  Sink sink;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "an unmasked vector is delivered at once") {
  msix.raise(3);
  CHECK(sink.seen == std::vector<unsigned>{3});
  CHECK(pending_bits() == 0);
}

TEST_CASE_METHOD(Fixture, "a masked vector waits in its pending bit and comes once, when unmasked") {
  msix.write(16 * 5 + 12, 1);
  msix.raise(5);
  msix.raise(5);
  CHECK(sink.seen.empty());
  CHECK(pending_bits() == 1 << 5);
  msix.write(16 * 5 + 12, 0);
  CHECK(sink.seen == std::vector<unsigned>{5});
  CHECK(pending_bits() == 0);
}

TEST_CASE_METHOD(Fixture, "the function mask and the enable bit hold all vectors back") {
  msix.set_control(true, true);
  msix.raise(0);
  msix.raise(16);
  CHECK(pending_bits() == (1 << 16 | 1));
  msix.set_control(false, false);
  CHECK(sink.seen.empty());
  msix.set_control(true, false);
  CHECK(sink.seen == std::vector<unsigned>{0, 16});
}

TEST_CASE_METHOD(Fixture, "a vector that nobody listens to stays pending until somebody does") {
  sink.listening = false;
  msix.raise(2);
  CHECK(pending_bits() == 1 << 2);
  sink.listening = true;
  msix.deliver();
  CHECK(sink.seen == std::vector<unsigned>{2});
}

TEST_CASE("after power-up MSI-X is off and every vector is masked") {
  Msix msix;
  Sink sink;
  msix.set_sink(&sink);
  for (unsigned v = 0; v < Msix::kVectors; v++) CHECK(msix.read(16 * v + 12) == 1);
  msix.set_control(true, false);
  msix.raise(0);
  CHECK(sink.seen.empty());
  msix.raise(Msix::kVectors);  // does not exist
  CHECK(msix.pending() == 1);
}

TEST_CASE_METHOD(Fixture, "table entries keep address and data, and of the control word the mask bit only") {
  msix.write(16 * 7 + 0, 0xfee00000);
  msix.write(16 * 7 + 8, 0x4041);
  msix.write(16 * 7 + 12, 0xffffffff);
  CHECK(msix.read(16 * 7 + 0) == 0xfee00000);
  CHECK(msix.read(16 * 7 + 8) == 0x4041);
  CHECK(msix.read(16 * 7 + 12) == 1);
  msix.write(16 * Msix::kVectors, 5);
  msix.write(4096, 5);
  CHECK(msix.read(16 * Msix::kVectors) == 0);
  CHECK(pending_bits() == 0);
}
