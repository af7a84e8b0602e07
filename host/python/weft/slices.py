"""Slices: chips that are joined by links."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType

from weft import _abi
from weft._abi import ArgumentDtype, CollectiveAlgorithm, CollectiveKind, LinkState
from weft._handles import Handle
from weft._library import call
from weft._numbers import unsigned
from weft.collectives import Collective, options_of
from weft.device import Device, closer, encoded, full_name, keep_until_exit
from weft.errors import fresh
from weft.events import refuse_in_callback

PORTS = ("+x", "-x", "+y", "-y", "+z", "-z")


@dataclass(frozen=True)
class SliceInfo:
    """dimensions: chips along x, y, z. wraps: which of them close to a ring. link_bytes_per_second: of each link, one way, on the wire."""

    chips: int
    dimensions: tuple[int, int, int]
    wraps: tuple[bool, bool, bool]
    twisted: bool
    link_bytes_per_second: int


@dataclass(frozen=True)
class ChipPlace:
    """neighbors: the chips behind its ports "+x", "-x", "+y", "-y", "+z", "-z", as far as there are any."""

    coordinates: tuple[int, int, int]
    neighbors: dict[str, int]


@dataclass(frozen=True)
class LinkInfo:
    """One direction of a link: what a chip sends by a port, since its simulator began. neighbor None: no link is there.
    payload_bytes, wire_bytes: of the packets, without and with headers and checks. Cycles are the device's."""

    state: LinkState
    neighbor: int | None
    downs: int
    packets: int
    payload_bytes: int
    wire_bytes: int
    frame_errors: int
    busy_cycles: int
    replay_cycles: int
    cycle: int


class Slice:
    """All chips of a slice, open and booted; made by `weft.open_slice`. devices: one for each chip, x first; they belong to the slice,
    and `Device.close` refuses them (INVALID_STATE). Closed by `close`, by the end of a `with`, or at the end of the process."""

    def __init__(self, name: str) -> None:
        value = ctypes.c_void_p()
        call("weft_slice_open", encoded(name), ctypes.byref(value))
        assert value.value is not None
        self.name = name
        self.devices: list[Device] = []
        self._handle = Handle(value.value, f"slice {name}", closer("weft_slice_close"))
        for chip in range(self.info.chips):
            device = ctypes.c_void_p()
            with self._handle as opened:
                call("weft_slice_get_device", opened, chip, ctypes.byref(device))
            assert device.value is not None
            handle = Handle(device.value, f"device {name}, chip {chip}", _stays)
            self.devices.append(Device(f"{name}, chip {chip}", handle, self._handle))
        keep_until_exit(self)

    def __enter__(self) -> "Slice":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<weft.Slice {self.name}{', closed' if self.closed else ''}>"

    def close(self) -> None:
        """Work in flight gets a second to finish, and ends with CANCELLED else. A second call does nothing."""
        refuse_in_callback("close its slice")
        for device in self.devices:
            device._handle.release()
        self._handle.release()

    @property
    def closed(self) -> bool:
        return self._handle.released

    @property
    def info(self) -> SliceInfo:
        info = fresh(_abi.weft_slice_info)
        with self._handle as opened:
            call("weft_slice_get_info", opened, ctypes.byref(info))
        x, y, z = info.wraps
        return SliceInfo(info.chips, _xyz(info.dimensions), (bool(x), bool(y), bool(z)), bool(info.twisted), info.link_bytes_per_second)

    def place(self, chip: int) -> ChipPlace:
        """Where a chip is, and what is around it. INVALID_ARGUMENT: there is no such chip."""
        place = fresh(_abi.weft_chip_place)
        with self._handle as opened:
            call("weft_slice_get_chip", opened, unsigned(chip, "chip", 32), ctypes.byref(place))
        return ChipPlace(_xyz(place.coordinates), {port: other for port, other in zip(PORTS, place.neighbors, strict=True) if other != _abi.NO_CHIP})

    def chip_at(self, x: int, y: int = 0, z: int = 0) -> int:
        """The number of the chip at these coordinates. INVALID_ARGUMENT: they are outside; the text names the axis."""
        found = ctypes.c_uint32()
        with self._handle as opened:
            call("weft_slice_find_chip", opened, (ctypes.c_uint32 * 3)(*(unsigned(axis, "a coordinate", 32) for axis in (x, y, z))), ctypes.byref(found))
        return found.value

    def link(self, chip: int, port: str) -> LinkInfo:
        """What a chip has sent by a port ("+x", "-x", "+y", "-y", "+z", "-z"). ValueError: there is no such port."""
        info = fresh(_abi.weft_link_info)
        with self._handle as opened:
            call("weft_slice_get_link", opened, unsigned(chip, "chip", 32), PORTS.index(port), ctypes.byref(info))
        neighbor = None if info.neighbor == _abi.NO_CHIP else int(info.neighbor)
        return LinkInfo(
            LinkState(info.state), neighbor, info.downs, info.packets, info.payload_bytes, info.wire_bytes, info.frame_errors, info.busy_cycles,
            info.replay_cycles, info.cycle,
        )  # fmt: skip

    def collective(
        self, kind: CollectiveKind, dtype: ArgumentDtype, size: int, *, axes: str = "xyz", groups: Sequence[Sequence[int]] = (), root: int = 0, shift: int = 0,
        algorithm: CollectiveAlgorithm = CollectiveAlgorithm.BY_SIZE,
    ) -> Collective:  # fmt: skip
        """Makes a collective and loads it on the chips that take part.

        size: bytes of the whole array, a multiple of 16; a barrier: 0. axes: chips that differ only in these form a group; groups: or
        lists of chips by rank, of one length, each a box. root: of a broadcast, the rank whose array counts. shift: of a permute, how
        many ranks on an array goes. Reductions add f32, bf16 or i32, in the order of docs/collectives.md.
        INVALID_ARGUMENT: the text names the option; UNSUPPORTED: too large for a chip's VMEM; NO_DEVICE_MEMORY."""
        axes = "" if groups else axes
        return Collective(self, options_of(kind, dtype, size, axes, groups, root, shift, algorithm), axes, groups)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """`with` it the time of all chips stands still: what is submitted inside starts everywhere in the same device cycle, and takes
        the same cycles in every run. Waits inside do not end, nor do calls that ask the firmware: make queues and load programs before.
        INVALID_STATE: time is held already. UNSUPPORTED: other processes use the simulator, and it was started without --allow-hold."""
        with self._handle as opened:
            call("weft_slice_hold", opened)
            try:
                yield
            finally:
                call("weft_slice_resume", opened)


def _stays(_: int) -> None:
    """A chip's handle goes with its slice."""


def _xyz(values: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = values
    return x, y, z


def open_slice(name: str, **options: str | int) -> Slice:
    """Opens and boots all chips of a slice. name: a generation and the chips along each axis ("nano-2x2", "v5e-4x4", "v5p-4x4x4") starts a
    simulator with all of them, on fast cores unless told; "vfio-user:FOLDER" connects to a `weft-sim --slice` that listens there.
    options, for simulators that this starts: core, array, manager, trace. INVALID_ARGUMENT: the generation's rules forbid the slice, and
    the text names the rule."""
    return Slice(full_name(name, options))
