"""What a call that computes tells of its launches."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunReport:
    """device_cycles: of all launches, each from its first command to its last write. macs: useful multiply-accumulates of the
    device. host_seconds: wall-clock time of the operators that the host computed."""

    launches: int
    device_cycles: int
    start_cycle: int
    end_cycle: int
    macs: int
    host_seconds: float


def report_of(report: Any) -> RunReport:
    """Of a weft_run_report."""
    return RunReport(report.launches, report.device_cycles, report.start_cycle, report.end_cycle, report.macs, report.host_seconds)
