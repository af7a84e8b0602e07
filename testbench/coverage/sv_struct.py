"""The structs that this repository's SystemVerilog packages declare: `typedef struct packed { <type> <field>; ... } name;`.

Structs of packages below rtl/ only; what a file of spec/ generates has one layout in every chip.
"""
from __future__ import annotations

import dataclasses
import pathlib
import re

from sv_module import HeaderError, Module, Port, without_comments


@dataclasses.dataclass(frozen=True)
class Field:
    name: str
    line: int           # of its declaration in the package's file


@dataclasses.dataclass(frozen=True)
class Struct:
    name: str           # "core_pkg::flip_t"
    file: pathlib.Path
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        return next((f for f in self.fields if f.name == name), None)


_STRUCT = re.compile(r"\btypedef\s+struct\s+packed\s*\{([^{}]*)\}\s*([A-Za-z_]\w*)\s*;")
_FIELD = re.compile(r"\s*[A-Za-z_][\w:]*\s*(?:\[[^\]]*\]\s*)*\b([A-Za-z_]\w*)\s*$")


def parse(text: str, file: pathlib.Path) -> list[Struct]:
    """The structs of a package's file. HeaderError if one has another form."""
    code = without_comments(text)
    package = re.search(r"\bpackage\s+(?:automatic\s+)?([A-Za-z_]\w*)\s*;", code)
    if not package:
        raise HeaderError(f"{file}: no package")
    found = []
    for match in _STRUCT.finditer(code):
        fields, at = [], match.start(1)
        for declaration in match[1].split(";")[:-1]:
            field = _FIELD.match(declaration)
            if not field:
                raise HeaderError(f"{file}: {match[2]}: field {declaration.strip()!r}")
            fields.append(Field(field[1], code.count("\n", 0, at + field.start(1)) + 1))
            at += len(declaration) + 1
        found.append(Struct(f"{package[1]}::{match[2]}", file, tuple(fields)))
    if len(found) != len(re.findall(r"\bstruct\b|\bunion\b", code)):
        raise HeaderError(f"{file}: a struct or union of a form that is not understood")
    return found


class Structs:
    """Those of some packages, by name."""

    def __init__(self, packages: list[pathlib.Path]):
        self._by_name = {struct.name: struct for path in packages for struct in parse(path.read_text(), path)}

    def of_port(self, module: Module, port: Port) -> Struct | None:
        """None: the port is of no struct that is known."""
        if any(kind == "type" and name == port.type for kind, name, _ in module.parameters):
            return None
        if "::" in port.type:
            return self._by_name.get(port.type)
        imported = re.findall(r"([A-Za-z_]\w*)::(?:\*|" + port.type + r"\b)", module.imports)
        return next((self._by_name[name] for package in imported if (name := f"{package}::{port.type}") in self._by_name), None)
