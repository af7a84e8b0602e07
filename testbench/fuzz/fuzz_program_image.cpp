// Program images as any host may leave them in HBM: LOAD_PROGRAM takes or refuses them, and a program that is loaded
// lies inside of its image.
//
// Layout: offset of the image in units of 64 bytes u16, size of the image u32, its bytes.
#include "firmware/core/control.hpp"
#include "firmware/core/program.hpp"
#include "firmware/state.hpp"
#include "host_side.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

using namespace weft;

namespace {

void check_loaded(const fw::Program& program, uint64_t address, uint64_t bytes) {
  const uint64_t end = address + bytes;
  fuzz::require(program.image_address() == address, "the program begins where its image does");
  fuzz::require(program.kernel_count >= 1 && fw::kernel_offset(program.kernel_count) <= bytes,
                "its kernels are inside");
  const uint64_t commands_bytes = uint64_t{program.commands} * WEFT_COMMAND_BYTES;
  fuzz::require(program.commands_address() >= address && program.commands_address() <= end &&
                    commands_bytes <= end - program.commands_address(),
                "its commands are inside");
  fuzz::require(
      program.constants_bytes() == 0 || (program.constants_address() >= address && program.constants_address() <= end &&
                                         program.constants_bytes() <= end - program.constants_address()),
      "its constants are inside");
}

/// What a launch does with the kernels that have a control list, up to where it would run.
void prepare_lists(fw::State& state, const fw::Function& function, const fw::Program& program, uint64_t bytes) {
  for (uint32_t i = 0; i < program.kernel_count; i++) {
    weft_program_kernel kernel;
    fuzz::require(fw::hal::dma_read(fw::hbm_at(program.image_address() + fw::kernel_offset(i)), &kernel, sizeof kernel),
                  "a kernel of a loaded program can be read");
    if (kernel.control_bytes == 0) continue;
    fuzz::require(fw::check_control_place(kernel, i, bytes).ok(), "the place of a loaded program's list was checked");
    if (!fw::control_prepare(state, function, program, kernel, i, mock::kLists).ok()) continue;
    fuzz::require(state.control.shape.end() <= kernel.control_bytes, "a list that may run lies inside its place");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  mock::reset();
  fw::State& state = mock::make_state();
  fw::Function& function = state.functions[0];
  const uint64_t address = uint64_t{input.take<uint16_t>()} * WEFT_COMMAND_BYTES;
  const auto bytes = input.take<uint32_t>();
  const auto image = input.take_rest();
  const uint64_t room = address < mock::kHbmBytes ? mock::kHbmBytes - address : 0;
  if (!image.empty() && room != 0)
    std::memcpy(mock::machine().hbm.data() + address, image.data(), image.size() < room ? image.size() : room);

  uint32_t id = 0;
  const fw::Status status = fw::load_program(state, function, address, bytes, &id);
  if (!status.ok()) {
    fuzz::require((function.programs.loaded[0] | function.programs.loaded[1]) == 0, "a refused image is not loaded");
    return 0;
  }
  fw::Program record;
  fw::Status found = fw::kOk;
  const fw::Program* program = fw::find_program(state, function, id, record, found);
  fuzz::require(program != nullptr && found.ok(), "a loaded program is found by its id");
  check_loaded(*program, address, bytes);
  prepare_lists(state, function, *program, bytes);
  fuzz::require(fw::unload_program(state, function, id).ok(), "a program that does not run is unloaded");
  program = fw::find_program(state, function, id, record, found);
  fuzz::require(program == nullptr && !found.ok(), "an unloaded program is gone");
  return 0;
}
