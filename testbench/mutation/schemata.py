"""Writes a copy of the RTL in which many mutants wait, and `weft_mutation_pkg::active` tells which one lives.

An expression becomes `(active == 7 ? (mutant) : (original))`, a statement `begin if (active != 7) statement end`. One
Verilated build so holds all mutants; with active = 0 it is the RTL."""
from __future__ import annotations

from pathlib import Path

from design import BYTES
from mutant import Mutant, living_numbers

ACTIVE = "weft_mutation_pkg::active"
NOT_INLINED = "/* verilator no_inline_task */"   # Verilator lets such a task read nothing but its arguments, and mutants read ACTIVE


class SchemataError(Exception):
    """Two changes overlap without one lying inside the other."""


def render(text: str, numbered: list[tuple[int, Mutant]]) -> str:
    """The text with all mutants; their numbers start at 1."""
    places: dict[tuple[int, int], list[tuple[int, Mutant]]] = {}
    for number, mutant in numbered:
        places.setdefault((mutant.change.start, mutant.change.end), []).append((number, mutant))
    # Outer places before the inner ones they hold.
    order = sorted(places, key=lambda place: (place[0], -place[1]))
    position, rendered = render_range(text, 0, len(text), order, 0, places)
    assert position == len(order)
    return rendered


def render_range(text, start, end, order, position, places) -> tuple[int, str]:
    pieces, cursor = [], start
    while position < len(order) and order[position][0] < end:
        first, last = order[position]
        if last > end:
            raise SchemataError(f"changes overlap: {text[first:last]!r}")
        pieces.append(text[cursor:first])
        following, inner = render_range(text, first, last, order, position + 1, places)
        for number, mutant in places[(first, last)]:
            if mutant.change.is_statement and mutant.change.replacement:
                inner = f"begin if ({ACTIVE} == 32'd{number}) begin {mutant.change.replacement} end else {inner} end"
            elif mutant.change.is_statement:
                inner = f"begin if ({ACTIVE} != 32'd{number}) {inner} end"
            else:
                inner = f"({ACTIVE} == 32'd{number} ? ({mutant.change.replacement}) : ({inner}))"
        pieces.append(inner)
        cursor, position = last, following
    pieces.append(text[cursor:end])
    return position, "".join(pieces)


def write_tree(root: Path, out: Path, mutants: list[Mutant]) -> None:
    """out/ becomes root/rtl with the mutants, numbered by living_numbers(). Files that do not change keep their time."""
    numbers = living_numbers(mutants)
    write_numbered(root, out, [(numbers[mutant.id], mutant) for mutant in mutants])


def write_numbered(root: Path, out: Path, numbered: list) -> None:
    """The same for pairs of a number and what has a `change`."""
    of_file: dict[str, list] = {}
    for number, mutant in numbered:
        of_file.setdefault(mutant.change.file, []).append((number, mutant))
    written = set()
    for source in sorted((root / "rtl").glob("*/*.sv")):
        text = source.read_text(encoding=BYTES)
        name = str(source.relative_to(root))
        target = out / source.relative_to(root / "rtl")
        write_if_different(target, render(text, of_file.get(name, [])).replace(NOT_INLINED, ""))
        written.add(target)
    for stale in set(out.glob("**/*.sv")) - written:
        stale.unlink()


def write_if_different(target: Path, text: str) -> None:
    if target.exists() and target.read_text(encoding=BYTES) == text:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding=BYTES)
