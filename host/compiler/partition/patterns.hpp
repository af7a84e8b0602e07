/// Operators with regions that a device program has, told by what their regions compute; private to partition/.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler {

enum class Extreme : uint8_t { kLargest, kSmallest };

/// A reduce_by that looks for the largest or the smallest element along one dimension, the first of them or the first
/// NaN, and tells it and its place: JAX's argmax and argmin. Nothing: it does something else.
[[nodiscard]] std::optional<Extreme> search_of(const ir::Module& module, const ir::Op& op);

/// A select_and_scatter that sums up sources where the first largest or smallest element of each window is. Nothing: it
/// does something else.
[[nodiscard]] std::optional<Extreme> window_scatter_of(const ir::Module& module, const ir::Op& op);

/// An index of gather, scatter, dynamic_slice or dynamic_update_slice: which dimension of the operand it counts along,
/// and how far it goes there.
struct PlaceComponent {
  size_t dimension = 0;
  uint64_t choices = 0;  ///< places at which the window begins within the operand
  bool computed = false;
  size_t operand = 0;              ///< of the operator, which has it
  std::vector<uint32_t> elements;  ///< of this operand, by window
};

/// The places of such an operator: constants as they are, and what is computed.
struct Places {
  uint64_t batch = 1, batch_columns = 1;  ///< windows, and those of their last dimension
  std::vector<PlaceComponent> components;
  std::vector<int64_t> first;    ///< by element of the result (of scatter: of the updates), which element of
                                 ///< the operand it is where all computed components are 0; -1: beside it
  std::vector<uint32_t> window;  ///< by the same, in which window it is

  [[nodiscard]] std::vector<const PlaceComponent*> computed() const;
};

/// Nothing: indices that are put together in another way than by a concatenation of their components.
[[nodiscard]] std::optional<Places> places_of(const ir::Module& module, const ir::Op& op);

/// Whether a gather takes whole rows of a table, by one computed index each, that lies in memory: an input or a constant,
/// of f32 or words.
[[nodiscard]] bool takes_rows(const ir::Module& module, const ir::Op& op, const Places& places);

/// For each element of a scatter's operand, which element of the updates may be written to it, and for which place.
struct Writers {
  std::vector<int64_t> update;  ///< -1: none
  std::vector<float> choice;    ///< -1: none
};
/// Nothing: several updates may be written to one element. Of one computed component at most.
[[nodiscard]] std::optional<Writers> writers_of(const ir::Module& module, const ir::Op& op, const Places& places);

/// Why a device program does not have a gather, scatter, dynamic_slice or dynamic_update_slice with computed places;
/// empty: it has. At most `most` elements are compared with places.
[[nodiscard]] std::string refusal_of_places(const ir::Module& module, const ir::Op& op, uint64_t most);

/// Of a product whose rows of the first operand are exponentials that are divided by their sums: what is divided.
/// Nothing: it is no such product.
[[nodiscard]] std::optional<ir::ValueId> divided_by_its_sums(const ir::Module& module, const ir::Op& product);

}  // namespace weft::compiler
