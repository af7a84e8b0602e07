// Argument lists in host memory.
#include "firmware/core/arguments.hpp"

#include "firmware/admin/function.hpp"
#include "firmware/admin/hbm_scrub.hpp"
#include "firmware/core/core.hpp"
#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"

namespace weft::fw {
namespace {

using A = weft_launch_argument;

constexpr uint64_t kGranuleMask = WEFT_CORE_DMA_GRANULE_BYTES - 1;

constexpr Status invalid(uint64_t offset, uint64_t value) {
  return refused(WEFT_ERROR_INVALID_ARGUMENT, offset, value);
}

A argument(const uint8_t* list, uint32_t index) {
  static_assert(list_bytes(0) % alignof(A) == 0 && sizeof(A) % alignof(A) == 0);
  A a;
  __builtin_memcpy(&a, __builtin_assume_aligned(list + list_bytes(index), alignof(A)), sizeof a);
  hal::charge(WEFT_MANAGER_SRAM_WORD * sizeof a / 4);
  return a;
}

Status check_header(const uint8_t* list, uint32_t entries) {
  weft_launch_list header;
  __builtin_memcpy(&header, list, sizeof header);
  hal::charge(WEFT_MANAGER_SRAM_WORD * sizeof header / 4);
  if (header.count != entries) return invalid(offsetof(weft_launch_list, count), header.count);
  if (header.reserved != 0) return invalid(offsetof(weft_launch_list, reserved), header.reserved);
  return kOk;
}

/// The list as the host has sealed it. The field of the CRC is 0 afterwards.
Status check_seal(uint8_t* list, uint32_t bytes) {
  constexpr uint32_t kField = offsetof(weft_launch_list, crc32c);
  uint32_t found;
  __builtin_memcpy(&found, list + kField, sizeof found);
  __builtin_memset(list + kField, 0, sizeof found);
  if (hal::crc32c(list, bytes) != found) return refused(WEFT_ERROR_BAD_DESCRIPTOR, kField, found);
  return kOk;
}

Status check_argument(const Function& function, const A& a, uint32_t at) {
  if ((a.address & kGranuleMask) != 0) return invalid(at + offsetof(A, address), a.address);
  if ((a.size_bytes & kGranuleMask) != 0) return invalid(at + offsetof(A, size_bytes), a.size_bytes);
  if (a.space != WEFT_ADDRESS_SPACE_HBM && a.space != WEFT_ADDRESS_SPACE_HOST)
    return invalid(at + offsetof(A, space), a.space);
  if (a.reserved != 0) return invalid(at + offsetof(A, reserved), a.reserved);
  const Location where = locate(function, static_cast<weft_address_space>(a.space), a.address);
  if (range_valid(function, where, a.size_bytes)) return kOk;
  if (!range_valid(function, where, 0)) return invalid(at + offsetof(A, address), a.address);
  return invalid(at + offsetof(A, size_bytes), a.size_bytes);
}

/// A piece at a time: of a list without a control list, one.
bool read_list(const Function& function, uint64_t iova, uint8_t* list, uint32_t bytes) {
  constexpr uint32_t kPieceBytes = 4096;
  static_assert(list_bytes(WEFT_LIMIT_ARGUMENTS + 1) <= kPieceBytes);
  for (; bytes > kPieceBytes; bytes -= kPieceBytes, iova += kPieceBytes, list += kPieceBytes) {
    if (!hal::dma_read(host_at(function.index, iova), list, kPieceBytes)) return false;
  }
  return hal::dma_read(host_at(function.index, iova), list, bytes);
}

}  // namespace

Status read_arguments(const Function& function, uint64_t iova, const weft_program_kernel& kernel, uint8_t* list) {
  const uint32_t entries = list_entries(kernel);
  const uint32_t bytes = list_bytes(entries);
  if (!read_list(function, iova, list, bytes)) {
    // A list that is too short may end at the edge of a mapping: its header then says so better than a bus error does.
    if (!hal::dma_read(host_at(function.index, iova), list, sizeof(weft_launch_list)))
      return Status{WEFT_ERROR_DMA_FAULT, iova, bytes};
    const Status header = check_header(list, entries);
    return header.ok() ? Status{WEFT_ERROR_DMA_FAULT, iova, bytes} : header;
  }
  Status status = check_header(list, entries);
  if (status.ok()) status = check_seal(list, bytes);
  for (uint32_t i = 0; i < entries && status.ok(); i++) {
    const A a = argument(list, i);
    status = check_argument(function, a, list_bytes(i));
    const bool scratch = i == kernel.argument_count;
    if (status.ok() && scratch && a.space != WEFT_ADDRESS_SPACE_HBM)
      status = invalid(list_bytes(i) + offsetof(A, space), a.space);
    if (status.ok() && scratch && a.size_bytes < kernel.scratch_bytes) {
      status = invalid(list_bytes(i) + offsetof(A, size_bytes), a.size_bytes);
    }
  }
  return status;
}

uint32_t map_arguments(Function& function, const Program& program, const weft_program_kernel& kernel,
                       const uint8_t* list) {
  uint32_t mapped = 0;
  if (program.constants_granules != 0) {
    core::map_segment(kConstantsSegment, WEFT_ADDRESS_SPACE_HBM, program.constants_address(), program.constants_bytes(),
                      WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE);
    mapped |= 1u << kConstantsSegment;
  }
  for (uint32_t i = 0; i < list_entries(kernel); i++) {
    const A a = argument(list, i);
    const bool scratch = i == kernel.argument_count;
    const uint32_t segment = scratch ? kScratchSegment : kArgumentSegment + i;
    const bool readable = scratch || ((kernel.argument_readable >> i) & 1) != 0;
    const bool writable = scratch || ((kernel.argument_writable >> i) & 1) != 0;
    const Location where = locate(function, static_cast<weft_address_space>(a.space), a.address);
    if (writable && where.space == WEFT_ADDRESS_SPACE_HBM) note_written(function, where.address + a.size_bytes);
    core::map_segment(
        segment, where.space, where.address, a.size_bytes,
        (readable ? WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE : 0) | (writable ? WEFT_CSR_SEGMENT_ATTRIBUTES_WRITABLE : 0));
    mapped |= 1u << segment;
  }
  return mapped;
}

}  // namespace weft::fw
