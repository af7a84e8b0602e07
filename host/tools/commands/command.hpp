/// The subcommands of weft. Each registers itself with its options; its result is the exit code of the program.
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace weft::tools {

/// A subcommand sets `action`, which is run after parsing, while the app is still there.
using Action = std::function<int()>;

void register_build_chip(CLI::App& app, Action& action);
void register_gemm(CLI::App& app, Action& action);
void register_compile(CLI::App& app, Action& action);
void register_bench(CLI::App& app, Action& action);
void register_plan(CLI::App& app, Action& action);
void register_run(CLI::App& app, Action& action);
void register_disasm(CLI::App& app, Action& action);
void register_info(CLI::App& app, Action& action);
void register_inject(CLI::App& app, Action& action);
void register_list(CLI::App& app, Action& action);
void register_collective(CLI::App& app, Action& action);
void register_reset(CLI::App& app, Action& action);
void register_selftest(CLI::App& app, Action& action);
void register_dump(CLI::App& app, Action& action);
void register_links(CLI::App& app, Action& action);
void register_preflight(CLI::App& app, Action& action);
void register_smi(CLI::App& app, Action& action);
void register_replay(CLI::App& app, Action& action);
void register_trace(CLI::App& app, Action& action);

}  // namespace weft::tools
