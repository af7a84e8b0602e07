"""Reads what the collector wrote and merges it.

<name>.dat     Verilator's "SystemC::Coverage-3": a line  C '<key>' <hits>  a point, the key a run of \\x01 name \\x02 value:
               f file, l line, n column, page v_line/<module> | v_branch/<module> | v_user/<module>, o comment, S lines.
<name>.ports   a line  <module> <port> <width> <rose> <fell> <both>  a port, the bits in hexadecimal. Of a struct's port each
               field has a line: <port>.<field>, and in an array of structs <port>[<element>].<field>.

A point is its place in the source: file, line, column, kind, comment. The same point of several instances, parameterisations,
models and processes is one point and its hits add up. A bit of a port is its module, port and index, in whatever
parameterisation it exists; it is covered if one instance has seen it rise and fall.
"""
from __future__ import annotations

import dataclasses
import pathlib
import re

POINT_KINDS = ("line", "branch", "user")
_POINT = re.compile(r"C '(.*)' (\d+)$")
_PORT = re.compile(r"([A-Za-z_]\w*) ([A-Za-z_]\w*(?:(?:\[\d+\])?\.[A-Za-z_]\w*)?) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)$")
_HEAD_POINTS = "# SystemC::Coverage-3"
_HEAD_PORTS = "# weft port toggles 1: module port width rose fell both"


class DataError(ValueError):
    """A coverage file is not of its format: the message has file and line."""


@dataclasses.dataclass(frozen=True, order=True)
class Point:
    file: str
    line: int
    column: int
    kind: str        # line, branch or user
    comment: str     # block, if, else, elsif, case; of a user point its name
    lines: tuple[int, ...]


@dataclasses.dataclass
class PortBits:
    width: int = 0
    rose: int = 0
    fell: int = 0
    both: int = 0

    def add(self, width: int, rose: int, fell: int, both: int) -> None:
        self.width = max(self.width, width)
        self.rose |= rose
        self.fell |= fell
        self.both |= both


@dataclasses.dataclass
class Coverage:
    hits: dict[Point, int] = dataclasses.field(default_factory=dict)
    ports: dict[tuple[str, str], PortBits] = dataclasses.field(default_factory=dict)
    files: int = 0


def parse_lines(text: str) -> tuple[int, ...]:
    """"23-25,30" to (23, 24, 25, 30)."""
    found: list[int] = []
    for piece in text.split(",") if text else ():
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", piece)
        if not match:
            raise ValueError(f"lines {text!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first > 100000:
            raise ValueError(f"lines {text!r}")
        found += range(first, last + 1)
    return tuple(found)


def unescape(name: str) -> str:
    """A user point's name: Verilator writes characters it does not allow in an identifier as __0<hex>."""
    return re.sub(r"__0([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), name)


def parse_point(line: str) -> tuple[Point, int]:
    match = _POINT.match(line)
    if not match:
        raise ValueError("no point")
    keys = {}
    for item in match[1].split("\x01")[1:]:
        name, separator, value = item.partition("\x02")
        if not separator:
            raise ValueError(f"key {name!r} has no value")
        keys[name] = value
    try:
        kind = keys["page"].partition("/")[0].removeprefix("v_")
        point = Point(keys["f"], int(keys["l"]), int(keys["n"]), kind,
                      unescape(keys["o"]) if kind == "user" else keys["o"], parse_lines(keys.get("S", "")))
    except KeyError as missing:
        raise ValueError(f"key {missing} is missing") from None
    if point.kind not in POINT_KINDS:
        raise ValueError(f"page {keys['page']!r}")
    return point, int(match[2])


def _read(path: pathlib.Path, head: str) -> list[str]:
    try:
        lines = path.read_text().split("\n")
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a text") from None
    if lines[0] != head:
        raise DataError(f"{path}:1: expected {head!r}")
    if lines[-1] != "":
        raise DataError(f"{path}:{len(lines)}: the last line is cut off")
    return lines[1:-1]


def read_points(path: pathlib.Path, into: Coverage) -> None:
    cache = _CACHE
    for number, line in enumerate(_read(path, _HEAD_POINTS), 2):
        try:
            key, _, hits = line.rpartition(" ")
            known = cache.get(key)
            if known is None:
                known, count = parse_point(line)
                cache[key] = known
            elif hits.isascii() and hits.isdigit():
                count = int(hits)
            else:
                raise ValueError("no point")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        into.hits[known] = into.hits.get(known, 0) + count


_CACHE: dict[str, Point] = {}    # the same keys come again with every process


def read_ports(path: pathlib.Path, into: Coverage) -> None:
    for number, line in enumerate(_read(path, _HEAD_PORTS), 2):
        match = _PORT.match(line)
        if not match:
            raise DataError(f"{path}:{number}: no port")
        width, (rose, fell, both) = int(match[3]), (int(match[i], 16) for i in (4, 5, 6))
        if width == 0 or (rose | fell | both) >> width or both & ~(rose & fell):
            raise DataError(f"{path}:{number}: bits that the port does not have, or both without rose and fell")
        into.ports.setdefault((match[1], match[2]), PortBits()).add(width, rose, fell, both)


def read_folder(folder: pathlib.Path) -> Coverage:
    """All files of a run. DataError if one is damaged, half written, or there is none."""
    coverage = Coverage()
    partial = sorted(folder.glob("*.partial"))
    if partial:
        raise DataError(f"{partial[0]}: a process ended while it wrote")
    for path in sorted(folder.glob("*.dat")):
        read_points(path, coverage)
        coverage.files += 1
    for path in sorted(folder.glob("*.ports")):
        read_ports(path, coverage)
    if coverage.files == 0:
        raise DataError(f"{folder}: no coverage data; did a test program run with WEFT_COVERAGE_DIR?")
    return coverage
