/// Arrays of a Verilated model that are public to it, found by their names.
#pragma once
#include <verilated.h>
#include <verilated_sym_props.h>

#include <cstddef>
#include <string>

namespace weft::core {

/// Elements lie one after the other, each as Verilator keeps it: in 1, 2, 4 or 8 bytes, or in words of 4.
struct ModelArray {
  std::byte* data = nullptr;
  size_t elements = 0;
};

/// The array `name` of the instance `scope`, which starts with the name that the model was given. `data` is null if
/// there is none. Does not own it: the model does.
[[nodiscard]] inline ModelArray find_array(const VerilatedContext& context, const std::string& scope,
                                           const char* name) {
  const VerilatedScope* found = context.scopeFind(scope.c_str());
  VerilatedVar* array = found == nullptr ? nullptr : found->varFind(name);
  if (array == nullptr) return {};
  return {static_cast<std::byte*>(array->datap()), static_cast<size_t>(array->unpacked().elements())};
}

}  // namespace weft::core
