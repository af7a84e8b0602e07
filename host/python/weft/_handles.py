"""A handle of the C API that cannot be used after its release, nor released while it is used."""

import threading
from collections.abc import Callable
from types import TracebackType

from weft._abi import Error as Status
from weft.errors import Error


class Handle:
    """`with handle as value:` for each use. The C API lets no thread release a handle while another uses it: here the release
    waits for the uses under way, and later uses raise INVALID_STATE. It comes by itself with the last reference."""

    def __init__(self, value: int, what: str, release: Callable[[int], None]) -> None:
        self._what, self._release = what, release
        self._value = value
        self._uses = 0
        self._free = threading.Condition()
        self._released = False

    def __enter__(self) -> int:
        with self._free:
            if self._released:
                raise Error(Status.INVALID_STATE, f"the {self._what} has been closed or released")
            self._uses += 1
        return self._value

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._free:
            self._uses -= 1
            if self._uses == 0:
                self._free.notify_all()

    @property
    def released(self) -> bool:
        return self._released

    def release(self) -> None:
        """Waits for uses under way in other threads. A second call does nothing."""
        with self._free:
            if self._released:
                return
            self._released = True
            while self._uses:
                self._free.wait()
        self._release(self._value)

    def __del__(self) -> None:
        if not getattr(self, "_released", True):
            self.release()
