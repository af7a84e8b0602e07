/// A StableHLO program as a portable artifact holds it: MLIR bytecode of the VHLO dialect, read and not yet understood.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/ir/tensor.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::stablehlo {

/// Index into Program::types or Program::attributes.
using TypeIndex = uint32_t;
using AttributeIndex = uint32_t;
/// A value of the program; each has one number, whatever its region.
using ValueNumber = uint32_t;

struct Type {
  enum class Kind : uint8_t { kElement, kTensor, kFunction, kToken, kOther };
  Kind kind = Kind::kOther;
  uint64_t code = 0;                       ///< VHLO's code of a type; of elements: see element_of
  ir::Dims dims;                           ///< of a tensor
  TypeIndex element = 0;                   ///< of a tensor
  std::vector<TypeIndex> inputs, results;  ///< of a function
};

struct Attribute {
  enum class Kind : uint8_t { kOther, kUnit, kArray, kDictionary, kInteger, kFloat, kText, kTensor, kType, kLocation };
  Kind kind = Kind::kOther;
  int64_t integer = 0;  ///< of an integer, a bool (0 or 1), or the number of an enumerator; a line of a location; the
                        ///< size of a mesh's axis; 1: part of an axis
  double number = 0;    ///< of a float
  std::string text;     ///< of a text; the name of a location; the bytes of a tensor's elements, or of one for all
  TypeIndex type = 0;   ///< of a tensor or of a type
  /// Of an array; parts of a location; a symbol's name; axes of a mesh or a dimension; a sharding's mesh, then its
  /// dimensions.
  std::vector<AttributeIndex> elements;
  std::vector<AttributeIndex> unreduced;                           ///< of a sharding: axes whose parts make a sum
  std::vector<int64_t> devices;                                    ///< of a mesh, if they are not counted up
  std::vector<std::pair<AttributeIndex, AttributeIndex>> entries;  ///< of a dictionary: names and values
};

struct Operation;

/// The only block of a region.
struct Block {
  std::vector<ValueNumber> arguments;
  std::vector<TypeIndex> argument_types;
  std::vector<Operation> operations;
};

struct Operation {
  std::string dialect, name;  ///< "vhlo", "add_v1"
  AttributeIndex location = 0;
  std::map<std::string, AttributeIndex, std::less<>> attributes;
  std::vector<ValueNumber> operands, results;
  std::vector<TypeIndex> result_types;
  std::vector<Block> regions;
};

struct Program {
  std::string producer;  ///< "StableHLO_v1.13.3"
  std::vector<Type> types;
  std::vector<Attribute> attributes;
  std::vector<Operation> operations;  ///< of the file: the module

  /// The value of a named attribute; null: the operation has none of this name.
  [[nodiscard]] const Attribute* find(const Operation& op, std::string_view name) const;
  /// "file.py:12" of the innermost place that the program tells for an operation; empty: it tells none.
  [[nodiscard]] std::string place_of(const Operation& op) const;
};

/// Reads bytecode of version 6, as jaxlib writes portable artifacts. INVALID_ARGUMENT: the bytes break a rule of the
/// format. UNSUPPORTED: another version, an operator of VHLO whose properties are not known.
[[nodiscard]] Result<Program> read_program(std::span<const std::byte> bytes);

/// The names of an operator's properties in the order of the bytecode; null: the operator is not known.
[[nodiscard]] const std::vector<std::string_view>* properties_of(std::string_view name);

}  // namespace weft::compiler::stablehlo
