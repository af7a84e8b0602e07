/// Options that several subcommands share.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/onnx/importer.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/runtime/session.hpp"

namespace CLI {
class App;
}

namespace weft::tools {

/// Adds --chip, --core, --manager, --socket, --open, --wave, --wave-from, --wave-to, --trace, each with its default
/// shown.
void add_target_options(CLI::App& app, runtime::Target& target);

/// What runs the firmware of a simulator that is started with this --manager (empty: not given): "native", "rv32" or
/// "ibex". WEFT_MANAGER overrides it.
[[nodiscard]] std::string manager_of(const std::string& wanted);
/// The same of a target; "attached" if its simulator runs already, which does not tell.
[[nodiscard]] std::string manager_of(const runtime::Target& target);
/// INVALID_ARGUMENT: --manager names none.
[[nodiscard]] Status check_manager(const std::string& manager);

/// Of a command that shows what happens between two samples, once or again and again.
struct WatchOptions {
  double interval_seconds = 0.2;
  double watch_seconds = 0;  ///< 0: once
  uint32_t count = 0;        ///< shown so many times; 0: without end
};
/// Adds --interval, --watch and --count. `sampled`: what the samples are of.
void add_watch_options(CLI::App& app, WatchOptions& options, std::string_view sampled);

/// INVALID_ARGUMENT if the preset, the core or a combination does not exist; the message lists what does.
[[nodiscard]] Status check_target(const runtime::Target& target);

/// INVALID_ARGUMENT: `word` is no `what`, which is one of `words`.
[[nodiscard]] Error no_such_word(std::string_view what, std::string_view word, const std::vector<std::string>& words);

/// What a word of the command line stands for, or no_such_word().
template <typename Value>
[[nodiscard]] Result<Value> value_of_word(std::string_view what, const std::string& word,
                                          const std::map<std::string, Value>& values) {
  if (const auto found = values.find(word); found != values.end()) return found->second;
  std::vector<std::string> words;
  for (const auto& [name, value] : values) words.push_back(name);
  return no_such_word(what, word, words);
}

/// Adds --loops: whether equal layers become a loop.
void add_loops_option(CLI::App& app, std::string& loops);
/// What a value that the option takes stands for.
[[nodiscard]] compiler::tiles::Loops loops_of(const std::string& word);

/// Adds --precision: how many products of bf16 stand for one of f32.
void add_precision_option(CLI::App& app, std::string& precision);
/// What a value that the option takes stands for.
[[nodiscard]] compiler::frontend::Precision precision_of(const std::string& word);

/// The preset, or an error that lists all of them.
[[nodiscard]] Result<const spec::Chip*> chip_by_name(const std::string& name);

}  // namespace weft::tools
