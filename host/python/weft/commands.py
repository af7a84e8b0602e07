"""Commands as data: a queue takes one at once, a batch collects them, a command buffer records them."""

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack

from weft import _abi
from weft._abi import QueueOpcode
from weft._handles import Handle
from weft._numbers import unsigned
from weft.errors import fresh
from weft.semaphores import Semaphore

if TYPE_CHECKING:
    from weft.buffers import Buffer
    from weft.programs import Kernel


class CommandOptions(TypedDict, total=False):
    """What every command takes by name.

    tag: comes back in errors and traces.
    budget_kcycles: the command ends with BUDGET_EXCEEDED after so many 1000 cycles; 0: no limit.
    fence: it starts when all earlier commands of the queue have ended.
    chain: the next command of the queue runs only if this one succeeds, and ends with DEPENDENCY_FAILED otherwise.
    profile: of a launch: `Event.steps` works.
    after: it starts when the semaphore has reached the value.
    signals: the semaphore takes the value, larger than any before, when the command has succeeded.
    """

    tag: int
    budget_kcycles: int
    fence: bool
    chain: bool
    profile: bool
    after: tuple[Semaphore, int]
    signals: tuple[Semaphore, int]


class Command:
    """A command and what it uses. Nothing is asked of the library before it is submitted or recorded."""

    def __init__(self, opcode: QueueOpcode, given: CommandOptions, uses: Sequence[Handle] = (), **fields: Any) -> None:
        if unknown := given.keys() - CommandOptions.__annotations__.keys():
            raise TypeError(f"a command has no option {', '.join(sorted(unknown))}: it has {', '.join(CommandOptions.__annotations__)}")
        self.uses = list(uses)
        options = fresh(_abi.weft_command_options)
        options.tag = unsigned(given.get("tag", 0), "tag", 32)
        options.budget_kcycles = unsigned(given.get("budget_kcycles", 0), "budget_kcycles", 32)
        options.fence_before, options.chain, options.profile = (bool(given.get(name)) for name in ("fence", "chain", "profile"))
        if "after" in given:
            options.wait_semaphore, options.wait_value = self._semaphore("after", given["after"])
        if "signals" in given:
            options.signal_semaphore, options.signal_value = self._semaphore("signals", given["signals"])
        self._options = options
        self.record = fresh(_abi.weft_command)
        self.record.opcode = opcode
        self.record.options = ctypes.pointer(options)
        for name, value in fields.items():
            setattr(self.record, name, value)

    def _semaphore(self, option: str, pair: tuple[Semaphore, int]) -> tuple[int, int]:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], Semaphore):
            raise TypeError(f"option {option} is a semaphore and a value, as in {option}=(semaphore, 1), not {pair!r}")
        semaphore, value = pair
        self.uses.append(semaphore._handle)
        return semaphore._handle._value, unsigned(value, "a semaphore's value")

    @contextmanager
    def held(self) -> Iterator[None]:
        """What it uses cannot be released meanwhile."""
        with ExitStack() as uses:
            for handle in self.uses:
                uses.enter_context(handle)
            yield


@contextmanager
def records(commands: Sequence[Command]) -> Iterator[Any]:
    """Them as the library takes them: an array of weft_command, whose handles cannot be released meanwhile."""
    array = (_abi.weft_command * max(len(commands), 1))()
    with ExitStack() as uses:
        for place, command in enumerate(commands):
            array[place] = command.record
            uses.enter_context(command.held())
        yield array


Taken = TypeVar("Taken")


class Commands(ABC, Generic[Taken]):
    """Whoever takes commands: a queue answers with an event, a batch with the command's place in it."""

    @abstractmethod
    def _take(self, command: Command) -> Taken: ...

    def launch(self, kernel: "Kernel", arguments: "Sequence[Buffer | tuple[Buffer, int]]", **options: Unpack[CommandOptions]) -> Taken:
        """Runs a kernel on its arguments, each a buffer, or one and an offset that is a multiple of 16."""
        held = [argument if isinstance(argument, tuple) else (argument, 0) for argument in arguments]
        places = (_abi.weft_argument * max(len(held), 1))()
        handles = [buffer._held() for buffer, _ in held]
        for place, handle, (_, offset) in zip(places, handles, held, strict=False):
            place.buffer, place.offset = handle._value, unsigned(offset, "an argument's offset")
        return self._take(Command(QueueOpcode.LAUNCH, options, [kernel._handle, *handles], kernel=kernel._value, arguments=places, argument_count=len(held)))

    def copy(self, destination: "Buffer", source: "Buffer", size: int, *, destination_offset: int = 0, source_offset: int = 0, **options: Unpack[CommandOptions]) -> Taken:
        """Copies `size` bytes, from 1, between HOST and HBM or within HBM. UNSUPPORTED: from HOST to HOST."""
        to, origin = destination._held(), source._held()
        return self._take(Command(
            QueueOpcode.COPY, options, [to, origin], destination=to._value, destination_offset=unsigned(destination_offset, "destination_offset"),
            source=origin._value, source_offset=unsigned(source_offset, "source_offset"), bytes=unsigned(size, "size"),
        ))  # fmt: skip

    def fill(self, buffer: "Buffer", pattern: int, size: int, *, offset: int = 0, **options: Unpack[CommandOptions]) -> Taken:
        """Fills with a 32-bit pattern; offset and size are multiples of 4."""
        to = buffer._held()
        return self._take(Command(
            QueueOpcode.FILL, options, [to], destination=to._value, destination_offset=unsigned(offset, "offset"), bytes=unsigned(size, "size"),
            pattern=unsigned(pattern, "pattern", 32),
        ))  # fmt: skip

    def fence(self, **options: Unpack[CommandOptions]) -> Taken:
        """Ends when all earlier commands of the queue have."""
        return self._take(Command(QueueOpcode.FENCE, options))

    def timestamp(self, **options: Unpack[CommandOptions]) -> Taken:
        """Its start and end cycle are the device's when it was its turn."""
        return self._take(Command(QueueOpcode.TIMESTAMP, options))

    def nop(self, **options: Unpack[CommandOptions]) -> Taken:
        """Does nothing, on the device."""
        return self._take(Command(QueueOpcode.NOP, options))

    def wait(self, semaphore: Semaphore, value: int, **options: Unpack[CommandOptions]) -> Taken:
        """Ends when the semaphore has reached the value, and holds back what is behind it. budget_kcycles bounds it."""
        return self._take(Command(QueueOpcode.WAIT, {**options, "after": (semaphore, value)}))

    def signal(self, semaphore: Semaphore, value: int, **options: Unpack[CommandOptions]) -> Taken:
        """Raises the semaphore when all earlier commands of the queue have ended. INVALID_ARGUMENT: it stands there already, or higher."""
        return self._take(Command(QueueOpcode.SIGNAL, {**options, "signals": (semaphore, value)}))


class Batch(Commands[int]):
    """Commands for `Queue.submit` and `Device.record`, in their order; each call answers with the command's index. What they use
    lives as long as the batch does. One thread at a time adds to it."""

    def __init__(self) -> None:
        self._commands: list[Command] = []

    def __len__(self) -> int:
        return len(self._commands)

    def _take(self, command: Command) -> int:
        self._commands.append(command)
        return len(self._commands) - 1
