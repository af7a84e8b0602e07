/* weft.h: the C ABI of the Weft driver. C11 and C++.
 *
 * Conventions
 * - Every call that can fail returns a weft_status, which must be used. After a failure weft_last_error() tells the
 * calling thread more: text, device cycle, fault, hint. A call that succeeds leaves the last error as it was.
 * - Results are written through pointers, and only on success (to a null pointer, if the call failed and the result is
 * a handle).
 * - Options and info structures start with their size: set it to sizeof, and zero the rest (WEFT_INIT does both). A
 * null pointer to options means: all defaults.
 * - A program may be older or newer than the library. Of a structure in its shorter, older form the fields that it does
 * not have yet count as 0. Of a longer, newer one the fields that the library does not know must be 0 (UNSUPPORTED
 * names the byte of one that is not), and the library sets them to 0 in a structure that it fills. In an array of
 * structures all have the size of the first, and lie that many bytes apart.
 * - Handles belong to the caller, who gives each back with its release call, in any order. An object that the device
 * still uses lives on until the device is done with it. After weft_close every call on what belonged to the device
 * answers INVALID_STATE, except the release calls and reading events.
 * - All calls may come from any thread, unless the call says otherwise; two threads may not release one handle, nor use
 * it while another releases it.
 * - A process that forks keeps its devices. The child has none of them: its copies of the driver's descriptors are
 * closed and its HOST buffers are not mapped (their pointers are invalid), so the simulator ends, or a function becomes
 * free, with the parent. In the child every call on a handle of the parent answers INVALID_STATE at once; weft_close,
 * weft_slice_close and the release calls give the handle back and do nothing else. A child may open devices of its
 * own. Children made without fork() (clone, vfork) may only call exec or _exit.
 * - Every call may also fail with DEVICE_LOST (the device or simulator is gone), NO_HOST_MEMORY and INTERNAL; a null
 * pointer where none is allowed, or a wrong size, is INVALID_ARGUMENT.
 * - Sizes and offsets are bytes, device times are cycles of the device's clock.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stddef.h>
#include <stdint.h>

#include "weft/spec/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEFT_MUST_USE __attribute__((warn_unused_result))
#else
#define WEFT_MUST_USE
#endif

/** A zeroed options or info structure that knows its size: weft_event_info info = WEFT_INIT(weft_event_info); */
#ifdef __cplusplus
#define WEFT_INIT(type)        \
  ([] {                        \
    type value{};              \
    value.size = sizeof(type); \
    return value;              \
  }())
#else
#define WEFT_INIT(type) \
  { .size = sizeof(type) }
#endif

/** Codes of spec.h: WEFT_ERROR_OK is 0. */
typedef weft_error weft_status;

typedef struct weft_device weft_device;
typedef struct weft_slice weft_slice;
typedef struct weft_buffer weft_buffer;
typedef struct weft_program weft_program;
typedef struct weft_kernel weft_kernel;
typedef struct weft_queue weft_queue;
typedef struct weft_event weft_event;
typedef struct weft_semaphore weft_semaphore;
typedef struct weft_command_buffer weft_command_buffer;

/* Errors
 * ------ */

/** What is lost with an error. */
typedef enum weft_error_scope {
  WEFT_ERROR_SCOPE_COMMAND = 0, /**< this call or command */
  WEFT_ERROR_SCOPE_QUEUE = 1,   /**< its queue: release it and create another */
  WEFT_ERROR_SCOPE_DEVICE = 2   /**< the device: reset it, or close and open again */
} weft_error_scope;

/** The last error of a thread. Fields that do not apply are 0. */
typedef struct weft_error_info {
  size_t size;
  weft_status code;
  weft_error_scope scope;
  uint32_t retryable; /**< 1: the same call may succeed later */
  weft_error_class origin;
  uint32_t queue;         /**< id of the queue */
  uint32_t command;       /**< id of the command */
  uint32_t tag;           /**< the caller's tag of the command */
  uint32_t fault;         /**< weft_fault of the tensor core */
  uint32_t fault_unit;    /**< weft_unit_index */
  uint32_t fault_queue;   /**< weft_queue_index of the core */
  uint32_t fault_tag;     /**< tag of the core's command, see the executable's debug section */
  uint64_t cycle;         /**< device cycle */
  uint64_t fault_address; /**< see the fault in docs/command_checks.md */
  char message[512];      /**< one line, zero-terminated */
  char hint[192];         /**< what to do, zero-terminated; may be empty */
  char report_path[256];  /**< hang report of TIMEOUT_WAIT, DEVICE_HUNG, BUDGET_EXCEEDED; empty: none */
} weft_error_info;

/** Details of the calling thread's last failed call. Code OK if none failed yet. */
WEFT_MUST_USE weft_status weft_last_error(weft_error_info* info);

/** Name of a code ("QUEUE_FULL"); "UNKNOWN" for any other value. Static text. */
const char* weft_status_name(weft_status status);

/* Version
 * ------- */

/** Of this header. Before 1.0 another minor version may be another ABI: libweft.so's number then counts up too. */
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION (WEFT_VERSION_MAJOR << 16 | WEFT_VERSION_MINOR << 8 | WEFT_VERSION_PATCH)

/** WEFT_VERSION of the library that the program runs with. Never fails; needs no device. */
uint32_t weft_version(void);

/* Device
 * ------ */

typedef enum weft_core_kind {
  WEFT_CORE_KIND_UNKNOWN = 0,
  WEFT_CORE_KIND_RTL = 1,
  WEFT_CORE_KIND_FAST = 2,
  WEFT_CORE_KIND_LOCKSTEP = 3
} weft_core_kind;

/** Opens a device and boots it. Names:
 *  "sim:<preset>[?option&option...]", options core=rtl|fast|lockstep, array=fast|structural, manager=rv32|ibex|native,
 *        wave=<file>, wave-from=<cycle>, wave-to=<cycle>, trace=<file>, mismatch-report=<file>, record=<file>:
 *        starts a simulator of its own, which ends with the device; "vfio-user:<socket>" connects to one that runs;
 *        "pci:<address>" ("pci:0000:00:05.0") is a PCI function of this machine that is bound to vfio-pci;
 *        "mock[:<preset>]" is a device in this process that moves data but computes nothing.
 *  INVALID_ARGUMENT (the name, or what the simulator refuses, in its words: a core that is not in this build, a file
 *  that does not open), INVALID_STATE (no simulator found, or it cannot start: this machine does not let it, another
 * one writes its recording; a PCI function that is not bound to vfio-pci, has no IOMMU, or is not for this user: the
 * message says what to do), BUSY (another client), BOOT_FAILED (names the stage), ABI_MISMATCH (names both versions).
 */
WEFT_MUST_USE weft_status weft_open(const char* name, weft_device** device);

/** A device that weft_open could open. */
typedef struct weft_device_entry {
  size_t size;
  char name[128];      /**< for weft_open */
  char preset[32];     /**< of its chip; empty: a PCI function tells once it is open */
  weft_core_kind core; /**< UNKNOWN for a simulator to be started: the option core says */
  uint32_t busy;       /**< 1: another process, or this one, has it, and weft_open answers BUSY */
  uint32_t owner;      /**< process id of the one that has it; 0: none, or not known */
  char obstacle[384];  /**< why weft_open would refuse, and what to do; empty: nothing is known to be in the way */
} weft_device_entry;

/** Lists what could be opened, without opening it; no client of a simulator that runs loses a device cycle. First the
 * functions of the simulator that listens in `folder` (weft-sim --listen), chip by chip, then the PCI functions of this
 * machine, then a simulator of each preset ("sim:nano"), if weft-sim is found. Folder null: /tmp/weft, where none needs to
 * listen. Fills up to `capacity` entries (null with 0: none); `count` gets how many there are. A state of this moment:
 * another process may be faster.
 * DEVICE_LOST: nothing listens in the folder that is named, or does not answer within 5 s. Blocks until then. */
WEFT_MUST_USE weft_status weft_enumerate(const char* folder, weft_device_entry* entries, uint32_t capacity,
                                         uint32_t* count);

typedef struct weft_close_options {
  size_t size;
  uint32_t drain_ms; /**< wall-clock time that work in flight gets to finish; 0: 1000 */
} weft_close_options;

/** Takes no more work, waits for the work in flight, completes what is left with CANCELLED, ends the simulator, and
 * gives back the handle. Its callbacks have all returned. INVALID_STATE from a callback and INVALID_ARGUMENT for wrong
 * options: nothing happens and the handle stays. */
WEFT_MUST_USE weft_status weft_close(weft_device* device, const weft_close_options* options);

typedef struct weft_device_info {
  size_t size;
  char preset[32];      /**< name of the chip preset; empty if its fingerprint is not one that this driver knows */
  uint64_t fingerprint; /**< an executable for this device carries the same */
  uint64_t clock_hz;
  uint64_t hbm_bytes;         /**< that buffers and programs may use */
  uint64_t hbm_free_bytes;    /**< memory of what was released is free once the last command that uses it has ended */
  uint64_t hbm_largest_bytes; /**< largest free piece */
  weft_device_state state;
  weft_core_kind core;
  uint32_t abi_version; /**< of the device: major in bits 31:16, minor in 15:0 */
  uint32_t generation;  /**< number of resets */
  uint32_t max_queues;  /**< that a program may create */
  uint32_t max_queue_entries;
} weft_device_info;

WEFT_MUST_USE weft_status weft_device_get_info(weft_device* device, weft_device_info* info);

/** Device cycle now. Reading takes no device time. */
WEFT_MUST_USE weft_status weft_device_cycle(weft_device* device, uint64_t* cycle);

/** Snapshot of the core's counters (weft_counter): values[i] for i < count, count at most WEFT_COUNTERS. */
WEFT_MUST_USE weft_status weft_device_counters(weft_device* device, uint64_t* values, uint32_t count);

/** For an event loop of the caller (poll, epoll, io_uring): readable when commands with an event may have ended, or the
 * device is lost, since weft_device_process looked last. The same on every call; it belongs to the device, which closes
 * it with weft_close: wait for it and do nothing else with it. NO_HOST_MEMORY: no descriptor is left. */
WEFT_MUST_USE weft_status weft_device_get_descriptor(weft_device* device, int* descriptor);

/** Looks for completions and returns at once; then weft_event_query tells. The descriptor is readable afterwards only
 * for what happened since, but stays so if the device is lost. DEVICE_LOST: it is, and every event is done. */
WEFT_MUST_USE weft_status weft_device_process(weft_device* device);

/** What the driver has counted since weft_open. */
typedef struct weft_device_statistics {
  size_t size;
  uint64_t submitted;             /**< commands */
  uint64_t completed;             /**< commands, however they ended */
  uint64_t interrupts;            /**< wake-ups by the device */
  uint64_t lost_interrupts;       /**< completions that only the poll timer found */
  uint64_t duplicate_completions; /**< ignored */
  uint64_t late_completions;      /**< for a slot that has another owner; ignored */
  uint64_t unknown_completions;   /**< for an id that was never given; ignored */
  uint64_t bad_completions;       /**< wrong check or queue, or a ring head that cannot be; ignored */
} weft_device_statistics;

WEFT_MUST_USE weft_status weft_device_get_statistics(weft_device* device, weft_device_statistics* statistics);

/** Reads up to `capacity` firmware log records that were not read yet, oldest first. lost (may be null): records that
 * were overwritten before. */
WEFT_MUST_USE weft_status weft_device_read_log(weft_device* device, weft_log_record* records, uint32_t capacity,
                                               uint32_t* count, uint64_t* lost);

/** Level of the firmware's log: 0 error to 3 debug. INVALID_ARGUMENT. */
WEFT_MUST_USE weft_status weft_device_set_log_level(weft_device* device, uint32_t level);

/** Cycles without progress after which the core's watchdog ends a launch with DEVICE_HUNG; 0: the default, which is
 * 2,000,000. Of a chip of a slice whose chips other functions share as well, it is 536,871,000 more for each of these:
 * they may hold a chip for so long that this one waits for. */
WEFT_MUST_USE weft_status weft_device_set_watchdog(weft_device* device, uint64_t cycles);

/** What the device itself has counted since it booted or was reset: how many commands ended how, what became of its log
 * and fault records. `entries` (may be null): one for each error code from 0 on, its number and its newest, up to
 * `capacity` of WEFT_LIMIT_ERROR_LOG_ENTRIES; those beyond stay as they are. Unlike fault records, of which the last 64
 * are kept, nothing is overwritten. Takes an admin command; waits for it. */
WEFT_MUST_USE weft_status weft_device_get_errors(weft_device* device, weft_error_log* log,
                                                 weft_error_log_entry* entries, uint32_t capacity);

/** Asks for the device's next news: the event ends with OK when there is some (weft_event_get_news), at once if some
 * came while nobody asked, of which the newest of each kind is kept. A callback suits it best: a wait for it ends with
 * TIMEOUT_WAIT, without a hang report, once the device has nothing to do. weft_event_cancel takes the question back; a
 * reset of the device ends it with ABORTED_BY_RESET, weft_close with CANCELLED, a FIRMWARE_PANIC as any command. A
 * question holds nothing up: neither a close nor other waits wait for it. With QUEUE_FULL ends the one beyond
 * WEFT_LIMIT_ASYNC_EVENTS that wait. */
WEFT_MUST_USE weft_status weft_device_listen(weft_device* device, weft_event** event);

typedef struct weft_device_news {
  size_t size;
  weft_async_event kind;
  uint32_t queue;    /**< id, of QUEUE_HALTED */
  weft_status error; /**< why */
  uint64_t cycle;    /**< device cycle in which it happened */
} weft_device_news;

/** INVALID_ARGUMENT: the event is not of weft_device_listen. INVALID_STATE: it has not ended, or not with OK. */
WEFT_MUST_USE weft_status weft_event_get_news(weft_event* event, weft_device_news* news);

/* ---- Slices
 * ----------------------------------------------------------------------------------------------------------
 * Chips joined by links: one device set. Each chip has a device handle, with buffers, programs and queues of its own;
 * commands of its programs reach the other chips (docs/collectives.md). Chips are numbered x first. */

/** Opens and boots all chips of a slice.
 *  name: "sim:<slice>[?core=<kind>|<kind>,<kind>,...&array=<form>]" starts a simulator with all of them
 * ("sim:nano-2x2", "sim:v5e-4x4"), fast cores unless told, optical-us=<microseconds> for links between cubes (v4, v5p);
 * "vfio-user:<directory>" connects to the
 *        sockets of a weft-sim --slice that listens there. Each chip takes about six open files of the process
 *        (RLIMIT_NOFILE).
 *  Errors of weft_open; INVALID_ARGUMENT too for a slice that its generation's rules forbid: the message names the
 * rule. */
WEFT_MUST_USE weft_status weft_slice_open(const char* name, weft_slice** slice);

/** weft_close for all chips; time goes on if it was held. Device handles of the slice are invalid afterwards. */
WEFT_MUST_USE weft_status weft_slice_close(weft_slice* slice, const weft_close_options* options);

typedef struct weft_slice_info {
  size_t size;
  uint32_t chips;
  uint32_t dimensions[3];         /**< chips along x, y, z */
  uint32_t wraps[3];              /**< 1: the axis closes to a ring */
  uint32_t twisted;               /**< 1: a twisted torus */
  uint64_t link_bytes_per_second; /**< of each link, one way, on the wire */
} weft_slice_info;

WEFT_MUST_USE weft_status weft_slice_get_info(weft_slice* slice, weft_slice_info* info);

#define WEFT_NO_CHIP 0xffffffffu

typedef struct weft_chip_place {
  size_t size;
  uint32_t coordinates[3];
  uint32_t neighbors[6]; /**< chips behind the links +x, -x, +y, -y, +z, -z; WEFT_NO_CHIP: none */
} weft_chip_place;

/** INVALID_ARGUMENT: no such chip. */
WEFT_MUST_USE weft_status weft_slice_get_chip(weft_slice* slice, uint32_t chip, weft_chip_place* place);
/** The chip at coordinates x, y, z. INVALID_ARGUMENT: outside; the message says which axis. */
WEFT_MUST_USE weft_status weft_slice_find_chip(weft_slice* slice, const uint32_t coordinates[3], uint32_t* chip);

/** One direction of a link: what a chip sends by a port, since its simulator began. */
typedef struct weft_link_info {
  size_t size;
  weft_link_state state;  /**< of both directions */
  uint32_t neighbor;      /**< WEFT_NO_CHIP: none, and the rest is 0 */
  uint32_t downs;         /**< times that the link went down */
  uint64_t packets;       /**< sent; once, however often their frames were sent again */
  uint64_t payload_bytes; /**< of those */
  uint64_t wire_bytes;    /**< of those, with headers and checks */
  uint64_t frame_errors;  /**< frames that arrived damaged and were sent again */
  uint64_t busy_cycles;   /**< device cycles with frames on the wire */
  uint64_t replay_cycles; /**< of those, lost to replays */
  uint64_t cycle;         /**< device cycle of all of this */
} weft_link_info;

/** `port`: 0 to 5, +x, -x, +y, -y, +z, -z. INVALID_ARGUMENT: no such chip or port. */
WEFT_MUST_USE weft_status weft_slice_get_link(weft_slice* slice, uint32_t chip, uint32_t port, weft_link_info* info);

/** The chip's device. It belongs to the slice: weft_close refuses it. INVALID_ARGUMENT: no such chip. */
WEFT_MUST_USE weft_status weft_slice_get_device(weft_slice* slice, uint32_t chip, weft_device** device);

/** Simulators only: time of all chips stands still, so that what is submitted until weft_slice_resume starts everywhere
 * in the same device cycle, and takes the same cycles in every run. Returns once the chips have nothing left to do, or
 * after 65,536 cycles of what goes on. Waits do not end while time is held. One thread holds and resumes.
 * INVALID_STATE: time is held already, or not held. UNSUPPORTED: other processes use the simulator, and it was started
 * without --allow-hold; time goes on also when another process comes while it is held. */
WEFT_MUST_USE weft_status weft_slice_hold(weft_slice* slice);
WEFT_MUST_USE weft_status weft_slice_resume(weft_slice* slice);

/* ---- Log
 * ----------------------------------------------------------------------------------------------------
 * Lines of the driver and of the firmware, in the order of device cycles, with a level for each module: driver.device,
 * driver.queue, driver.memory, driver.program, driver.report; firmware.boot, firmware.queue, firmware.program,
 * firmware.core, firmware.device. Nothing is logged unless WEFT_LOG or weft_set_log asks for it. */

/** A line. The texts live until the callback returns. */
typedef struct weft_log_line {
  size_t size;
  uint64_t cycle;       /**< device cycle */
  uint32_t cycle_known; /**< 0: the line was written when no cycle was at hand; `cycle` is that of the line before it */
  uint32_t level;       /**< 0 error, 1 warning, 2 info, 3 debug */
  const char* device;   /**< as given to weft_open */
  const char* module;   /**< "driver.queue" */
  const char* text;
} weft_log_line;

/** Called with one line at a time, from whichever thread lets it out. It must not call the driver. */
typedef void (*weft_log_callback)(const weft_log_line* line, void* user);

/** Sets what this process logs, and who gets it. `levels`: "driver.queue=debug,firmware=info", or a level alone for all
 * modules ("info"); "driver" stands for all its modules; levels are off, error, warning, info and debug. Null:
 * WEFT_LOG. `callback` null: standard error, or the file that WEFT_LOG_FILE names. firmware=debug asks the firmware of
 * devices opened or reset from now on for more, which costs them device cycles. INVALID_ARGUMENT: names what is wrong,
 * and the good form; nothing has changed. */
WEFT_MUST_USE weft_status weft_set_log(const char* levels, weft_log_callback callback, void* user);

/* ---- Hang reports
 * ----------------------------------------------------------------------------------------------------
 * A wait that times out, a command that is ended by its budget, a device that hangs: each writes a report, once a
 * command, as text and as JSON, and weft_last_error names the text file. docs/hang_report.md explains it. */

/** Folder for the reports of this process; null: back to the environment (WEFT_REPORT_DIR, "off" for none; else TMPDIR,
 * else /tmp). Files there are named weft-hang-<pid>-<n>.txt and .json; the last 32 are kept. */
WEFT_MUST_USE weft_status weft_set_report_folder(const char* folder);

typedef enum weft_state_format {
  WEFT_STATE_FORMAT_TEXT = 1, /**< for people */
  WEFT_STATE_FORMAT_JSON = 2, /**< one object */
  WEFT_STATE_FORMAT_PAGE = 3  /**< the bytes that the firmware wrote (weft_state_header); needs firmware that answers */
} weft_state_format;

/** The device's state as a hang report tells it, now. Asks the firmware, and tells what registers and rings know if it
 * does not answer within 500 000 device cycles. Writes up to `capacity` bytes (text is zero-terminated) and always the
 * bytes of the whole to `size`: ask with capacity 0 for the size needed, and leave room, it may grow. Works on a failed
 * device too. */
WEFT_MUST_USE weft_status weft_state_dump(weft_device* device, weft_state_format format, void* buffer, size_t capacity,
                                          size_t* size);

/** The same from the bytes of a state page (format PAGE), without a device. INVALID_ARGUMENT: says at which byte the
 * page is wrong; any bytes are safe. */
WEFT_MUST_USE weft_status weft_state_decode(const void* page, size_t page_bytes, weft_state_format format, void* buffer,
                                            size_t capacity, size_t* size);

/** What a reset did. */
typedef struct weft_reset_report {
  size_t size;
  weft_reset_level level;
  uint32_t generation;       /**< of the device afterwards */
  uint32_t guilty;           /**< commands that ended with an error of their own: a fault, DEVICE_HUNG */
  uint32_t innocent;         /**< commands that ended with ABORTED_BY_RESET: submit them again */
  weft_status guilty_status; /**< of the first guilty one, with the three fields below */
  uint32_t guilty_queue;
  uint32_t guilty_command;
  uint32_t guilty_tag;
  uint32_t failed_step;                         /**< 1 + weft_reset_step that took longer than its bound; 0: none */
  uint64_t start_cycle;                         /**< device cycle of the first step */
  uint64_t end_cycle;                           /**< and after the last */
  uint64_t step_cycles[WEFT_LIMIT_RESET_STEPS]; /**< device cycles by weft_reset_step; those of other work included,
                                                     except for stop_fetch and stop_engines below level device */
  uint64_t step_bounds[WEFT_LIMIT_RESET_STEPS]; /**< device cycles that a step may take; 0: the step is the firmware's,
                                                     which bounds it by itself, or takes no time on the device */
} weft_reset_report;

/** Resets a queue (`queue`), the tensor core (level engine, `queue` null) or the whole device (`queue` null), in the
 * order of weft_reset_step, each step bounded in device cycles. A command that had failed or hung by itself ends with
 * its own error, every other one in reach with ABORTED_BY_RESET. queue: its commands end, its handle goes on with empty
 * rings; other queues do not notice. Also for a halted queue. engine: the launch on the core ends; queues that have
 * nothing there do not notice, that one goes on. device: as weft_device_reset. INVALID_STATE (which state was met; from
 * a callback). DEVICE_HUNG: the firmware does not answer, only level device helps. `report` may be null. Blocks. */
WEFT_MUST_USE weft_status weft_reset(weft_device* device, weft_queue* queue, weft_reset_level level,
                                     weft_reset_report* report);

/** Resets the device and boots it again. Commands in flight complete with ABORTED_BY_RESET. Queues and programs are
 * gone (calls on them answer INVALID_STATE); buffers stay, what is in HBM is undefined. BOOT_FAILED leaves the device
 * failed: another reset may help. INVALID_STATE from a callback. */
WEFT_MUST_USE weft_status weft_device_reset(weft_device* device);

/* Buffers
 * ------- */

typedef enum weft_memory {
  WEFT_MEMORY_HBM = 1, /**< on the device; reached by commands only */
  WEFT_MEMORY_HOST = 2 /**< in this process, pinned and mapped for the device */
} weft_memory;

/** A zeroed (HOST) or undefined (HBM) buffer. `size` from 1. NO_DEVICE_MEMORY: the message says what was asked for,
 * what is free, and the largest piece. */
WEFT_MUST_USE weft_status weft_buffer_create(weft_device* device, weft_memory memory, uint64_t size,
                                             weft_buffer** buffer);

/** A HOST buffer of memory that the caller already has, without a copy: `bytes` from `offset` on of `descriptor`, a file in
 * memory (memfd_create with MFD_ALLOW_SEALING) of which the caller may have mappings of its own. Offset and bytes are
 * multiples of 4096, or of its pages if these are larger. The file is open for reading and writing and sealed against
 * shrinking (fcntl F_ADD_SEALS, F_SEAL_SHRINK): what a device reaches must not go away. What it holds stays as it is.
 * The buffer has a descriptor and a mapping (weft_buffer_map) of its own: the caller may close and unmap its own at any
 * time, and all mappings show the same bytes. The device reaches the range until the buffer is released and no command
 * in flight uses it; then the memory is the file's again. A range may be imported many times, also into several
 * devices; between commands and threads that use it at once nothing orders accesses but the caller. A forked child has
 * what the caller's own mappings give it, not the buffer's. INVALID_ARGUMENT: the message names the rule. NO_HOST_MEMORY: no descriptor or no mapping can be had. */
WEFT_MUST_USE weft_status weft_buffer_import(weft_device* device, int descriptor, uint64_t offset, uint64_t bytes,
                                             weft_buffer** buffer);

/** The memory goes when no command in flight uses it. Null: nothing happens. */
void weft_buffer_release(weft_buffer* buffer);

/** Where a HOST buffer is in this process, until it is released. INVALID_ARGUMENT for HBM. What a command reads or
 * writes must not be touched between its submission and its completion. */
WEFT_MUST_USE weft_status weft_buffer_map(weft_buffer* buffer, void** pointer);

typedef struct weft_buffer_info {
  size_t size;
  weft_memory memory;
  uint64_t bytes;          /**< as asked for */
  uint64_t device_address; /**< in HBM, or IOVA */
} weft_buffer_info;

WEFT_MUST_USE weft_status weft_buffer_get_info(weft_buffer* buffer, weft_buffer_info* info);

/* Programs
 * -------- */

/** Checks the executable (.weft) of `size` bytes at `bytes` and loads it into HBM. The bytes are not needed afterwards.
 *  EXECUTABLE_INVALID: the message names section, offset and reason, or what differs between its chip and this one.
 *  NO_DEVICE_MEMORY. Blocks; takes a queue for itself while it copies. */
WEFT_MUST_USE weft_status weft_program_load(weft_device* device, const void* bytes, size_t size,
                                            weft_program** program);

/** Kernels of the program become invalid; launches in flight go on, and its memory is free once they have ended. Null:
 * nothing happens. */
void weft_program_release(weft_program* program);

WEFT_MUST_USE weft_status weft_program_kernel_count(weft_program* program, uint32_t* count);

/** Kernel by index or by name; it belongs to the program. INVALID_ARGUMENT: there is none (the message names those
 * there are). */
WEFT_MUST_USE weft_status weft_program_get_kernel(weft_program* program, uint32_t index, weft_kernel** kernel);
WEFT_MUST_USE weft_status weft_program_find_kernel(weft_program* program, const char* name, weft_kernel** kernel);

typedef struct weft_kernel_info {
  size_t size;
  char name[64];
  uint32_t argument_count;
  uint32_t vmem_bytes;     /**< VMEM high-water mark */
  uint64_t scratch_bytes;  /**< HBM scratch, which the driver provides */
  uint64_t command_count;  /**< commands of all queues */
  uint64_t cycle_estimate; /**< lower bound */
  uint64_t macs;           /**< useful multiply-accumulates */
} weft_kernel_info;

WEFT_MUST_USE weft_status weft_kernel_get_info(weft_kernel* kernel, weft_kernel_info* info);

typedef struct weft_argument_info {
  size_t size;
  char name[64];
  weft_argument_dtype dtype;
  weft_argument_layout layout;
  weft_argument_direction direction;
  uint32_t rank;        /**< 1 or 2 */
  uint64_t shape[2];    /**< elements: rows, columns */
  uint64_t pitch_bytes; /**< from one row to the next (layout rows) */
  uint64_t size_bytes;  /**< that its buffer must have from the argument's offset */
} weft_argument_info;

/** INVALID_ARGUMENT: no such argument. */
WEFT_MUST_USE weft_status weft_kernel_get_argument(weft_kernel* kernel, uint32_t index, weft_argument_info* info);

/* Queues
 * ------ */

typedef struct weft_queue_options {
  size_t size;
  uint32_t entries;            /**< commands in flight, a power of two from 2 to 4096; 0: 1024 */
  uint32_t completion_entries; /**< a power of two, at least `entries`; 0: twice that, 4096 at most, or with
                                    `completions` none */
  uint32_t priority;           /**< weft_queue_priority; weights 1, 4 and 16 share device and engines: none starves */
  uint32_t coalesce_count;     /**< one interrupt for so many completions, at most completion_entries; 0, 1: one each */
  uint32_t coalesce_cycles;    /**< device cycles after the first of them at which it comes anyway; not 0 then */
  weft_queue* completions;     /**< queue of the same device whose completion ring takes this queue's completions too,
                                    and whose interrupts and coalescing it then shares; null: a ring of its own */
} weft_queue_options;

/** Commands of a queue start in order, and one copy or launch of a queue ends before the next entry starts.
 * INVALID_ARGUMENT: `completions` was made with fewer completion_entries than all queues on its ring have entries, or
 * is of another device; INVALID_STATE: it is on another queue's ring itself. It may be released before its guests. */
WEFT_MUST_USE weft_status weft_queue_create(weft_device* device, const weft_queue_options* options, weft_queue** queue);

/** Waits for the queue's commands as weft_event_wait with until_idle does, then deletes it: TIMEOUT_WAIT once the
 * device has nothing to do and a command still waits for a semaphore. The handle is given back in any case but
 * NO_HOST_MEMORY, after which it can be released again; commands that did not end go on until they do, or the device is
 * reset or closed. Null: OK. */
WEFT_MUST_USE weft_status weft_queue_release(weft_queue* queue);

/** weft_event_cancel for every command that was submitted to the queue before. */
WEFT_MUST_USE weft_status weft_queue_cancel(weft_queue* queue);

typedef struct weft_queue_info {
  size_t size;
  uint32_t id;
  uint32_t entries;
  uint32_t head;      /**< free-running index of the first entry that the device may not have fetched */
  uint32_t tail;      /**< free-running index of the next entry */
  uint32_t in_flight; /**< commands submitted and not completed */
} weft_queue_info;

WEFT_MUST_USE weft_status weft_queue_get_info(weft_queue* queue, weft_queue_info* info);

/* ---- Commands
 * -------------------------------------------------------------------------------------------------------- All return
 * at once. `event` may be null: nobody asks how the command ends. QUEUE_FULL: all entries are in flight; wait for an
 * event and try again. */

typedef struct weft_command_options {
  size_t size;
  uint32_t tag; /**< the caller's; comes back in errors, traces and events */
  uint32_t
      budget_kcycles;    /**< the device ends the command with BUDGET_EXCEEDED after so many 1000 cycles; 0: no limit */
  uint32_t fence_before; /**< 1: starts when all earlier commands of the queue have completed */
  uint32_t profile;      /**< 1: weft_event_get_profile works (launch only) */
  uint32_t chain; /**< 1: the next command of the queue runs only if this one succeeds; otherwise it, and the rest of
                     the chain, ends with DEPENDENCY_FAILED, and the message names the command that failed first */
  weft_semaphore* wait_semaphore; /**< starts when it has reached wait_value; null: at once */
  uint64_t wait_value;
  weft_semaphore* signal_semaphore; /**< takes signal_value when the command has succeeded, which may be
                                        seen a little before its event ends; null: none */
  uint64_t signal_value;            /**< larger than any value before */
} weft_command_options;

/** A kernel's argument: `offset` (a multiple of 16) into a buffer of either memory. */
typedef struct weft_argument {
  weft_buffer* buffer;
  uint64_t offset;
} weft_argument;

/** Runs a kernel. INVALID_ARGUMENT: the number of arguments, or a buffer that is too small (the message names it). */
WEFT_MUST_USE weft_status weft_launch(weft_queue* queue, weft_kernel* kernel, const weft_argument* arguments,
                                      uint32_t argument_count, const weft_command_options* options, weft_event** event);

/** Copies `bytes` (from 1, any alignment) between HOST and HBM or within HBM; ranges must not overlap. UNSUPPORTED from
 *  HOST to HOST. */
WEFT_MUST_USE weft_status weft_copy(weft_queue* queue, weft_buffer* destination, uint64_t destination_offset,
                                    weft_buffer* source, uint64_t source_offset, uint64_t bytes,
                                    const weft_command_options* options, weft_event** event);

/** Fills with a 32-bit pattern; offset and bytes are multiples of 4. */
WEFT_MUST_USE weft_status weft_fill(weft_queue* queue, weft_buffer* destination, uint64_t offset, uint64_t bytes,
                                    uint32_t pattern, const weft_command_options* options, weft_event** event);

/** Completes when all earlier commands of the queue have. */
WEFT_MUST_USE weft_status weft_fence(weft_queue* queue, const weft_command_options* options, weft_event** event);

/** Does nothing, on the device. */
WEFT_MUST_USE weft_status weft_nop(weft_queue* queue, const weft_command_options* options, weft_event** event);

/** Its event's start and end hold the device cycle. */
WEFT_MUST_USE weft_status weft_timestamp(weft_queue* queue, const weft_command_options* options, weft_event** event);

/** Completes when the semaphore has reached the value; holds back what is behind it. budget_kcycles bounds the wait,
 * with BUDGET_EXCEEDED. Of the options, the wait is not used. */
WEFT_MUST_USE weft_status weft_wait(weft_queue* queue, weft_semaphore* semaphore, uint64_t value,
                                    const weft_command_options* options, weft_event** event);

/** Raises the semaphore to the value when all earlier commands of the queue have completed. Of the options, the signal
 * is not used. INVALID_ARGUMENT: the semaphore stands there already, or higher. */
WEFT_MUST_USE weft_status weft_signal(weft_queue* queue, weft_semaphore* semaphore, uint64_t value,
                                      const weft_command_options* options, weft_event** event);

/** A command as data, for weft_submit(). Fields that its opcode does not use are ignored. */
typedef struct weft_command {
  size_t size;
  weft_queue_opcode opcode;            /**< LAUNCH, COPY, FILL, FENCE, TIMESTAMP, NOP; WAIT and SIGNAL: see options */
  weft_kernel* kernel;                 /**< LAUNCH */
  const weft_argument* arguments;      /**< LAUNCH; read before the call returns */
  uint32_t argument_count;             /**< LAUNCH */
  weft_buffer* destination;            /**< COPY, FILL */
  uint64_t destination_offset;         /**< COPY, FILL */
  weft_buffer* source;                 /**< COPY */
  uint64_t source_offset;              /**< COPY */
  uint64_t bytes;                      /**< COPY, FILL */
  uint32_t pattern;                    /**< FILL */
  const weft_command_options* options; /**< null: defaults */
  weft_event** event;                  /**< null: nobody asks how the command ends */
} weft_command;

/** Submits `count` commands (from 1, at most the queue's entries) with one doorbell; they start in their order. All or
 * none: on failure nothing was submitted and all events are null; the message names the command that is wrong, and
 * what is wrong as the call of its opcode does. A command without an event raises no interrupt, except the last.
 * QUEUE_FULL: fewer entries are free. */
WEFT_MUST_USE weft_status weft_submit(weft_queue* queue, const weft_command* commands, uint32_t count);

/* Events
 * ------ */

typedef struct weft_event_info {
  size_t size;
  uint32_t done;      /**< 1: the command has ended and the rest is valid */
  weft_status status; /**< how it ended */
  uint32_t queue;     /**< id */
  uint32_t command;   /**< id */
  uint32_t tag;
  uint64_t start_cycle; /**< launch: first command accepted by a queue of the core */
  uint64_t end_cycle;   /**< launch: last write visible */
} weft_event_info;

/** Looks, does not wait. A command that failed is a query that succeeded: see info.status. */
WEFT_MUST_USE weft_status weft_event_query(weft_event* event, weft_event_info* info);

typedef struct weft_wait_options {
  size_t size;
  uint64_t deadline_cycles; /**< device cycles from now; 0: no deadline. A device that has nothing to do stands still:
                                 time that it stands idle then counts at the rate of its clock */
  uint32_t guard_ms;        /**< wall-clock time without a device cycle passing, idle or not; 0: 30000, not counted
                                 while the device says that it has nothing to do */
  uint32_t until_idle;      /**< 1: the wait ends as soon as the device has nothing to do, although somebody could still
                                 signal what it waits for: for a caller who knows that nobody will */
  uint32_t timeout_ms;      /**< wall-clock time in all; 0: no limit */
} weft_wait_options;        /**< `size` may also be that of the form that ended with guard_ms (24 bytes) */

/** Waits until the command has ended and returns how. TIMEOUT_WAIT: the deadline, the timeout or the guard was reached,
 * or the device has nothing to do and nobody can end the wait; the message says which, and the work goes on. Returns on
 * the calling thread's own wake-up: no other thread lies between the device and it.
 * Wait before signal: a command may wait, and be waited for, before the signal of its semaphore has been submitted. As
 * long as somebody could still signal it, the wait has no end but its own limits. That can: a program with a handle of
 * the semaphore, a command buffer that signals it, and a command in flight that signals it and is not itself behind a
 * semaphore that nobody can signal. Two commands that wait for each other wait for ever while the handles of their
 * semaphores exist; until_idle tells. docs/decisions/wait-before-signal.md. */
WEFT_MUST_USE weft_status weft_event_wait(weft_event* event, const weft_wait_options* options);

/** Runs on the device's dispatcher thread, one at a time, under no lock. It may submit, wait, query and release; it may
 * not close or reset the device. It must not throw. */
typedef void (*weft_event_callback)(weft_event* event, weft_status status, void* user);

/** Calls back once, also if the command has ended before. INVALID_STATE: the event has a callback, or the device is
 * closed. Releasing the event does not take the callback back; the handle is valid inside it. */
WEFT_MUST_USE weft_status weft_event_set_callback(weft_event* event, weft_event_callback callback, void* user);

/** Device cycle of each step of a launch with option profile. INVALID_STATE before it has ended or without the option.
 */
WEFT_MUST_USE weft_status weft_event_get_profile(weft_event* event, weft_launch_profile* profile);

/** The error of a command that has ended, in the form of weft_last_error: for callbacks and queries, where no call of
 * this thread has failed. Code OK: it succeeded. INVALID_STATE before it has ended. */
WEFT_MUST_USE weft_status weft_event_get_error(weft_event* event, weft_error_info* info);

/** Asks the device to end the command early, and returns when it has been asked. The event ends exactly once: with
 * CANCELLED, or as it would have, if it had all but ended. A launch or a copy is stopped at once, a
 * command that has not started when its turn comes. What it wrote until then is undefined. OK also if it has ended.
 * BUSY: more commands are being cancelled than the device can remember; wait for one of them. */
WEFT_MUST_USE weft_status weft_event_cancel(weft_event* event);

/** The command goes on. Null: nothing happens. */
void weft_event_release(weft_event* event);

/* ---- Command buffers
 * --------------------------------------------------------------------------------------------------- Recorded once,
 * and replayed with one call and one doorbell, on any queue of the device that has the entries, any number of times,
 * also while earlier replays are in flight. What they use stays alive as long as they do. They go with a reset of the
 * device (INVALID_STATE), as programs and semaphores do. */

/** Records `count` commands (1 to 4096; without events, without profiles). Checked as weft_submit does; the message
 * names the command that is wrong. They are links of one chain: one that fails ends the replay. */
WEFT_MUST_USE weft_status weft_command_buffer_create(weft_device* device, const weft_command* commands, uint32_t count,
                                                     weft_command_buffer** buffer);

/** Replaces command `index` by another of its opcode: other arguments, buffers, options. For replays from now on; those
 * in flight keep what they have. On failure nothing has changed. */
WEFT_MUST_USE weft_status weft_command_buffer_patch(weft_command_buffer* buffer, uint32_t index,
                                                    const weft_command* command);

/** Replays it. The event is that of the last command: OK, its own error, or DEPENDENCY_FAILED with the name of the
 * command that failed. QUEUE_FULL: fewer entries are free than it has commands, nothing was submitted. */
WEFT_MUST_USE weft_status weft_command_buffer_submit(weft_queue* queue, weft_command_buffer* buffer,
                                                     weft_event** event);

/** Replays in flight go on. Null: nothing happens. */
void weft_command_buffer_release(weft_command_buffer* buffer);

/* ---- Timeline semaphores
 * ---------------------------------------------------------------------------------------------- A 64-bit value that
 * only grows, between queues of a device and the host. Commands wait for it and raise it through their options. A
 * command that fails, or is cancelled, fails the semaphore that it should have raised: the value stays for ever, and
 * a command that waits for more ends with DEPENDENCY_FAILED and the name of the command that failed first. Create
 * another then. Semaphores go with a reset of the device (INVALID_STATE). */

/** BUSY: 64 exist, or are still used by commands in flight. */
WEFT_MUST_USE weft_status weft_semaphore_create(weft_device* device, uint64_t value, weft_semaphore** semaphore);

/** Commands in flight that use it go on. Null: nothing happens. */
void weft_semaphore_release(weft_semaphore* semaphore);

/** DEPENDENCY_FAILED: it has failed. */
WEFT_MUST_USE weft_status weft_semaphore_get_value(weft_semaphore* semaphore, uint64_t* value);

/** Raises it from the host; returns when the device has it. INVALID_ARGUMENT: it stands there already, or higher. */
WEFT_MUST_USE weft_status weft_semaphore_signal(weft_semaphore* semaphore, uint64_t value);

/** Waits on the host until it has reached the value, as weft_event_wait does: any thread that has the handle may still
 * signal, so without limits and until_idle it waits until somebody does, the semaphore fails, or the device is closed,
 * reset or lost. TIMEOUT_WAIT names its value, and which queues wait for what. */
WEFT_MUST_USE weft_status weft_semaphore_wait(weft_semaphore* semaphore, uint64_t value,
                                              const weft_wait_options* options);

/* Fault injection (simulators only)
 * --------------------------------- */

/** A fault of docs/reference/host_interface.md, `injected_fault`, placed by occasion: the n-th doorbell of a queue, the
 * n-th completion, the n-th launch, the n-th packet on a link. Never by time, so that it means the same to every core.
 */
typedef struct weft_fault_injection {
  size_t size;
  weft_injected_fault kind;
  uint32_t target;   /**< queue id, interrupt vector, boot stage or port of a link, as the kind says; else 0 */
  uint32_t nth;      /**< first occasion at which it acts, from now; 0 counts as 1 */
  uint32_t count;    /**< occasions in a row at which it acts; 0 counts as 1, UINT32_MAX: for ever */
  uint64_t value[4]; /**< as the kind says; else 0 */
} weft_fault_injection;

/** Arms a fault beside those that are armed; 16 at most. It stays armed over a reset of the device, until it has acted
 * or is disarmed. INVALID_ARGUMENT: the kind does not exist or a field cannot be; the message names the field's range.
 * UNSUPPORTED: the device is no simulator. */
WEFT_MUST_USE weft_status weft_fault_inject(weft_device* device, const weft_fault_injection* fault);

/** Disarms all faults and clears the count of those that acted. */
WEFT_MUST_USE weft_status weft_fault_disarm(weft_device* device);

typedef struct weft_fault_injection_info {
  size_t size;
  uint32_t armed; /**< faults that are armed */
  uint32_t acted; /**< occasions at which one acted since the last weft_fault_disarm */
} weft_fault_injection_info;

WEFT_MUST_USE weft_status weft_fault_get_info(weft_device* device, weft_fault_injection_info* info);

#ifdef __cplusplus
}
#endif

#endif
