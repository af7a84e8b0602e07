/// What weft smi prints of a chip: two moments, the later one as it stands, and what the engines did between them.
#pragma once
#include <optional>
#include <string>

#include "host/tools/live/chip_snapshot.hpp"

namespace weft::tools {

/// Shares are of device cycles between two moments, 0 to 1; rates are by device time.
struct Utilisation {
  uint64_t cycles = 0;                       ///< between the moments
  double seconds = 0;                        ///< of device time
  double mxu = 0;                            ///< a row of x enters, on average of the MXUs
  double vpu = 0;                            ///< a row is read
  double dma_in = 0, dma_out = 0, sync = 0;  ///< the queue's unit executes
  double macs_of_peak = 0;
  double copy = 0;                                                                        ///< a copy or fill runs
  double firmware = 0;                                                                    ///< the firmware is awake
  double hbm = 0;                                                                         ///< of HBM's bandwidth
  double hbm_read_rate = 0, hbm_write_rate = 0, host_read_rate = 0, host_write_rate = 0;  ///< bytes a second
};

/// Nothing: no device time has passed that would tell anything (fewer than 64 cycles, as on an idle chip), or the two
/// are not of one chip.
[[nodiscard]] std::optional<Utilisation> utilisation(const ChipSnapshot& before, const ChipSnapshot& after);

/// Tables for people, 100 columns or a little more; ends with a newline.
[[nodiscard]] std::string smi_text(const ChipSnapshot& before, const ChipSnapshot& after);

/// The same as one JSON object, `indent` -1 for one line.
[[nodiscard]] std::string smi_json(const ChipSnapshot& before, const ChipSnapshot& after, int indent);

/// "12.5 MiB", "0 B": three digits, binary units.
[[nodiscard]] std::string bytes_text(uint64_t bytes);
/// "12.5 GB/s": three digits, decimal units.
[[nodiscard]] std::string rate_text(double bytes_per_second);

}  // namespace weft::tools
