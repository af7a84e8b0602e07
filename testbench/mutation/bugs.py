"""RTL bugs by hand: bugs.toml. Each is planted beside the others in one copy of the RTL, lives by its number and is hunted by the tests."""
from __future__ import annotations

import json
import re
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import schemata
from benches import SHARE, Program, order_of
from design import BYTES
from execution import SLOWER, SPARE_CPU_SECONDS, run
from mutant import Change, living_numbers

FIELDS = {"name", "breaks", "changes"}
SHORTEST_SENTENCE = 20
HALF_EXPRESSION = re.compile(r"\s*(&&|\|\||[=!]=|[<>?:*/%,])")   # text that begins so is only the right half of one


class BugError(Exception):
    """bugs.toml is not what it must be, or a bug does not fit the RTL."""


@dataclass(frozen=True)
class Bug:
    id: str
    breaks: str
    changes: tuple[Change, ...]

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(change.file for change in self.changes))

    @property
    def block(self) -> str:
        return self.files[0].split("/")[1]


@dataclass(frozen=True)
class Planted:
    """One change of a bug, as schemata.py takes mutants."""
    change: Change


@dataclass
class Verdict:
    bug: Bug
    killed_by: str = ""
    how: str = ""
    test: str = ""
    tried: list[str] = field(default_factory=list)
    seconds: float = 0.0


def located(where: str, entry, root: Path) -> Change:
    """A change of bugs.toml in the text as it is now."""
    if not isinstance(entry, dict) or not {"file", "at", "new"} <= set(entry) <= {"file", "at", "old", "new"} \
            or not all(isinstance(value, str) for value in entry.values()):
        raise BugError(f"{where}: a change has file, at, new and perhaps old, all texts")
    file = root / entry["file"]
    if not entry["file"].startswith("rtl/") or ".." in entry["file"].split("/") or not file.is_file():
        raise BugError(f"{where}: no file {entry['file']} in rtl/")
    text, at, old = file.read_text(encoding=BYTES), entry["at"], entry.get("old", entry["at"])
    if not old or text.count(at) != 1 or at.count(old) != 1:
        raise BugError(f"{where}: does not apply: {entry['file']} has {at!r} {text.count(at) if at else 0} times, "
                       f"that has {old!r} {at.count(old) if old else 0} times; each must be once")
    start = text.index(at) + at.index(old)
    if old.endswith(";") != (entry["new"].endswith(";") or not entry["new"]):
        raise BugError(f"{where}: a statement is replaced by statements or nothing, an expression by an expression")
    if any(HALF_EXPRESSION.match(text) for text in (old, entry["new"])):
        raise BugError(f"{where}: {old!r} or {entry['new']!r} begins with an operator between two operands: take the whole expression")
    return Change(entry["file"], start, start + len(old), "bug", old, entry["new"])


def read(path: Path, root: Path) -> list[Bug]:
    try:
        document = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BugError(f"{path}: {error}") from error
    entries = document.get("bug", [])
    if set(document) != {"bug"} or not isinstance(entries, list) or not entries:
        raise BugError(f"{path}: holds something else than [[bug]], or nothing")
    result = []
    for index, entry in enumerate(entries, 1):
        where = f"{path}: bug {index}"
        if not isinstance(entry, dict) or set(entry) != FIELDS:
            raise BugError(f"{where}: needs exactly {', '.join(sorted(FIELDS))}")
        if not isinstance(entry["name"], str) or not entry["name"].strip():
            raise BugError(f"{where}: no name")
        where = f"{path}: {entry['name']}"
        if not isinstance(entry["breaks"], str) or len(entry["breaks"].strip()) < SHORTEST_SENTENCE:
            raise BugError(f"{where}: no sentence that says what it breaks")
        if not isinstance(entry["changes"], list) or not entry["changes"]:
            raise BugError(f"{where}: no changes")
        result.append(Bug(entry["name"], entry["breaks"], tuple(located(where, c, root) for c in entry["changes"])))
    names = [bug.id for bug in result]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BugError(f"{path}: two bugs are named {min(twice)}")
    return result


def choose(bugs: list[Bug], names: list[str] | None) -> list[Bug]:
    unknown = set(names or []) - {bug.id for bug in bugs}
    if unknown:
        raise BugError(f"no bug {min(unknown)}; scripts/mutate --bugs --list prints all")
    return [bug for bug in bugs if not names or bug.id in names]


def write_tree(root: Path, out: Path, bugs: list[Bug]) -> dict[str, int]:
    """out/ becomes root/rtl with all bugs; gives the number of each."""
    numbers = living_numbers(bugs)
    schemata.write_numbered(root, out, [(numbers[bug.id], Planted(change)) for bug in bugs for change in bug.changes])
    return numbers


def hunt(bug: Bug, number: int, programs: list[Program], until: str) -> Verdict:
    """Program after program until one fails."""
    verdict, started = Verdict(bug), time.monotonic()
    for program in order_of(programs, bug.files, until):
        result = run(program, number, int(SLOWER * program.cpu_seconds) + SPARE_CPU_SECONDS)
        verdict.tried.append(program.label)
        if not result.passed:
            verdict.killed_by, verdict.how, verdict.test = program.label, result.how, result.test
            break
    verdict.seconds = time.monotonic() - started
    return verdict


def table(verdicts: list[Verdict]) -> str:
    rows = [("bug", "block", "killed by", "how", "s")]
    rows += [(v.bug.id, v.bug.block, v.killed_by or "SURVIVED", f"{v.how} {v.test}".strip()[:80], f"{v.seconds:.1f}")
             for v in verdicts]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def needed(count: int) -> int:
    """How many of `count` must be killed: 38 of 40."""
    return -(-count * SHARE[0] // SHARE[1])


def write_json(verdicts: list[Verdict], path: Path) -> None:
    path.write_text(json.dumps({
        "bugs": len(verdicts), "killed": sum(bool(v.killed_by) for v in verdicts), "needed": needed(len(verdicts)),
        "verdicts": [{"name": v.bug.id, "block": v.bug.block, "breaks": v.bug.breaks, "killed_by": v.killed_by, "how": v.how,
                      "test": v.test, "tried": v.tried, "seconds": round(v.seconds, 1)} for v in verdicts]}, indent=1) + "\n")
