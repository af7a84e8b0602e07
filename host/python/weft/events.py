"""Events: by which the end of a command is known."""

import asyncio
import ctypes
import itertools
import logging
import threading
from collections.abc import Callable, Generator
from typing import Any

from weft import _abi
from weft._abi import Error as Status
from weft._handles import Handle
from weft._library import call, library
from weft.errors import Error, error_of, fresh, status_of


class Event:
    """A command that has been submitted. In a coroutine, `await event` waits without holding up the loop, and raises as `wait` does."""

    def __init__(self, value: int) -> None:
        self._handle = Handle(value, "event", library().weft_event_release)
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[Event], None]] = []
        self._registered = self._called = False  # asked the library to call back; it has, and all callbacks have run

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

    def wait(self, *, timeout_s: float = 0, deadline_cycles: int = 0, until_idle: bool = False) -> "Event":
        """Waits until the command has ended. Raises its error; TIMEOUT_WAIT if `timeout_s` seconds of wall-clock time or
        `deadline_cycles` of device time have passed (0: no limit), or nobody can end the wait any more: the work goes on then.
        until_idle: TIMEOUT_WAIT too once the device has nothing to do, although a semaphore could still be signalled.
        A KeyboardInterrupt comes when the wait has ended."""
        options = wait_options(timeout_s, deadline_cycles, until_idle)
        with self._handle as event:
            call("weft_event_wait", event, ctypes.byref(options))
        return self

    def cancel(self) -> None:
        """Asks the device to end the command early: it ends with CANCELLED, or as it would have."""
        with self._handle as event:
            call("weft_event_cancel", event)

    def call_when_done(self, callback: "Callable[[Event], None]") -> None:
        """Calls back once with the event, also if the command has ended before; any number of callbacks, in their order. They
        run on the device's dispatcher thread, where they may submit, query and wait, but neither close nor reset a device
        (INVALID_STATE). What they raise is logged (logger `weft`). INVALID_STATE: the device is closed."""
        with self._lock:
            if not self._called:
                if not self._registered:
                    self._register()
                self._callbacks.append(callback)
                return
        _guarded(callback, self)

    def _register(self) -> None:
        key = next(_keys)
        _waiting[key] = self
        try:
            with self._handle as event:
                call("weft_event_set_callback", event, _trampoline, key)
        except BaseException:
            del _waiting[key]
            raise
        self._registered = True

    def _call_back(self) -> None:
        while True:
            with self._lock:
                callbacks, self._callbacks = self._callbacks, []
                if not callbacks:
                    self._called = True
                    return
            for callback in callbacks:
                _guarded(callback, self)

    def __await__(self) -> "Generator[Any, None, Event]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def tell(_: Event) -> None:
            try:
                loop.call_soon_threadsafe(_settle, future)
            except RuntimeError:  # the loop has been closed: nobody waits
                pass

        self.call_when_done(tell)
        yield from future
        if (error := self.error) is not None:
            raise error
        return self

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

    def steps(self) -> dict[str, int]:
        """Device cycle of each step of a launch with `profile=True`, from its doorbell to its completion. INVALID_STATE: it has
        not ended, or was launched without."""
        profile = _abi.weft_launch_profile()
        with self._handle as event:
            call("weft_event_get_profile", event, ctypes.byref(profile))
        return {name: getattr(profile, name) for name in (field[0] for field in profile._fields_) if not name.startswith("reserved")}


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():  # as it is when its task has been cancelled
        future.set_result(None)


def wait_options(timeout_s: float, deadline_cycles: int, until_idle: bool) -> Any:
    options = fresh(_abi.weft_wait_options)
    options.timeout_ms = min(max(int(timeout_s * 1000), 1), 0xFFFFFFFF) if timeout_s > 0 else 0
    options.deadline_cycles = deadline_cycles
    options.until_idle = until_idle
    return options


_log = logging.getLogger("weft")
_keys = itertools.count(1)
_waiting: dict[int, Event] = {}  # what the library will call back with
_thread = threading.local()


def in_callback() -> bool:
    """This thread is a device's dispatcher, inside of a callback."""
    return bool(getattr(_thread, "inside", False))


def refuse_in_callback(what: str) -> None:
    """INVALID_STATE inside of a callback."""
    if in_callback():
        raise Error(Status.INVALID_STATE, f"a callback cannot {what}")


def _guarded(callback: Callable[[Event], None], event: Event) -> None:
    try:
        callback(event)
    except Exception:
        _log.exception("a callback of an event has failed")


@_abi.weft_event_callback  # type: ignore[untyped-decorator]
def _trampoline(_: int, __: int, key: int) -> None:
    _thread.inside = True
    try:
        _waiting.pop(key)._call_back()
    finally:
        _thread.inside = False
