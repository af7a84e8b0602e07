"""Devices: which there are, and one that is open."""

import atexit
import builtins
import ctypes
import os
import pathlib
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from weft import _abi
from weft._abi import CoreKind, Counter, DeviceState, Memory
from weft._handles import Handle
from weft._library import call, call_above, library
from weft.buffers import Buffer
from weft.command_buffers import CommandBuffer
from weft.commands import Batch
from weft.errors import Error, fresh
from weft.events import in_callback, refuse_in_callback
from weft.programs import Program
from weft.queues import Queue
from weft.semaphores import Semaphore

_DEFAULT_PRESET, _DEFAULT_CORE = "v5e-1mxu", "fast"  # as JAX on Weft has them


@dataclass(frozen=True)
class DeviceEntry:
    """A device that `open` could open. core: UNKNOWN for a simulator to be started. owner: process that has it, 0: none or not
    known. obstacle: why `open` would refuse, and what to do; empty: nothing is known to be in the way."""

    name: str
    preset: str
    core: CoreKind
    busy: bool
    owner: int
    obstacle: str


def devices(folder: str | os.PathLike[str] | None = None) -> list[DeviceEntry]:
    """What could be opened, without opening it: what `weft list` prints. folder: of a simulator that runs (weft-sim --listen);
    None: /tmp/weft, where none needs to be. Error DEVICE_LOST: nothing listens in the folder that is named."""
    named = os.fsencode(folder) if folder is not None else None
    count = ctypes.c_uint32(0)
    while True:  # until none has come meanwhile
        capacity = count.value
        entries = (_abi.weft_device_entry * max(capacity, 1))()
        for entry in entries:
            entry.size = ctypes.sizeof(_abi.weft_device_entry)
        call("weft_enumerate", named, entries if capacity else None, capacity, ctypes.byref(count))
        if count.value <= capacity:
            break
    return [
        DeviceEntry(e.name.decode(), e.preset.decode(), CoreKind(e.core), bool(e.busy), e.owner, e.obstacle.decode()) for e in entries[: count.value]
    ]


@dataclass(frozen=True)
class DeviceInfo:
    """hbm_bytes: that buffers and programs may use. generation: number of resets."""

    preset: str
    fingerprint: int
    clock_hz: int
    hbm_bytes: int
    hbm_free_bytes: int
    hbm_largest_bytes: int
    state: DeviceState
    core: CoreKind
    generation: int
    max_queues: int
    max_queue_entries: int


def closer(name: str) -> Callable[[int], None]:
    """Of a handle that may go with its last reference: then, inside of a callback, where nothing can be closed, a thread does it."""

    def close(value: int) -> None:
        function = getattr(library(), name)
        if in_callback():
            threading.Thread(target=function, args=(value, None)).start()
        else:
            function(value, None)

    return close


def encoded(name: str) -> bytes:
    if "\0" in name:
        raise Error(_abi.Error.INVALID_ARGUMENT, "a device's name has a zero byte")
    return name.encode()


class Device:
    """A chip that is open; made by `weft.open`. Closed by `close`, by the end of a `with`, or at the end of the process.

    After `close` all that belonged to it raises Error INVALID_STATE, except views of HOST buffers, which stay valid.
    """

    def __init__(self, name: str, handle: Handle, of_slice: Handle | None = None) -> None:
        self.name = name
        self._handle, self._slice = handle, of_slice
        self._lock = threading.Lock()
        self._transfers: Queue | None = None
        self._runner: Handle | None = None

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<weft.Device {self.name}{', closed' if self.closed else ''}>"

    def close(self) -> None:
        """Work in flight gets a second to finish, and ends with CANCELLED else. A second call does nothing. INVALID_STATE: in a
        callback, or the device belongs to a slice."""
        refuse_in_callback("close its device")
        if self._slice is not None and not self._slice.released:
            raise Error(_abi.Error.INVALID_STATE, "the device belongs to a slice: Slice.close closes it")
        self._handle.release()

    @property
    def closed(self) -> bool:
        return self._handle.released

    @property
    def info(self) -> DeviceInfo:
        info = fresh(_abi.weft_device_info)
        with self._handle as device:
            call("weft_device_get_info", device, ctypes.byref(info))
        return DeviceInfo(
            info.preset.decode(), info.fingerprint, info.clock_hz, info.hbm_bytes, info.hbm_free_bytes, info.hbm_largest_bytes,
            DeviceState(info.state), CoreKind(info.core), info.generation, info.max_queues, info.max_queue_entries,
        )  # fmt: skip

    @property
    def cycle(self) -> int:
        """Device cycle now. Reading takes no device time."""
        cycle = ctypes.c_uint64()
        with self._handle as device:
            call("weft_device_cycle", device, ctypes.byref(cycle))
        return cycle.value

    def counters(self) -> dict[Counter, int]:
        """The core's counters now. Reading takes no device time."""
        values = (ctypes.c_uint64 * len(Counter))()
        with self._handle as device:
            call("weft_device_counters", device, values, len(Counter))
        return {counter: values[counter] for counter in Counter}

    def fileno(self) -> int:
        """A descriptor for select, epoll or asyncio: readable when commands may have ended since `process` looked last. It belongs
        to the device: wait for it and do nothing else with it."""
        descriptor = ctypes.c_int()
        with self._handle as device:
            call("weft_device_get_descriptor", device, ctypes.byref(descriptor))
        return descriptor.value

    def process(self) -> None:
        """Looks for completions and returns at once; `Event.done` tells then."""
        with self._handle as device:
            call("weft_device_process", device)

    def reset(self) -> None:
        """Commands in flight end with ABORTED_BY_RESET; queues, programs, semaphores and command buffers are gone, what is in HBM is
        undefined. INVALID_STATE: in a callback."""
        with self._handle as device:
            call("weft_device_reset", device)
        with self._lock:
            self._transfers = self._runner = None

    def queue(self, *, entries: int = 0) -> Queue:
        """A new queue. entries: commands in flight, a power of two from 2 to 4096; 0: 1024."""
        return Queue(self, self._handle, entries)

    def semaphore(self, value: int = 0) -> Semaphore:
        """A timeline semaphore that stands at `value`. BUSY: 64 exist, or are still used by commands in flight."""
        return Semaphore(self, self._handle, value)

    def record(self, batch: Batch) -> CommandBuffer:
        """Records the batch's commands, 1 to 4096, to be replayed by `Queue.replay`. The error names the command that is wrong."""
        return CommandBuffer(self, self._handle, batch)

    def buffer(self, size: int, memory: Memory = Memory.HBM) -> Buffer:
        """A buffer of `size` bytes, from 1: zeroed in this process (HOST), undefined on the device (HBM). NO_DEVICE_MEMORY tells
        what was asked for and what is free."""
        return Buffer(self, self._handle, size, memory)

    def put(self, array: NDArray[Any]) -> Buffer:
        """A new HBM buffer with the array's elements, dense and in C order, whatever its strides are. ValueError: it has none."""
        dense = np.ascontiguousarray(array)
        if dense.nbytes == 0:
            raise ValueError(f"an array of shape {array.shape} has no elements, and a buffer has a byte at least")
        buffer = self.buffer(dense.nbytes)
        buffer.write(dense)
        return buffer

    def load(self, executable: bytes | str | os.PathLike[str]) -> Program:
        """Loads an executable (`weft compile -o FILE.weft`), from its bytes or its path. EXECUTABLE_INVALID names the reason."""
        data = executable if isinstance(executable, bytes) else pathlib.Path(executable).read_bytes()
        return Program(self._handle, data)

    def gemm(self, a: NDArray[Any], b: NDArray[Any], precision: str | None = None) -> NDArray[Any]:
        """`weft.gemm` on this device."""
        from weft.products import gemm

        return gemm(a, b, precision=precision, device=self)

    def _transfer_queue(self) -> Queue:
        with self._lock:
            if self._transfers is None:
                self._transfers = self.queue(entries=16)
            return self._transfers

    def _runner_handle(self) -> Handle:
        """What products and networks run on; its calls take turns."""
        with self._lock:
            if self._runner is None:
                value = ctypes.c_void_p()
                with self._handle as device:
                    call_above("weft_runner_create", device, ctypes.byref(value))
                assert value.value is not None
                self._runner = Handle(value.value, f"runner of {self.name}", library().weft_runner_release)
            return self._runner


def open(name: str | None = None, **options: str | int) -> Device:  # noqa: A001
    """Opens and boots a device.

    name: as `devices` lists them; a preset alone ("nano") starts a simulator of it; None: the preset of WEFT_CHIPS, else v5e-1mxu.
    options, for simulators that this starts: core (fast, rtl, lockstep; if neither name nor options tell: WEFT_CORE, else fast),
    manager, array, trace, wave, record, .. as weft_open has them: `weft.open("nano", core="rtl", trace="trace.json")`.
    Error: INVALID_ARGUMENT (the name, an option), INVALID_STATE (no simulator is found), BUSY, BOOT_FAILED, ABI_MISMATCH.
    """
    name = full_name(name or os.environ.get("WEFT_CHIPS") or _DEFAULT_PRESET, options)
    if name.startswith("sim:") and "core=" not in name:
        name = full_name(name, {"core": os.environ.get("WEFT_CORE") or _DEFAULT_CORE})
    value = ctypes.c_void_p()
    call("weft_open", encoded(name), ctypes.byref(value))
    assert value.value is not None
    device = Device(name, Handle(value.value, f"device {name}", closer("weft_close")))
    keep_until_exit(device)
    return device


def full_name(name: str, options: Mapping[str, str | int]) -> str:
    """As the C API has it: a preset or a slice alone is a simulator of it, and options follow."""
    if ":" not in name and "?" not in name and name != "mock":
        name = f"sim:{name}"
    if options:
        words = "&".join(f"{key.replace('_', '-')}={value}" for key, value in options.items())
        name = f"{name}{'&' if '?' in name else '?'}{words}"
    return name


class _Closable(Protocol):
    def close(self) -> None: ...


_open: "weakref.WeakSet[_Closable]" = weakref.WeakSet()


def keep_until_exit(opened: _Closable) -> None:
    """It is closed at the end of the process, if it still exists then."""
    _open.add(opened)


_default: builtins.list[tuple[int, Device]] = []
_default_lock = threading.Lock()


def default_device() -> Device:
    """The device that calls without one use: `open()`, once a process, and once more in a forked child or after its close."""
    with _default_lock:
        if not _default or _default[0][0] != os.getpid() or _default[0][1].closed:
            _default[:] = [(os.getpid(), open())]
        return _default[0][1]


@atexit.register
def _close_all() -> None:
    """Simulators end, and their traces and recordings with them, before the interpreter does."""
    for opened in builtins.list(_open):
        opened.close()
