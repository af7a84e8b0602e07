"""Collectives: what the chips of a slice compute together, over their links."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from numpy.typing import NDArray

from weft import _abi
from weft._abi import ArgumentDtype, CollectiveAlgorithm, CollectiveKind
from weft._handles import Handle
from weft._library import call, call_above, library
from weft._numbers import unsigned
from weft.buffers import Buffer
from weft.commands import Command, CommandOptions
from weft.errors import fresh
from weft.events import Event
from weft.programs import NUMPY
from weft.queues import Queue

if TYPE_CHECKING:
    from weft.slices import Slice


@dataclass(frozen=True)
class Part:
    """What one chip does. input_bytes, output_bytes: that its buffers in HBM must have, the data and what rounds them up to 64; 0: it
    has none. takes_part False: it is not launched."""

    takes_part: bool
    input_bytes: int
    output_bytes: int


class Collective:
    """A collective that is loaded on a slice's chips, made by `Slice.collective`: `run` for NumPy arrays, `launch` for buffers in HBM. It keeps
    its slice open. parts: one for each chip."""

    def __init__(self, of: "Slice", options: Any, axes: str, groups: Sequence[Sequence[int]]) -> None:
        value = ctypes.c_void_p()
        with of._handle as opened:
            call_above("weft_collective_create", opened, ctypes.byref(options), ctypes.byref(value))
        assert value.value is not None
        self.slice = of
        self.kind = CollectiveKind(options.kind)
        self._dtype = NUMPY[ArgumentDtype(options.dtype)]
        self._bytes = int(options.bytes)
        self._axes, self._groups = [axis in axes for axis in "xyz"], [list(group) for group in groups]
        self._handle = Handle(value.value, "collective", library().weft_collective_release)
        self.parts = [self._part(chip) for chip in range(len(of.devices))]

    def _part(self, chip: int) -> Part:
        part = fresh(_abi.weft_collective_part)
        with self._handle as made:
            call("weft_collective_get_part", made, chip, ctypes.byref(part))
        return Part(bool(part.takes_part), part.input_bytes, part.output_bytes)

    def launch(self, chip: int, queue: Queue, input: Buffer | None = None, output: Buffer | None = None, **options: Unpack[CommandOptions]) -> Event:  # noqa: A002
        """Runs the chip's part on a queue of that chip, on buffers in HBM; None where the part has 0 bytes. All chips of a group must be
        launched, each once for each time: one that waits for another that never comes ends by its watchdog. Chips launched inside of
        `Slice.hold` start in one device cycle."""
        buffers = [None if buffer is None else buffer._held() for buffer in (input, output)]
        arguments = [None if held is None else ctypes.byref(_argument(held)) for held in buffers]
        value = ctypes.c_void_p()
        command = Command(_abi.QueueOpcode.LAUNCH, options, [held for held in buffers if held is not None])
        with self._handle as made, queue._handle as taken, command.held():
            call_above("weft_collective_launch", made, unsigned(chip, "chip", 32), taken, *arguments, command.record.options, ctypes.byref(value))
        assert value.value is not None
        return Event(value.value)

    def run(self, inputs: Sequence[NDArray[Any] | None]) -> tuple[list[NDArray[Any] | None], int]:
        """Runs it once on all chips, which start in the same device cycle. inputs: an array for each chip, in its order: the chip's block
        for an all-gather, else as many elements as the collective was made for; None where the chip has no input.
        Returns what each chip has then, in one dimension (None: nothing), and the device cycles from the start until the last chip has
        its result. ValueError, TypeError: an array too many, too few, of another dtype or size."""
        devices = self.slice.devices
        if len(inputs) != len(devices):
            raise ValueError(f"{len(inputs)} inputs: the slice has {len(devices)} chips")
        given, taken, queues = [], [], []
        for chip, (array, part, device) in enumerate(zip(inputs, self.parts, devices, strict=True)):
            given.append(self._put(chip, array, part))
            taken.append(device.buffer(part.output_bytes) if part.output_bytes else None)
            queues.append(device.queue(entries=2))
        with self.slice.hold():
            events = [
                self.launch(chip, queue, source, target) if part.takes_part else None
                for chip, (part, queue, source, target) in enumerate(zip(self.parts, queues, given, taken, strict=True))
            ]
        waited = [event.wait() for event in events if event is not None]
        cycles = max((event.end_cycle for event in waited), default=0) - min((event.start_cycle for event in waited), default=0)
        return [None if buffer is None else self._take(chip, buffer) for chip, buffer in enumerate(taken)], cycles

    def _put(self, chip: int, array: NDArray[Any] | None, part: Part) -> Buffer | None:
        if (array is None) != (part.input_bytes == 0):
            raise ValueError(f"chip {chip} has {'no' if part.input_bytes == 0 else 'an'} input")
        if array is None:
            return None
        if array.dtype != self._dtype:
            raise TypeError(f"chip {chip}: an array of {array.dtype}, the collective is of {self._dtype}")
        due = self._block(chip) if self.kind == CollectiveKind.ALL_GATHER else self._bytes
        if array.nbytes != due:
            raise ValueError(f"chip {chip}: an input of {array.nbytes} bytes, {due} are due")
        buffer = self.slice.devices[chip].buffer(part.input_bytes)
        buffer.write(array)
        return buffer

    def _take(self, chip: int, buffer: Buffer) -> NDArray[Any]:
        if self.kind == CollectiveKind.REDUCE_SCATTER:
            size = self._block(chip)
        elif self.kind == CollectiveKind.ALL_TO_ALL:
            size = self._block(chip) * self._ranks(chip)[1]
        else:
            size = self._bytes
        return buffer.read(self._dtype, (size // self._dtype.itemsize,))

    def _ranks(self, chip: int) -> tuple[int, int]:
        """The chip's rank in its group, and how many there are."""
        for group in self._groups:
            if chip in group:
                return group.index(chip), len(group)
        rank, ranks = 0, 1
        for place, length, named in zip(self.slice.place(chip).coordinates, self.slice.info.dimensions, self._axes, strict=True):
            if named:
                rank, ranks = rank + ranks * place, ranks * length
        return rank, ranks

    def _block(self, chip: int) -> int:
        """Bytes of the chip's block: granules of 16 bytes, the first ranks one more where they do not come out even."""
        rank, ranks = self._ranks(chip)
        whole, rest = divmod(self._bytes // 16, ranks)
        return 16 * (whole + (rank < rest))


def _argument(buffer: Handle) -> Any:
    argument = _abi.weft_argument()
    argument.buffer = buffer._value
    return argument


def options_of(kind: CollectiveKind, dtype: ArgumentDtype, size: int, axes: str, groups: Sequence[Sequence[int]], root: int, shift: int, algorithm: CollectiveAlgorithm) -> Any:
    """As the library takes them."""
    if set(axes) - set("xyz"):
        raise ValueError(f"axes are of x, y and z, not {axes!r}")
    if len({len(group) for group in groups}) > 1:
        raise ValueError("groups have the same number of chips each")
    options = fresh(_abi.weft_collective_options)
    options.kind, options.dtype, options.algorithm = CollectiveKind(kind), ArgumentDtype(dtype), CollectiveAlgorithm(algorithm)
    options.bytes, options.root, options.shift = unsigned(size, "size"), unsigned(root, "root", 32), unsigned(shift, "shift", 32)
    if groups:
        numbers = [unsigned(chip, "a chip", 32) for group in groups for chip in group]
        options.groups = (ctypes.c_uint32 * len(numbers))(*numbers)
        options.group_count, options.group_chips = len(groups), len(groups[0])
    else:
        options.axes = sum(1 << bit for bit, axis in enumerate("xyz") if axis in axes)
    return options
