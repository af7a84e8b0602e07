// weft disasm: what an executable holds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/formats/disassembly.hpp"
#include "host/tools/formats/files.hpp"

namespace weft::tools {
namespace {

int disasm(const std::string& path, bool json) {
  const auto file = read_file(path);
  if (!file.ok()) return fail(file.error());
  const auto text = json ? disassemble_json(file.value()) : disassemble(file.value());
  if (!text.ok()) return fail({text.error().code, fmt::format("{}: {}", path, text.error().message)});
  fmt::print("{}", text.value());
  return 0;
}

}  // namespace

void register_disasm(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("disasm", "print the commands of a .weft executable");
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("FILE", *path, ".weft file")->required();
  command->add_flag("--json", *json, "print JSON");
  command->callback([path, json, &action] { action = [path, json] { return disasm(*path, *json); }; });
}

}  // namespace weft::tools
