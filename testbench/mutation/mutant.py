"""A mutant: one small change of the RTL's text, with an id that stays as long as its line does."""
from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Iterable

# What a mutant breaks. A change inside the reset branch of a process is of kind `reset`, whatever it is.
KINDS = {
    "arithmetic": "+ - * exchanged",
    "bitwise": "& | ^ exchanged, ~ removed",
    "logical": "&& || exchanged, ! removed",
    "relational": "== != exchanged, < <= > >= off by one or reversed",
    "shift": "<< >> exchanged",
    "swap": "operands, arguments or parts of a concatenation exchanged",
    "select": "the arms of ?: exchanged, or one of them always",
    "constant": "a literal one more or less, an enumerator or parameter another one",
    "condition": "the condition of an if negated, always true, always false",
    "stuck": "a one-bit signal or an input of an instance stuck",
    "dropped": "an assignment or a task call left out",
    "reset": "anything in a reset branch",
    "width": "the top bit, or the upper half, of a value cut off",
    "slice": "a slice shifted by one, an index off by one",
}

# A name, a number, or something within brackets of its own.
SIMPLE = re.compile(r"!?[\w':.]+(\[[^\[\]]*\])?|\{[^{}]*\}|\w+\([^()]*\)")


@dataclass(frozen=True)
class Change:
    """A change of text[start:end] of a file. A statement has an empty replacement: it is left out."""
    file: str           # relative to the root of the repository
    start: int
    end: int
    kind: str
    original: str
    replacement: str

    @property
    def is_statement(self) -> bool:
        return self.replacement == "" or self.original.endswith(";")

    def apply(self, text: str) -> str:
        """The text with this change alone, as a person would write it: what follows binds no part of the replacement."""
        if self.is_statement:
            new = self.replacement or ";"
        else:
            new = self.replacement if SIMPLE.fullmatch(self.replacement) else f"({self.replacement})"
        return text[:self.start] + new + text[self.end:]


@dataclass(frozen=True)
class Mutant:
    change: Change
    line: int
    ordinal: int        # among the mutants of its kind in its line
    source: str         # the line, stripped
    diff: tuple[str, str]

    @property
    def id(self) -> str:
        return f"{self.change.file}:{self.line}:{self.change.kind}:{self.ordinal}"

    @property
    def block(self) -> str:
        """The folder below rtl/."""
        return self.change.file.split("/")[1]

    @property
    def what(self) -> str:
        """The change in one line, e.g. `a < b -> a <= b`; what a waiver names."""
        def flat(text: str) -> str:
            return " ".join(text.split())
        return f"{flat(self.change.original)} -> {flat(self.change.replacement) or 'nothing'}"


def number(changes: Iterable[Change], texts: dict[str, str]) -> list[Mutant]:
    """Mutants in the order of the text, numbered within line and kind. The order depends on the file alone."""
    mutants = []
    seen: dict[tuple[str, int, str], int] = {}
    for change in sorted(changes, key=lambda c: (c.file, c.start, c.end, c.kind, c.replacement)):
        text = texts[change.file]
        line = text.count("\n", 0, change.start) + 1
        key = (change.file, line, change.kind)
        seen[key] = seen.get(key, 0) + 1
        first = text.rfind("\n", 0, change.start) + 1
        last = text.find("\n", change.end)
        last = len(text) if last < 0 else last
        before = text[first:last]
        after = change.apply(text)[first:last - len(text) or None]
        source = before.split("\n", 1)[0].strip()
        mutants.append(Mutant(change, line, seen[key], shown(source), (shown(before), shown(after))))
    return mutants


def living_numbers(mutants: Iterable[Mutant]) -> dict[str, int]:
    """The number by which each mutant lives, by its id; from 1. It comes from the id alone, so that a file with the same mutants
    in it has the same text whatever other files hold, and its models need no new build."""
    numbers: dict[str, int] = {}
    taken: set[int] = set()
    for identifier in sorted(mutant.id for mutant in mutants):
        value = zlib.crc32(identifier.encode()) & 0x7fffffff
        while value == 0 or value in taken:
            value = (value + 1) & 0x7fffffff
        taken.add(value)
        numbers[identifier] = value
    return numbers


def shown(text: str) -> str:
    """From bytes as characters (design.BYTES) to what a reader sees."""
    return text.encode("latin-1").decode("utf-8", "replace")
