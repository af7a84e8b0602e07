"""The library's errors as exceptions."""

import ctypes
from typing import Any

from weft._abi import Error as Status
from weft._abi import ErrorScope, weft_error_info


class Error(RuntimeError):
    """A call or a command has failed. The text is `NAME: what went wrong (what to do)`.

    status: the code, of `weft.Status`; docs/errors.md has each by an example.
    scope: what is lost with it: this COMMAND, its QUEUE, or the DEVICE.
    retryable: True if the same call may succeed later.
    hint: what to do; may be empty.
    cycle: device cycle; queue, command, tag: of the command; fault: of the core. 0 where that does not apply.
    report_path: the hang report of TIMEOUT_WAIT, DEVICE_HUNG and BUDGET_EXCEEDED; may be empty.
    """

    def __init__(self, status: Status, message: str, info: Any = None) -> None:
        self.status = status
        self.hint: str = info.hint.decode(errors="replace") if info else ""
        self.scope = ErrorScope(info.scope) if info else ErrorScope.COMMAND
        self.retryable = bool(info.retryable) if info else False
        self.queue: int = info.queue if info else 0
        self.command: int = info.command if info else 0
        self.tag: int = info.tag if info else 0
        self.fault: int = info.fault if info else 0
        self.cycle: int = info.cycle if info else 0
        self.report_path: str = info.report_path.decode(errors="replace") if info else ""
        text = message.removeprefix(f"{status.name}: ")
        if self.hint and self.hint not in text:
            text = f"{text} ({self.hint})"
        super().__init__(f"{status.name}: {text}")


def status_of(code: int) -> Status:
    """INTERNAL for a code that this package does not know."""
    try:
        return Status(code)
    except ValueError:
        return Status.INTERNAL


def error_of(code: int, info: weft_error_info) -> Error:
    """Of a code and what the library has told of it, which may be of another error."""
    status = status_of(code)
    if info.code != code:
        return Error(status, "the library tells no more")
    return Error(status, info.message.decode(errors="replace"), info)


def fresh(structure: Any) -> Any:
    """A zeroed structure that knows its size."""
    made = structure()
    made.size = ctypes.sizeof(structure)
    return made
