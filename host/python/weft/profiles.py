"""What launches took, by program and by operator."""

import ctypes
import json
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from weft._library import call_above
from weft.models import taken


@dataclass(frozen=True)
class Launch:
    """A device program's run. part: of its program. Cycles of the device's clock."""

    part: int
    start_cycle: int
    end_cycle: int

    @property
    def cycles(self) -> int:
        return self.end_cycle - self.start_cycle


@dataclass(frozen=True)
class Operator:
    """Where cycles of one call of a program went. Each cycle belongs to one operator: mxu_cycles + vpu_cycles (the VPU works and
    no MXU) + dma_cycles (DMA alone) + idle_cycles = cycles. macs, hbm_bytes: what it needs at least; bound_by: the engine that it
    keeps longest, and achieved: that engine's share of the cycles, 0 to 1."""

    name: str
    part: int
    cycles: int
    seconds: float
    mxu_cycles: int
    vpu_cycles: int
    dma_cycles: int
    idle_cycles: int
    macs: int
    hbm_bytes: int
    bound_by: str
    achieved: float


@dataclass(frozen=True)
class ProgramProfile:
    """All calls of one program: a jitted function, a network, a product. operators: of one call, in the program's order;
    operators_missing tells why there are none. macs and host_seconds (operators that the host computed) are of all calls."""

    name: str
    chip: str
    clock_hz: int
    peak_macs_per_cycle: int
    calls: int
    launches: list[Launch]
    macs: int
    host_seconds: float
    operators: list[Operator]
    operators_missing: str

    @property
    def device_cycles(self) -> int:
        return sum(launch.cycles for launch in self.launches)

    @property
    def device_seconds(self) -> float:
        return self.device_cycles / self.clock_hz

    @property
    def utilization(self) -> float:
        """The useful multiply-accumulates' share of what the MXUs could have done in the device cycles, 0 to 1."""
        return self.macs / (self.device_cycles * self.peak_macs_per_cycle) if self.device_cycles else 0.0


@dataclass
class Profile:
    """What `profile` has noted; complete at the end of its `with`. programs: in the order of their first call."""

    programs: list[ProgramProfile] = field(default_factory=list)

    @property
    def device_cycles(self) -> int:
        return sum(program.device_cycles for program in self.programs)

    @property
    def device_seconds(self) -> float:
        return sum(program.device_seconds for program in self.programs)

    @property
    def host_seconds(self) -> float:
        return sum(program.host_seconds for program in self.programs)

    def table(self) -> str:
        """Programs, and below each its operators, as lines of text."""
        lines = [f"{'program, operator':40} {'calls':>6} {'cycles':>10} {'us':>10} {'MXU':>7}  bound"]
        for p in self.programs:
            lines.append(f"{p.name[:40]:40} {p.calls:6} {p.device_cycles:10} {1e6 * p.device_seconds:10.2f} {100 * p.utilization:6.1f}%")
            for o in p.operators:
                share = 100 * o.mxu_cycles / o.cycles if o.cycles else 0.0
                lines.append(f"  {o.name[:38]:38} {'':6} {o.cycles:10} {1e6 * o.seconds:10.2f} {share:6.1f}%  {o.bound_by} {100 * o.achieved:.0f}%")
        return "\n".join(lines)


class profile:
    """Notes what this process launches, in any thread: by `gemm`, by `Model.run`, and by functions that JAX has jitted.

    >>> with weft.profile() as p:
    ...     step(x)
    >>> print(p.table())

    operators: True: at the end each program runs once more, on zeros, on a simulator of its own, to tell where its cycles go.
    Device cycles are those of the launches; they do not depend on the machine or its load. The end waits for all that was launched
    in between, whoever waits for its results. One profile at a time: Error INVALID_STATE. What fails is not noted.
    """

    def __init__(self, *, operators: bool = True) -> None:
        self._operators = operators
        self._profile = Profile()

    def __enter__(self) -> Profile:
        call_above("weft_profile_begin")
        self._profile = Profile()
        return self._profile

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        text = ctypes.c_void_p()
        call_above("weft_profile_end", int(self._operators and error is None), ctypes.byref(text))
        self._profile.programs = [_program_of(program) for program in json.loads(taken(text))["programs"]]


def _program_of(p: dict[str, Any]) -> ProgramProfile:
    launches = [Launch(launch["part"], launch["start_cycle"], launch["end_cycle"]) for launch in p["launches"]]
    operators = [_operator_of(layer, p["clock_hz"]) for layer in p.get("layers", ())]
    return ProgramProfile(
        p["name"], p["chip"], p["clock_hz"], p["peak_macs_per_cycle"], p["calls"], launches, p["macs"], p["host_seconds"], operators, p.get("layers_missing", "")
    )  # fmt: skip


def _operator_of(layer: dict[str, Any], clock_hz: int) -> Operator:
    by = layer["cycles_by_engine"]
    return Operator(
        layer["layer"], layer["part"], layer["cycles"], layer["cycles"] / clock_hz, by["mxu"], by["vpu"], by["dma"], by["idle"],
        layer["macs"], layer["hbm_bytes"], layer["bound_by"], layer["achieved"],
    )  # fmt: skip
