"""Survivors that are explained: waivers.toml. A waiver names its mutants by what stands in the source, not by a line number.

    [[waiver]]
    file = "rtl/dma/dma.sv"
    source = "assign a = b && c;"       # the line, stripped
    kind = "logical"
    change = "b && c -> (b) || (c)"     # as the report prints it
    owner = "dma"
    class = "equivalent"                # or "unobservable"
    reason = "c implies b: ..."
"""
from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from mutant import KINDS, Mutant

FIELDS = ("file", "source", "kind", "change", "owner", "class", "reason")
CLASSES = ("equivalent", "unobservable")
SHORTEST_REASON = 20


class WaiverError(Exception):
    """The waiver file is not what it must be."""


@dataclass(frozen=True)
class Waiver:
    file: str
    source: str
    kind: str
    change: str
    owner: str
    category: str
    reason: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.source, self.kind, self.change


def read(path: Path) -> list[Waiver]:
    try:
        document = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WaiverError(f"{path}: {error}") from error
    entries = document.get("waiver", [])
    if set(document) - {"waiver"} or not isinstance(entries, list):
        raise WaiverError(f"{path}: holds something else than [[waiver]]")
    result = []
    for index, entry in enumerate(entries, 1):
        where = f"{path}: waiver {index}"
        if not isinstance(entry, dict) or set(entry) != set(FIELDS):
            raise WaiverError(f"{where}: needs exactly {', '.join(FIELDS)}")
        bad = [name for name in FIELDS if not isinstance(entry[name], str) or not entry[name].strip()]
        if bad:
            raise WaiverError(f"{where}: {bad[0]} is no text")
        if entry["kind"] not in KINDS:
            raise WaiverError(f"{where}: no kind of mutant: {entry['kind']}")
        if entry["class"] not in CLASSES:
            raise WaiverError(f"{where}: class is one of {', '.join(CLASSES)}")
        if len(entry["reason"].strip()) < SHORTEST_REASON:
            raise WaiverError(f"{where}: the reason explains nothing: {entry['reason']!r}")
        result.append(Waiver(*(entry[name] for name in FIELDS)))
    keys = [waiver.key for waiver in result]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise WaiverError(f"{path}: waived twice: {twice.pop()}")
    return result


def key_of(mutant: Mutant) -> tuple[str, str, str, str]:
    return mutant.change.file, mutant.source, mutant.change.kind, mutant.what


def stale(waivers: list[Waiver], population: list[Mutant]) -> list[Waiver]:
    """Waivers of mutants that the RTL no longer has."""
    existing = {key_of(mutant) for mutant in population}
    return [waiver for waiver in waivers if waiver.key not in existing]
