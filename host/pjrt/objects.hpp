/// What stands behind the handles that the framework holds.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/pjrt/chip.hpp"
#include "host/pjrt/program.hpp"
#include "host/runtime/slice_programs.hpp"

namespace weft::pjrt {

struct DeviceDescription {
  int id = 0;
  std::string kind, text, debug;
  std::array<int64_t, 3> coordinates{};
  std::vector<NamedValue> attributes;
};

/// The HBM of one chip.
struct Memory {
  int id = 0;
  Device* device = nullptr;
  std::string kind = "device", text;
};

struct Device {
  Client* client = nullptr;
  std::unique_ptr<Chip> chip;
  DeviceDescription description;
  Memory memory;
  Memory* memories[1] = {&memory};
};

struct Topology {
  Client* client = nullptr;
  std::vector<DeviceDescription*> descriptions;
};

struct SliceClose {
  void operator()(weft_slice* slice) const { (void)!weft_slice_close(slice, nullptr); }
};

struct Client {
  std::string platform = "weft", version;
  std::unique_ptr<weft_slice, SliceClose> slice;     ///< null: one chip; it outlives the devices
  compiler::SliceShape shape;                        ///< of the slice
  std::unique_ptr<runtime::SlicePrograms> programs;  ///< of all its chips; null: one chip
  std::mutex launching;                              ///< held while a launch is posted to its chips
  std::vector<std::unique_ptr<Device>> owned;
  std::vector<Device*> devices;
  std::vector<Memory*> memories;
  Topology topology;
};

struct Buffer {
  ContentsPtr contents;  ///< null: deleted
  Device* device = nullptr;
  compiler::ir::TensorType type;
};

struct LoadedExecutable {
  std::shared_ptr<const Program> program;
  Client* client = nullptr;
  std::vector<Device*> devices;
  bool deleted = false;
};

/// A program as the framework asks about it, with the lists that it is answered with.
struct Executable {
  std::shared_ptr<const Program> program;
  std::vector<BufferType> types;
  std::vector<int64_t> dims;
  std::vector<size_t> ranks, kind_sizes;
  std::vector<const char*> kinds;
  std::vector<NamedValue> costs;
  /// Of several devices: serialized OpShardings.
  struct Shardings {
    std::vector<std::string> texts;
    std::vector<const char*> data;
    std::vector<size_t> sizes;
  };
  Shardings parameters, outputs;
};

struct ExecuteContext {};

/// A buffer's type as the framework numbers it; kInvalid: none of L1's.
[[nodiscard]] BufferType buffer_type_of(compiler::ir::ElementType type);
/// Refuses what L1 does not have.
[[nodiscard]] Result<compiler::ir::ElementType> element_type_of(BufferType type);

/// `values` live as long as what is made.
[[nodiscard]] NamedValue named(const char* name, const int64_t* values, size_t count);
[[nodiscard]] NamedValue named(const char* name, int64_t value);
[[nodiscard]] NamedValue named(const char* name, float value);

/// Functions of the table, by file; null: no error.
// client.cpp
Error* create_client(ClientCreateArguments& a);
Error* memory_statistics(MemoryStatisticsArguments& a);
// buffers.cpp
Error* buffer_from_host(FromHostArguments& a);
Error* buffer_to_host(ToHostArguments& a);
Error* copy_to_device(CopyArguments& a);
Error* copy_to_memory(CopyArguments& a);
Error* buffer_layout(MemoryLayoutArguments& a);
Error* buffer_ready_event(PartArguments<Buffer, Event>& a);
// executables.cpp
Error* compile(CompileArguments& a);
Error* get_executable(PartArguments<LoadedExecutable, Executable>& a);
Error* device_assignment(SerializedAssignmentArguments& a);
Error* optimized_program(OptimizedProgramArguments& a);
Error* execute(ExecuteArguments& a);
Error* memory_of_program(ProgramMemoryArguments& a);
/// Compiles for the devices that the options name, or takes what is `known` of it.
Error* load(Client* client, std::string_view code, std::string_view options, tools::CompiledParts* known,
            LoadedExecutable*& executable);
Error* parameter_shardings(ShardingsArguments& a);
Error* output_shardings(ShardingsArguments& a);
// serialized.cpp
Error* serialize(SerializeArguments& a);
Error* deserialize(DeserializeArguments& a);

}  // namespace weft::pjrt
