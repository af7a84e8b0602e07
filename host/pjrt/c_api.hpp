/// The PJRT C API as far as this plugin uses it: layouts of structures and numbers of enumerators, declared from the
/// published interface in our own names. A structure of arguments begins with its size, which the caller sets; a newer
/// framework's is longer, and what is behind our last field is not looked at.
#pragma once
#include <cstddef>
#include <cstdint>

#include "host/pjrt/slots.hpp"

namespace weft::pjrt {

struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Executable;
struct LoadedExecutable;
struct Buffer;
struct Topology;
struct ExecuteContext;

constexpr int kMajor = 0;
/// The newest minor version all of whose functions are in the table, built or refused.
constexpr int kMinor = 91;

enum class ErrorCode : int {
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15
};

/// Element types of buffers.
enum class BufferType : int { kInvalid, kPred, kS8, kS16, kS32, kS64, kU8, kU16, kU32, kU64, kF16, kF32, kF64, kBf16 };

struct Version {
  size_t size;
  void* extension;
  int major, minor;
};
struct Api {
  size_t size;
  void* extension;
  Version version;
  void* slots[static_cast<size_t>(Slot::kCount)];
};

struct NamedValue {
  enum Kind : int { kString, kInteger, kIntegers, kFloat, kBool };
  size_t size;
  void* extension;
  const char* name;
  size_t name_size;
  Kind kind;
  union {
    const char* text;
    int64_t integer;
    const int64_t* integers;
    float number;
    bool flag;
  };
  size_t value_size;  ///< of a text or a list; else 1
};

/// What every structure of arguments begins with.
struct Arguments {
  size_t size;
  void* extension;
};

// Errors
struct ErrorDestroyArguments : Arguments {
  Error* error;
};
struct ErrorMessageArguments : Arguments {
  const Error* error;
  const char* message;
  size_t message_size;
};
struct ErrorCodeArguments : Arguments {
  const Error* error;
  ErrorCode code;
};

// Plugin
struct PluginAttributesArguments : Arguments {
  NamedValue* attributes;
  size_t count;
};

// Events
struct EventArguments : Arguments {
  Event* event;
};
struct EventReadyArguments : Arguments {
  Event* event;
  bool ready;
};
using ReadyCallback = void (*)(Error* error, void* user);
struct EventCallbackArguments : Arguments {
  Event* event;
  ReadyCallback callback;
  void* user;
};

// Client
struct ClientCreateArguments : Arguments {
  NamedValue* options;
  size_t option_count;
  void *get_value, *get_value_user, *put_value, *put_value_user;
  Client* client;
};
struct ClientArguments : Arguments {
  Client* client;
};
/// A text that belongs to the object.
template <typename Object>
struct TextArguments : Arguments {
  Object* object;
  const char* text;
  size_t text_size;
};
template <typename Object>
struct IntegerArguments : Arguments {
  Object* object;
  int value;
};
template <typename Object, typename Item>
struct ListArguments : Arguments {
  Object* object;
  Item* items;
  size_t count;
};
template <typename Object, typename Result>
struct PartArguments : Arguments {
  Object* object;
  Result* result;
};
template <typename Object>
struct SizeArguments : Arguments {
  Object* object;
  size_t value;
};
template <typename Object>
struct FlagArguments : Arguments {
  Object* object;
  bool value;
};
template <typename Object>
struct ObjectArguments : Arguments {
  Object* object;
};
struct LookupDeviceArguments : Arguments {
  Client* client;
  int id;
  Device* device;
};
struct DeviceAssignmentArguments : Arguments {
  Client* client;
  int replicas, partitions;
  size_t size_of_assignment;
  int* assignment;
};
struct ProgramText {
  size_t size;
  void* extension;
  char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
};
struct CompileArguments : Arguments {
  Client* client;
  const ProgramText* program;
  const char* options;
  size_t options_size;
  LoadedExecutable* executable;
};

// Buffers
struct TiledLayout {
  size_t size;
  void* extension;
  const int64_t* minor_to_major;
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t tiles;
};
struct StridesLayout {
  size_t size;
  void* extension;
  const int64_t* byte_strides;
  size_t byte_stride_count;
};
struct MemoryLayout {
  enum Kind : int { kTiled, kStrides };
  size_t size;
  void* extension;
  union {
    TiledLayout tiled;
    StridesLayout strides;
  };
  Kind kind;
};
struct FromHostArguments : Arguments {
  Client* client;
  const void* data;
  BufferType type;
  const int64_t* dims;
  size_t rank;
  const int64_t* byte_strides;
  size_t byte_stride_count;
  int semantics;
  Device* device;
  Memory* memory;
  MemoryLayout* layout;
  Event* done_with_data;
  Buffer* buffer;
};
struct ToHostArguments : Arguments {
  Buffer* buffer;
  MemoryLayout* layout;
  void* data;
  size_t data_size;
  Event* event;
};
struct BufferTypeArguments : Arguments {
  Buffer* buffer;
  BufferType type;
};
struct MemoryLayoutArguments : Arguments {
  Buffer* buffer;
  MemoryLayout layout;
};
struct CopyArguments : Arguments {
  Buffer* buffer;
  void* destination;  ///< Device or Memory
  Buffer* copy;
};

// Devices
struct DescriptionAttributesArguments : Arguments {
  DeviceDescription* description;
  size_t count;
  NamedValue* attributes;
};
struct ListBehindArguments : Arguments {
  Device* device;
  Memory** memories;
  size_t count;
};
struct MemoryStatisticsArguments : Arguments {
  struct Number {
    int64_t value;
    bool is_set;
  };
  Device* device;
  int64_t bytes_in_use;
  Number peak_bytes, allocations, largest_allocation, limit, reserved, peak_reserved, reservable, largest_free, pool,
      peak_pool;
};

// Executables
struct ElementTypesArguments : Arguments {
  Executable* executable;
  BufferType* types;
  size_t count;
};
struct DimensionsArguments : Arguments {
  Executable* executable;
  size_t count;
  const int64_t* dims;
  const size_t* ranks;
};
struct MemoryKindsArguments : Arguments {
  Executable* executable;
  size_t count;
  const char* const* kinds;
  const size_t* kind_sizes;
};
struct CodeSizeArguments : Arguments {
  Executable* executable;
  int64_t bytes;
};
struct CostArguments : Arguments {
  Executable* executable;
  size_t count;
  NamedValue* properties;
};
struct OptimizedProgramArguments : Arguments {
  Executable* executable;
  ProgramText* program;
};
struct SerializedAssignmentArguments : Arguments {
  LoadedExecutable* executable;
  const char* bytes;
  size_t bytes_size;
  void* owner;
  void (*release)(void* owner);
};
/// The bytes are what `owner` holds until it is released.
struct SerializeArguments : Arguments {
  const Executable* executable;
  const char* bytes;
  size_t bytes_size;
  void* owner;
  void (*release)(void* owner);
};
struct DeserializeArguments : Arguments {
  Client* client;
  const char* bytes;
  size_t bytes_size;
  LoadedExecutable* executable;
  const char* options;  ///< null: those of the program
  size_t options_size;
};
struct ProgramMemoryArguments : Arguments {
  const Executable* executable;
  int64_t code, arguments, results, aliased, scratch;
  int64_t host_code, host_arguments, host_results, host_aliased, host_scratch;
};
struct ExecuteOptions : Arguments {
  void* send_callbacks;
  void* receive_callbacks;
  size_t sends, receives;
  int launch;
  const int64_t* kept_inputs;  ///< those that are not donated, whatever the program says
  size_t kept_input_count;
};
struct ExecuteArguments : Arguments {
  LoadedExecutable* executable;
  const ExecuteOptions* options;
  Buffer*** arguments;
  size_t device_count, argument_count;
  Buffer*** outputs;
  Event** complete;
  Device* device;
};
/// Extension 19: how a program's parameters and outputs are laid out on several devices.
struct ShardingsArguments : Arguments {
  Executable* executable;
  size_t count;
  const char* const* shardings;
  const size_t* sizes;
};
struct Extension {
  size_t size;
  int kind;
  void* next;
};
struct ShardingsExtension : Extension {
  Error* (*parameters)(ShardingsArguments*);
  Error* (*outputs)(ShardingsArguments*);
};

}  // namespace weft::pjrt
