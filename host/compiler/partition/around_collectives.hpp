/// Which operators do not need each other because of a collective: what one waits for and another does not, or what it
/// waits for, can run beside it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler {

/// By operator of a module, the collectives before it and behind it.
class AroundCollectives {
 public:
  /// `collectives`: operators that are worth a program beside them.
  AroundCollectives(const ir::Module& module, const std::vector<uint32_t>& collectives);

  [[nodiscard]] bool empty() const { return words_ == 0; }

  /// Operators that have the same collectives before and behind them, together and ascending; each group behind those
  /// that it reads. What only `moves` elements is with what reads it, if that is in one group. A group that no operator is
  /// `worth` a program in joins the one that alone reads it. `ops`: without a collective between one of them and another.
  [[nodiscard]] std::vector<std::vector<uint32_t>> groups(const std::vector<uint32_t>& ops,
                                                          const std::function<bool(uint32_t)>& worth,
                                                          const std::function<bool(uint32_t)>& moves) const;

 private:
  using Key = std::vector<uint64_t>;
  [[nodiscard]] Key key(uint32_t op) const;
  [[nodiscard]] std::map<uint32_t, Key> keys(const std::vector<uint32_t>& ops,
                                             const std::function<bool(uint32_t)>& moves) const;

  const ir::Module* module_;
  size_t words_ = 0;                       ///< of a set
  std::vector<uint64_t> before_, behind_;  ///< sets, by operator
};

}  // namespace weft::compiler
