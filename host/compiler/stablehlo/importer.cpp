// Functions, calls and regions; what an operation means is its rule's business.
#include "host/compiler/stablehlo/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/stablehlo/node.hpp"
#include "host/compiler/stablehlo/shardings.hpp"
#include "host/compiler/stablehlo/vhlo_types.hpp"

namespace weft::compiler::stablehlo {
namespace {

constexpr int kMaxDepth = 64;  // of calls and regions in one another

struct Function {
  const Operation* op = nullptr;
  bool calls = false;  ///< the host, itself or by functions that it calls
};
using Functions = std::map<std::string, Function>;

/// Whether a block calls the host, as far as it is known of the functions that it calls.
bool calls_host(const Program& program, const Functions& functions, const Block& block) {
  return std::ranges::any_of(block.operations, [&](const Operation& op) {
    const auto named = [&](std::string_view attribute) -> std::string_view {
      const auto* name = program.find(op, attribute);
      return name == nullptr ? std::string_view() : name->text;
    };
    if (op.name == "custom_call_v1" && named("call_target_name") == kCallbackTarget) return true;
    if (op.name == "call_v1" || op.name == "composite_v1" || op.name == "composite_v2") {
      const auto callee = functions.find(std::string(named(op.name == "call_v1" ? "callee" : "decomposition")));
      if (callee != functions.end() && callee->second.calls) return true;
    }
    return std::ranges::any_of(op.regions, [&](const Block& region) { return calls_host(program, functions, region); });
  });
}

/// Functions that call the host, then those that call these, until there are no more.
void find_calls(const Program& program, Functions& functions) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [name, function] : functions)
      if (!function.calls && calls_host(program, functions, function.op->regions[0])) changed = function.calls = true;
  }
}

/// All values that a block reads and does not compute.
void collect_reads(const Block& block, std::set<ValueNumber>& own, std::set<ValueNumber>& reads) {
  own.insert(block.arguments.begin(), block.arguments.end());
  for (const auto& op : block.operations) {
    reads.insert(op.operands.begin(), op.operands.end());
    own.insert(op.results.begin(), op.results.end());
    for (const auto& region : op.regions) collect_reads(region, own, reads);
  }
}

bool is_token(const Program& program, TypeIndex type) { return program.types[type].kind == Type::Kind::kToken; }

bool is_return(const Operation& op) { return op.name == "return_v1" || op.name == "return"; }

/// Writes operations of one function, or of one region, into a module.
class Body : public Surroundings {
 public:
  Body(const Program& program, const Functions& functions, ir::Module& module, int depth)
      : program_(program), functions_(functions), b_(module), module_(module), depth_(depth) {
    if (depth > kMaxDepth) ir::unsupported("more than {} calls and regions in one another", kMaxDepth);
  }

  void bind(ValueNumber number, ValueId value) { values_[number] = value; }

  /// What the block returns.
  Values run(const Block& block) {
    for (const auto& op : block.operations) {
      if (is_return(op)) return operands_of(op);
      run(op);
    }
    ir::invalid("a block does not return");
  }

  std::vector<Region> regions(const std::vector<const Block*>& blocks,
                              const std::vector<ir::TensorType>& arguments) override {
    std::set<ValueNumber> own, reads;
    for (const Block* block : blocks) collect_reads(*block, own, reads);
    std::vector<ValueNumber> captured;
    for (const ValueNumber number : reads)
      if (!own.contains(number)) captured.push_back(number);
    const bool call = std::ranges::any_of(blocks, [&](const Block* block) { return calls(*block); });
    std::vector<Region> list;
    for (const Block* block : blocks) list.push_back(region(*block, arguments, captured, call));
    return list;
  }

  Values call(const std::string& name, const Values& arguments) override {
    const auto found = functions_.find(name);
    if (found == functions_.end()) ir::invalid("a call of '{}', which is no function of the program", name);
    const Block& block = found->second.op->regions[0];
    if (block.arguments.size() != arguments.size())
      ir::invalid("a call of '{}' with {} arguments; it takes {}", name, arguments.size(), block.arguments.size());
    Body body(program_, functions_, module_, depth_ + 1);
    for (size_t i = 0; i < arguments.size(); i++) {
      if (module_.type(arguments[i]) != tensor_type(program_, block.argument_types[i]))
        ir::invalid("a call of '{}': argument {} is {}", name, i, module_.type(arguments[i]).text());
      body.bind(block.arguments[i], arguments[i]);
    }
    body.token_ = token_;
    Values results = body.run(block);
    token_ = body.token_;
    return results;
  }

  [[nodiscard]] bool calls(const Block& block) const override { return calls_host(program_, functions_, block); }
  ValueId token() override {
    if (!token_) token_ = b_.scalar(ir::ElementType::kI32, 0);
    return *token_;
  }
  void set_token(ValueId token) override { token_ = token; }

 private:
  Values operands_of(const Operation& op) const {
    Values values;
    for (const ValueNumber number : op.operands) {
      const auto found = values_.find(number);
      if (found == values_.end())
        ir::invalid("{}.{}: an operand that nothing before has computed", op.dialect, op.name);
      values.push_back(found->second);
    }
    return values;
  }

  Region region(const Block& block, const std::vector<ir::TensorType>& arguments,
                const std::vector<ValueNumber>& captured, bool calls) {
    auto module = std::make_shared<ir::Module>();
    module->name = "region";
    Body body(program_, functions_, *module, depth_ + 1);
    if (block.arguments.size() != arguments.size())
      ir::invalid("a region takes {} arguments; it should take {}", block.arguments.size(), arguments.size());
    for (size_t i = 0; i < arguments.size(); i++)
      body.bind(block.arguments[i], module->add_parameter(fmt::format("{}", i), arguments[i]));
    Region made;
    made.calls = calls;
    if (calls) body.token_ = module->add_parameter(fmt::format("{}", arguments.size()), {ir::ElementType::kI32, {}});
    for (const ValueNumber number : captured) {
      const auto found = values_.find(number);
      if (found == values_.end()) ir::invalid("a region reads a value that nothing before has computed");
      const ir::Op& source = module_.op_of(found->second);
      if (source.constant && source.constant->type.rank() == 0) {  // the region has its own
        body.bind(number, body.b_.constant(source.constant));
        continue;
      }
      made.captured.push_back(found->second);
      body.bind(number, module->add_parameter(fmt::format("{}", module->inputs.size()), module_.type(found->second)));
    }
    Values results = body.run(block);
    if (calls) results.push_back(body.token());
    for (size_t i = 0; i < results.size(); i++) module->outputs.push_back({fmt::format("{}", i), results[i]});
    auto simplified = passes::run_all(std::move(*module));
    if (!simplified.ok()) throw ir::Refusal{simplified.error()};
    made.module = std::make_shared<ir::Module>(std::move(simplified.value()));
    return made;
  }

  void run(const Operation& op) {
    try {
      const Values results = results_of(op);
      if (results.size() != op.results.size())
        ir::invalid("{} results; {} are expected", op.results.size(), results.size());
      for (size_t i = 0; i < results.size(); i++) {
        if (op.dialect == "vhlo") check(results[i], tensor_type(program_, op.result_types[i]), i);
        values_[op.results[i]] = results[i];
      }
    } catch (ir::Refusal& refusal) {
      if (!refusal.error.message.starts_with("operator ")) {
        const std::string place = program_.place_of(op);
        refusal.error.message = fmt::format("operator {}.{}{}: {}", op.dialect, op.name,
                                            place.empty() ? "" : fmt::format(" ({})", place), refusal.error.message);
      }
      throw;
    }
  }

  void check(ValueId result, const ir::TensorType& expected, size_t i) const {
    if (module_.type(result) != expected)
      ir::invalid("result {} is {}; the program says {}", i, module_.type(result).text(), expected.text());
  }

  Values results_of(const Operation& op) {
    b_.origin = {program_.place_of(op), fmt::format("{}.{}", op.dialect, op.name)};
    Node node{program_, op, b_, *this, operands_of(op)};
    // A program of whole arrays has nothing of shardings.
    if (op.name == "unrealized_conversion_cast" ||
        (op.dialect == "sdy" &&
         (op.name == "sharding_constraint" || op.name == "reshard" || op.name == "propagation_barrier")))
      return node.in;
    if (op.dialect == "sdy" && op.name == "sharding_group") return {};
    if (op.dialect == "sdy" && op.name == "manual_computation") return manual_computation(node);
    if (op.dialect != "vhlo" || properties_of(op.name) == nullptr) ir::unsupported("it is not known");
    const Rule rule = rule_of(std::string_view(op.name).substr(0, op.name.rfind("_v")));
    if (rule == nullptr) ir::unsupported("it is not built");
    return rule(node);
  }

  const Program& program_;
  const Functions& functions_;
  ir::Builder b_;
  ir::Module& module_;
  const int depth_;
  std::map<ValueNumber, ValueId> values_;
  std::optional<ValueId> token_;  ///< none: the host has not been called
};

void collect_functions(const Program& program, const std::vector<Operation>& operations, Functions& functions) {
  for (const auto& op : operations) {
    if (op.name == "module" || op.name == "module_v1")
      for (const auto& region : op.regions) collect_functions(program, region.operations, functions);
    if (op.name != "func_v1" || op.regions.size() != 1) continue;
    if (const auto* name = program.find(op, "sym_name")) functions.emplace(name->text, Function{&op});
  }
}

const Operation& main_of(const Functions& functions) {
  const auto main = functions.find("main");
  if (main == functions.end()) ir::invalid("the program has no function 'main'");
  return *main->second.op;
}

ir::Module import(const Program& program) {
  Functions functions;
  collect_functions(program, program.operations, functions);
  find_calls(program, functions);
  const Block& block = main_of(functions).regions[0];
  ir::Module module;
  if (!program.operations.empty())
    if (const auto* name = program.find(program.operations[0], "sym_name"); name != nullptr && !name->text.empty())
      module.name = name->text;
  Body body(program, functions, module, 0);
  // The caller's tokens are arrays without elements. Launches keep their order without them.
  const ir::TensorType nothing{ir::ElementType::kPred, {0}};
  for (size_t i = 0; i < block.arguments.size(); i++) {
    const bool token = is_token(program, block.argument_types[i]);
    const ValueId parameter =
        module.add_parameter(fmt::format("{}", i), token ? nothing : tensor_type(program, block.argument_types[i]));
    body.bind(block.arguments[i], token ? body.token() : parameter);
  }
  Values results = body.run(block);
  const auto* type = program.find(main_of(functions), "function_type");
  for (size_t i = 0; i < results.size(); i++) {
    const bool typed = type != nullptr && type->kind == Attribute::Kind::kType;
    const auto types = typed ? std::span(program.types[type->type].results) : std::span<const TypeIndex>();
    if (i < types.size() && is_token(program, types[i]))
      results[i] = ir::Builder(module).constant(std::make_shared<ir::Tensor>(nothing));
    module.outputs.push_back({fmt::format("{}", i), results[i]});
  }
  return module;
}

}  // namespace

int64_t Node::integer(std::string_view name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr || attribute->kind != Attribute::Kind::kInteger)
    ir::invalid("attribute '{}' is no integer", name);
  return attribute->integer;
}

Dims Node::integers_or_none(std::string_view name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr) return {};
  if (attribute->kind == Attribute::Kind::kTensor) {
    ir::TensorPtr tensor = tensor_of(program, *attribute);
    const Dims dims = tensor_type(program, attribute->type).dims;
    // Lists of dimensions, not arrays of data.
    if (ir::count_of(dims) > 2 * ir::kMaxRank) ir::invalid("attribute '{}' has {} entries", name, ir::count_of(dims));
    Dims values = tensor->integers();
    if (values.size() == 1) values.assign(ir::count_of(dims), values[0]);
    return values;
  }
  if (attribute->kind != Attribute::Kind::kArray) ir::invalid("attribute '{}' is no list", name);
  Dims values;
  for (const AttributeIndex element : attribute->elements) {
    if (program.attributes[element].kind != Attribute::Kind::kInteger)
      ir::invalid("attribute '{}' is no list of integers", name);
    values.push_back(program.attributes[element].integer);
  }
  return values;
}

Dims Node::integers(std::string_view name) const {
  if (find(name) == nullptr) ir::invalid("attribute '{}' is missing", name);
  return integers_or_none(name);
}

std::string Node::text(std::string_view name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr || attribute->kind != Attribute::Kind::kText) ir::invalid("attribute '{}' is no text", name);
  return attribute->text;
}

ir::TensorType Node::result_type(size_t i) const {
  if (i >= op.result_types.size()) ir::invalid("{} results; result {} is missing", op.result_types.size(), i);
  return tensor_type(program, op.result_types[i]);
}

std::shared_ptr<const ir::Module> Node::scalar_region(size_t i, const std::vector<ir::TensorType>& types) const {
  if (i >= op.regions.size()) ir::invalid("region {} is missing", i);
  Region region = around.regions({&op.regions[i]}, types)[0];
  if (region.calls) ir::unsupported("its region calls the host");
  if (!region.captured.empty()) ir::unsupported("its region reads values from outside that are no constants");
  return region.module;
}

ir::TensorType tensor_type(const Program& program, TypeIndex index) {
  const Type& type = program.types[index];
  if (type.kind == Type::Kind::kToken) return {ir::ElementType::kI32, {}};  // as callbacks have them
  if (type.kind != Type::Kind::kTensor) ir::unsupported("a value that is no tensor");
  const Type& element = program.types[type.element];
  // Builtin tensors are met where shardings are; their elements are builtin types, which are not read.
  const auto known = element.kind == Type::Kind::kElement ? vhlo::element_of(element.code) : std::nullopt;
  if (!known) ir::unsupported("elements of {}", vhlo::name_of_type(element.code));
  for (const int64_t d : type.dims)
    if (d < 0) ir::unsupported("a dimension that is not known before the program runs");
  ir::TensorType made{*known, type.dims};
  check_size(made);
  return made;
}

ir::TensorPtr tensor_of(const Program& program, const Attribute& attribute) {
  if (attribute.kind != Attribute::Kind::kTensor) ir::invalid("an attribute is no tensor");
  const ir::TensorType type = tensor_type(program, attribute.type);
  const uint64_t count = type.count(), size = attribute.text.size(), element = ir::bytes_of(type.element);
  if (type.element == ir::ElementType::kPred) {  // bits; one byte of equal bits: all elements
    const auto bit = [&](uint64_t i) {
      return (static_cast<uint8_t>(attribute.text[static_cast<size_t>(i / 8)]) >> (i % 8) & 1) != 0;
    };
    const bool whole = size == (count + 7) / 8, one = size == 1;
    const auto first = size == 0 ? uint8_t{0} : static_cast<uint8_t>(attribute.text[0]);
    if (one && (first == 0xff || first == 0 || !whole) && count != 0) return ir::splat({type.element, {}}, first != 0);
    if (!whole) ir::invalid("a constant {} of {} bytes", type.text(), size);
    auto tensor = std::make_shared<ir::Tensor>(type);
    for (uint64_t i = 0; i < count; i++) tensor->as<bool>()[i] = bit(i);
    return tensor;
  }
  if (size == element && count != 1 && count != 0) {
    auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{type.element, {}});
    std::memcpy(tensor->data.data(), attribute.text.data(), element);
    return tensor;
  }
  if (count == 0) return std::make_shared<ir::Tensor>(type);
  if (size != type.bytes()) ir::invalid("a constant {} of {} bytes", type.text(), size);
  auto tensor = std::make_shared<ir::Tensor>(type);
  std::memcpy(tensor->data.data(), attribute.text.data(), size);
  return tensor;
}

Result<Layout> layout_of(std::span<const std::byte> bytes, const ir::Module& module, size_t devices) {
  auto program = read_program(bytes);
  if (!program.ok()) return program.error();
  return ir::guarded([&] {
    Functions functions;
    collect_functions(program.value(), program.value().operations, functions);
    const Operation& main = main_of(functions);
    std::vector<size_t> inputs, outputs;
    for (const auto input : module.inputs) inputs.push_back(module.type(input).rank());
    for (const auto& output : module.outputs) outputs.push_back(module.type(output.value).rank());
    const auto told_inputs = told_shardings(program.value(), main, "arg_attrs", inputs.size());
    auto told_outputs = told_shardings(program.value(), main, "res_attrs", outputs.size());
    const Block& block = main.regions[0];
    const auto end = std::ranges::find_if(block.operations, is_return);
    std::vector<bool> inferred(outputs.size());
    for (size_t i = 0; i < outputs.size() && end != block.operations.end() && i < end->operands.size(); i++)
      if (told_outputs[i] == nullptr) {
        told_outputs[i] = sharding_of_value(program.value(), block, end->operands[i]);
        inferred[i] = true;
      }
    Layout layout{tilings_of_values(program.value(), told_inputs, inputs, devices),
                  tilings_of_values(program.value(), told_outputs, outputs, devices)};
    for (const auto* told : told_outputs) layout.open.push_back(told == nullptr);
    for (size_t i = 0; i < outputs.size(); i++) {  // a constraint may cut unevenly
      const auto& dims = module.type(module.outputs[i].value).dims;
      const auto& tiles = layout.outputs[i].tiles;
      for (size_t d = 0; d < dims.size() && inferred[i]; d++)
        if (dims[d] % tiles[d] != 0) {
          layout.outputs[i] = ir::replicated(dims.size(), devices);
          break;
        }
    }
    return layout;
  });
}

Result<std::vector<Donation>> donations_of(std::span<const std::byte> bytes, const ir::Module& module) {
  constexpr std::string_view kAlias = "tf.aliasing_output", kDonor = "jax.buffer_donor";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.find(kAlias) == text.npos && text.find(kDonor) == text.npos) return std::vector<Donation>{};
  auto program = read_program(bytes);
  if (!program.ok()) return program.error();
  return ir::guarded([&] {
    Functions functions;
    collect_functions(program.value(), program.value().operations, functions);
    const auto& attributes = program.value().attributes;
    const Attribute* arguments = program.value().find(main_of(functions), "arg_attrs");
    std::vector<Donation> donations;
    std::set<size_t> taken;
    const bool there = arguments != nullptr && arguments->kind == Attribute::Kind::kArray;
    for (size_t i = 0; there && i < std::min(module.inputs.size(), arguments->elements.size()); i++) {
      bool donated = false;
      std::optional<size_t> output;
      for (const auto& [name, value] : attributes[arguments->elements[i]].entries) {
        const Attribute& told = attributes[value];
        if (attributes[name].text == kDonor) donated = told.integer != 0;
        if (attributes[name].text != kAlias) continue;
        const size_t outputs = module.outputs.size();
        if (told.kind != Attribute::Kind::kInteger || told.integer < 0 || static_cast<size_t>(told.integer) >= outputs)
          ir::invalid("input {} shares the place of output {}; the program has {}", i, told.integer, outputs);
        output = static_cast<size_t>(told.integer);
        if (!taken.insert(*output).second) ir::invalid("two inputs share the place of output {}", *output);
      }
      if (donated || output) donations.push_back({i, output});
    }
    return donations;
  });
}

Result<ir::Module> import_program(std::span<const std::byte> bytes) {
  auto program = read_program(bytes);
  if (!program.ok()) return program.error();
  return ir::guarded([&] { return import(program.value()); });
}

}  // namespace weft::compiler::stablehlo
