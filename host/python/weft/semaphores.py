"""Timeline semaphores: a 64-bit value that only grows, between queues of a device and the host."""

import ctypes
from typing import TYPE_CHECKING

from weft._handles import Handle
from weft._library import call, library
from weft._numbers import unsigned
from weft.events import wait_options

if TYPE_CHECKING:
    from weft.device import Device


class Semaphore:
    """Made by `Device.semaphore`. Commands wait for a value by the option `after` and raise it by the option `signals`; `Queue.wait` and
    `Queue.signal` are commands of their own.

    A command that fails, or is cancelled, fails the semaphore that it should have raised: what waits for more ends with
    DEPENDENCY_FAILED. It goes with a reset of the device (INVALID_STATE).
    """

    def __init__(self, device: "Device", owner: Handle, value: int) -> None:
        made = ctypes.c_void_p()
        with owner as opened:
            call("weft_semaphore_create", opened, unsigned(value, "value"), ctypes.byref(made))
        assert made.value is not None
        self.device = device
        self._handle = Handle(made.value, "semaphore", library().weft_semaphore_release)

    @property
    def value(self) -> int:
        """Now. DEPENDENCY_FAILED: it has failed, and the text names the command."""
        value = ctypes.c_uint64()
        with self._handle as semaphore:
            call("weft_semaphore_get_value", semaphore, ctypes.byref(value))
        return value.value

    def signal(self, value: int) -> None:
        """Raises it from the host; returns when the device has it. INVALID_ARGUMENT: it stands there already, or higher."""
        with self._handle as semaphore:
            call("weft_semaphore_signal", semaphore, unsigned(value, "value"))

    def wait(self, value: int, *, timeout_s: float = 0, deadline_cycles: int = 0, until_idle: bool = False) -> None:
        """Waits until it has reached the value; limits and TIMEOUT_WAIT as for `Event.wait`. Without a limit it waits for as long as
        any thread could signal. DEPENDENCY_FAILED: the semaphore has failed."""
        options = wait_options(timeout_s, deadline_cycles, until_idle)
        with self._handle as semaphore:
            call("weft_semaphore_wait", semaphore, unsigned(value, "value"), ctypes.byref(options))

    def release(self) -> None:
        """Commands in flight that use it go on. A second call does nothing."""
        self._handle.release()
