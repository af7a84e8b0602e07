/// The checks of a control list: pure functions on its parts, of which a host may have written anything.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"
#include "weft/spec/spec.h"

namespace weft::fw {

/// A list's sizes, which its header told and check_control_header() has taken. `at`: its offset in the program's image,
/// which the offsets in refusals count from.
struct ControlShape {
  uint64_t at;
  uint16_t entries, blocks, bindings, arguments;
  bool scratch;  ///< the launch has scratch memory

  constexpr uint32_t blocks_at() const { return static_cast<uint32_t>(sizeof(weft_control_header)); }
  constexpr uint32_t bindings_at() const {
    return blocks_at() + blocks * static_cast<uint32_t>(sizeof(weft_control_block));
  }
  constexpr uint32_t entries_at() const {
    return bindings_at() + bindings * static_cast<uint32_t>(sizeof(weft_control_binding));
  }
  constexpr uint32_t end() const { return entries_at() + entries * static_cast<uint32_t>(sizeof(weft_control_entry)); }
};

/// What a binding is used for.
enum class BindingUse : uint8_t { kSegment, kWord };

/// Sizes of the list of kernel `kernel`, whose image gives it `bytes` at shape->at. Sets the shape's counts.
/// EXECUTABLE_INVALID {byte offset in the image, value found}, as all that follow.
Status check_control_header(const weft_control_header& header, uint32_t kernel, uint64_t bytes, ControlShape* shape);

/// Every entry by itself, and that LOOP, WHILE, IF, ELSE and END nest.
Status check_control_entries(const ControlShape& shape, const weft_control_entry* entries);

/// Block `index` of a program with `commands` commands.
Status check_control_block(const ControlShape& shape, uint32_t index, const weft_control_block& block,
                           uint32_t commands);

/// Binding `index` by itself, its argument apart.
Status check_control_binding(const ControlShape& shape, const weft_control_entry* entries, uint32_t index,
                             const weft_control_binding& binding, BindingUse use);

/// The binding, which check_control_binding() has taken, keeps within an argument of `bytes` in every turn.
/// INVALID_ARGUMENT {byte offset of the size in the image, bytes that the argument would need; all ones: it begins
/// before the argument, or reaches beyond what 62 bits can say}.
Status check_control_window(const ControlShape& shape, const weft_control_entry* entries, uint32_t index,
                            const weft_control_binding& binding, uint64_t bytes);

}  // namespace weft::fw
