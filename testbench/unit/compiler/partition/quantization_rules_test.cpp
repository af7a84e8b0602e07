// Integers of 8 bits as device programs: products on the MXU, quantisation on the vector unit.
#include "testbench/unit/compiler/partition/device_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::test_support;

namespace {

std::string constant(int number, const char* element, const std::string& dims, const Numbers& values) {
  return fmt::format("%{} = constant() [{}] : {}{}\n", number, fmt::join(values, ", "), element, dims);
}

/// x minus a zero point, i32, in value number + 2; numbers + 1 and + 3 are used too.
std::string shifted(int x, int number, const std::string& dims, int zero) {
  return fmt::format(
      "%{1} = convert(%{0}) {{element = i32}} : i32{2}\n%{4} = constant() [{5}] : i32[]\n"
      "%{6} = broadcast_in_dim(%{4}) {{dimensions = [], dims = {2}}} : i32{2}\n"
      "%{3} = subtract(%{1}, %{6}) : i32{2}\n",
      x, number, dims, number + 3, number + 1, zero, number + 2);
}

/// The kernel of a module.
Kernel kernel_of(const std::string& text, const char* chip_name) {
  const auto parsed = ir::parse(text);
  REQUIRE(parsed.ok());
  const ir::Module& module = parsed.value();
  std::vector<ir::Output> from;
  std::vector<uint32_t> ops;
  for (const auto input : module.inputs) from.push_back({module.input_name(input), input});
  for (uint32_t i = 0; i < module.ops().size(); i++)
    if (module.ops()[i].kind != ir::OpKind::kParameter) ops.push_back(i);
  const auto graph = device_graph(module, ops, from, module.outputs);
  REQUIRE(graph.ok());
  const auto program = lower(*spec::find_chip(chip_name), graph.value(), Arguments::kOne);
  REQUIRE(program.ok());
  const auto kernel = tiles::compile_resident(*spec::find_chip(chip_name), program.value());
  REQUIRE(kernel.ok());
  return kernel.value();
}

/// Its products of int8.
uint64_t count_int8(const std::string& text, const char* chip_name) {
  uint64_t count = 0;
  const Kernel kernel = kernel_of(text, chip_name);
  for (const auto& command : kernel.queues[WEFT_QUEUE_MXU])
    count += spec::decode_mxu(command).dtype == WEFT_MXU_DTYPE_INT8;
  return count;
}

/// Its commands of the vector unit.
std::vector<spec::VpuCommand> vector_commands(const std::string& text, const char* chip_name) {
  std::vector<spec::VpuCommand> commands;
  const Kernel kernel = kernel_of(text, chip_name);
  for (const auto& command : kernel.queues[WEFT_QUEUE_VPU]) commands.push_back(spec::decode_vpu(command));
  return commands;
}

const char* const kRequantize =
    "%{0} = convert(%{1}) {{element = f32}} : f32{2}\n%{3} = constant() [{4}] : f32[]\n"
    "%{5} = broadcast_in_dim(%{3}) {{dimensions = [], dims = {2}}} : f32{2}\n%{6} = multiply(%{0}, %{5}) : f32{2}\n";

/// round(v) + zero, limited to the type's range, in it: the result is number + 9.
std::string quantized(int v, int number, const std::string& dims, const char* element, int zero, int least, int most) {
  std::string text = fmt::format("%{} = round_nearest_even(%{}) : f32{}\n", number, v, dims);
  const auto limit = [&](int at, int value) {
    text += fmt::format(
        "%{0} = constant() [{1}] : f32[]\n%{2} = broadcast_in_dim(%{0}) {{dimensions = [], dims = {3}}} : f32{3}\n", at,
        value, at + 1, dims);
  };
  limit(number + 1, zero);
  text += fmt::format("%{} = add(%{}, %{}) : f32{}\n", number + 3, number, number + 2, dims);
  limit(number + 4, least);
  text += fmt::format("%{} = maximum(%{}, %{}) : f32{}\n", number + 6, number + 3, number + 5, dims);
  limit(number + 7, most);
  text += fmt::format("%{} = minimum(%{}, %{}) : f32{}\n", number + 9, number + 6, number + 8, dims);
  return text +
         fmt::format("%{} = convert(%{}) {{element = {}}} : {}{}\n", number + 10, number + 9, element, element, dims);
}

}  // namespace

TEST_CASE("a product of bytes by constants is one of the MXU's int8, with and without sign and zero points") {
  for (const char* chip : {"nano", "nano-4mxu"})
    for (const auto& [type, zero, least, most] :
         {std::tuple{"i8", 0, -128, 127}, {"i8", 5, -128, 127}, {"u8", 128, 0, 255}, {"u8", 3, 0, 255}})
      for (const int k : {5, 16, 37}) {
        const std::string dims = fmt::format("[3, {}]", k);
        const std::string text =
            parameter(0, type, dims) + shifted(0, 1, dims, zero) +
            constant(5, "i32", fmt::format("[{}, 11]", k),
                     draw(static_cast<uint64_t>(k), static_cast<size_t>(k) * 11, -128, 127)) +
            "%6 = dot_general(%4, %5) {element = i32, lhs_batch = [], lhs_contract = [1], rhs_batch "
            "= [], rhs_contract = [0]} : i32[3, 11]\nreturn \"y\" = %6\n";
        check(text, {draw(7, static_cast<size_t>(k) * 3, least, most)}, chip);
        CHECK(count_int8(text, chip) != 0);
      }
}

TEST_CASE("weights of 9 bits are sums of bytes") {
  check(
      parameter(0, "u8", "[3, 20]") + shifted(0, 1, "[3, 20]", 7) +
          constant(5, "i32", "[20, 9]", draw(3, 180, -255, 255)) +
          "%6 = dot_general(%4, %5) {element = i32, lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = "
          "[0]} : i32[3, 9]\nreturn \"y\" = %6\n",
      {draw(4, 60, 0, 255)});
}

TEST_CASE("a product of two computed tensors of bytes is exact, however long its sums are") {
  for (const int k : {9, 300, 600})
    check(parameter(0, "u8", fmt::format("[2, 3, {}]", k)) + parameter(1, "i8", fmt::format("[2, {}, 4]", k)) +
              shifted(0, 2, fmt::format("[2, 3, {}]", k), 0) + shifted(1, 6, fmt::format("[2, {}, 4]", k), -128) +
              "%10 = dot_general(%5, %9) {element = i32, lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], "
              "rhs_contract = [1]} : i32[2, 3, 4]\nreturn \"y\" = %10\n",
          {draw(5, static_cast<size_t>(k) * 6, 200, 255), draw(6, static_cast<size_t>(k) * 8, 100, 127)});
}

TEST_CASE("two layers of bytes: between them stand no numbers but i8, ties are even, and what is too large saturates") {
  for (const char* chip : {"nano", "nano-4mxu"})
    for (const auto& [type, zero, least, most] : {std::tuple{"i8", 0, -128, 127},
                                                  {"i8", -3, -128, 127},
                                                  {"u8", 128, 0, 255},
                                                  {"u8", 0, 0, 255},
                                                  {"u8", 131, 0, 255}}) {
      const std::string first = parameter(0, "i8", "[5, 12]") + shifted(0, 1, "[5, 12]", 0) +
                                constant(5, "i32", "[12, 20]", draw(8, 240, -9, 9)) +
                                "%6 = dot_general(%4, %5) {element = i32, lhs_batch = [], lhs_contract = [1], "
                                "rhs_batch = [], rhs_contract = [0]} "
                                ": i32[5, 20]\n" +
                                fmt::format(fmt::runtime(kRequantize), 7, 6, "[5, 20]", 8, 0.5, 9, 10);
      const std::string text =
          first + quantized(10, 11, "[5, 20]", type, zero, least, most) + shifted(21, 22, "[5, 20]", zero) +
          constant(26, "i32", "[20, 7]", draw(9, 140, -128, 127)) +
          "%27 = dot_general(%25, %26) {element = i32, lhs_batch = [], lhs_contract = [1], rhs_batch "
          "= [], rhs_contract = [0]} : i32[5, 7]\nreturn \"y\" = %27\n";
      check(text, {draw(10, 60, -128, 127)}, chip);
      CHECK(count_int8(text, chip) >= 2);
      check(first + quantized(10, 11, "[5, 20]", type, zero, least, most) + "return \"y\" = %21\n",
            {draw(10, 60, -128, 127)}, chip);
    }
}

TEST_CASE("a layer of bytes by a scale for each column, a bias and a relu is one EPILOGUE of each block of columns") {
  for (const char* chip : {"nano", "nano-4mxu"})
    for (const int n : {5, 16, 20, 37})  // of blocks of 8 columns, the last one alone in its word or not
      for (const auto& [type, zero, least, most] :
           {std::tuple{"i8", 3, -128, 127}, {"u8", 0, 0, 255}, {"u8", 77, 0, 255}}) {
        const std::string dims = fmt::format("[21, {}]", n);
        const auto count = static_cast<size_t>(n);
        std::string text =
            parameter(0, "u8", "[21, 12]") + shifted(0, 1, "[21, 12]", 7) +
            constant(5, "i32", fmt::format("[12, {}]", n), draw(31, 12 * count, -99, 99)) +
            fmt::format(
                "%6 = dot_general(%4, %5) {{element = i32, lhs_batch = [], lhs_contract = [1], rhs_batch "
                "= [], rhs_contract = [0]}} : i32{}\n",
                dims) +
            constant(7, "i32", fmt::format("[{}]", n), draw(32, count, -3000, 3000));
        text += fmt::format(
            "%8 = broadcast_in_dim(%7) {{dimensions = [1], dims = {0}}} : i32{0}\n%9 = add(%6, %8) : i32{0}\n"
            "%10 = constant() [0] : i32[]\n%11 = broadcast_in_dim(%10) {{dimensions = [], dims = {0}}} : i32{0}\n"
            "%12 = maximum(%9, %11) : i32{0}\n%13 = convert(%12) {{element = f32}} : f32{0}\n",
            dims);
        text += constant(14, "f32", fmt::format("[{}]", n), draw(33, count, 1, 30, 0.001)) +
                fmt::format(
                    "%15 = broadcast_in_dim(%14) {{dimensions = [1], dims = {0}}} : f32{0}\n"
                    "%16 = multiply(%13, %15) : f32{0}\n",
                    dims) +
                quantized(16, 17, dims, type, zero, least, most) + shifted(27, 28, dims, zero) +
                constant(32, "i32", fmt::format("[{}, 3]", n), draw(34, 3 * count, -128, 127)) +
                "%33 = dot_general(%31, %32) {element = i32, lhs_batch = [], lhs_contract = [1], rhs_batch = [], "
                "rhs_contract = [0]} : i32[21, 3]\nreturn \"y\" = %33\n";
        check(text, {draw(35, 21 * 12, 0, 255)}, chip);
        for (const auto& c : vector_commands(text, chip)) {
          CAPTURE(chip, n, type);
          if (c.header.opcode == WEFT_OPCODE_EPILOGUE && c.dst_dtype == WEFT_VPU_DTYPE_I8) {
            CHECK(c.b_mode == WEFT_VPU_B_MODE_SCALED);
            CHECK(c.activation == WEFT_VPU_ACTIVATION_RELU);
          } else {  // the input's bytes, and the last sums
            CHECK((c.header.opcode == WEFT_OPCODE_CAST || c.dst_dtype == WEFT_VPU_DTYPE_I32));
          }
        }
      }
}

TEST_CASE("what has been quantised and is read as f32 comes back from bytes, where its range is theirs") {
  for (const char* chip : {"nano", "nano-4mxu"})
    for (const bool columns : {false, true})
      for (const int n : {5, 16, 37})
        for (const auto& [least, most] :
             {std::pair{-128, 127}, {0, 255}, {-77, 178}, {-255, 0}, {-100, 100}, {-256, -1}, {1, 256}}) {
          const std::string dims = fmt::format("[21, {}]", n);
          const auto count = static_cast<size_t>(n);
          std::string text = parameter(0, "u8", "[21, 12]") + shifted(0, 1, "[21, 12]", 7) +
                             constant(5, "i32", fmt::format("[12, {}]", n), draw(41, 12 * count, -99, 99)) +
                             fmt::format(
                                 "%6 = dot_general(%4, %5) {{element = i32, lhs_batch = [], lhs_contract = [1], "
                                 "rhs_batch = [], rhs_contract = [0]}} : i32{0}\n%7 = convert(%6) {{element = f32}} : "
                                 "f32{0}\n",
                                 dims);
          text += columns ? constant(8, "f32", fmt::format("[{}]", n), draw(42, count, 1, 30, 0.001))
                          : std::string("%8 = constant() [0.013] : f32[]\n");
          text += fmt::format(
              "%9 = broadcast_in_dim(%8) {{dimensions = [{1}], dims = {0}}} : f32{0}\n%10 = multiply(%7, %9) : f32{0}\n"
              "%11 = round_nearest_even(%10) : f32{0}\n%12 = constant() [{2}] : f32[]\n"
              "%13 = broadcast_in_dim(%12) {{dimensions = [], dims = {0}}} : f32{0}\n%14 = maximum(%11, %13) : f32{0}\n"
              "%15 = constant() [{3}] : f32[]\n%16 = broadcast_in_dim(%15) {{dimensions = [], dims = {0}}} : f32{0}\n"
              "%17 = minimum(%14, %16) : f32{0}\n%18 = constant() [0.37] : f32[]\n"
              "%19 = broadcast_in_dim(%18) {{dimensions = [], dims = {0}}} : f32{0}\n%20 = multiply(%17, %19) : "
              "f32{0}\n"
              "return \"y\" = %20\n",
              dims, columns ? "1" : "", least, most);
          check(text, {draw(43, 21 * 12, 0, 255)}, chip);
          const bool bytes = most - least == 255 && least <= 0 && most >= 0;
          const auto commands = vector_commands(text, chip);
          const bool limits = std::ranges::any_of(commands, [](const auto& c) { return c.op == WEFT_VPU_OP_MIN; });
          CHECK(limits == !bytes);
        }
}

TEST_CASE("a bias of integers and a relu join the product of bytes") {
  const std::string text =
      parameter(0, "u8", "[4, 10]") + shifted(0, 1, "[4, 10]", 9) +
      constant(5, "i32", "[10, 6]", draw(11, 60, -128, 127)) +
      "%6 = dot_general(%4, %5) {element = i32, lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = "
      "[0]} : "
      "i32[4, 6]\n" +
      constant(7, "i32", "[6]", draw(12, 6, -2000000000, 2000000000)) +
      "%8 = broadcast_in_dim(%7) {dimensions = [1], dims = [4, 6]} : i32[4, 6]\n%9 = add(%6, %8) : i32[4, 6]\n"
      "%10 = constant() [0] : i32[]\n%11 = broadcast_in_dim(%10) {dimensions = [], dims = [4, 6]} : i32[4, 6]\n"
      "%12 = maximum(%9, %11) : i32[4, 6]\nreturn \"y\" = %12\n";
  check(text, {draw(13, 40, 0, 255)});
}

TEST_CASE("quantising divides as IEEE does, rounds ties to even, and saturates infinities too") {
  for (const double scale : {0.1, 0.25, 0.0078431377, 3.0, 255.0}) {
    Numbers values = draw(14, 4 * 64, -4000, 4000, 0.5 * static_cast<double>(static_cast<float>(scale)));
    values[3] = std::numeric_limits<double>::infinity(), values[7] = -values[3], values[9] = 3e38, values[11] = -0.0;
    check(
        parameter(0, "f32", "[4, 64]") +
            fmt::format("%1 = constant() [{}] : f32[]\n%2 = broadcast_in_dim(%1) {{dimensions = [], dims = [4, 64]}} : "
                        "f32[4, 64]\n%3 = divide(%0, %2) : f32[4, 64]\n",
                        static_cast<float>(scale)) +
            quantized(3, 4, "[4, 64]", "u8", 127, 0, 255) + "return \"y\" = %14\n",
        {values});
  }
}

TEST_CASE("conversions between integers of 8 bits and others") {
  for (const auto& [type, least, most] : {std::tuple{"i8", -128, 127}, {"u8", 0, 255}}) {
    check(parameter(0, type, "[3, 9]") +
              fmt::format(
                  "%1 = convert(%0) {{element = f32}} : f32[3, 9]\n%2 = convert(%0) {{element = i32}} : i32[3, 9]\n"
                  "%3 = transpose(%0) {{permutation = [1, 0]}} : {}[9, 3]\n%4 = convert(%0) {{element = pred}} : "
                  "pred[3, 9]\n%5 = convert(%0) {{element = {}}} : {}[3, 9]\n",
                  type, least < 0 ? "u8" : "i8", least < 0 ? "u8" : "i8") +
              "return \"a\" = %1\nreturn \"b\" = %2\nreturn \"c\" = %3\nreturn \"d\" = %4\nreturn \"e\" = %5\n",
          {draw(15, 27, least, most)});
    check(parameter(0, "i32", "[3, 9]") + parameter(1, "f32", "[3, 9]") +
              fmt::format(
                  "%2 = convert(%0) {{element = {0}}} : {0}[3, 9]\n%3 = convert(%1) {{element = {0}}} : {0}[3, 9]\n",
                  type) +
              "return \"a\" = %2\nreturn \"b\" = %3\n",
          {draw(16, 27, -2000, 2000), draw(17, 27, -900, 900, 0.37)});
  }
}

TEST_CASE("a convolution of bytes is one of int8 tap by tap, padding is the zero point") {
  for (const char* chip : {"nano", "nano-4mxu"})
    for (const int channels : {11, 19})
      for (const auto& [taps, stride] : {std::pair{3, 1}, {3, 2}, {1, 1}}) {
        const int size = 6, pad = taps / 2, places = (size + 2 * pad - taps) / stride + 1;
        const std::string x = fmt::format("[2, {}, {}, {}]", channels, size, size);
        const std::string w = fmt::format("[5, {}, {}, {}]", channels, taps, taps);
        const std::string text =
            parameter(0, "u8", x) + shifted(0, 1, x, 77) +
            constant(5, "i32", w, draw(18, static_cast<size_t>(5 * channels * taps * taps), -128, 127)) +
            fmt::format(
                "%6 = convolution(%4, %5) {{element = i32, groups = 1, high = [{0}, {0}], lhs_dilation = [1, 1], low = "
                "[{0}, {0}], rhs_dilation = [1, 1], strides = [{1}, {1}]}} : i32[2, 5, {2}, {2}]\n",
                pad, stride, places) +
            "return \"y\" = %6\n";
        check(text, {draw(19, static_cast<size_t>(2 * channels * size * size), 0, 255)}, chip);
        CHECK(count_int8(text, chip) != 0);
      }
}

TEST_CASE("a convolution of bytes of few channels is one by lines, in bf16, as long as its sums are exact") {
  const auto convolution = [](int channels, int taps, int size, int outputs, uint64_t seed) {
    const std::string x = fmt::format("[2, {}, {}, {}]", channels, size, size);
    const std::string w = fmt::format("[{}, {}, {}, {}]", outputs, channels, taps, taps);
    const int places = (size + 2 * (taps / 2) - taps) / 2 + 1;
    // All of the largest size: a sum has as many bits as it can.
    Numbers weights(static_cast<size_t>(outputs * channels * taps * taps), -128);
    if (seed != 0) weights = draw(seed, weights.size(), -128, 127);
    return parameter(0, "u8", x) + shifted(0, 1, x, 3) + constant(5, "i32", w, weights) +
           fmt::format(
               "%6 = convolution(%4, %5) {{element = i32, groups = 1, high = [{0}, {0}], lhs_dilation = [1, 1], low = "
               "[{0}, {0}], rhs_dilation = [1, 1], strides = [2, 2]}} : i32[2, {1}, {2}, {2}]\n",
               taps / 2, outputs, places) +
           "return \"y\" = %6\n";
  };
  for (const char* chip : {"nano", "nano-4mxu"})
    for (const auto& [channels, taps, size] : {std::tuple{1, 3, 9}, {3, 7, 14}, {1, 1, 5}, {3, 10, 11}})
      for (const uint64_t seed : {0, 31}) {
        const std::string text = convolution(channels, taps, size, 11, seed);
        const auto elements = static_cast<size_t>(2 * channels * size * size);
        check(text, {seed == 0 ? Numbers(elements, 255) : draw(32, elements, 0, 255)}, chip);
        CHECK(count_int8(text, chip) == 0);
      }
  // 1 x 27 x 27 products of 252 x 128 are more than 2^24.
  const std::string large = convolution(1, 27, 29, 2, 0);
  check(large, {Numbers(2 * 29 * 29, 255)});
  CHECK(count_int8(large, "nano") != 0);
}

TEST_CASE("depthwise convolutions and those by computed weights are exact") {
  check(parameter(0, "u8", "[1, 4, 5, 5]") + shifted(0, 1, "[1, 4, 5, 5]", 100) +
            constant(5, "i32", "[4, 1, 3, 3]", draw(20, 36, -128, 127)) +
            "%6 = convolution(%4, %5) {element = i32, groups = 4, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1], "
            "rhs_dilation = [1, 1], strides = [1, 1]} : i32[1, 4, 5, 5]\nreturn \"y\" = %6\n",
        {draw(21, 100, 0, 255)});
  check(parameter(0, "u8", "[1, 2, 5, 5]") + parameter(1, "u8", "[3, 2, 3, 3]") + shifted(0, 2, "[1, 2, 5, 5]", 100) +
            shifted(1, 6, "[3, 2, 3, 3]", 200) +
            "%10 = convolution(%5, %9) {element = i32, groups = 1, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1], "
            "rhs_dilation = [1, 1], strides = [1, 1]} : i32[1, 3, 5, 5]\nreturn \"y\" = %10\n",
        {draw(22, 50, 0, 255), draw(23, 54, 0, 255)});
}
