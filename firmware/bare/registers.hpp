/// The manager's own registers on a bare RV32: where the core, the function registers and the helper units lie.
/// 32-bit accesses; a 64-bit register is two words, low word first; writing the high word takes effect.
#pragma once
#include <stdint.h>

namespace weft::fw::bare {

inline constexpr uintptr_t kSramBase = 0x2000'0000;  ///< stack, and behind it the state (link.ld)
inline constexpr uint32_t kSramBytes = 160 * 1024;
inline constexpr uint32_t kStackBytes = 16 * 1024;  ///< one that overflows leaves SRAM, and touches no state
inline constexpr uintptr_t kStateBase = kSramBase + kStackBytes;
inline constexpr uintptr_t kCore = 0x4000'0000;  ///< core registers, offsets of spec/core_csr.toml
inline constexpr uintptr_t kCoreBytes = 0x2'0000;
inline constexpr uintptr_t kFunction = 0x4100'0000;     ///< function registers, offsets of BAR0
inline constexpr uintptr_t kFunctionStride = 0x1'0000;  ///< from a function to the next; behind the last: all of them
inline constexpr uintptr_t kPush =
    0x4002'0000;  ///< 64-byte window a queue; reading a window's first word: 1 if the last push was taken
inline constexpr uintptr_t kDoorbell =
    0x4003'0000;  ///< 16 bytes a queue: submission tail, completion head, cycle of the doorbell (64 bits)
inline constexpr uintptr_t kDoorbellStride = 0x200;   ///< from a function to the next; a function's block ends with:
inline constexpr uintptr_t kDoorbellPending = 0x1f0;  ///< reading clears
inline constexpr uintptr_t kBootRequested = 0x1f4;    ///< reading clears
inline constexpr uintptr_t kParameterPage = 0x1f8;    ///< 64 bits
inline constexpr uintptr_t kManager = 0x4004'0000;    ///< the registers below
inline constexpr uintptr_t kManagerBytes = 0x100;

// Offsets from kManager.
inline constexpr uintptr_t kFunctions = 0x00;     ///< how many there are
inline constexpr uintptr_t kCoreFunction = 0x04;  ///< whose host memory the core reaches
inline constexpr uintptr_t kRequests = 0x08;      ///< a bit a function: reset by its host, or gone; reading clears
inline constexpr uintptr_t kDepartures = 0x0c;    ///< of those that the last reading of kRequests cleared: gone
inline constexpr uintptr_t kRaise = 0x10;         ///< write a vector in 15:0 of function 31:16
inline constexpr uintptr_t kRunning = 0x14;
inline constexpr uintptr_t kEvent = 0x9c;  ///< 1; reading clears the latch of events, which is the external interrupt
inline constexpr uintptr_t kWakeCauses = 0xa0;   ///< WEFT_MANAGER_WAKE_*
inline constexpr uintptr_t kCycle = 0x18;        ///< 64 bits; reading the low word holds the high word
inline constexpr uintptr_t kAlarm = 0x20;        ///< 64 bits: wakes the processor at this cycle
inline constexpr uintptr_t kFingerprint = 0x28;  ///< 64 bits
inline constexpr uintptr_t kHbmBytes = 0x30;     ///< 64 bits

inline constexpr uintptr_t kVmemBytes = 0x38;    ///< 64 bits
inline constexpr uintptr_t kMxuRows = 0x90;      ///< rows and columns of the MXU
inline constexpr uintptr_t kAccBankRows = 0x94;  ///< rows of each ACC bank
inline constexpr uintptr_t kMxus = 0x98;         ///< number of MXUs

inline constexpr uintptr_t kDmaAddress = 0x40;  ///< 64 bits
inline constexpr uintptr_t kDmaSram = 0x48;
inline constexpr uintptr_t kDmaControl =
    0x4c;  ///< bytes in 15:0, space in 17:16, write in 18, function in 31:24; writing starts
inline constexpr uintptr_t kDmaCompletion =
    0x58;  ///< 1 + the ring whose completion entry the next DMA writes: its last 8 bytes are written last
inline constexpr uintptr_t kDmaStatus = 0x50;  ///< 0 running, 1 done, 2 bus error

inline constexpr uintptr_t kCopySource = 0x60;       ///< 64 bits
inline constexpr uintptr_t kCopyDestination = 0x68;  ///< 64 bits
inline constexpr uintptr_t kCopyBytes = 0x70;        ///< 64 bits
inline constexpr uintptr_t kWaypoint = 0x54;         ///< shown in FIRMWARE_STATUS

inline constexpr uintptr_t kCopyControl = 0x78;  ///< spaces: source in 1:0, destination in 3:2; functions: source in
                                                 ///< 15:8, destination in 23:16; writing starts; bit 31: abort
inline constexpr uintptr_t kCopyStatus =
    0x7c;  ///< 0 none or running, 1 done, 2 bus error, reading clears; bit 31: running
inline constexpr uint32_t kCopyRunning = 1u << 31;
inline constexpr uint32_t kCopyAbort = 1u << 31;

// The CRC unit reads SRAM (and ROM) by itself.
inline constexpr uintptr_t kCrcSram = 0x80;    ///< where the bytes begin
inline constexpr uintptr_t kCrcBytes = 0x84;   ///< how many, at most 32768; writing starts
inline constexpr uintptr_t kCrcResult = 0x88;  ///< CRC-32C of them; reading waits for it

}  // namespace weft::fw::bare
