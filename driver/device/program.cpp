// Loading: check, allocate, copy the image in pieces, LOAD_PROGRAM.
#include "driver/device/program.hpp"

#include <algorithm>
#include <array>

#include "driver/program/program_image.hpp"

namespace weft::driver {
namespace {

constexpr uint64_t kStagingBytes = 4u << 20;
constexpr uint32_t kStagingQueueEntries = 4;

/// Copies the image to `address` through two staging buffers: one is filled while the other is copied.
Status copy_image(Device& device, Queue& queue, const ProgramImage& image, uint64_t address) {
  struct Stage {
    std::shared_ptr<Buffer> buffer;
    std::shared_ptr<Event> event;
  };
  std::array<Stage, 2> stages;
  const auto finish = [&](Stage& stage) -> Status {
    if (stage.event == nullptr) return {};
    if (Status s = device.wait(*stage.event, {}); !s.ok()) return s;
    return std::exchange(stage.event, nullptr)->ending().status;
  };
  size_t turn = 0;
  for (uint64_t offset = 0; offset < image.bytes(); turn++) {
    Stage& stage = stages[turn % stages.size()];
    const uint64_t bytes = std::min(kStagingBytes, image.bytes() - offset);
    if (stage.buffer == nullptr) {
      auto buffer = device.create_buffer(true, std::min(kStagingBytes, image.bytes()));
      if (!buffer.ok()) return buffer.status();
      stage.buffer = buffer.value();
    }
    if (Status s = finish(stage); !s.ok()) return s;
    image.read(offset, stage.buffer->data(), bytes);
    Command command;
    command.opcode = WEFT_QUEUE_OPCODE_COPY;
    command.arg0 = stage.buffer->tagged_address();
    command.arg1 = (address + offset) | WEFT_LIMIT_ADDRESS_FLAG_HBM;
    command.size = bytes;
    stage.event = std::make_shared<Event>(queue.id(), 0, command.opcode);
    stage.event->hold({stage.buffer});
    if (Status s = device.submit(queue, Submission{stage.event, command}); !s.ok()) return s;
    offset += bytes;
  }
  for (Stage& stage : stages) {
    if (Status s = finish(stage); !s.ok()) return s;
  }
  return {};
}

/// A lack of memory as a status.
template <typename Function>
Status as_status(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return Status::without_words(WEFT_ERROR_NO_HOST_MEMORY);
  }
}

Status upload(Device& device, const ProgramImage& image, uint64_t address) {
  auto queue = device.create_queue({kStagingQueueEntries, kStagingQueueEntries});
  if (!queue.ok()) return queue.status();
  const Status copied = as_status([&] { return copy_image(device, *queue.value(), image, address); });
  Status deleted = as_status([&] { return device.delete_queue(queue.value()); });
  if (deleted.code() == WEFT_ERROR_NO_HOST_MEMORY)
    deleted = as_status([&] { return device.delete_queue(queue.value()); });
  return copied.ok() ? deleted : copied;
}

}  // namespace

Result<std::shared_ptr<Program>> Program::load(const std::shared_ptr<Device>& device,
                                               std::span<const std::byte> bytes) {
  if (Status s = device->check(); !s.ok()) return s;
  device->collect();
  auto executable = load_executable(bytes, device->chip());
  if (!executable.ok()) return executable.status();
  const ProgramImage image(executable.value(), device->chip());

  std::shared_ptr<Program> program(new Program);
  program->generation_ = device->generation();
  auto image_range = HbmRange::allocate(device->hbm(), image.bytes());
  if (!image_range.ok()) return image_range.status();
  program->image_ = std::move(image_range.value());
  uint64_t scratch_bytes = 0;
  for (const ExecutableKernel& kernel : executable.value().kernels)
    scratch_bytes = std::max(scratch_bytes, kernel.scratch_bytes);
  if (scratch_bytes != 0) {
    auto scratch = HbmRange::allocate(device->hbm(), scratch_bytes);
    if (!scratch.ok()) return scratch.status();
    program->scratch_ = std::move(scratch.value());
  }
  if (Status s = upload(*device, image, program->image_.address()); !s.ok()) return s;
  program->kernels_ = std::move(executable.value().kernels);
  program->commands_.assign(executable.value().commands.begin(), executable.value().commands.end());
  program->remains_.emplace_back();
  std::list<std::weak_ptr<const Program>> known{program};

  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_LOAD_PROGRAM;
  command.arg0 = program->image_.address();
  command.size = image.bytes();
  const auto ending = device->admin(command, program->generation_, program);
  if (!ending.ok()) return ending.status();
  if (!ending.value().status.ok()) return ending.value().status;
  program->id_ = ending.value().start_cycle;
  program->device_ = device;
  device->know_program(std::move(known));
  device->log().line(LogModule::kDriverProgram, LogLevel::kInfo, ending.value().end_cycle,
                     "program {} loaded: {} bytes at {:#x}, {} kernels", program->id_, image.bytes(),
                     program->image_.address(), program->kernels_.size());
  return program;
}

Program::~Program() {
  const auto device = device_.lock();
  if (device == nullptr) return;
  remains_.front() = {id_, generation_, std::move(image_), std::move(scratch_)};
  device->bury(std::move(remains_));
}

}  // namespace weft::driver
