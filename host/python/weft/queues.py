"""Queues of commands, and the events by which a command's end is known."""

import ctypes
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from weft import _abi
from weft._abi import Error as Status
from weft._handles import Handle
from weft._library import call, library
from weft.errors import Error, error_of, fresh, status_of

if TYPE_CHECKING:
    from weft.buffers import Buffer
    from weft.device import Device
    from weft.programs import Kernel


class Event:
    """A command that has been submitted."""

    def __init__(self, value: int) -> None:
        self._handle = Handle(value, "event", library().weft_event_release)

    def _info(self) -> Any:
        info = fresh(_abi.weft_event_info)
        with self._handle as event:
            call("weft_event_query", event, ctypes.byref(info))
        return info

    @property
    def done(self) -> bool:
        """Looks, does not wait. A command that has failed is done."""
        return bool(self._info().done)

    @property
    def error(self) -> Error | None:
        """How the command failed; None: it succeeded or has not ended."""
        info = self._info()
        if not info.done or info.status == Status.OK:
            return None
        details = fresh(_abi.weft_error_info)
        with self._handle as event:
            call("weft_event_get_error", event, ctypes.byref(details))
        return error_of(info.status, details)

    def wait(self, *, timeout_s: float = 0, deadline_cycles: int = 0) -> "Event":
        """Waits until the command has ended. Raises its error; TIMEOUT_WAIT if `timeout_s` seconds of wall-clock time or
        `deadline_cycles` of device time have passed (0: no limit), or nobody can end the wait any more: the work goes on then.
        A KeyboardInterrupt comes when the wait has ended."""
        options = fresh(_abi.weft_wait_options)
        options.timeout_ms = min(max(int(timeout_s * 1000), 1), 0xFFFFFFFF) if timeout_s > 0 else 0
        options.deadline_cycles = deadline_cycles
        with self._handle as event:
            call("weft_event_wait", event, ctypes.byref(options))
        return self

    def cancel(self) -> None:
        """Asks the device to end the command early: it ends with CANCELLED, or as it would have."""
        with self._handle as event:
            call("weft_event_cancel", event)

    def _ended(self) -> Any:
        info = self._info()
        if not info.done:
            raise Error(Status.INVALID_STATE, "the command has not ended: wait for it first")
        return info

    @property
    def start_cycle(self) -> int:
        """Device cycle of a launch's first command. INVALID_STATE: it has not ended."""
        return int(self._ended().start_cycle)

    @property
    def end_cycle(self) -> int:
        """Device cycle from which a launch's last write is visible. INVALID_STATE: it has not ended."""
        return int(self._ended().end_cycle)

    @property
    def cycles(self) -> int:
        """Device cycles that a launch took. INVALID_STATE: it has not ended."""
        info = self._ended()
        return int(info.end_cycle - info.start_cycle)

    @property
    def status(self) -> Status | None:
        """None: it has not ended."""
        info = self._info()
        return status_of(info.status) if info.done else None


class Queue:
    """Commands start in order, and one copy or launch ends before the next one starts; made by `Device.queue`.

    Each command returns at once with its event. QUEUE_FULL: all entries are in flight; wait for an event and try again.
    """

    def __init__(self, device: "Device", owner: Handle, entries: int) -> None:
        options = fresh(_abi.weft_queue_options)
        options.entries = entries
        value = ctypes.c_void_p()
        with owner as opened:
            call("weft_queue_create", opened, ctypes.byref(options), ctypes.byref(value))
        assert value.value is not None
        self.device = device
        self._handle = Handle(value.value, "queue", _release)

    def __enter__(self) -> "Queue":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def release(self) -> None:
        """Waits for the queue's commands, then deletes it. A second call does nothing."""
        self._handle.release()

    def launch(self, kernel: "Kernel", arguments: "Sequence[Buffer | tuple[Buffer, int]]", *, tag: int = 0, budget_kcycles: int = 0) -> Event:
        """Runs a kernel on its arguments, each a buffer, or one and an offset that is a multiple of 16.
        tag: comes back in errors and traces. budget_kcycles: the launch ends with BUDGET_EXCEEDED after so many 1000 cycles."""
        held = [argument if isinstance(argument, tuple) else (argument, 0) for argument in arguments]
        places = (_abi.weft_argument * max(len(held), 1))()
        handles = [buffer._held() for buffer, _ in held]
        for place, handle, (_, offset) in zip(places, handles, held, strict=False):
            place.buffer, place.offset = handle._value, offset
        with kernel._handle:
            return self._submit("weft_launch", kernel._value, places, len(held), options=_options(tag, budget_kcycles), uses=handles)

    def copy(self, destination: "Buffer", source: "Buffer", size: int, *, destination_offset: int = 0, source_offset: int = 0, tag: int = 0) -> Event:
        """Copies `size` bytes, from 1, between HOST and HBM or within HBM. UNSUPPORTED: from HOST to HOST."""
        to, origin = destination._held(), source._held()
        return self._submit("weft_copy", to._value, destination_offset, origin._value, source_offset, size, options=_options(tag), uses=[to, origin])

    def fill(self, buffer: "Buffer", pattern: int, size: int, *, offset: int = 0, tag: int = 0) -> Event:
        """Fills with a 32-bit pattern; offset and size are multiples of 4."""
        to = buffer._held()
        return self._submit("weft_fill", to._value, offset, size, pattern & 0xFFFFFFFF, options=_options(tag), uses=[to])

    def fence(self) -> Event:
        """Ends when all earlier commands of the queue have."""
        return self._submit("weft_fence", options=_options())

    def timestamp(self) -> Event:
        """Its start and end cycle are the device's when it was its turn."""
        return self._submit("weft_timestamp", options=_options())

    def nop(self) -> Event:
        """Does nothing, on the device."""
        return self._submit("weft_nop", options=_options())

    def cancel(self) -> None:
        """`Event.cancel` for every command that was submitted before."""
        with self._handle as queue:
            call("weft_queue_cancel", queue)

    def _submit(self, name: str, *arguments: Any, options: Any, uses: Sequence[Handle] = ()) -> Event:
        value = ctypes.c_void_p()
        entered: list[Handle] = []
        try:
            for handle in uses:
                handle.__enter__()
                entered.append(handle)
            with self._handle as queue:
                call(name, queue, *arguments, ctypes.byref(options), ctypes.byref(value))
        finally:
            for handle in entered:
                handle.__exit__(None, None, None)
        assert value.value is not None
        return Event(value.value)


def _options(tag: int = 0, budget_kcycles: int = 0) -> Any:
    options = fresh(_abi.weft_command_options)
    options.tag, options.budget_kcycles = tag & 0xFFFFFFFF, budget_kcycles
    return options


def _release(value: int) -> None:
    library().weft_queue_release(value)
