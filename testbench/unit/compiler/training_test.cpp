// Programs of training against golden arithmetic, in random orders of execution: 0 elements differ.
#include "host/compiler/training.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "host/compiler/layout.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/training_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;
using compiler::DenseNetwork;
using compiler::ParameterLayout;

namespace {

const spec::Chip& nano() { return *spec::find_chip("nano"); }

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* p = reinterpret_cast<const std::byte*>(values.data());
  return {p, p + values.size() * sizeof(T)};
}
template <typename T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

uint64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE((a.size() == b.size() && !a.empty()));
  uint64_t count = 0;
  for (size_t i = 0; i < a.size(); i++) count += std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]);
  return count;
}

float draw(std::mt19937_64& random, float limit) {
  return limit * (static_cast<float>(random() >> 40) / static_cast<float>(1 << 23) - 1);
}

tools::LayoutBuffer draw_parameters(std::mt19937_64& random, const ParameterLayout& layout) {
  tools::LayoutBuffer buffer(layout.bytes / 4);
  for (const auto& layer : layout.layers) {
    for (uint64_t k = 0; k < layer.k; k++)
      for (uint64_t n = 0; n < layer.n; n++)
        buffer[(layer.weights_offset + k * layer.weights_pitch) / 4 + n] = draw(random, 0.5F);
    for (uint64_t n = 0; n < layer.n; n++) buffer[layer.bias_offset / 4 + n] = draw(random, 0.5F);
  }
  return buffer;
}

tools::TrainingBatch draw_batch(std::mt19937_64& random, const DenseNetwork& network, uint64_t rows) {
  const uint64_t classes = network.widths.back();
  tools::TrainingBatch batch{rows, {}, std::vector<float>(rows * classes)};
  for (uint64_t i = 0; i < rows * network.widths.front(); i++)
    batch.x.push_back(compiler::bf16_from_f32(draw(random, 1)));
  for (uint64_t r = 0; r < rows; r++) batch.targets[r * classes + random() % classes] = 1;
  return batch;
}

std::vector<std::byte> packed_x(const tools::TrainingBatch& batch, uint64_t columns) {
  std::vector<float> values;
  for (const uint16_t x : batch.x) values.push_back(compiler::f32_from_bf16(x));
  return compiler::pack_rows(bytes_of(values), batch.rows, columns, 4);
}

/// Runs a program; the bytes of all arguments afterwards. Arguments that are shorter than theirs are filled with zeros.
std::vector<std::vector<std::byte>> run(const spec::Chip& chip, const Result<compiler::Program>& program,
                                        std::vector<std::vector<std::byte>> arguments, uint64_t seed) {
  if (!program.ok()) FAIL(program.error().message);
  const auto kernel = compiler::tiles::compile_resident(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  const auto& infos = program.value().arguments;
  for (size_t i = 0; i < infos.size(); i++) arguments[i].resize(infos[i].size_bytes);
  test::ProgramExecutor executor(chip, kernel.value(), arguments, seed);
  const std::string error = executor.run();
  INFO(error << " on " << chip.name << ", seed " << seed);
  REQUIRE(error.empty());
  for (size_t i = 0; i < infos.size(); i++) arguments[i] = executor.argument(i, infos[i].size_bytes);
  return arguments;
}

/// Elements of gradients and loss that differ from the reference.
uint64_t check_gradients(const spec::Chip& chip, const DenseNetwork& network, uint64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto layout = compiler::parameter_layout(chip, network);
  REQUIRE(layout.ok());
  const auto parameters = draw_parameters(random, layout.value());
  const auto batch = draw_batch(random, network, rows);
  const float scale = 1 / static_cast<float>(rows);
  const auto after = run(chip, compiler::gradient_program(chip, network, rows, scale),
                         {bytes_of(parameters),
                          packed_x(batch, network.widths.front()),
                          compiler::pack_rows(bytes_of(batch.targets), rows, network.widths.back(), 4),
                          {},
                          {}},
                         seed);
  auto gradients = values_of<float>(after[3]);
  gradients.resize(layout.value().bytes / 4);
  gradients[layout.value().loss_offset / 4] = values_of<float>(after[4])[0];
  return differing(gradients, tools::reference_gradients(layout.value(), parameters, batch, scale));
}

}  // namespace

TEST_CASE("gradients of one layer equal golden for any number of rows, inputs and classes") {
  for (const DenseNetwork& network : {DenseNetwork{{8, 8}}, DenseNetwork{{5, 3}}, DenseNetwork{{20, 17}}})
    for (const uint64_t rows : {uint64_t{1}, uint64_t{7}, uint64_t{8}, uint64_t{9}, uint64_t{50}})
      CHECK(check_gradients(nano(), network, rows, 100 + rows) == 0);
}

TEST_CASE("gradients of deeper networks equal golden, whatever order the semaphores allow") {
  for (uint64_t seed = 1; seed <= 4; seed++) {
    CHECK(check_gradients(nano(), {{16, 24, 10}}, 12, seed) == 0);
    CHECK(check_gradients(nano(), {{9, 11, 7, 13}}, 33, seed) == 0);
  }
}

TEST_CASE("the digits network's gradients equal golden on small, many and large arrays") {
  for (const char* chip : {"nano", "nano-4mxu", "small", "v5e"})
    CHECK(check_gradients(*spec::find_chip(chip), {{64, 128, 10}}, 64, 7) == 0);
}

TEST_CASE("gradients of more rows than a block are those of its blocks, added up") {
  for (const uint64_t rows : {uint64_t{65}, uint64_t{128}, uint64_t{200}})
    CHECK(check_gradients(nano(), {{10, 12, 5}}, rows, rows) == 0);
  CHECK(check_gradients(nano(), {{64, 128, 10}}, 256, 3) == 0);
}

TEST_CASE("scores equal golden") {
  std::mt19937_64 random(3);
  const DenseNetwork network{{64, 30, 10}};
  const auto layout = compiler::parameter_layout(nano(), network);
  REQUIRE(layout.ok());
  const auto parameters = draw_parameters(random, layout.value());
  const auto batch = draw_batch(random, network, 40);
  const auto after =
      run(nano(), compiler::scores_program(nano(), network, 40), {bytes_of(parameters), packed_x(batch, 64), {}}, 3);
  CHECK(differing(values_of<float>(compiler::unpack_rows(after[2], 40, 10, 4)),
                  tools::reference_scores(layout.value(), parameters, batch)) == 0);
}

TEST_CASE("updates change parameters and momentum as golden does, step after step, and nothing else") {
  std::mt19937_64 random(5);
  const DenseNetwork network{{64, 30, 10}};
  const auto layout = compiler::parameter_layout(nano(), network);
  REQUIRE(layout.ok());
  const compiler::Sgd sgd{0.125F, 0.9F};
  auto parameters = draw_parameters(random, layout.value()), momentum = draw_parameters(random, layout.value());
  auto expected_parameters = parameters, expected_momentum = momentum;
  for (uint64_t step = 0; step < 3; step++) {
    const auto gradients = draw_parameters(random, layout.value());
    const auto after = run(nano(), compiler::update_program(nano(), network, sgd),
                           {bytes_of(parameters), bytes_of(momentum), bytes_of(gradients)}, step);
    parameters = values_of<float>(after[0]), momentum = values_of<float>(after[1]);
    tools::reference_update(layout.value(), sgd, expected_parameters, expected_momentum, gradients);
    CHECK(differing(parameters, expected_parameters) == 0);
    CHECK(differing(momentum, expected_momentum) == 0);
    CHECK(differing(values_of<float>(after[2]), gradients) == 0);
  }
}

TEST_CASE("gradients agree with finite differences of the loss") {
  // The reference itself could be wrong: the loss must fall along the gradient as fast as it says.
  std::mt19937_64 random(11);
  const DenseNetwork network{{64, 32, 10}};
  const auto layout = compiler::parameter_layout(nano(), network).value();
  const auto batch = draw_batch(random, network, 64);
  auto parameters = draw_parameters(random, layout);
  const auto gradients = tools::reference_gradients(layout, parameters, batch, 1.0F / 64);
  double square = 0;
  for (uint64_t i = 0; i < layout.parameter_bytes / 4; i++)
    square += static_cast<double>(gradients[i]) * static_cast<double>(gradients[i]);
  const double step = 0.05 / square;  // the loss changes by about 0.05 each way
  const auto loss_at = [&](double distance) {
    auto moved = parameters;
    for (uint64_t i = 0; i < layout.parameter_bytes / 4; i++)
      moved[i] = static_cast<float>(static_cast<double>(moved[i]) + distance * static_cast<double>(gradients[i]));
    return static_cast<double>(tools::reference_gradients(layout, moved, batch, 1.0F / 64)[layout.loss_offset / 4]);
  };
  const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
  CHECK(slope == Approx(square).epsilon(0.05));
}

TEST_CASE("what cannot be trained is refused with its reason") {
  const auto message = [](const auto& result) { return result.ok() ? std::string() : result.error().message; };
  CHECK(message(compiler::parameter_layout(nano(), {{64}})) == "1 widths: a network has inputs and classes");
  CHECK(message(compiler::parameter_layout(nano(), {{64, 0, 10}})) == "a width of 0: 1 to 65535 are possible");
  CHECK(message(compiler::gradient_program(nano(), {{64, 10}}, 0, 1)) == "a batch of 0 rows: 1 to 65535 are possible");
  // A layer's weights and their gradients stay in VMEM.
  const auto program = compiler::gradient_program(nano(), {{1000, 300}}, 8, 1);
  REQUIRE(program.ok());
  const auto kernel = compiler::tiles::compile_fitting(nano(), program.value());
  REQUIRE(!kernel.ok());
  CHECK(kernel.error().code == WEFT_ERROR_NO_DEVICE_MEMORY);
  CHECK(kernel.error().message ==
        "gradient: its values need more than the 262144 bytes of VMEM at a time; most of all, 1824000 bytes, step 2 of "
        "29, a product ('layer 0')");
}
