"""Command buffers: commands recorded once and replayed with one call."""

import ctypes
from typing import TYPE_CHECKING

from weft._handles import Handle
from weft._library import call, library
from weft._numbers import unsigned
from weft.commands import Batch, Command, Commands, records

if TYPE_CHECKING:
    from weft.device import Device


class CommandBuffer:
    """A batch as the device takes it, made by `Device.record` and replayed by `Queue.replay`, on any queue of the device that has the
    entries, any number of times, also while earlier replays are in flight. What it uses lives as long as it does.

    Its commands are links of one chain: one that fails ends the replay. It goes with a reset of the device (INVALID_STATE).
    """

    def __init__(self, device: "Device", owner: Handle, batch: Batch) -> None:
        value = ctypes.c_void_p()
        self._length = len(batch)
        with owner as opened, records(batch._commands) as recorded:
            call("weft_command_buffer_create", opened, recorded, self._length, ctypes.byref(value))
        assert value.value is not None
        self.device = device
        self._handle = Handle(value.value, "command buffer", library().weft_command_buffer_release)

    def __len__(self) -> int:
        return self._length

    def patch(self, index: int) -> "Patch":
        """`buffer.patch(1).copy(..)` replaces command 1 by another of its kind, for replays from now on; those in flight keep what they
        have. On failure nothing has changed. INVALID_ARGUMENT: there is no such command, or it is of another kind."""
        return Patch(self._handle, unsigned(index, "index", 32))

    def release(self) -> None:
        """Replays in flight go on. A second call does nothing."""
        self._handle.release()


class Patch(Commands[None]):
    """Takes the one command that replaces a recorded one; made by `CommandBuffer.patch`."""

    def __init__(self, handle: Handle, index: int) -> None:
        self._handle, self._index = handle, index

    def _take(self, command: Command) -> None:
        with self._handle as buffer, records([command]) as recorded:
            call("weft_command_buffer_patch", buffer, self._index, recorded)
