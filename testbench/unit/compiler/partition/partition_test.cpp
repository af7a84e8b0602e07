// Which operators run where: device programs hold products, the rest is the host's, and each part reads what is there.
#include "host/compiler/partition/partition.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "host/compiler/ir/text.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

constexpr const char* kInput =
    "%0 = parameter() {dims = [2, 2], element = f32, name = \"x\"} : f32[2, 2]\n"
    "%1 = constant() [1, 2, 3, 4] : f32[2, 2]\n"
    "%2 = constant() [5, 6] : f32[2]\n"
    "%3 = broadcast_in_dim(%2) {dimensions = [1], dims = [2, 2]} : f32[2, 2]\n";
constexpr const char* kDot = "{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} : f32[2, 2]\n";

/// "D" or "H" for each part, with the number of its operators that are no constants.
std::string cut(const std::string& text, Device device = Device::kUsed, const Cuts& cuts = {}) {
  const auto module = ir::parse(kInput + text);
  if (!module.ok()) FAIL(module.error().message);
  const auto parts = partition(module.value(), device, cuts);
  if (!parts.ok()) FAIL(parts.error().message);
  std::string line;
  for (const auto& part : parts.value().parts) {
    size_t count = 0;
    for (const uint32_t op : part.ops) {
      const auto kind = module.value().ops()[op].kind;
      count += kind != ir::OpKind::kConstant && kind != ir::OpKind::kBroadcast;
    }
    line += fmt::format("{}{} ", part.graph ? 'D' : 'H', count);
    if (part.graph) CHECK(check_graph(part.loop ? part.loop->turn : *part.graph).ok());
    if (part.loop && part.loop->begin) CHECK(check_graph(*part.loop->begin).ok());
  }
  return line;
}

}  // namespace

TEST_CASE("a product with its bias is a device program, what follows is the host's") {
  const std::string net = std::string("%4 = dot_general(%0, %1) ") + kDot +
                          "%5 = add(%4, %3) : f32[2, 2]\n%6 = sine(%5) : f32[2, 2]\nreturn \"y\" = %6\n";
  CHECK(cut(net) == "D2 H1 ");
  CHECK(cut(net, Device::kNone) == "H3 ");
}

TEST_CASE("an island between two products gives three parts") {
  CHECK(cut(std::string("%4 = dot_general(%0, %1) ") + kDot + "%5 = sine(%4) : f32[2, 2]\n%6 = dot_general(%5, %1) " +
            kDot + "return \"y\" = %6\n") == "D1 H1 D1 ");
}

TEST_CASE("what belongs to a product stays with the device behind an island, too") {
  CHECK(cut(std::string("%4 = dot_general(%0, %1) ") + kDot +
            "%5 = sine(%4) : f32[2, 2]\n%6 = add(%4, %5) : f32[2, 2]\n%7 = multiply(%6, %6) : f32[2, 2]\nreturn \"y\" "
            "= %7\n") == "D1 H1 D2 ");
}

TEST_CASE("functions and operations of the vector unit stay beside their products") {
  CHECK(cut(std::string("%4 = dot_general(%0, %1) ") + kDot +
            "%5 = tanh(%4) : f32[2, 2]\n%6 = multiply(%5, %0) : f32[2, 2]\n%7 = dot_general(%6, %1) " + kDot +
            "return \"y\" = %7\n") == "D4 ");
}

TEST_CASE("a device program is cut where it is asked for, and what has no product then is the host's") {
  const auto net = std::string("%4 = dot_general(%0, %1) ") + kDot +
                   "%5 = tanh(%4) : f32[2, 2]\n%6 = multiply(%5, %4) : f32[2, 2]\n%7 = dot_general(%6, %1) " + kDot +
                   "%8 = abs(%7) : f32[2, 2]\nreturn \"y\" = %8\n";
  const auto cut_before = [&](std::set<uint32_t> before) {
    return cut(net, Device::kUsed, {DeviceScope::kAll, before});
  };
  CHECK(cut_before({}) == "D5 ");
  CHECK(cut_before({0, 4, 9}) == "D5 ");
  CHECK(cut_before({7}) == "D3 D2 ");
  CHECK(cut_before({5, 7, 8}) == "D1 H2 D1 H1 ");
}

TEST_CASE("sums without a product stay with the host") {
  CHECK(cut("%4 = add(%0, %3) : f32[2, 2]\nreturn \"y\" = %4\n") == "H1 ");
}

TEST_CASE("shifts of many words are the device's, with what stands beside them, of few ones the host's") {
  const auto shifted = [](uint64_t count, const char* function) {
    return fmt::format(
        "%4 = parameter() {{dims = [{0}], element = u32, name = \"bits\"}} : u32[{0}]\n%5 = constant() [9] : u32[]\n"
        "%6 = broadcast_in_dim(%5) {{dimensions = [], dims = [{0}]}} : u32[{0}]\n"
        "%7 = shift_right_logical(%4, %6) : u32[{0}]\n%8 = convert(%7) {{element = f32}} : f32[{0}]\n"
        "%9 = {1}(%8) : f32[{0}]\nreturn \"y\" = %9\n",
        count, function);
  };
  CHECK(cut(shifted(kWorthALaunch, "tanh")) == "D3 ");
  CHECK(cut(shifted(kWorthALaunch, "sine")) == "D2 H1 ");
  CHECK(cut(shifted(kWorthALaunch - 1, "tanh")) == "H3 ");
}

TEST_CASE("a product of two computed tensors is the device's, but not in parts of matrices alone") {
  const auto text = std::string("%4 = dot_general(%0, %0) ") + kDot + "return \"y\" = %4\n";
  CHECK(cut(text) == "D1 ");
  CHECK(cut(text, Device::kUsed, {DeviceScope::kMatrices}) == "H1 ");
}

TEST_CASE("a slice of a tensor of any size is the device's, if what it takes can be moved") {
  const auto sliced = [](int64_t rows) {
    return fmt::format(
        "%4 = parameter() {{dims = [4000000, 2], element = f32, name = \"table\"}} : f32[4000000, 2]\n"
        "%5 = slice(%4) {{limit = [{1}, 2], start = [3, 0], stride = [1, 1]}} : f32[{0}, 2]\n"
        "%6 = dot_general(%5, %1) {{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}} : "
        "f32[{0}, 2]\nreturn \"y\" = %6\n",
        rows, rows + 3);
  };
  CHECK(cut(sliced(5)) == "D2 ");
  CHECK(cut(sliced(3'000'000)) == "H1 D1 ");
}

TEST_CASE("what asks for more than one pass of bf16 is the host's") {
  const auto dot = [](const std::string& precision) {
    return "%4 = dot_general(%0, %1) {lhs_batch = [], lhs_contract = [1], " + precision +
           "rhs_batch = [], rhs_contract = [0]} : f32[2, 2]\nreturn \"y\" = %4\n";
  };
  CHECK(cut(dot("")) == "D1 ");
  CHECK(cut(dot("precision = highest, ")) == "H1 ");
  const auto convolution = [](const std::string& precision) {
    return "%4 = parameter() {dims = [1, 2, 4, 4], element = f32, name = \"image\"} : f32[1, 2, 4, 4]\n"
           "%5 = constant() [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8] : f32[2, 2, 2, 2]\n"
           "%6 = convolution(%4, %5) {groups = 1, high = [0, 0], lhs_dilation = [1, 1], low = [0, 0], " +
           precision + "rhs_dilation = [1, 1], strides = [1, 1]} : f32[1, 2, 3, 3]\nreturn \"y\" = %6\n";
  };
  CHECK(cut(convolution("")) == "D1 ");
  CHECK(cut(convolution("precision = highest, ")) == "H1 ");
}

namespace {

/// %6, %7: what is computed from %5, as long as a counter is below an input.
std::string repeated(const std::string& computed) {
  const std::string region =
      "  %0 = parameter() {dims = [2, 2], element = f32, name = \"0\"} : f32[2, 2]\n"
      "  %1 = parameter() {dims = [], element = i32, name = \"1\"} : i32[]\n"
      "  %2 = parameter() {dims = [], element = i32, name = \"2\"} : i32[]\n";
  return "%6, %7 = while(%5, %4, %4) {carried = 2} : f32[2, 2], i32[]\n  region {\n  module \"condition\"\n" + region +
         "  %3 = compare(%1, %2) {direction = lt} : pred[]\n  return \"0\" = %3\n  }\n  region {\n  module \"body\"\n" +
         region + "  %3 = constant() [1] : i32[]\n  %4 = add(%1, %3) : i32[]\n  %5 = " + computed +
         "  return \"0\" = %5\n  return \"1\" = %4\n  }\n";
}

}  // namespace

TEST_CASE("a loop with products is a device program of its own, between those that it reads and those that read it") {
  const std::string counter = "%4 = parameter() {dims = [], element = i32, name = \"n\"} : i32[]\n",
                    product = std::string("dot_general(%0, %0) ") + kDot, end = "return \"y\" = %6\n";
  const std::string before = counter + "%5 = dot_general(%0, %1) " + kDot,
                    after = "%8 = dot_general(%6, %1) " + std::string(kDot) + "return \"y\" = %8\n";
  CHECK(cut(counter + "%5 = abs(%0) : f32[2, 2]\n" + repeated(product) + end) == "H1 D1 ");
  CHECK(cut(before + repeated(product) + after) == "D1 D1 D1 ");
  CHECK(cut(before + repeated(product) + end, Device::kNone) == "H2 ");
  CHECK(cut(before + repeated(product) + after, Device::kUsed, {DeviceScope::kMatrices}) == "D1 H1 D1 ");
  CHECK(cut(before + repeated("sine(%0) : f32[2, 2]\n") + end) == "D1 H1 ");
  CHECK(cut(before + repeated("add(%0, %0) : f32[2, 2]\n") + end) == "D1 H1 ");
}

TEST_CASE("slices that a loop reads and stores move with its turns") {
  const auto turn = [](const std::string& read_at, const std::string& stored_at, const char* read = "%2") {
    const auto module = ir::parse(
        "%0 = parameter() {dims = [], element = i32, name = \"operand 0\"} : i32[]\n"
        "%1 = parameter() {dims = [6, 2], element = f32, name = \"operand 1\"} : f32[6, 2]\n"
        "%2 = parameter() {dims = [9, 2], element = f32, name = \"operand 2\"} : f32[9, 2]\n"
        "%3 = constant() [1] : i32[]\n%4 = constant() [0] : i32[]\n%5 = constant() [7] : i32[]\n"
        "%6 = add(%0, %3) : i32[]\n%7 = subtract(%5, %0) : i32[]\n%8 = add(%7, %7) : i32[]\n"
        "%9 = dynamic_slice(" +
        std::string(read) + ", " + read_at +
        ", %4) {slice_sizes = [1, 2]} : f32[1, 2]\n"
        "%10 = dynamic_update_slice(%1, %9, " +
        stored_at +
        ", %4) : f32[6, 2]\n"
        "return \"i\" = %6\nreturn \"all\" = %10\n");
    if (!module.ok()) FAIL(module.error().message);
    return module.value();
  };
  const auto text = [](const WindowedTurn& windowed) {
    std::string line;
    for (const auto& list : {windowed.reads, windowed.stores}) {
      for (const auto& w : list) line += fmt::format("{}: {} {:+} of {}, ", w.operand, w.first, w.step, w.slices);
      line += "| ";
    }
    return line + fmt::format("{}", windowed.carried.size());
  };
  CHECK(text(with_windows(turn("%0", "%0"), {0, {}}, 6)) == "2: 0 +1 of 9, | 1: 0 +1 of 6, | 1");
  CHECK(text(with_windows(turn("%7", "%0"), {0, {}}, 6)) == "2: 7 -1 of 9, | 1: 0 +1 of 6, | 1");
  // Other slices stay than those that are stored; the number is not known at first; a place is not there in each turn.
  CHECK(text(with_windows(turn("%0", "%0"), {1, {}}, 5)) == "2: 1 +1 of 9, | | 2");
  CHECK(text(with_windows(turn("%0", "%0"), {{}, {}}, 6)) == "| | 2");
  CHECK(text(with_windows(turn("%8", "%0"), {0, {}}, 6)) == "| 1: 0 +1 of 6, | 1");
  // What is stored is read, too.
  CHECK(text(with_windows(turn("%0", "%0", "%1"), {0, {}}, 6)) == "| | 2");
}

TEST_CASE("an output that is an input or a constant needs no part of the device") {
  CHECK(cut("return \"y\" = %1\nreturn \"z\" = %0\n") == "H0 ");
}
