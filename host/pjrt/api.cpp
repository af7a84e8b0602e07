// The table of the PJRT C API. A function that is not built answers UNIMPLEMENTED with its name.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <exception>
#include <utility>

#include "host/pjrt/objects.hpp"
#include "host/pjrt/profiler.hpp"
#include "host/runtime/driver_error.hpp"

namespace weft::pjrt {
namespace {

constexpr std::array kNames{
#define WEFT_PJRT_NAME(name) "PJRT_" #name,
    WEFT_PJRT_SLOTS(WEFT_PJRT_NAME)
#undef WEFT_PJRT_NAME
};

/// No exception reaches the framework, and a structure that is shorter than ours is not touched.
template <typename A, Error* (*kFunction)(A&)>
Error* entry(A* arguments) {
  // The framework counts up to the end of its last field, we to the end of the padding behind ours.
  if (arguments->size + sizeof(void*) <= sizeof(A))
    return made(ErrorCode::kFailedPrecondition,
                fmt::format("the framework's structure has {} bytes, the plugin's {}: it is an older version of PJRT",
                            arguments->size, sizeof(A)));
  try {
    return kFunction(*arguments);
  } catch (const std::bad_alloc&) {
    return made(ErrorCode::kResourceExhausted, "the host has no memory left");
  } catch (const std::exception& error) {
    return made(ErrorCode::kInternal, fmt::format("a defect of Weft: {}", error.what()));
  }
}

template <size_t kSlot>
Error* not_built(void*) {
  return made(ErrorCode::kUnimplemented, fmt::format("{} is not built", kNames[kSlot]));
}

/// DLPack's calls. The framework asks for them only to give an array's memory to others.
Error* not_viewed(void*) {
  return made(ErrorCode::kUnimplemented,
              "the memory of a Weft chip is not this process's, so nobody else can view it; a copy on the host can be "
              "had: numpy.asarray(x), or, with the platform cpu beside weft, numpy.from_dlpack(x, device='cpu', "
              "copy=True)");
}

class Table {
 public:
  Table() {
    api_.size = sizeof api_;
    api_.version = {sizeof api_.version, nullptr, kMajor, kMinor};
    refuse(std::make_index_sequence<static_cast<size_t>(Slot::kCount)>());
    set_errors();
    set_client();
    set_devices();
    set_executables();
    set_buffers();
    api_.extension = &shardings_;
    shardings_.next = &profiler_;
  }
  const Api* api() const { return &api_; }

 private:
  template <size_t... kSlots>
  void refuse(std::index_sequence<kSlots...>) {
    ((api_.slots[kSlots] = reinterpret_cast<void*>(&not_built<kSlots>)), ...);
  }
  template <typename A, Error* (*kFunction)(A&)>
  void set(Slot slot) {
    api_.slots[static_cast<size_t>(slot)] = reinterpret_cast<void*>(&entry<A, kFunction>);
  }

  void set_errors();
  void set_client();
  void set_devices();
  void set_executables();
  void set_buffers();

  static constexpr int kShardings = 19;
  Api api_{};
  ShardingsExtension shardings_{{sizeof(ShardingsExtension), kShardings, nullptr},
                                &entry<ShardingsArguments, parameter_shardings>,
                                &entry<ShardingsArguments, output_shardings>};
  ProfilerExtension profiler_{{sizeof(ProfilerExtension), kProfilerExtension, nullptr}, &profiler_api(), 0};
};

/// Frees what a handle names; null is allowed.
template <typename Object>
Error* destroy(ObjectArguments<Object>& a) {
  delete a.object;
  return nullptr;
}
Error* nothing(Arguments&) { return nullptr; }

template <typename Object>
void answer(TextArguments<Object>& a, const std::string& text) {
  a.text = text.data();
  a.text_size = text.size();
}

// ---- errors and events
void error_destroy(ErrorDestroyArguments* a) { delete a->error; }
void error_message(ErrorMessageArguments* a) {
  a->message = a->error->message.data();
  a->message_size = a->error->message.size();
}
Error* error_code(ErrorCodeArguments& a) {
  a.code = a.error->code;
  return nullptr;
}
Error* error_of(const std::optional<weft::Error>& error) { return error ? made(*error) : nullptr; }
Error* event_ready(EventReadyArguments& a) {
  a.ready = a.event->completion->done();
  return nullptr;
}
Error* event_wait(EventArguments& a) { return error_of(a.event->completion->wait()); }
Error* event_callback(EventCallbackArguments& a) {
  a.event->completion->when_done([callback = a.callback, user = a.user](const std::optional<weft::Error>& error) {
    callback(error_of(error), user);
  });
  return nullptr;
}
Error* plugin_attributes(PluginAttributesArguments& a) {
  // The version of StableHLO that the reader knows; the framework writes programs in it.
  static constexpr int64_t kCurrent[]{1, 13, 3}, kMinimum[]{1, 0, 0};
  static std::array attributes{named("stablehlo_current_version", kCurrent, 3),
                               named("stablehlo_minimum_version", kMinimum, 3)};
  a.attributes = attributes.data();
  a.count = attributes.size();
  return nullptr;
}

void Table::set_errors() {
  api_.slots[static_cast<size_t>(Slot::kError_Destroy)] = reinterpret_cast<void*>(&error_destroy);
  api_.slots[static_cast<size_t>(Slot::kError_Message)] = reinterpret_cast<void*>(&error_message);
  set<ErrorCodeArguments, error_code>(Slot::kError_GetCode);
  set<Arguments, nothing>(Slot::kPlugin_Initialize);
  set<PluginAttributesArguments, plugin_attributes>(Slot::kPlugin_Attributes);
  set<ObjectArguments<Event>, destroy<Event>>(Slot::kEvent_Destroy);
  set<EventReadyArguments, event_ready>(Slot::kEvent_IsReady);
  set<EventArguments, event_wait>(Slot::kEvent_Error);
  set<EventArguments, event_wait>(Slot::kEvent_Await);
  set<EventCallbackArguments, event_callback>(Slot::kEvent_OnReady);
}

// ---- client
template <auto kMember>
Error* client_text(TextArguments<Client>& a) {
  answer(a, a.object->*kMember);
  return nullptr;
}
Error* zero(IntegerArguments<void>& a) {
  a.value = 0;
  return nullptr;
}
Error* client_devices(ListArguments<Client, Device*>& a) {
  a.items = a.object->devices.data();
  a.count = a.object->devices.size();
  return nullptr;
}
Error* client_memories(ListArguments<Client, Memory*>& a) {
  a.items = a.object->memories.data();
  a.count = a.object->memories.size();
  return nullptr;
}
Error* lookup_device(LookupDeviceArguments& a) {
  if (a.id < 0 || static_cast<size_t>(a.id) >= a.client->devices.size())
    return made(ErrorCode::kInvalidArgument, fmt::format("device {}; there are {}", a.id, a.client->devices.size()));
  a.device = a.client->devices[static_cast<size_t>(a.id)];
  return nullptr;
}
Error* client_topology(PartArguments<Client, Topology>& a) {
  a.result = &a.object->topology;
  return nullptr;
}
Error* default_assignment(DeviceAssignmentArguments& a) {
  for (int i = 0; i < a.replicas * a.partitions && static_cast<size_t>(i) < a.size_of_assignment; i++)
    a.assignment[i] = i;
  return nullptr;
}
template <auto kMember>
Error* topology_text(TextArguments<Topology>& a) {
  answer(a, a.object->client->*kMember);
  return nullptr;
}
Error* topology_descriptions(ListArguments<Topology, DeviceDescription* const>& a) {
  a.items = a.object->descriptions.data();
  a.count = a.object->descriptions.size();
  return nullptr;
}
Error* topology_attributes(ListArguments<Topology, NamedValue>& a) {
  a.items = nullptr;
  a.count = 0;
  return nullptr;
}

void Table::set_client() {
  set<ClientCreateArguments, create_client>(Slot::kClient_Create);
  set<ObjectArguments<Client>, destroy<Client>>(Slot::kClient_Destroy);
  set<TextArguments<Client>, client_text<&Client::platform>>(Slot::kClient_PlatformName);
  set<TextArguments<Client>, client_text<&Client::version>>(Slot::kClient_PlatformVersion);
  set<IntegerArguments<void>, zero>(Slot::kClient_ProcessIndex);
  set<ListArguments<Client, Device*>, client_devices>(Slot::kClient_Devices);
  set<ListArguments<Client, Device*>, client_devices>(Slot::kClient_AddressableDevices);
  set<ListArguments<Client, Memory*>, client_memories>(Slot::kClient_AddressableMemories);
  set<LookupDeviceArguments, lookup_device>(Slot::kClient_LookupDevice);
  set<LookupDeviceArguments, lookup_device>(Slot::kClient_LookupAddressableDevice);
  set<PartArguments<Client, Topology>, client_topology>(Slot::kClient_TopologyDescription);
  set<DeviceAssignmentArguments, default_assignment>(Slot::kClient_DefaultDeviceAssignment);
  set<CompileArguments, compile>(Slot::kClient_Compile);
  set<FromHostArguments, buffer_from_host>(Slot::kClient_BufferFromHostBuffer);
  set<TextArguments<Topology>, topology_text<&Client::platform>>(Slot::kTopologyDescription_PlatformName);
  set<TextArguments<Topology>, topology_text<&Client::version>>(Slot::kTopologyDescription_PlatformVersion);
  set<ListArguments<Topology, DeviceDescription* const>, topology_descriptions>(
      Slot::kTopologyDescription_GetDeviceDescriptions);
  set<ListArguments<Topology, NamedValue>, topology_attributes>(Slot::kTopologyDescription_Attributes);
}

// ---- devices and memories
Error* description_id(IntegerArguments<DeviceDescription>& a) {
  a.value = a.object->id;
  return nullptr;
}
template <auto kMember>
Error* description_text(TextArguments<DeviceDescription>& a) {
  answer(a, a.object->*kMember);
  return nullptr;
}
Error* description_attributes(DescriptionAttributesArguments& a) {
  a.attributes = a.description->attributes.data();
  a.count = a.description->attributes.size();
  return nullptr;
}
Error* device_description(PartArguments<Device, DeviceDescription>& a) {
  a.result = &a.object->description;
  return nullptr;
}
Error* device_addressable(FlagArguments<Device>& a) {
  a.value = true;
  return nullptr;
}
Error* device_id(IntegerArguments<Device>& a) {
  a.value = a.object->description.id;
  return nullptr;
}
Error* device_memories(ListArguments<Device, Memory*>& a) {
  a.items = a.object->memories;
  a.count = 1;
  return nullptr;
}
Error* device_memory(PartArguments<Device, Memory>& a) {
  a.result = &a.object->memory;
  return nullptr;
}
Error* memory_id(IntegerArguments<Memory>& a) {
  a.value = a.object->id;
  return nullptr;
}
template <auto kMember>
Error* memory_text(TextArguments<Memory>& a) {
  answer(a, a.object->*kMember);
  return nullptr;
}
Error* memory_devices(ListArguments<Memory, Device*>& a) {
  a.items = &a.object->device;
  a.count = 1;
  return nullptr;
}

void Table::set_devices() {
  set<IntegerArguments<DeviceDescription>, description_id>(Slot::kDeviceDescription_Id);
  set<IntegerArguments<void>, zero>(Slot::kDeviceDescription_ProcessIndex);
  set<DescriptionAttributesArguments, description_attributes>(Slot::kDeviceDescription_Attributes);
  set<TextArguments<DeviceDescription>, description_text<&DeviceDescription::kind>>(Slot::kDeviceDescription_Kind);
  set<TextArguments<DeviceDescription>, description_text<&DeviceDescription::debug>>(
      Slot::kDeviceDescription_DebugString);
  set<TextArguments<DeviceDescription>, description_text<&DeviceDescription::text>>(Slot::kDeviceDescription_ToString);
  set<PartArguments<Device, DeviceDescription>, device_description>(Slot::kDevice_GetDescription);
  set<FlagArguments<Device>, device_addressable>(Slot::kDevice_IsAddressable);
  set<IntegerArguments<Device>, device_id>(Slot::kDevice_LocalHardwareId);
  set<ListArguments<Device, Memory*>, device_memories>(Slot::kDevice_AddressableMemories);
  set<PartArguments<Device, Memory>, device_memory>(Slot::kDevice_DefaultMemory);
  set<MemoryStatisticsArguments, memory_statistics>(Slot::kDevice_MemoryStats);
  set<IntegerArguments<Memory>, memory_id>(Slot::kMemory_Id);
  set<TextArguments<Memory>, memory_text<&Memory::kind>>(Slot::kMemory_Kind);
  set<IntegerArguments<void>, zero>(Slot::kMemory_Kind_Id);
  set<TextArguments<Memory>, memory_text<&Memory::text>>(Slot::kMemory_DebugString);
  set<TextArguments<Memory>, memory_text<&Memory::text>>(Slot::kMemory_ToString);
  set<ListArguments<Memory, Device*>, memory_devices>(Slot::kMemory_AddressableByDevices);
}

// ---- executables
template <auto kMember>
Error* program_text(TextArguments<Executable>& a) {
  answer(a, (*a.object->program).*kMember);
  return nullptr;
}
Error* loaded_fingerprint(TextArguments<LoadedExecutable>& a) {
  answer(a, a.object->program->fingerprint);
  return nullptr;
}
template <auto kMember>
Error* program_count(SizeArguments<Executable>& a) {
  a.value = static_cast<size_t>(a.object->program->options.*kMember);
  return nullptr;
}
Error* output_count(SizeArguments<Executable>& a) {
  a.value = a.object->types.size();
  return nullptr;
}
Error* code_size(CodeSizeArguments& a) {
  a.bytes = static_cast<int64_t>(code_bytes(*a.executable->program));
  return nullptr;
}
Error* element_types(ElementTypesArguments& a) {
  a.types = a.executable->types.data();
  a.count = a.executable->types.size();
  return nullptr;
}
Error* dimensions(DimensionsArguments& a) {
  a.count = a.executable->ranks.size();
  a.dims = a.executable->dims.data();
  a.ranks = a.executable->ranks.data();
  return nullptr;
}
Error* memory_kinds(MemoryKindsArguments& a) {
  a.count = a.executable->kinds.size();
  a.kinds = a.executable->kinds.data();
  a.kind_sizes = a.executable->kind_sizes.data();
  return nullptr;
}
Error* costs(CostArguments& a) {
  a.properties = a.executable->costs.data();
  a.count = a.executable->costs.size();
  return nullptr;
}
Error* loaded_devices(ListArguments<LoadedExecutable, Device*>& a) {
  a.items = a.object->devices.data();
  a.count = a.object->devices.size();
  return nullptr;
}
Error* loaded_delete(ObjectArguments<LoadedExecutable>& a) {
  a.object->deleted = true;
  return nullptr;
}
Error* loaded_is_deleted(FlagArguments<LoadedExecutable>& a) {
  a.value = a.object->deleted;
  return nullptr;
}
Error* context_create(ObjectArguments<ExecuteContext>& a) {
  a.object = new ExecuteContext;
  return nullptr;
}

void Table::set_executables() {
  set<ObjectArguments<Executable>, destroy<Executable>>(Slot::kExecutable_Destroy);
  set<TextArguments<Executable>, program_text<&Program::name>>(Slot::kExecutable_Name);
  set<TextArguments<Executable>, program_text<&Program::fingerprint>>(Slot::kExecutable_Fingerprint);
  set<SizeArguments<Executable>, program_count<&CompileOptions::replicas>>(Slot::kExecutable_NumReplicas);
  set<SizeArguments<Executable>, program_count<&CompileOptions::partitions>>(Slot::kExecutable_NumPartitions);
  set<SizeArguments<Executable>, output_count>(Slot::kExecutable_NumOutputs);
  set<CodeSizeArguments, code_size>(Slot::kExecutable_SizeOfGeneratedCodeInBytes);
  set<ElementTypesArguments, element_types>(Slot::kExecutable_OutputElementTypes);
  set<DimensionsArguments, dimensions>(Slot::kExecutable_OutputDimensions);
  set<MemoryKindsArguments, memory_kinds>(Slot::kExecutable_OutputMemoryKinds);
  set<CostArguments, costs>(Slot::kExecutable_GetCostAnalysis);
  set<OptimizedProgramArguments, optimized_program>(Slot::kExecutable_OptimizedProgram);
  set<ProgramMemoryArguments, memory_of_program>(Slot::kExecutable_GetCompiledMemoryStats);
  set<SerializeArguments, serialize>(Slot::kExecutable_Serialize);
  set<DeserializeArguments, deserialize>(Slot::kExecutable_DeserializeAndLoad);
  set<ObjectArguments<LoadedExecutable>, destroy<LoadedExecutable>>(Slot::kLoadedExecutable_Destroy);
  set<PartArguments<LoadedExecutable, Executable>, get_executable>(Slot::kLoadedExecutable_GetExecutable);
  set<ListArguments<LoadedExecutable, Device*>, loaded_devices>(Slot::kLoadedExecutable_AddressableDevices);
  set<ObjectArguments<LoadedExecutable>, loaded_delete>(Slot::kLoadedExecutable_Delete);
  set<FlagArguments<LoadedExecutable>, loaded_is_deleted>(Slot::kLoadedExecutable_IsDeleted);
  set<TextArguments<LoadedExecutable>, loaded_fingerprint>(Slot::kLoadedExecutable_Fingerprint);
  set<SerializedAssignmentArguments, device_assignment>(Slot::kLoadedExecutable_GetDeviceAssignment);
  set<ExecuteArguments, execute>(Slot::kLoadedExecutable_Execute);
  set<ObjectArguments<ExecuteContext>, context_create>(Slot::kExecuteContext_Create);
  set<ObjectArguments<ExecuteContext>, destroy<ExecuteContext>>(Slot::kExecuteContext_Destroy);
}

// ---- buffers
Error* buffer_type(BufferTypeArguments& a) {
  a.type = buffer_type_of(a.buffer->type.element);
  return nullptr;
}
Error* buffer_dimensions(ListArguments<Buffer, const int64_t>& a) {
  a.items = a.object->type.dims.data();
  a.count = a.object->type.rank();
  return nullptr;
}
Error* no_dynamic_dimensions(ListArguments<Buffer, const size_t>& a) {
  a.items = nullptr;
  a.count = 0;
  return nullptr;
}
Error* buffer_size(SizeArguments<Buffer>& a) {
  a.value = a.object->type.bytes();
  return nullptr;
}
Error* buffer_device(PartArguments<Buffer, Device>& a) {
  a.result = a.object->device;
  return nullptr;
}
Error* buffer_memory(PartArguments<Buffer, Memory>& a) {
  a.result = &a.object->device->memory;
  return nullptr;
}
Error* buffer_delete(ObjectArguments<Buffer>& a) {
  a.object->contents.reset();  // work in flight has its own share
  return nullptr;
}
Error* buffer_is_deleted(FlagArguments<Buffer>& a) {
  a.value = a.object->contents == nullptr;
  return nullptr;
}
/// The array's address in HBM: a number to compare, not to read from.
Error* buffer_pointer(SizeArguments<Buffer>& a) {
  if (!a.object->contents) return made(ErrorCode::kInvalidArgument, "the array has been deleted or donated");
  a.value = 0;
  weft_buffer* place = a.object->contents->place.get();
  if (place == nullptr) return nullptr;  // without elements
  weft_buffer_info info = WEFT_INIT(weft_buffer_info);
  if (const auto status = weft_buffer_get_info(place, &info); status != WEFT_ERROR_OK)
    return made(runtime::driver_error(status));
  a.value = info.device_address;
  return nullptr;
}
Error* buffer_on_cpu(FlagArguments<Buffer>& a) {
  a.value = false;
  return nullptr;
}

void Table::set_buffers() {
  set<ObjectArguments<Buffer>, destroy<Buffer>>(Slot::kBuffer_Destroy);
  set<BufferTypeArguments, buffer_type>(Slot::kBuffer_ElementType);
  set<ListArguments<Buffer, const int64_t>, buffer_dimensions>(Slot::kBuffer_Dimensions);
  set<ListArguments<Buffer, const int64_t>, buffer_dimensions>(Slot::kBuffer_UnpaddedDimensions);
  set<ListArguments<Buffer, const size_t>, no_dynamic_dimensions>(Slot::kBuffer_DynamicDimensionIndices);
  set<MemoryLayoutArguments, buffer_layout>(Slot::kBuffer_GetMemoryLayout);
  set<SizeArguments<Buffer>, buffer_size>(Slot::kBuffer_OnDeviceSizeInBytes);
  set<PartArguments<Buffer, Device>, buffer_device>(Slot::kBuffer_Device);
  set<PartArguments<Buffer, Memory>, buffer_memory>(Slot::kBuffer_Memory);
  set<ObjectArguments<Buffer>, buffer_delete>(Slot::kBuffer_Delete);
  set<FlagArguments<Buffer>, buffer_is_deleted>(Slot::kBuffer_IsDeleted);
  set<CopyArguments, copy_to_device>(Slot::kBuffer_CopyToDevice);
  set<CopyArguments, copy_to_memory>(Slot::kBuffer_CopyToMemory);
  set<ToHostArguments, buffer_to_host>(Slot::kBuffer_ToHostBuffer);
  set<SizeArguments<Buffer>, buffer_pointer>(Slot::kBuffer_UnsafePointer);
  set<FlagArguments<Buffer>, buffer_on_cpu>(Slot::kBuffer_IsOnCpu);
  set<PartArguments<Buffer, Event>, buffer_ready_event>(Slot::kBuffer_ReadyEvent);
  for (const Slot slot : {Slot::kBuffer_IncreaseExternalReferenceCount, Slot::kBuffer_DecreaseExternalReferenceCount,
                          Slot::kBuffer_OpaqueDeviceMemoryDataPointer, Slot::kClient_CreateViewOfDeviceBuffer})
    api_.slots[static_cast<size_t>(slot)] = reinterpret_cast<void*>(&not_viewed);
}

}  // namespace

/// What the framework looks up in the library.
extern "C" __attribute__((visibility("default"))) const Api* GetPjrtApi() {
  static const Table table;
  return table.api();
}

}  // namespace weft::pjrt
