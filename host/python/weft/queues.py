"""Queues of commands."""

import ctypes
from types import TracebackType
from typing import TYPE_CHECKING

from weft import _abi
from weft._handles import Handle
from weft._library import call, library
from weft._numbers import unsigned
from weft.command_buffers import CommandBuffer
from weft.commands import Batch, Command, Commands, records
from weft.errors import fresh
from weft.events import Event

if TYPE_CHECKING:
    from weft.device import Device


class Queue(Commands[Event]):
    """Commands start in order, and one copy or launch ends before the next one starts; made by `Device.queue`.

    Each command returns at once with its event. QUEUE_FULL: all entries are in flight; wait for an event and try again.
    """

    def __init__(self, device: "Device", owner: Handle, entries: int) -> None:
        options = fresh(_abi.weft_queue_options)
        options.entries = unsigned(entries, "entries", 32)
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

    def cancel(self) -> None:
        """`Event.cancel` for every command that was submitted before."""
        with self._handle as queue:
            call("weft_queue_cancel", queue)

    def submit(self, batch: Batch) -> list[Event]:
        """Submits its commands with one doorbell, all or none, and answers with an event for each. The error names the command that is
        wrong. QUEUE_FULL: fewer entries are free. INVALID_ARGUMENT: the batch is empty, or has more commands than the queue entries."""
        return self._submit(batch._commands)

    def replay(self, buffer: CommandBuffer) -> Event:
        """Replays a command buffer, with one doorbell. The event is that of the last command: it ends with its own error, or with
        DEPENDENCY_FAILED and the name of the command that failed. QUEUE_FULL: fewer entries are free, and nothing was submitted."""
        value = ctypes.c_void_p()
        with self._handle as queue, buffer._handle as recorded:
            call("weft_command_buffer_submit", queue, recorded, ctypes.byref(value))
        assert value.value is not None
        return Event(value.value)

    def _take(self, command: Command) -> Event:
        return self._submit([command])[0]

    def _submit(self, commands: list[Command]) -> list[Event]:
        values = [ctypes.c_void_p() for _ in commands]
        with self._handle as queue, records(commands) as array:
            for record, value in zip(array, values, strict=False):
                record.event = ctypes.pointer(value)
            call("weft_submit", queue, array, len(commands))
        return [Event(value.value) for value in values if value.value is not None]


def _release(value: int) -> None:
    library().weft_queue_release(value)
