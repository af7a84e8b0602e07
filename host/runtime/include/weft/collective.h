/* collective.h: collectives on the chips of a slice, from C. C11 and C++. docs/collectives.md.
 *
 * A collective is made once for a slice: its programs are generated, and loaded on the chips that take part. Each chip
 * is then launched on a queue of its own, as often as wanted; a launch ends when the chip has its result. Conventions
 * are those of weft.h, but that a failure is described by the calls' weft_error_info and not by weft_last_error().
 */
#ifndef WEFT_COLLECTIVE_H
#define WEFT_COLLECTIVE_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_collective weft_collective;

/** What the chips of a group do together. With K chips in a group, rank r's block is one of K into which an array is
 * cut: blocks of 16-byte granules, the first ones a granule longer where they do not come out even. */
typedef enum weft_collective_kind {
  WEFT_COLLECTIVE_ALL_GATHER = 1,     /**< input: the chip's block; output: the array */
  WEFT_COLLECTIVE_REDUCE_SCATTER = 2, /**< input: an array; output: the chip's block of the sum */
  WEFT_COLLECTIVE_ALL_REDUCE = 3,     /**< input: an array; output: the sum */
  WEFT_COLLECTIVE_BROADCAST = 4,      /**< input: an array, of which the root's counts; output: that array */
  WEFT_COLLECTIVE_BARRIER = 5,        /**< neither input nor output */
  WEFT_COLLECTIVE_ALL_TO_ALL = 6,     /**< input: an array; output: the chip's block of every rank's array, by rank */
  WEFT_COLLECTIVE_PERMUTE = 7         /**< input and output: an array, which goes `shift` ranks on */
} weft_collective_kind;

/** Which way the data take. The result has the same bits. */
typedef enum weft_collective_algorithm {
  WEFT_COLLECTIVE_BY_SIZE = 0,  /**< the faster one by closed forms */
  WEFT_COLLECTIVE_NEIGHBOR = 1, /**< from neighbour to neighbour */
  WEFT_COLLECTIVE_DIRECT = 2    /**< straight to each rank */
} weft_collective_algorithm;

typedef struct weft_collective_options {
  size_t size;
  weft_collective_kind kind;
  weft_argument_dtype dtype; /**< of the elements; reductions add f32, bf16 or i32, in the documented order */
  uint64_t bytes;            /**< of the array; a multiple of 16; a barrier: 0 */
  uint32_t axes;             /**< bit 0: x, 1: y, 2: z. Chips that differ only in these form a group, ranks count along
                                the lowest first. With groups: 0 */
  uint32_t root;             /**< broadcast: rank of the array that counts */
  uint32_t shift;            /**< permute: rank r sends to rank (r + shift) modulo K */
  weft_collective_algorithm algorithm;
  const uint32_t* groups; /**< null, or group_count x group_chips numbers of chips, group after group, each by rank: a
                             box of chips, no chip twice. Read before the call returns */
  uint32_t group_count;
  uint32_t group_chips;
} weft_collective_options;

/** Generates the programs and loads them on the chips that take part. error (may be null; its size is set): why it
 * failed. INVALID_ARGUMENT: what cannot be (the message says which option); UNSUPPORTED: too large for a chip's VMEM;
 * NO_DEVICE_MEMORY and the other errors of weft_program_load. */
WEFT_MUST_USE weft_status weft_collective_create(weft_slice* slice, const weft_collective_options* options,
                                                 weft_collective** collective, weft_error_info* error);

/** Launches that are under way go on. Null: nothing happens. */
void weft_collective_release(weft_collective* collective);

/** One chip's part. */
typedef struct weft_collective_part {
  size_t size;
  uint32_t takes_part;   /**< 0: the chip is in no group, or alone at a barrier; it is not launched */
  uint64_t input_bytes;  /**< that its input must have: the data, and what rounds them up to 64; 0: it has none */
  uint64_t output_bytes; /**< the same of its output. Bytes behind the data are undefined */
} weft_collective_part;

/** INVALID_ARGUMENT: no such chip. */
WEFT_MUST_USE weft_status weft_collective_get_part(const weft_collective* collective, uint32_t chip,
                                                   weft_collective_part* part);

/** Runs the chip's part on a queue of that chip. All chips of a group must be launched, each once for each time, in
 * one order of collectives: a chip that waits for one that never comes ends by its watchdog, and two that run different
 * collectives with ICI_FAULT. Chips launched between weft_slice_hold and weft_slice_resume start in one device cycle.
 * input and output: in HBM; null where the part has 0 bytes. options: null: defaults; event: may be null.
 * INVALID_ARGUMENT: no such chip, one that takes no part, an argument too many, too few or too small, a queue of
 * another device. Further errors of weft_launch. error: as for weft_collective_create. */
WEFT_MUST_USE weft_status weft_collective_launch(weft_collective* collective, uint32_t chip, weft_queue* queue,
                                                 const weft_argument* input, const weft_argument* output,
                                                 const weft_command_options* options, weft_event** event,
                                                 weft_error_info* error);

#ifdef __cplusplus
}
#endif

#endif
