// firmware/hal.hpp for the simulator: finds the manager whose firmware is running, and asks it.
#include "firmware/hal.hpp"

#include <cstddef>
#include <span>

#include "model/chip/manager.hpp"

namespace weft::chip {
namespace {

Manager* running_manager = nullptr;  // see set_running_manager()

}  // namespace

void set_running_manager(Manager* manager) { running_manager = manager; }

}  // namespace weft::chip

namespace weft::fw::hal {

using chip::running_manager;

uint64_t csr_read(uint32_t offset) { return running_manager->csr_read(offset); }
void csr_write(uint32_t offset, uint64_t value) { running_manager->csr_write(offset, value); }
bool push_command(uint32_t queue, const uint8_t command[64]) { return running_manager->push_command(queue, command); }

uint32_t functions() { return running_manager->functions(); }
void function_write(uint32_t function, uint32_t offset, uint64_t value) {
  running_manager->function_write(function, offset, value);
}
uint64_t function_read(uint32_t function, uint32_t offset) { return running_manager->function_read(function, offset); }
void core_function(uint32_t function) { running_manager->core_function(function); }
void show_waypoint(uint32_t waypoint) { running_manager->show_waypoint(waypoint); }

bool dma_read(Location from, void* sram, uint32_t bytes) {
  return running_manager->dma_read(from, {static_cast<std::byte*>(sram), bytes});
}
bool dma_write(Location to, const void* sram, uint32_t bytes) {
  return running_manager->dma_write(to, {static_cast<const std::byte*>(sram), bytes});
}

bool completion_write(uint32_t function, uint32_t queue, uint64_t iova, const weft_completion_entry* entry) {
  return running_manager->completion_write(function, queue, iova, *entry);
}

bool copy_start(Location source, Location destination, uint64_t bytes) {
  return running_manager->copy_start(source, destination, bytes);
}
bool copy_abort() { return running_manager->copy_abort(); }
uint32_t copy_result() { return running_manager->copy_result(); }

uint32_t doorbell_submission(uint32_t function, uint32_t queue) {
  return running_manager->doorbell_submission(function, queue);
}
uint32_t doorbell_completion(uint32_t function, uint32_t queue) {
  return running_manager->doorbell_completion(function, queue);
}
uint32_t wake_causes() { return running_manager->wake_causes(); }
uint32_t doorbell_pending(uint32_t function) { return running_manager->doorbell_pending(function); }
uint64_t doorbell_cycle(uint32_t function, uint32_t queue) { return running_manager->doorbell_cycle(function, queue); }

uint32_t function_requests(uint32_t* departed) { return running_manager->function_requests(departed); }

bool boot_requested(uint32_t function, uint64_t* parameter_page) {
  return running_manager->boot_requested(function, parameter_page);
}
void raise_interrupt(uint32_t function, uint32_t vector) { running_manager->raise_interrupt(function, vector); }
uint32_t crc32c(const void* data, uint32_t bytes) {
  return running_manager->crc32c({static_cast<const std::byte*>(data), bytes});
}

uint64_t now() { return running_manager->now(); }
void charge(uint32_t manager_cycles) { running_manager->charge(manager_cycles); }
void wait_for_event(uint64_t deadline_cycle) { running_manager->wait_for_event(deadline_cycle); }
bool running() { return running_manager->running(); }

CoreShape core_shape() {
  const spec::Chip& chip = running_manager->chip();
  return CoreShape{chip.vmem_bytes, static_cast<uint32_t>(chip.n), static_cast<uint32_t>(chip.num_mxu),
                   static_cast<uint32_t>(chip.acc_bank_rows)};
}
uint64_t chip_fingerprint() { return running_manager->chip().fingerprint; }
uint64_t hbm_bytes() { return running_manager->chip().hbm_bytes; }

}  // namespace weft::fw::hal
