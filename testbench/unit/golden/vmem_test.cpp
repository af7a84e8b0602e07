// The sparse form of VMEM against a plain array, and against the flat one under commands.
#include "model/golden/vmem.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <vector>

#include "check_commands.hpp"
#include "model/golden/core_state.hpp"
#include "random_values.hpp"

namespace golden = weft::golden;
namespace spec = weft::spec;
using weft::golden::Vmem;
using weft::golden::VmemForm;
using weft::test::RandomValues;

namespace {

/// memcmp(): operator== looks at one byte after the other.
bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

std::vector<std::byte> all_of(const Vmem& vmem) {
  std::vector<std::byte> bytes(vmem.size());
  vmem.read(0, bytes);
  return bytes;
}

/// Anonymous memory of this process, in bytes.
uint64_t resident() {
  uint64_t size = 0, pages = 0, shared = 0;
  std::ifstream("/proc/self/statm") >> size >> pages >> shared;
  return (pages - shared) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// HBM and host memory, one array each.
struct Memory final : golden::MemoryAccess {
  std::vector<std::byte> hbm = std::vector<std::byte>(1 << 18), host = hbm;
  std::vector<std::byte>& of(weft_address_space space) { return space == WEFT_ADDRESS_SPACE_HBM ? hbm : host; }
  bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override {
    std::memcpy(out.data(), of(space).data() + address, out.size());
    return true;
  }
  bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override {
    std::memcpy(of(space).data() + address, data.data(), data.size());
    return true;
  }
};

/// One core of each form, which are given the same.
class Pair {
 public:
  explicit Pair(RandomValues& random) {
    golden::SegmentTable table = weft::test::segments();
    for (auto* core : {&flat_, &sparse_}) core->segments() = table;
    for (auto& b : memory_.hbm) b = static_cast<std::byte>(random.bits());
    other_.hbm = memory_.hbm;
    std::vector<uint16_t> values(flat_.vmem().size() / 2);
    for (auto& v : values) v = random.below(2) == 0 ? uint16_t{0} : random.bf16();
    for (auto* core : {&flat_, &sparse_}) core->write_vmem(0, std::as_bytes(std::span(values)));
    for (uint32_t r = 0; r < flat_.acc_rows(); r++) {
      for (auto& v : flat_.acc_row(r)) v = random.f32();
      std::ranges::copy(flat_.acc_row(r), sparse_.acc_row(r).begin());
    }
  }
  template <class C>
  void run(const C& c, unsigned queue) {
    INFO("opcode " << unsigned{c.header.opcode} << ", queue " << queue);
    REQUIRE_FALSE(flat_.execute(spec::encode(c), queue, memory_));
    REQUIRE_FALSE(sparse_.execute(spec::encode(c), queue, other_));
    std::vector<std::byte> scratch;
    REQUIRE(same(flat_.vmem(), sparse_.view_vmem(0, flat_.vmem().size(), scratch)));
    REQUIRE(same(memory_.hbm, other_.hbm));
    REQUIRE(same(memory_.host, other_.host));
    for (uint32_t r = 0; r < flat_.acc_rows(); r++) REQUIRE(std::ranges::equal(flat_.acc_row(r), sparse_.acc_row(r)));
  }
  [[nodiscard]] bool forms_differ() const { return flat_.vmem_is_flat() && !sparse_.vmem_is_flat(); }
  void flip(uint64_t address, uint64_t mask) {
    for (auto* core : {&flat_, &sparse_}) core->flip_vmem(address, mask);
  }

 private:
  golden::CoreState flat_{weft::test::chip()}, sparse_{weft::test::chip(), golden::Path::kAutomatic, VmemForm::kSparse};
  Memory memory_, other_;
};

}  // namespace

TEST_CASE("sparse VMEM reads what was written, zeros and parts of rows among it") {
  RandomValues random(weft::test::seed());
  constexpr uint64_t kBytes = 1 << 18;
  Vmem vmem(kBytes, 512, VmemForm::kSparse);
  REQUIRE_FALSE(vmem.flat());
  std::vector<std::byte> plain(kBytes), data, read, scratch;
  for (int round = 0; round < 20000; round++) {
    const uint64_t most = random.below(100) == 0 ? 40000 : random.below(4) == 0 ? 3000 : 200;
    const uint64_t bytes = 1 + random.below(most), at = random.below(kBytes - bytes + 1);
    data.assign(bytes, std::byte{0});
    if (random.below(3) != 0)
      for (auto& b : data) b = static_cast<std::byte>(random.below(4) == 0 ? 0 : random.bits());
    vmem.write(at, data);
    std::ranges::copy(data, plain.begin() + static_cast<ptrdiff_t>(at));
    const uint64_t wanted = 1 + random.below(random.below(100) == 0 ? 40000 : 1000),
                   from = random.below(kBytes - wanted + 1);
    read.resize(wanted);
    vmem.read(from, read);
    REQUIRE(same(read, std::span(plain).subspan(from, wanted)));
    REQUIRE(same(vmem.view(from, wanted, scratch), read));
  }
  CHECK(same(all_of(vmem), plain));
}

TEST_CASE("sparse VMEM costs what is not zero of its rows") {
  constexpr uint64_t kBytes = 64 << 20, kRow = 512, kUsed = 172;
  std::vector<std::byte> row(kRow);
  std::fill_n(row.begin(), kUsed, std::byte{0x3f});
  const auto cost = [&](VmemForm form) {
    Vmem vmem(kBytes, kRow, form);
    const uint64_t before = resident();
    for (uint64_t at = 0; at < kBytes; at += kRow) vmem.write(at, row);
    return resident() - before;
  };
  const uint64_t flat = cost(VmemForm::kFlat), sparse = cost(VmemForm::kSparse);
  CHECK(flat >= kBytes * 9 / 10);
  CHECK(sparse <= kBytes * 36 / 100);  // 11 of 32 pieces of 16 bytes
  CHECK(sparse >= kBytes / 3);
}

TEST_CASE("VMEM of rows that no page can be made of is flat") {
  CHECK(Vmem(1 << 16, 16, VmemForm::kSparse).flat());
  CHECK(Vmem(512 * 65, 512, VmemForm::kSparse).flat());
  CHECK(Vmem(1 << 16, 192, VmemForm::kSparse).flat());
  CHECK(Vmem(1 << 16, 512, VmemForm::kFlat).flat());
}

TEST_CASE("commands leave the same in both forms of VMEM") {
  using namespace weft::test;
  RandomValues random(seed());
  Pair cores(random);
  REQUIRE(cores.forms_differ());
  for (int round = 0; round < 40; round++) {
    const auto word = [&] { return 2 * random.below(900); };
    auto in = copy_in();
    in.dst_off = word() * 64;
    cores.run(in, WEFT_QUEUE_DMA_IN);
    auto out = copy_out();
    out.src_off = word() * 64;
    cores.run(out, WEFT_QUEUE_DMA_OUT);
    auto fill = fill_in();
    fill.dst_off = word() * 64;
    fill.src_off = random.below(3) == 0 ? 0 : random.below(UINT32_MAX);
    cores.run(fill, WEFT_QUEUE_DMA_IN);
    auto product = matmul();
    product.w_addr = word(), product.x_addr = word();
    cores.run(product, WEFT_QUEUE_MXU);
    product.dtype = WEFT_MXU_DTYPE_INT8;
    cores.run(product, WEFT_QUEUE_MXU);
    for (auto c : {elementwise(), logic(), iota(), reduce(), epilogue(), transpose(), upper(), cast()}) {
      if (c.src_space != WEFT_VPU_SPACE_ACC && c.op != WEFT_VPU_OP_IOTA) c.a_addr = static_cast<uint32_t>(word());
      if (c.b_mode == WEFT_VPU_B_MODE_TENSOR) c.b_addr = static_cast<uint32_t>(word());
      c.d_addr = static_cast<uint32_t>(word());
      if (c.header.opcode != WEFT_OPCODE_TRANSPOSE) c.cols = static_cast<uint16_t>(1 + random.below(32));
      cores.run(c, WEFT_QUEUE_VPU);
    }
    cores.flip(word() * 64, random.bits());
  }
}
