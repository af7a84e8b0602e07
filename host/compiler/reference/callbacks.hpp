/// Who calls the host's program for callbacks.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "host/compiler/ir/op.hpp"

namespace weft::compiler::reference {

/// Calls functions of the program that has made the module. Threads of several devices may call at once.
class Callbacks {
 public:
  virtual ~Callbacks() = default;
  /// Fills the results. Gives up by ir::Refusal, with what the function says.
  virtual void call(const ir::Op& callback, const std::vector<ir::TensorPtr>& operands,
                    const std::vector<std::shared_ptr<ir::Tensor>>& results) = 0;

  /// While it lives, callbacks of this thread go to `callbacks`; null: they are refused.
  class Scope {
   public:
    explicit Scope(Callbacks* callbacks);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Callbacks* const before_;
  };
  /// Those of this thread; null: none.
  [[nodiscard]] static Callbacks* of_thread();
};

}  // namespace weft::compiler::reference
