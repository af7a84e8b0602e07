// C ABI: buffers.
#include "driver/abi/abi.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

weft_status weft_buffer_create(weft_device* device, weft_memory memory, uint64_t size, weft_buffer** buffer) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(buffer);
    *buffer = nullptr;
    WEFT_REQUIRE(device);
    if (const uint32_t number = number_of(memory); number != WEFT_MEMORY_HBM && number != WEFT_MEMORY_HOST)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "memory {} is neither HBM nor HOST", number);
    auto created = device->device->create_buffer(memory == WEFT_MEMORY_HOST, size);
    if (!created.ok()) return created.status();
    *buffer = new weft_buffer{device->device, std::move(created.value())};
    return {};
  });
}

weft_status weft_buffer_import(weft_device* device, int descriptor, uint64_t offset, uint64_t bytes,
                               weft_buffer** buffer) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(buffer);
    *buffer = nullptr;
    WEFT_REQUIRE(device);
    auto imported = device->device->import_buffer(descriptor, offset, bytes);
    if (!imported.ok()) return imported.status();
    *buffer = new weft_buffer{device->device, std::move(imported.value())};
    return {};
  });
}

void weft_buffer_release(weft_buffer* buffer) {
  if (!put_aside(buffer, inherited(buffer))) delete buffer;
}

weft_status weft_buffer_map(weft_buffer* buffer, void** pointer) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(buffer);
    WEFT_REQUIRE(pointer);
    if (Status s = buffer->device->check_not_closed(); !s.ok()) return s;
    if (!buffer->buffer->on_host())
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "a buffer in HBM cannot be mapped: copy it to or from a HOST buffer");
    *pointer = buffer->buffer->data();
    return {};
  });
}

weft_status weft_buffer_get_info(weft_buffer* buffer, weft_buffer_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(buffer);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    if (Status s = buffer->device->check_not_closed(); !s.ok()) return s;
    const Buffer& b = *buffer->buffer;
    const weft_buffer_info out{sizeof out, b.on_host() ? WEFT_MEMORY_HOST : WEFT_MEMORY_HBM, b.bytes(), b.address()};
    give(out, info);
    return {};
  });
}
