/// The framework's profiler: what jax.profiler.start_trace asks a plugin for. Extension 1 of the PJRT C API, whose
/// structures of arguments begin with their size alone.
#pragma once
#include <cstddef>
#include <cstdint>

#include "host/pjrt/c_api.hpp"

namespace weft::pjrt {

/// Of one trace.
struct Profiler;

struct ProfilerErrorArguments {
  size_t size;
  void* extension;
  Error* error;
};
struct ProfilerMessageArguments : ProfilerErrorArguments {
  const char* message;
  size_t message_size;
};
struct ProfilerCodeArguments : ProfilerErrorArguments {
  int code;
};
struct ProfilerCreateArguments {
  size_t size;
  const char* options;
  size_t options_size;
  Profiler* profiler;
};
struct ProfilerArguments {
  size_t size;
  Profiler* profiler;
};
/// Without a buffer the plugin tells its own, which jaxlib reads; with one it is filled.
struct ProfilerDataArguments : ProfilerArguments {
  uint8_t* buffer;
  size_t buffer_size;
};

struct ProfilerApi {
  size_t size;
  void* extension;
  void (*error_destroy)(ProfilerErrorArguments*);
  void (*error_message)(ProfilerMessageArguments*);
  Error* (*error_code)(ProfilerCodeArguments*);
  Error* (*create)(ProfilerCreateArguments*);
  Error* (*destroy)(ProfilerArguments*);
  Error* (*start)(ProfilerArguments*);
  Error* (*stop)(ProfilerArguments*);
  Error* (*collect)(ProfilerDataArguments*);
};
struct ProfilerExtension : Extension {
  const ProfilerApi* api;
  int64_t context;  ///< of an argument that is an extension; else 0
};

constexpr int kProfilerExtension = 1;
[[nodiscard]] const ProfilerApi& profiler_api();

}  // namespace weft::pjrt
