// MLIR bytecode, section by section: strings, dialects, types and attributes, properties, operations. Written from
// MLIR's page on its bytecode format and the published codes of VHLO's types and attributes.
#include "host/compiler/stablehlo/program.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "host/compiler/stablehlo/byte_reader.hpp"
#include "host/compiler/stablehlo/vhlo_types.hpp"

namespace weft::compiler::stablehlo {
namespace {

constexpr uint64_t kVersion = 6;
constexpr int kMaxDepth = 64;                // of regions in regions
constexpr uint64_t kMaxValues = 1ull << 24;  // of a program

enum Section : uint8_t {
  kStrings,
  kDialects,
  kTypesAndAttributes,
  kOffsets,
  kOperations,
  kResources = 5,
  kProperties = 8
};

/// Bytes of one type or attribute.
struct Entry {
  ByteReader bytes;
  uint32_t dialect = 0;
  bool encoded = false;  ///< by its dialect; otherwise it is text
};

struct OperationName {
  uint32_t dialect = 0;
  std::string name;
  bool registered = false;  ///< its properties are encoded
};

class Reader {
 public:
  Program run(std::span<const std::byte> bytes) {
    ByteReader file(bytes);
    const auto magic = file.take(std::min<size_t>(4, bytes.size()));
    if (magic.size() != 4 || std::memcmp(magic.data(), "ML\xefR", 4) != 0) ir::invalid("no MLIR bytecode");
    if (const uint64_t version = file.number(); version != kVersion)
      ir::unsupported("MLIR bytecode of version {}; supported: {}", version, kVersion);
    while (const uint8_t c = file.byte()) program_.producer += static_cast<char>(c);
    std::map<uint8_t, ByteReader> sections;
    while (file.left() != 0) {
      auto section = file.section();
      sections.emplace(section.id, section.content);
    }
    const auto need = [&](uint8_t id) {
      const auto found = sections.find(id);
      if (found == sections.end()) ir::invalid("bytecode: section {} is missing", id);
      return found->second;
    };
    read_strings(need(kStrings));
    read_dialects(need(kDialects));
    if (sections.contains(kProperties)) read_properties(need(kProperties));
    read_types_and_attributes(need(kOffsets), need(kTypesAndAttributes));
    ByteReader operations = need(kOperations);
    Scope scope;
    Block file_block;
    read_block(operations, file_block, scope, 0);
    program_.operations = std::move(file_block.operations);
    return std::move(program_);
  }

 private:
  void read_strings(ByteReader in) {
    std::vector<uint64_t> lengths(in.count("strings"));
    for (size_t i = lengths.size(); i-- > 0;) lengths[i] = in.number();
    for (const uint64_t length : lengths) {
      const auto text = in.take(length);
      if (text.empty()) ir::invalid("bytecode: a string without an end");
      strings_.emplace_back(reinterpret_cast<const char*>(text.data()), text.size() - 1);
    }
  }
  const std::string& string(ByteReader& in) const { return strings_[in.index(strings_.size(), "string")]; }

  void read_dialects(ByteReader in) {
    for (uint64_t left = in.count("dialects"); left-- > 0;) {
      const uint64_t value = in.number();
      if (value >> 1 >= strings_.size()) ir::invalid("bytecode: a dialect's name is string {}", value >> 1);
      dialects_.push_back(strings_[value >> 1]);
      if (value & 1) (void)in.section();  // its version
    }
    (void)in.number();  // of all names
    while (in.left() != 0) {
      const uint32_t dialect = in.index(dialects_.size(), "dialect");
      for (uint64_t left = in.count("operators' names"); left-- > 0;) {
        const uint64_t value = in.number();
        if (value >> 1 >= strings_.size()) ir::invalid("bytecode: an operator's name is string {}", value >> 1);
        names_.push_back({dialect, strings_[value >> 1], (value & 1) != 0});
      }
    }
  }

  void read_properties(ByteReader in) {
    for (uint64_t left = in.count("properties"); left-- > 0;) {
      const uint64_t size = in.number(), begin = in.offset();
      properties_.emplace_back(in.take(size), begin);
    }
  }

  void read_types_and_attributes(ByteReader offsets, ByteReader in) {
    // An entry takes at least a bit of a byte: the group's count cannot be checked by its bytes, the number of all can.
    const uint64_t attributes = offsets.number(), types = offsets.number();
    std::vector<Entry> entries;
    const auto read = [&](uint64_t count, const char* what) {
      entries.clear();
      while (entries.size() < count) {
        const uint32_t dialect = offsets.index(dialects_.size(), "dialect");
        for (uint64_t left = offsets.count(what); left-- > 0;) {
          const uint64_t value = offsets.number(), begin = in.offset();
          entries.push_back({ByteReader(in.take(value >> 1), begin), dialect, (value & 1) != 0});
        }
        if (offsets.left() == 0 && entries.size() < count)
          ir::invalid("bytecode: {} {}; there are {}", count, what, entries.size());
      }
    };
    // Attributes come first, and some of them are read by their types.
    read(attributes, "attributes");
    const std::vector<Entry> attribute_entries = std::move(entries);
    read(types, "types");
    program_.types.resize(entries.size());
    for (size_t i = 0; i < entries.size(); i++) program_.types[i] = read_type(entries[i]);
    for (const auto& type : program_.types) check(type);
    program_.attributes.resize(attribute_entries.size());
    for (size_t i = 0; i < attribute_entries.size(); i++) program_.attributes[i] = read_attribute(attribute_entries[i]);
  }

  TypeIndex type_index(ByteReader& in) const { return in.index(program_.types.size(), "type"); }
  AttributeIndex attribute_index(ByteReader& in) const { return in.index(program_.attributes.size(), "attribute"); }
  std::vector<TypeIndex> type_list(ByteReader& in) const {
    std::vector<TypeIndex> list(in.count("types"));
    for (auto& type : list) type = type_index(in);
    return list;
  }

  [[nodiscard]] Type read_type(const Entry& entry) const {
    Type type;
    if (!entry.encoded) return type;
    ByteReader in = entry.bytes;
    type.code = in.number();
    const auto tensor = [&] {
      type.kind = Type::Kind::kTensor;
      type.dims.resize(in.count("dimensions"));
      for (auto& d : type.dims) d = in.signed_number();
      type.element = type_index(in);
    };
    if (dialects_[entry.dialect] == "builtin") {
      if (type.code == builtin::kRankedTensor) tensor();
      return type;
    }
    if (dialects_[entry.dialect] != "vhlo") return type;
    switch (type.code) {
      case vhlo::kRankedTensorWithEncoding:
        (void)attribute_index(in);
        [[fallthrough]];
      case vhlo::kRankedTensor:
        tensor();
        break;
      case vhlo::kFunction:
        type.kind = Type::Kind::kFunction;
        type.inputs = type_list(in);
        type.results = type_list(in);
        break;
      case vhlo::kToken:
        type.kind = Type::Kind::kToken;
        break;
      default:
        if (vhlo::element_of(type.code) || vhlo::bits_of(type.code) != 0) type.kind = Type::Kind::kElement;
        break;
    }
    return type;
  }
  void check(const Type& type) const {
    if (type.kind != Type::Kind::kTensor) return;
    if (type.dims.size() > ir::kMaxRank)
      ir::unsupported("a tensor of {} dimensions; supported: {}", type.dims.size(), ir::kMaxRank);
  }

  /// An integer of a known number of bits.
  static int64_t integer(ByteReader& in, uint32_t bits) {
    return bits <= 8 ? static_cast<int64_t>(in.byte()) : in.signed_number();
  }

  Attribute read_attribute(const Entry& entry) const {
    if (!entry.encoded) return {};
    ByteReader in = entry.bytes;
    const uint64_t code = in.number();
    if (dialects_[entry.dialect] == "builtin") return read_builtin(code, in);
    if (dialects_[entry.dialect] == "vhlo") return read_vhlo(code, in);
    if (dialects_[entry.dialect] == "sdy") return read_sdy(code, in);
    return {};
  }

  /// What stands behind the fields that are read says how open a sharding is, which is nothing to a program that is
  /// not partitioned.
  Attribute read_sdy(uint64_t code, ByteReader& in) const {
    using enum Attribute::Kind;
    switch (code) {
      case sdy::kManualAxes:
      case sdy::kDimension:
      case sdy::kShardings:
      case sdy::kUnreducedShardings:
        return array(in);
      case sdy::kMeshAxis: {
        Attribute made{.kind = kText, .text = string(in)};
        made.integer = in.signed_number();
        return made;
      }
      case sdy::kMesh: {
        Attribute made = array(in);
        made.devices.resize(in.count("devices"));
        for (auto& device : made.devices) device = in.signed_number();
        return made;
      }
      case sdy::kAxis: {
        Attribute made{.kind = kText, .text = string(in)};
        made.integer = static_cast<int64_t>(in.number() & 1);
        return made;
      }
      case sdy::kSharding:
      case sdy::kUnreducedSharding: {
        const AttributeIndex mesh = attribute_index(in);
        Attribute made = array(in);
        made.elements.insert(made.elements.begin(), mesh);
        if (code == sdy::kUnreducedSharding)
          (void)array(in), made.unreduced = array(in).elements;  // behind copies' axes
        return made;
      }
      default:
        return {};
    }
  }

  Attribute array(ByteReader& in) const {
    Attribute made{.kind = Attribute::Kind::kArray};
    made.elements.resize(in.count("elements"));
    for (auto& element : made.elements) element = attribute_index(in);
    return made;
  }
  Attribute dictionary(ByteReader& in) const {
    Attribute made{.kind = Attribute::Kind::kDictionary};
    for (uint64_t left = in.count("entries"); left-- > 0;) {
      const auto name = attribute_index(in);
      made.entries.emplace_back(name, attribute_index(in));
    }
    return made;
  }

  Attribute read_builtin(uint64_t code, ByteReader& in) const {
    using enum Attribute::Kind;
    switch (code) {
      case builtin::kArray:
        return array(in);
      case builtin::kDictionary:
        return dictionary(in);
      case builtin::kString:
      case builtin::kTypedString:
        return {.kind = kText, .text = string(in)};
      case builtin::kSymbol:
        return {.kind = kArray, .elements = {attribute_index(in)}};
      case builtin::kType:
        return {.kind = kType, .type = type_index(in)};
      case builtin::kUnit:
        return {.kind = kUnit};
      case builtin::kCallSite:
        return {.kind = kLocation, .elements = {attribute_index(in), attribute_index(in)}};
      case builtin::kFileLine: {
        Attribute made{.kind = kLocation};
        made.elements = {attribute_index(in)};
        made.integer = static_cast<int64_t>(in.number());
        return made;
      }
      case builtin::kFileLineRange: {
        Attribute made{.kind = kLocation};
        made.elements = {attribute_index(in)};
        const uint64_t numbers = in.count("numbers");
        if (numbers != 0) made.integer = static_cast<int64_t>(in.number());
        return made;
      }
      case builtin::kFused: {
        Attribute made = array(in);
        made.kind = kLocation;
        return made;
      }
      case builtin::kNamed: {
        (void)attribute_index(in);  // the name of the JAX function
        return {.kind = kLocation, .elements = {attribute_index(in)}};
      }
      default:
        return {};
    }
  }

  /// The bits of an element type that an attribute names; refuses what is no element.
  uint32_t bits_of(TypeIndex index) const {
    const Type& type = program_.types[index];
    const uint32_t bits = type.kind == Type::Kind::kElement ? vhlo::bits_of(type.code) : 0;
    if (bits == 0) ir::invalid("bytecode: a number of type {}, which is no element type", type.code);
    return bits;
  }

  Attribute read_vhlo(uint64_t code, ByteReader& in) const {
    using enum Attribute::Kind;
    switch (code) {
      case vhlo::kArray:
        return array(in);
      case vhlo::kDictionary:
        return dictionary(in);
      case vhlo::kBoolean:
      case vhlo::kComparisonDirection:
      case vhlo::kComparisonType:
      case vhlo::kCustomCallApiVersion:
      case vhlo::kFftType:
      case vhlo::kPrecision:
      case vhlo::kRngAlgorithm:
      case vhlo::kRngDistribution:
      case vhlo::kTranspose:
        return {.kind = kInteger, .integer = static_cast<int64_t>(in.number())};
      case vhlo::kInteger: {
        const TypeIndex type = type_index(in);
        int64_t value = integer(in, bits_of(type));
        if (program_.types[type].code == vhlo::kI8) value = static_cast<int8_t>(value);
        return {.kind = kInteger, .integer = value, .type = type};
      }
      case vhlo::kFloat: {
        const TypeIndex type = type_index(in);
        const int64_t bits = integer(in, bits_of(type));
        Attribute made{.kind = kFloat, .type = type};
        made.number = vhlo::float_of(program_.types[type].code, static_cast<uint64_t>(bits));
        return made;
      }
      case vhlo::kString:
        return {.kind = kText, .text = string(in)};
      case vhlo::kTensorAttribute: {
        Attribute made{.kind = kTensor, .type = type_index(in)};
        const auto bytes = in.take(in.number());
        made.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return made;
      }
      case vhlo::kTypeAttribute:
        return {.kind = kType, .type = type_index(in)};
      default:
        return {};
    }
  }

  /// Values that operations may name: those of the regions around, up to the nearest one that sees nothing from
  /// outside.
  struct Scope {
    std::vector<ValueNumber> values;
    size_t next = 0;  ///< that an operation computes
  };
  ValueNumber define(Scope& scope) {
    if (scope.next >= scope.values.size()) ir::invalid("bytecode: a region has more values than it tells");
    return scope.values[scope.next++];
  }

  void pass_use_order(ByteReader& in, uint64_t values) const {
    uint64_t lists = values > 1 ? in.count("orders of uses") : 1;
    while (lists-- > 0) {
      if (values > 1) (void)in.number();
      const uint64_t head = in.number();
      for (uint64_t left = head >> 1; left-- > 0;) (void)in.number();
    }
  }

  void read_block(ByteReader& in, Block& block, Scope& scope, int depth) {
    const uint64_t head = in.number();
    if (head & 1) {
      for (uint64_t left = in.count("arguments"); left-- > 0;) {
        const uint64_t type = in.number();
        if (type >> 1 >= program_.types.size()) ir::invalid("bytecode: type {}", type >> 1);
        if (type & 1) (void)attribute_index(in);
        block.argument_types.push_back(static_cast<TypeIndex>(type >> 1));
        block.arguments.push_back(define(scope));
      }
      if (in.byte() != 0) pass_use_order(in, block.arguments.size());
    }
    for (uint64_t left = head >> 1; left-- > 0;) block.operations.push_back(read_operation(in, scope, depth));
  }

  void read_region(ByteReader& in, Operation& op, Scope& scope, int depth) {
    const uint64_t blocks = in.number();
    op.regions.emplace_back();
    if (blocks == 0) return;
    if (blocks != 1) ir::unsupported("{}.{}: a region of {} blocks; supported: 1", op.dialect, op.name, blocks);
    const uint64_t count = in.number();
    // A result or an argument takes a byte at least.
    if (count > in.left() || next_value_ + count > kMaxValues)
      ir::invalid("bytecode: {} values in a region of {} bytes", count, in.left());
    const size_t outer = scope.values.size(), outer_next = scope.next;
    scope.next = outer;
    for (uint64_t i = 0; i < count; i++) scope.values.push_back(next_value_++);
    Block block;
    read_block(in, block, scope, depth);
    scope.values.resize(outer);
    scope.next = outer_next;
    op.regions.back() = std::move(block);
  }

  void add_dictionary(Operation& op, AttributeIndex index) const {
    for (const auto& [name, value] : program_.attributes[index].entries)
      op.attributes[program_.attributes[name].text] = value;
  }

  void read_properties_of(Operation& op, const OperationName& name, uint64_t index) const {
    if (!name.registered) {
      if (index >= program_.attributes.size()) ir::invalid("bytecode: attribute {}", index);
      return add_dictionary(op, static_cast<AttributeIndex>(index));
    }
    if (index >= properties_.size()) ir::invalid("bytecode: properties {} of {}", index, properties_.size());
    ByteReader in = properties_[index];
    if (op.dialect == "vhlo") {
      const auto* names = properties_of(op.name);
      if (names == nullptr) ir::unsupported("the operator vhlo.{} is not known", op.name);
      for (const auto property : *names) op.attributes[std::string(property)] = attribute_index(in);
    } else if (op.dialect == "sdy") {
      static const std::map<std::string_view, std::vector<const char*>> kKnown{
          {"manual_computation", {"in_shardings", "manual_axes", "out_shardings"}},
          {"mesh", {"mesh", "sym_name"}},
          {"sharding_constraint", {"sharding"}}};
      if (const auto known = kKnown.find(op.name); known != kKnown.end())
        for (const char* property : known->second) op.attributes[property] = attribute_index(in);
    } else if (op.dialect == "builtin" && op.name == "module") {
      for (const char* property : {"sym_name", "sym_visibility"}) {  // each may be absent
        const uint64_t value = in.number();
        if ((value & 1) != 0 && value >> 1 < program_.attributes.size())
          op.attributes[property] = static_cast<AttributeIndex>(value >> 1);
      }
    }
  }

  Operation read_operation(ByteReader& in, Scope& scope, int depth) {
    if (depth > kMaxDepth) ir::unsupported("more than {} regions in one another", kMaxDepth);
    const OperationName& name = names_[in.index(names_.size(), "operator")];
    Operation op;
    op.dialect = dialects_[name.dialect];
    op.name = name.name;
    enum : uint8_t {
      kAttributes = 1,
      kResults = 2,
      kOperands = 4,
      kSuccessors = 8,
      kRegions = 16,
      kUses = 32,
      kProperty = 64
    };
    const uint8_t mask = in.byte();
    op.location = attribute_index(in);
    if (mask & kAttributes) add_dictionary(op, attribute_index(in));
    if (mask & kProperty) read_properties_of(op, name, in.number());
    if (mask & kResults)
      for (uint64_t left = in.count("results"); left-- > 0;) {
        op.result_types.push_back(type_index(in));
        op.results.push_back(define(scope));
      }
    if (mask & kOperands)
      for (uint64_t left = in.count("operands"); left-- > 0;)
        op.operands.push_back(scope.values[in.index(scope.values.size(), "value")]);
    if (mask & kSuccessors) ir::unsupported("{}.{}: jumps to other blocks", op.dialect, op.name);
    if (mask & kUses) pass_use_order(in, op.results.size());
    if (mask & kRegions) {
      const uint64_t head = in.number();
      std::optional<ByteReader> section;
      for (uint64_t left = head >> 1; left-- > 0;) {
        if ((head & 1) == 0) {
          read_region(in, op, scope, depth + 1);
          continue;
        }
        if (!section) section = in.section().content;
        Scope inside;
        read_region(*section, op, inside, depth + 1);
      }
    }
    return op;
  }

  Program program_;
  std::vector<std::string> strings_, dialects_;
  std::vector<OperationName> names_;
  std::vector<ByteReader> properties_;
  ValueNumber next_value_ = 0;
};

}  // namespace

Result<Program> read_program(std::span<const std::byte> bytes) {
  return ir::guarded([&] { return Reader().run(bytes); });
}

}  // namespace weft::compiler::stablehlo
