// Executables as text, and the names of a trace's spans.
#include "host/tools/formats/disassembly.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <random>

#include "host/compiler/executable/debug_section.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/trace/trace_names.hpp"

using namespace weft;

namespace {

std::vector<std::byte> executable(const std::string& name = "gemm") {
  const auto& chip = *spec::find_chip("nano");
  auto program = compiler::gemm_program(chip, WEFT_MXU_DTYPE_BF16, 20, 30, 10);
  REQUIRE(program.ok());
  program.value().name = name;
  const auto kernel = compiler::tiles::compile_fitting(chip, program.value());
  REQUIRE(kernel.ok());
  auto file = compiler::write_executable(chip, kernel.value());
  REQUIRE(file.ok());
  return file.value();
}

}  // namespace

TEST_CASE("every queue, command and argument of an executable is in its text, with the meaning of the tags") {
  const auto text = tools::disassemble(executable());
  REQUIRE(text.ok());
  for (const char* part :
       {"; executable for nano", "kernel gemm", "argument 0 (segment 3): input A [20, 30] bf16 rows", "queue dma_in",
        "queue dma_out", "MATMUL", "EPILOGUE", "wait(s", " >= 1)", "; gemm rows 0.. columns 8..", "dtype=bf16"})
    CHECK(text.value().find(part) != std::string::npos);
  CHECK(tools::disassemble_json(executable()).ok());
}

TEST_CASE("a control list is printed before its blocks, as text and as JSON") {
  const auto& chip = *spec::find_chip("nano");
  compiler::Kernel kernel;
  kernel.name = "steps";
  kernel.arguments = {{.name = "x", .rows = 4, .columns = 16, .pitch_bytes = 64, .size_bytes = 256}};
  spec::NoneCommand signal;
  signal.header.opcode = WEFT_OPCODE_SIGNAL;
  compiler::Block block;
  block[WEFT_QUEUE_SYNC] = {spec::encode(signal)};
  compiler::ControlListBuilder list;
  const compiler::Loop loop = list.new_loop();
  list.bind({{3, {.argument = 0, .size_bytes = 64, .strides = {{loop, 64}}}}});
  list.begin_loop(loop, 4);
  list.run(list.add_block(block));
  list.end();
  kernel.control = list.finish().value();
  const auto file = compiler::write_executable(chip, kernel);
  REQUIRE(file.ok());
  const auto text = tools::disassemble(file.value());
  REQUIRE(text.ok());
  for (const char* part :
       {"argument 0: input x", "control list  ; 4 entries", "segment 3 = argument 0 at 0 +64 x turn of 1",
        "   1 loop 4 turns", "   2   run block 0", "\n  block 0\n", "queue sync  ; 1 commands", "SIGNAL"})
    CHECK(text.value().find(part) != std::string::npos);
  const auto json = tools::disassemble_json(file.value());
  REQUIRE(json.ok());
  CHECK(json.value().find("\"control\":") != std::string::npos);
  CHECK(json.value().find("\"blocks\":") != std::string::npos);
}

TEST_CASE("an executable asks for the oldest version of the commands that has all of its own") {
  const auto& chip = *spec::find_chip("nano");
  spec::VpuCommand vpu;
  vpu.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  spec::DmaCommand dma;
  dma.header.opcode = WEFT_OPCODE_FILL;
  dma.src_seg = WEFT_VPU_OP_ROTATE;  // at the place of a vector command's operation
  const auto version_of = [&](weft_vpu_op op) {
    vpu.op = static_cast<uint8_t>(op);
    compiler::Kernel kernel;
    kernel.name = "one";
    kernel.queues[WEFT_QUEUE_DMA_IN] = {spec::encode(dma)};
    kernel.queues[WEFT_QUEUE_VPU] = {spec::encode(vpu)};
    const auto file = compiler::write_executable(chip, kernel);
    REQUIRE(file.ok());
    weft_executable_header header;
    std::memcpy(&header, file.value().data(), sizeof header);
    return header.isa_version;
  };
  CHECK(version_of(WEFT_VPU_OP_GEU) == 1);
  CHECK(version_of(WEFT_VPU_OP_ROTATE) == 2);
}

TEST_CASE("what goes by indices is of the version that brought it") {
  for (const auto opcode : {WEFT_OPCODE_GATHER, WEFT_OPCODE_SCATTER}) {
    spec::IndexedCommand c;
    c.header.opcode = static_cast<uint8_t>(opcode);
    CHECK(spec::isa_version(spec::encode(c)) == 3);
  }
}

TEST_CASE("what EPILOGUE and CAST did not have from the first is of the version that brought it") {
  spec::VpuCommand c;
  const auto version = [&](weft_opcode opcode, auto&& change) {
    c = {};
    c.header.opcode = static_cast<uint8_t>(opcode);
    c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = WEFT_VPU_DTYPE_I8;
    change();
    return spec::isa_version(spec::encode(c));
  };
  for (const auto opcode : {WEFT_OPCODE_EPILOGUE, WEFT_OPCODE_CAST}) {
    CHECK(version(opcode, [&] { c.scalar2 = 1; }) == 1);
    CHECK(version(opcode, [&] { c.scalar = 1; }) == 3);
  }
  CHECK(version(WEFT_OPCODE_EPILOGUE, [&] { c.dst_dtype = WEFT_VPU_DTYPE_I32, c.scalar = 1; }) == 1);
  CHECK(version(WEFT_OPCODE_EPILOGUE, [&] { c.b_mode = WEFT_VPU_B_MODE_COLUMN; }) == 1);
  for (const auto mode : {WEFT_VPU_B_MODE_TENSOR, WEFT_VPU_B_MODE_RESIDUAL, WEFT_VPU_B_MODE_SCALED})
    CHECK(version(WEFT_OPCODE_EPILOGUE, [&] { c.b_mode = static_cast<uint8_t>(mode); }) == 3);
  CHECK(version(WEFT_OPCODE_EPILOGUE, [&] { c.op = WEFT_VPU_OP_UPPER; }) == 3);
  CHECK(version(WEFT_OPCODE_CAST, [&] { c.b_mode = WEFT_VPU_B_MODE_TENSOR; }) == 1);
  CHECK(version(WEFT_OPCODE_ELEMENTWISE, [&] { c.scalar = 1; }) == 1);
}

TEST_CASE("a name that is no UTF-8 is printed with a replacement, as text and as JSON") {
  const auto json = tools::disassemble_json(executable("gem\x95"));
  REQUIRE(json.ok());
  CHECK(json.value().find("gem\xef\xbf\xbd") != std::string::npos);
  CHECK(tools::disassemble(executable("gem\x95")).ok());
}

TEST_CASE("an executable with any byte changed or cut off is refused, not printed") {
  const auto good = executable();
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; i++) {
    auto bad = good;
    bad[random() % bad.size()] ^= static_cast<std::byte>(1 + random() % 255);
    const auto text = tools::disassemble(bad);
    REQUIRE(!text.ok());
    CHECK(text.error().code == WEFT_ERROR_EXECUTABLE_INVALID);
    CHECK(!tools::disassemble({good.begin(), good.begin() + static_cast<ptrdiff_t>(random() % good.size())}).ok());
  }
}

TEST_CASE("a span takes the name of its tag on its own chip, and a file that is no trace is left as it was") {
  const std::string path = "trace_names_test.json";
  const auto bytes = [](const std::string& text) {
    const auto* p = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(p, p + text.size());
  };
  REQUIRE(
      tools::write_file(
          path,
          bytes(
              R"([{"ph":"X","name":"COPY","args":{"tag":0}},{"ph":"X","name":"MATMUL","args":{"tag":60000}},{"ph":"X","pid":1,"name":"ZERO","args":{"tag":0}},{"ph":"X","pid":2,"name":"FENCE","args":{"tag":0}}])"))
          .ok());
  const tools::TagNames chips[] = {compiler::read_tags(executable()), {{0, "of chip 1"}}};
  REQUIRE(tools::name_trace(path, chips).ok());
  const auto named = tools::read_file(path);
  REQUIRE(named.ok());
  const std::string text(reinterpret_cast<const char*>(named.value().data()), named.value().size());
  CHECK(text.find(R"("opcode":"COPY")") != std::string::npos);
  CHECK(text.find("gemm ") != std::string::npos);
  CHECK(text.find(R"("name":"MATMUL")") != std::string::npos);
  CHECK(text.find(R"("name":"of chip 1")") != std::string::npos);
  CHECK(text.find(R"("name":"FENCE")") != std::string::npos);
  REQUIRE(tools::write_file(path, bytes("no trace")).ok());
  CHECK(!tools::name_trace(path, chips).ok());
  CHECK(tools::read_file(path).value() == bytes("no trace"));
  std::remove(path.c_str());
}
