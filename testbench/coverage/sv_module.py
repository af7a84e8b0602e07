"""The header of a SystemVerilog module as this repository writes them: ANSI ports, one declaration a port.

Only what the coverage monitors need is understood; anything else is an error that names the file.
"""
from __future__ import annotations

import dataclasses
import pathlib
import re


class HeaderError(ValueError):
    """The text is not a module header of the form that is understood."""


@dataclasses.dataclass(frozen=True)
class Port:
    direction: str
    type: str           # as written, without packed dimensions: "logic", "control_pkg::fault_t"
    packed: str         # packed dimensions as written, "" or "[7:0]"
    name: str
    unpacked: str       # "" or "[NumUnits]"
    line: int           # of its declaration in the file


@dataclasses.dataclass(frozen=True)
class Module:
    name: str
    imports: str        # "import a::*;" or ""
    parameters: tuple[tuple[str, str, str], ...]   # ("parameter" | "localparam" | "type", name, declaration)
    ports: tuple[Port, ...]

    def port(self, name: str) -> Port | None:
        return next((p for p in self.ports if p.name == name), None)


def without_comments(text: str) -> str:
    """The text with comments replaced by spaces; every other character keeps its place."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)


def _closing(text: str, start: int) -> int:
    """Index of the parenthesis that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise HeaderError("a parenthesis of the header is not closed")


def _split(text: str) -> list[tuple[int, str]]:
    """Pieces between commas that stand in no bracket, with the offset of each."""
    pieces, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            pieces.append((begin, text[begin:i]))
            begin = i + 1
    pieces.append((begin, text[begin:]))
    return [(at, piece) for at, piece in pieces if piece.strip()]


_DIMENSIONS = r"(?:\[[^\]]*\]\s*)*"
_PORT = re.compile(r"\s*(input|output)\s+(?:wire\s+|var\s+)?([A-Za-z_][\w:]*)?\s*(" + _DIMENSIONS +
                   r")\b([A-Za-z_]\w*)\s*(" + _DIMENSIONS + r")\s*$", re.S)
_PARAMETER = re.compile(r"\s*(parameter|localparam)\s+(.*?)\b([A-Za-z_]\w*)\s*=\s*(.*)$", re.S)


def parse(text: str) -> Module:
    """The first module of a file. HeaderError if there is none or its header is of another form."""
    code = without_comments(text)
    found = re.search(r"\bmodule\s+([A-Za-z_]\w*)\s*((?:import\s+[^;]*;\s*)*)(#\s*\()?", code)
    if not found:
        raise HeaderError("no module")
    name, imports, at = found[1], " ".join(found[2].split()), found.end()
    parameters = []
    if found[3]:
        end = _closing(code, at - 1)
        for _, piece in _split(code[at:end]):
            match = _PARAMETER.match(piece)
            if not match:
                raise HeaderError(f"{name}: parameter {piece.strip()!r}")
            kind = "type" if match[2].strip() == "type" else match[1]
            parameters.append((kind, match[3], " ".join(piece.split())))
        at = end + 1
    opening = re.compile(r"\s*\(").match(code, at)
    if not opening:
        raise HeaderError(f"{name}: no list of ports")
    ports = []
    for offset, piece in _split(code[opening.end():_closing(code, opening.end() - 1)]):
        match = _PORT.match(piece)
        if not match:
            raise HeaderError(f"{name}: port {piece.strip()!r}")
        line = code.count("\n", 0, opening.end() + offset + match.start(4)) + 1
        ports.append(Port(match[1], match[2] or "logic", match[3].strip(), match[4], match[5].strip(), line))
    return Module(name, imports, tuple(parameters), tuple(ports))


def parse_file(path: pathlib.Path) -> Module:
    try:
        return parse(path.read_text())
    except HeaderError as error:
        raise HeaderError(f"{path}: {error}") from None
