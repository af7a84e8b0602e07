// Models built in memory, through the importer and the reference: data beside the model, functions, loops, values that
// decide shapes, and models that are too much.
#include "host/compiler/onnx/importer.hpp"

#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "host/compiler/reference/evaluate.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

onnx::ModelProto model_with_input(std::vector<int64_t> dims, const char* output) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* input = model.mutable_graph()->add_input();
  input->set_name("x");
  input->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t d : dims)
    input->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
  model.mutable_graph()->add_output()->set_name(output);
  return model;
}

onnx::NodeProto* add(onnx::GraphProto* graph, const char* op, const std::vector<std::string>& inputs,
                     const std::string& output) {
  auto* node = graph->add_node();
  node->set_op_type(op);
  for (const auto& name : inputs) node->add_input(name);
  node->add_output(output);
  return node;
}

onnx::TensorProto* add_integers(onnx::GraphProto* graph, const char* name, const std::vector<int64_t>& values) {
  auto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor->add_int64_data(value);
  return tensor;
}

Result<frontend::Imported> import_proto(const onnx::ModelProto& model, const std::string& folder = "",
                                        const frontend::Binding& binding = {}) {
  const std::string bytes = model.SerializeAsString();
  return frontend::import_model(std::as_bytes(std::span(bytes)), folder, binding);
}

std::vector<float> run(const onnx::ModelProto& model, const std::string& folder, const std::vector<float>& x) {
  auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kF32, {static_cast<int64_t>(x.size())}});
  std::copy(x.begin(), x.end(), tensor->as<float>());
  frontend::Binding binding;
  binding.values["x"] = tensor;
  const auto imported = import_proto(model, folder, binding);
  if (!imported.ok()) FAIL(imported.error().message);
  const auto outputs = reference::evaluate(imported.value().module, {tensor});
  if (!outputs.ok()) FAIL(outputs.error().message);
  const auto& y = *outputs.value()[0];
  return {y.as<float>(), y.as<float>() + y.type.count()};
}

}  // namespace

TEST_CASE("data beside the model is read from its folder, and from nowhere else") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("weft_importer_test_" + std::to_string(getpid()));
  fs::create_directories(folder / "model" / "data");
  const std::vector<float> weights{1, 2, 3};
  for (const char* place : {"model/data/w.bin", "secret.bin"})
    std::ofstream(folder / place, std::ios::binary)
        .write(reinterpret_cast<const char*>(weights.data()), static_cast<std::streamsize>(sizeof(float) * 3));
  fs::create_symlink(folder / "secret.bin", folder / "model" / "link.bin");
  const auto with = [&](const char* location, const char* offset) {
    auto model = model_with_input({2}, "y");
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(2);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair{"location", location}, {"offset", offset}, {"length", "8"}}) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    add(model.mutable_graph(), "Add", {"x", "w"}, "y");
    return model;
  };
  const std::string in = (folder / "model").string();
  CHECK(run(with("data/w.bin", "4"), in, {10, 20}) == std::vector<float>{12, 23});
  const auto refusal = [&](const char* location, const char* offset, const std::string& from) {
    const auto imported = import_proto(with(location, offset), from);
    return imported.ok() ? "taken" : imported.error().message;
  };
  CHECK(refusal("../secret.bin", "0", in).find("is not in the model's folder") != std::string::npos);
  CHECK(refusal("link.bin", "0", in).find("is not in the model's folder") != std::string::npos);
  CHECK(refusal((folder / "model/data/w.bin").c_str(), "0", in).find("is not in the model's folder") !=
        std::string::npos);
  CHECK(refusal("data/w.bin", "8", in).find("8 bytes from 8 on of 'data/w.bin', which has 12") != std::string::npos);
  CHECK(refusal("data/w.bin", "99999999999999999999", in).find("is no number of bytes") != std::string::npos);
  CHECK(refusal("data", "0", in).find("there is no file") != std::string::npos);
  CHECK(refusal("data/w.bin", "4", "").find("the model is not read from a file") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("a function's nodes see its inputs and its caller's attributes") {
  auto model = model_with_input({2}, "y");
  model.add_opset_import()->set_domain("mine");
  auto* function = model.add_functions();
  function->set_domain("mine"), function->set_name("Leaky");
  function->add_input("a"), function->add_output("b");
  function->add_opset_import()->set_version(17);
  auto* inner = function->add_node();
  inner->set_op_type("LeakyRelu"), inner->add_input("a"), inner->add_output("b");
  auto* reference = inner->add_attribute();
  reference->set_name("alpha"), reference->set_ref_attr_name("slope"), reference->set_type(onnx::AttributeProto::FLOAT);
  auto* call = add(model.mutable_graph(), "Leaky", {"x"}, "y");
  call->set_domain("mine");
  auto* slope = call->add_attribute();
  slope->set_name("slope"), slope->set_type(onnx::AttributeProto::FLOAT), slope->set_f(0.5f);
  CHECK(run(model, "", {-4, 3}) == std::vector<float>{-2, 3});
  // What the caller does not give has the function's own default.
  auto otherwise = *slope;
  otherwise.set_f(0.25f);
  function->mutable_unknown_fields()->AddLengthDelimited(11, otherwise.SerializeAsString());  // attribute_proto
  CHECK(run(model, "", {-4, 3}) == std::vector<float>{-2, 3});
  call->clear_attribute();
  CHECK(run(model, "", {-4, 3}) == std::vector<float>{-1, 3});
  // A function that calls itself has no end.
  inner->set_op_type("Leaky"), inner->set_domain("mine");
  const auto imported = import_proto(model);
  REQUIRE(!imported.ok());
  CHECK(imported.error().message.find("functions call each other more than 32 deep") != std::string::npos);
}

TEST_CASE("a normalisation of groups between reshapes keeps the channels' shape, and gives what its definition says") {
  auto model = model_with_input({24}, "y");
  auto* graph = model.mutable_graph();
  for (const auto& [name, value] : {std::pair{"scale", 2.0f}, {"bias", 0.5f}}) {
    auto* tensor = graph->add_initializer();
    tensor->set_name(name), tensor->set_data_type(onnx::TensorProto::FLOAT), tensor->add_dims(2);
    tensor->add_float_data(value), tensor->add_float_data(-value);
  }
  add_integers(graph, "image", {1, 4, 2, 3}), add_integers(graph, "groups", {1, 2, -1}),
      add_integers(graph, "row", {24});
  add(graph, "Reshape", {"x", "image"}, "a");
  add(graph, "Reshape", {"a", "groups"}, "b");
  add(graph, "InstanceNormalization", {"b", "scale", "bias"}, "c");
  add(graph, "Reshape", {"c", "image"}, "d");
  add(graph, "Reshape", {"d", "row"}, "y");
  std::vector<float> x(24);
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i * i % 17) - 5;
  const auto y = run(model, "", x);
  REQUIRE(y.size() == x.size());
  for (size_t group = 0; group < 2; group++) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < 12; i++) mean += x[group * 12 + i] / 12.0;
    for (size_t i = 0; i < 12; i++) variance += std::pow(x[group * 12 + i] - mean, 2) / 12;
    const double sign = group == 0 ? 1 : -1;
    for (size_t i = 0; i < 12; i++)
      CHECK(y[group * 12 + i] == Approx(sign * (2 * (x[group * 12 + i] - mean) / std::sqrt(variance + 1e-5) + 0.5))
                                     .epsilon(1e-5)
                                     .margin(1e-5));
  }
  const auto imported = import_proto(model);
  REQUIRE(imported.ok());
  for (const auto& op : imported.value().module.ops())  // first over an image's pixels, which lie as rows on the device
    if (op.kind == ir::OpKind::kSubtract)
      CHECK(imported.value().module.type(op.results[0]).dims == ir::Dims{1, 4, 2, 3});
}

TEST_CASE("a value that decides a shape is known from a bound input, or the model is refused by the input's name") {
  auto model = model_with_input({4}, "y");
  add(model.mutable_graph(), "NonZero", {"x"}, "n");
  add_integers(model.mutable_graph(), "s", {-1});
  add(model.mutable_graph(), "Reshape", {"n", "s"}, "i");
  add(model.mutable_graph(), "Gather", {"x", "i"}, "y");
  CHECK(run(model, "", {0, 5, 0, 7}) == std::vector<float>{5, 7});
  const auto imported = import_proto(model);
  REQUIRE(!imported.ok());
  CHECK(
      imported.error().message ==
      "node 0 '' (NonZero): a shape or a branch depends on the values of input 'x', which are not known when the model "
      "is compiled");
}

TEST_CASE("100,000 nodes are imported in seconds, and absurd sizes are refused by name") {
  auto model = model_with_input({4}, "y99999");
  std::string before = "x";
  for (int i = 0; i < 100'000; i++) {
    const std::string name = "y" + std::to_string(i);
    add(model.mutable_graph(), "Neg", {before}, name);
    before = name;
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(run(model, "", {1, 2, 3, 4}) == std::vector<float>{1, 2, 3, 4});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));

  auto wide = model_with_input({1}, "y");
  add_integers(wide.mutable_graph(), "s", {1 << 20, 1 << 20, 1 << 20});
  add(wide.mutable_graph(), "Expand", {"x", "s"}, "y");
  const auto imported = import_proto(wide);
  REQUIRE(!imported.ok());
  CHECK(imported.error().message.find("node 0 '' (Expand): the shape [1048576, 1048576, 1048576] is too large") == 0);

  auto endless = model_with_input({1}, "y");
  endless.mutable_graph()->add_node()->set_op_type("Loop");
  const auto loop = import_proto(endless);
  REQUIRE(!loop.ok());
  CHECK(loop.error().message.find("node 0 '' (Loop): ") == 0);
}
