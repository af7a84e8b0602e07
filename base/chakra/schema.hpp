/// Field numbers of the messages of the public schema (MLCommons Chakra, schema/protobuf/et_def.proto, version 0.0.4)
/// that are read or written here.
#pragma once
#include <cstdint>

namespace weft::chakra {

namespace metadata_field {
inline constexpr uint32_t kVersion = 1;
}

namespace node_field {
inline constexpr uint32_t kId = 1, kName = 2, kType = 3, kControlDependences = 4, kDataDependences = 5,
                          kStartMicros = 6, kDurationMicros = 7, kInputs = 8, kAttribute = 10;
}

namespace io_field {
inline constexpr uint32_t kValues = 1;
}

namespace attribute_field {
inline constexpr uint32_t kName = 1;
// values, of which one is there
inline constexpr uint32_t kDouble = 3, kFloat = 5, kInt32 = 7, kInt64 = 9, kUint32 = 11, kUint64 = 13, kSint32 = 15,
                          kSint64 = 17, kFixed32 = 19, kFixed64 = 21, kSfixed32 = 23, kSfixed64 = 25, kBool = 27,
                          kString = 29, kLast = 32;
}  // namespace attribute_field

inline constexpr char kIsCpuOp[] = "is_cpu_op", kNumOps[] = "num_ops", kTensorSize[] = "tensor_size",
                      kCommType[] = "comm_type", kCommSize[] = "comm_size", kCommSrc[] = "comm_src",
                      kCommDst[] = "comm_dst", kCommTag[] = "comm_tag", kGroupName[] = "pg_name", kRoot[] = "root",
                      kStartFs[] = "start_fs", kDurationFs[] = "duration_fs";

}  // namespace weft::chakra
