// Sets of collectives, handed on from operand to result, and back.
#include "host/compiler/partition/around_collectives.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace weft::compiler {
namespace {

constexpr size_t kMostCollectives = 1024;  // more are a program whose sets are large, and are not looked at
constexpr size_t kBits = 64;

}  // namespace

AroundCollectives::AroundCollectives(const ir::Module& module, const std::vector<uint32_t>& collectives)
    : module_(&module) {
  if (collectives.empty() || collectives.size() > kMostCollectives) return;
  words_ = (collectives.size() + kBits - 1) / kBits;
  const auto& ops = module.ops();
  before_.resize(ops.size() * words_);
  behind_.resize(ops.size() * words_);
  std::vector<size_t> number(ops.size(), collectives.size());
  for (size_t i = 0; i < collectives.size(); i++) number[collectives[i]] = i;
  const auto pass = [&](std::vector<uint64_t>& sets, uint32_t from, uint32_t to) {
    for (size_t w = 0; w < words_; w++) sets[to * words_ + w] |= sets[from * words_ + w];
    if (number[from] != collectives.size()) sets[to * words_ + number[from] / kBits] |= 1ull << number[from] % kBits;
  };
  for (uint32_t i = 0; i < ops.size(); i++)
    for (const auto operand : ops[i].operands) pass(before_, module.value(operand).op, i);
  for (auto i = static_cast<uint32_t>(ops.size()); i-- > 0;)
    for (const auto operand : ops[i].operands) pass(behind_, i, module.value(operand).op);
}

AroundCollectives::Key AroundCollectives::key(uint32_t op) const {
  const auto at = static_cast<std::ptrdiff_t>(op * words_), words = static_cast<std::ptrdiff_t>(words_);
  Key key(before_.begin() + at, before_.begin() + at + words);
  key.insert(key.end(), behind_.begin() + at, behind_.begin() + at + words);
  return key;
}

std::map<uint32_t, AroundCollectives::Key> AroundCollectives::keys(const std::vector<uint32_t>& ops,
                                                                   const std::function<bool(uint32_t)>& moves) const {
  std::map<uint32_t, std::vector<uint32_t>> readers;
  for (const uint32_t op : ops) readers[op];
  for (uint32_t i = 0; i < module_->ops().size(); i++)
    for (const auto operand : module_->ops()[i].operands)
      if (const auto found = readers.find(module_->value(operand).op); found != readers.end())
        found->second.push_back(i);
  std::set<uint32_t> kept;
  for (const auto& output : module_->outputs) kept.insert(module_->value(output.value).op);
  std::map<uint32_t, Key> keys;
  for (auto op = readers.rbegin(); op != readers.rend(); ++op) {
    const auto [number, of] = *op;
    std::set<Key> read;
    for (const uint32_t reader : of) read.insert(keys.contains(reader) ? keys.at(reader) : Key{});
    const bool joins = moves(number) && !kept.contains(number) && read.size() == 1 && !read.begin()->empty();
    keys[number] = joins ? *read.begin() : key(number);
  }
  return keys;
}

std::vector<std::vector<uint32_t>> AroundCollectives::groups(const std::vector<uint32_t>& ops,
                                                             const std::function<bool(uint32_t)>& worth,
                                                             const std::function<bool(uint32_t)>& moves) const {
  const auto keys_of = keys(ops, moves);
  std::map<Key, size_t> known;
  struct Group {
    std::vector<uint32_t> ops;
    int place = 0;  // what a group reads has fewer before it and more behind it
    bool worth = false;
  };
  std::vector<Group> groups;
  for (const uint32_t op : ops) {
    const Key& own = keys_of.at(op);
    const auto [found, fresh] = known.try_emplace(own, groups.size());
    if (fresh) {
      Group& group = groups.emplace_back();
      for (size_t w = 0; w < own.size(); w++) group.place += (w < words_ ? 1 : -1) * std::popcount(own[w]);
    }
    groups[found->second].ops.push_back(op);
    groups[found->second].worth |= worth(op);
  }
  std::ranges::stable_sort(groups, {}, &Group::place);
  constexpr size_t kOutside = SIZE_MAX;
  std::vector<size_t> group_of(module_->ops().size(), kOutside);
  for (size_t g = 0; g < groups.size(); g++)
    for (const uint32_t op : groups[g].ops) group_of[op] = g;
  std::vector<std::set<size_t>> readers(groups.size());
  for (uint32_t i = 0; i < group_of.size(); i++)
    for (const auto operand : module_->ops()[i].operands)
      if (const size_t from = group_of[module_->value(operand).op]; from != kOutside && from != group_of[i])
        readers[from].insert(group_of[i]);
  // From the last one on: what joins a group has no other reader, so nothing comes to stand between the two.
  for (size_t g = groups.size(); g-- > 0;) {
    std::set<size_t> now;
    for (const size_t reader : readers[g]) now.insert(reader == kOutside ? reader : group_of[groups[reader].ops[0]]);
    if (groups[g].worth || now.size() != 1 || *now.begin() == kOutside) continue;
    Group& to = groups[*now.begin()];
    for (const uint32_t op : groups[g].ops) group_of[op] = *now.begin();
    to.ops.insert(to.ops.end(), groups[g].ops.begin(), groups[g].ops.end());
  }
  std::vector<std::vector<uint32_t>> sorted;
  for (size_t g = 0; g < groups.size(); g++) {
    if (group_of[groups[g].ops[0]] != g) continue;
    std::ranges::sort(groups[g].ops);
    sorted.push_back(std::move(groups[g].ops));
  }
  return sorted;
}

}  // namespace weft::compiler
