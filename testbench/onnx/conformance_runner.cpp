// Runs models of ONNX's test sets through weft's importer and reference, many in one program: each in a child of its
// own, so that one that crashes or grows is a row of the result.
//
// usage: conformance_runner < LIST        a line: MODEL.onnx DATA OUT (folders; tabs between)
//        conformance_runner --operators   a JSON object for each operator of ONNX: whether it is built, or why not
//
// DATA holds input_0.pb, ...; OUT gets output_0.pb, ... or message.txt. Prints a JSON object for each line.
#include <onnx/onnx_pb.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/onnx/importer.hpp"
#include "host/compiler/onnx/operator_table.hpp"
#include "host/compiler/onnx/rules.hpp"
#include "host/compiler/onnx/tensor_reader.hpp"
#include "host/compiler/reference/evaluate.hpp"

namespace {

using namespace weft;
using namespace weft::compiler;
namespace fs = std::filesystem;

constexpr int kRefused = 2, kBadVector = 3;
constexpr rlim_t kMemory = 8ull << 30, kSeconds = 60;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int refuse(const fs::path& out, const Error& error) {
  std::ofstream(out / "message.txt") << error.message;
  return kRefused;
}

void write_output(const fs::path& path, const std::string& name, const ir::Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(frontend::data_type_of(tensor.type.element));
  for (const int64_t d : tensor.type.dims) proto.add_dims(d);
  proto.set_raw_data(tensor.data.data(), tensor.data.size());
  std::ofstream(path, std::ios::binary) << proto.SerializeAsString();
}

int run(const fs::path& model_file, const fs::path& data, const fs::path& out) {
  const std::string file = bytes_of(model_file);
  onnx::ModelProto model;
  if (!model.ParseFromString(file)) return kBadVector;
  frontend::Binding binding;
  std::set<std::string> defaults;
  for (const auto& initializer : model.graph().initializer()) defaults.insert(initializer.name());
  int next = 0;
  for (const auto& input : model.graph().input()) {
    const fs::path path = data / ("input_" + std::to_string(next) + ".pb");
    if (defaults.contains(input.name())) continue;
    if (!fs::exists(path)) break;
    next++;
    if (!input.type().has_tensor_type()) continue;
    onnx::TensorProto proto;
    if (!proto.ParseFromString(bytes_of(path))) return kBadVector;
    const auto tensor = ir::guarded([&] { return frontend::read_tensor(proto, "vector", ""); });
    if (!tensor.ok()) continue;  // of a type that the model's refusal names
    // Vectors of bf16 are stored as the bits in uint16.
    auto given = std::make_shared<ir::Tensor>(*tensor.value());
    if (input.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16 &&
        given->type.element == ir::ElementType::kU16)
      given->type.element = ir::ElementType::kBf16;
    binding.shapes[input.name()] = given->type.dims;
    binding.values[input.name()] = given;
  }
  const auto imported =
      frontend::import_model(std::as_bytes(std::span(file)), model_file.parent_path().string(), binding);
  if (!imported.ok()) return refuse(out, imported.error());
  if (const auto status = ir::verify(imported.value().module); !status.ok())
    return refuse(out, {WEFT_ERROR_INTERNAL, "verify: " + status.error().message});
  std::vector<ir::TensorPtr> inputs;
  for (const auto input : imported.value().module.inputs) {
    const auto given = binding.values.find(imported.value().module.input_name(input));
    if (given == binding.values.end()) return kBadVector;
    inputs.push_back(given->second);
  }
  const auto outputs = reference::evaluate(imported.value().module, inputs);
  if (!outputs.ok()) return refuse(out, outputs.error());
  for (size_t i = 0; i < outputs.value().size(); i++)
    write_output(out / ("output_" + std::to_string(i) + ".pb"), imported.value().module.outputs[i].name,
                 *outputs.value()[i]);
  return 0;
}

/// The operators that the importer knows, by name.
void print_operators() {
  std::set<std::string_view> names;
  for (const auto& row : frontend::operator_rows()) names.insert(row.name);
  for (const auto name : names)
    std::cout << nlohmann::json{{"name", name},
                                {"built", frontend::find_rule(name) != nullptr},
                                {"excuse", frontend::excuse_of(name)}}
              << "\n";
}

}  // namespace

int main(int count, char** words_of_line) {
  if (count > 1 && std::string(words_of_line[1]) == "--operators") {
    print_operators();
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string model, data, out;
    std::getline(words, model, '\t'), std::getline(words, data, '\t'), std::getline(words, out, '\t');
    fs::create_directories(out);
    const pid_t child = fork();
    if (child == 0) {
      const rlimit memory{kMemory, kMemory}, seconds{kSeconds, kSeconds};
      if (std::getenv("WEFT_NO_MEMORY_LIMIT") == nullptr)
        setrlimit(RLIMIT_AS, &memory);  // not under the address sanitizer
      setrlimit(RLIMIT_CPU, &seconds);
      _exit(run(model, data, out));
    }
    int status = 0;
    waitpid(child, &status, 0);
    const std::string message = bytes_of(fs::path(out) / "message.txt");
    const nlohmann::json row = {{"out", out},
                                {"code", WIFEXITED(status) ? WEXITSTATUS(status) : -1},
                                {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
                                {"message", message}};
    std::cout << row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
}
