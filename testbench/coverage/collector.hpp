/// What a Verilated model tells the coverage collector. instrument_model.py writes calls of these functions into the
/// model's symbol table, the generated port monitors call weft_coverage_port().
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::coverage {

/// Runs the model's final blocks, in which the port monitors report.
using FinalBlocks = void (*)(void* symbols);

/// A model's symbol table, `bytes` long, comes to life: the counters that register next and lie in it are its own.
void model_begins(void* symbols, std::size_t bytes, FinalBlocks final_blocks);

/// The model is destroyed: its counters are added to the process's and forgotten.
void model_ends(void* symbols);

/// Registers a counter of a package, which Verilator counts and does not register; it starts at 0.
void add_point(uint32_t* counter, const char* file, int line, int column, const char* page, const char* comment,
               const char* lines);

}  // namespace weft::coverage

/// DPI: bits `low` to `low` + 31 of a port of one instance; which of them rose and fell since the instance began.
extern "C" void weft_coverage_port(const char* module, const char* port, unsigned width, unsigned low, unsigned rose,
                                   unsigned fell);
