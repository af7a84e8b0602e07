// Callbacks: values to the host's program and back.
#include "host/compiler/reference/callbacks.hpp"

#include <utility>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {
namespace {

thread_local Callbacks* current = nullptr;

}  // namespace

Callbacks::Scope::Scope(Callbacks* callbacks) : before_(std::exchange(current, callbacks)) {}
Callbacks::Scope::~Scope() { current = before_; }

Callbacks* Callbacks::of_thread() { return current; }

Results callback(const ir::Op& op, const Operands& in, const ir::Types& out) {
  if (current == nullptr) ir::unsupported("callback {}: there is no program to call", op.integer("number"));
  std::vector<std::shared_ptr<ir::Tensor>> results;
  for (size_t i = 1; i < out.size(); i++) results.push_back(make(out[i]));
  current->call(op, {in.begin() + 1, in.end()}, results);
  Results all{make(out[0])};
  all.insert(all.end(), results.begin(), results.end());
  return all;
}

}  // namespace weft::compiler::reference
