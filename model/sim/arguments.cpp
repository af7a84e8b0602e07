// The options, and which of them go together.
#include "model/sim/arguments.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>

#include "model/ici/slice.hpp"
#include "model/sim/ending.hpp"
#include "model/sim/simulated.hpp"

namespace weft::sim {
namespace {

/// By name or number.
std::optional<gid_t> find_group(const std::string& name) {
  if (const group* known = ::getgrnam(name.c_str())) return known->gr_gid;
  gid_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<Arguments> parse_arguments(int argc, char** argv, int& exit_code) {
  Arguments arguments;
  CLI::App app{"Simulates a Weft chip, or all chips of a slice, and serves their PCIe functions over vfio-user."};
  auto* chip = app.add_option("--chip", arguments.chip, "preset: " + chip_names());
  auto* slice = app.add_option("--slice", arguments.slice, "all chips of a slice: nano-2x2, v5e-4x4, v5p-4x4x4, ...");
  auto* processes =
      app.add_option("--processes", arguments.processes,
                     "simulate a slice by so many processes, each with its share of the chips and their sockets; bits "
                     "and cycles are those of one process")
          ->check(CLI::PositiveNumber)
          ->envname("WEFT_PROCESSES")
          ->capture_default_str();
  app.add_flag("--mpi", arguments.mpi,
               "simulate a slice by the processes that mpirun has started, on one machine or several, as --processes "
               "does: each serves the sockets of its chips on its machine; all are given the same options");
  app.add_option(
         "--meter", arguments.meter,
         "with --processes or --mpi: write to this file (JSON) how many windows of simulated time there were, the "
         "processor time of all processes and of the busiest one in each, and the wall-clock time, in ns")
      ->envname("WEFT_METER");
  app.add_option(
         "--optical-us", arguments.optical_us,
         "with a slice of v4 or v5p that is made of cubes: microseconds of a hop by the optical switches between "
         "cubes, 1 to 1000; default: 1, as of other hops")
      ->check(CLI::Range(1.0, ici::kMostOpticalUs))
      ->needs(slice);
  app.add_option("--core", arguments.core,
                 "tensor core: rtl, fast, or lockstep (both compared); with --slice one for all chips, or a list with "
                 "one for each, separated by commas; default: fast, or the recorded one");
  app.add_option("--array", arguments.array,
                 "how the RTL (rtl, lockstep) writes down the MXU's array: fast (vector loops), or structural (N x N "
                 "instances of a processing element, as it would be built); bits and cycles are the same")
      ->check(CLI::IsMember({"fast", "structural"}))
      ->envname("WEFT_ARRAY")
      ->capture_default_str();
  app.add_option(
         "--manager", arguments.manager,
         "what runs the firmware: native (this program's own code, each call charged with cycles), rv32 (the "
         "firmware's image on an RV32IMC processor, with the cycles that its instructions take), or ibex (the image on "
         "Ibex's RTL); default: " WEFT_DEFAULT_MANAGER ", or as it was recorded")
      ->check(CLI::IsMember({"native", "rv32", "ibex"}))
      ->envname("WEFT_MANAGER");
  app.add_option(
         "--manager-log", arguments.manager_log,
         "with --manager rv32 or ibex: write all loads, stores and wake-ups of the processor to this file (%p: the "
         "process id; with --slice a file for each chip, with its number behind a dot), for testbench/lockstep")
      ->envname("WEFT_MANAGER_LOG");
  std::string image;
  app.add_option(
         "--image", image,
         "with --manager rv32 or ibex: run this image of the firmware, build/firmware/image/weft_firmware.image "
         "of a build, in place of the one that is built in")
      ->envname("WEFT_IMAGE");
  auto* fd = app.add_option("--fd", arguments.fds,
                            "serve the client at this inherited socket, and end when it leaves; with --slice one for "
                            "each chip, and the last one's leaving ends it")
                 ->check(CLI::NonNegativeNumber);
  auto* socket =
      app.add_option("--socket", arguments.socket, "serve whoever connects to this path, one client at a time");
  auto* directory =
      app.add_option("--listen", arguments.directory,
                     "serve function i to whoever connects to function<i>.sock in this directory, and observers "
                     "(weft smi, weft dump) on management.sock; with --slice, function i of chip c at "
                     "chip<c>-function<i>.sock");
  app.add_option("--functions", arguments.functions,
                 "PCIe functions of the chip: one process each, equal shares of HBM")
      ->check(CLI::Range(1u, unsigned{WEFT_LIMIT_FUNCTIONS}))
      ->needs(directory)
      ->capture_default_str();
  app.add_flag("--allow-hold", arguments.permissions.hold,
               "any client may hold simulated time, also beside others; without it a client that is the only one, and "
               "of this user");
  app.add_flag("--allow-inject", arguments.permissions.inject,
               "any client and any observer may inject faults; without it as above, and observers of this user");
  app.add_flag("--allow-reset", arguments.permissions.reset,
               "any observer may reset any function; without it of its own user's only");
  auto* map_doorbells = app.add_flag(
      "--map-doorbells", arguments.permissions.map_doorbells,
      "clients may map their doorbells as memory, which is looked at once a millisecond while the device is idle: "
      "for guests, whose doorbells then cost no way out of the virtual machine");
  std::string group;
  auto* group_option = app.add_option("--group", group,
                                      "processes of this group (name or number) may connect as well; without it those "
                                      "of this user only")
                           ->excludes(fd);
  auto* wave = app.add_option("--wave", arguments.core_options.wave_path,
                              "write the core's waves to this FST file (rtl, lockstep)");
  app.add_option("--wave-from", arguments.core_options.wave_from_cycle, "first cycle of the waves")->needs(wave);
  app.add_option("--wave-to", arguments.core_options.wave_to_cycle, "last cycle of the waves")->needs(wave);
  app.add_flag("--check-hazards", arguments.core_options.check_hazards,
               "commands that touch the same place and that nothing orders fail with the fault HAZARD")
      ->envname("WEFT_CHECK_HAZARDS");
  auto* timing_only =
      app.add_flag("--timing-only", arguments.core_options.timing_only,
                   "fast cores take the time of their commands and move no data: for slices whose data no memory holds")
          ->envname("WEFT_TIMING_ONLY");
  app.add_option("--trace", arguments.trace, "write a Chrome trace of all commands and packets to this JSON file");
  app.add_option("--mismatch-report", arguments.mismatch_report, "write a lockstep mismatch to this file as well");
  auto* record =
      app.add_option("--record", arguments.record,
                     "record everything that passes between the chip and its hosts to this file, with --slice to a "
                     "file for each chip in this folder (%p: the process id)")
          ->excludes(map_doorbells)  // a replay's clients map nothing
          ->excludes(timing_only);
  auto* replay = app.add_option("--replay", arguments.replay,
                                "replay this recording, a file or a slice's folder, instead of serving, and compare")
                     ->excludes(record);
  app.add_flag("--partial", arguments.partial, "replay what is there of a recording that is cut off")->needs(replay);
  app.add_flag("--json", arguments.json, "print the result of the replay as JSON")->needs(replay);
  for (auto* option : {chip, slice, fd, socket, directory, group_option}) replay->excludes(option);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    exit_code = app.exit(e) == 0 ? 0 : kExitUsage;
    return {};
  }
  const auto wrong = [&exit_code](const std::string& what) -> std::optional<Arguments> {
    exit_code = complain(kExitUsage, what);
    return {};
  };
  if (!image.empty()) {
    std::string error;
    arguments.image = ImageFile::load(image, error);
    if (arguments.image == nullptr) return wrong(error);
  }
  if (replay->count() != 0) return arguments;
  if (group_option->count() != 0 && !(arguments.permissions.group = find_group(group)))
    return wrong(fmt::format("--group {}: there is no such group", group));
  if (chip->count() + slice->count() != 1) return wrong("one of --chip and --slice is needed");
  if (slice->count() != 0 && wave->count() != 0) return wrong("--wave is of one chip: it does not go with --slice");
  if (const size_t at = arguments.record.find("%p"); slice->count() != 0 && at != std::string::npos) {
    if (arguments.mpi) return wrong("--record: with --mpi %p would be another folder for each process");
    arguments.record.replace(at, 2, std::to_string(::getpid()));  // of all processes
  }
  arguments.said = app.config_to_str(false, false);
  if (arguments.mpi) {
    if (slice->count() == 0) return wrong("--mpi shares the chips of a slice: it needs --slice");
    if (directory->count() == 0)
      return wrong("--mpi: it needs --listen and a directory, in which each rank serves its chips");
    if (arguments.processes > 1 && std::getenv("WEFT_PROCESSES") == nullptr)
      return wrong("--processes and --mpi: mpirun says how many processes there are");
    arguments.processes = 1;
  }
  if (arguments.processes > 1 && slice->count() == 0) {
    if (processes->count() != 0 && std::getenv("WEFT_PROCESSES") == nullptr)
      return wrong("--processes shares the chips of a slice: it needs --slice");
    arguments.processes = 1;  // the environment speaks of slices
  }
  if (arguments.manager.empty()) arguments.manager = WEFT_DEFAULT_MANAGER;
  if (!arguments.manager_log.empty() && arguments.manager != "rv32" && arguments.manager != "ibex")
    return wrong("--manager-log needs --manager rv32 or ibex: the native firmware has no processor");
  if (arguments.image != nullptr && arguments.manager == "native") return wrong(kImageNeedsProcessor);
  if (slice->count() != 0 && socket->count() != 0)
    return wrong("--slice has a socket for each chip: give --listen and a directory");
  if ((fd->count() != 0 ? 1 : 0) + socket->count() + directory->count() != 1)
    return wrong("one of --fd, --socket, --listen and --replay is needed");
  return arguments;
}

}  // namespace weft::sim
