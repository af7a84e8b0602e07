"""The coverage points of packages, which Verilator 5.006 counts but does not name.

A model has counters for the functions of packages, yet only the first point of each package gets a name, in a function that is
never called. The numbers are known all the same: a package's counters follow each other, its first point has the last one. So
the names come from a second run of Verilator, on the package turned into a module; a count that does not agree is an error.
"""
from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import re
import subprocess
import tempfile


class PackageError(RuntimeError):
    """The points of a package cannot be told."""


@dataclasses.dataclass(frozen=True)
class Insert:
    """A call of __vlCoverInsert in generated code."""
    index: int
    file: str
    arguments: str       # line, column, hierarchy, page, comment and lines, as C++

    @property
    def page(self) -> str:
        return re.findall(r'"([^"]*)"', self.arguments)[1]


_INSERT = re.compile(r'__vlCoverInsert\(&\(vlSymsp->__Vcoverage\[(\d+)\]\), first, "([^"]*)", (\d+, \d+, "[^"]*", "[^"]*", "[^"]*", "[^"]*")\);')


def inserts(folder: pathlib.Path) -> list[Insert]:
    """All named counters of a generated model, by number."""
    found = {}
    for path in sorted(folder.glob("*.cpp")):
        for match in _INSERT.finditer(path.read_text()):
            found[int(match[1])] = Insert(int(match[1]), match[2], match[3])
    return [found[index] for index in sorted(found)]


# A module without logic of its own may lose its names like a package.
_HEADER = "(input logic coverage_i, output logic coverage_o); assign coverage_o = ~coverage_i;"


def as_module(text: str, name: str) -> str:
    """The package as a module of the same name; every line keeps its number."""
    changed, count = re.subn(rf"(?m)^package {name};", f"module {name} {_HEADER}", text)
    changed, ends = re.subn(r"(?m)^endpackage", "endmodule", changed)
    if count != 1 or ends != 1:
        raise PackageError(f"{name}: expected one line 'package {name};' and one 'endpackage'")
    return changed


def points_of(verilator: str, package: pathlib.Path, packages: list[pathlib.Path], cache: pathlib.Path) -> list[Insert]:
    """The package's points in order. `packages`: all, in the order in which they are compiled."""
    name = package.stem
    text = package.read_text()
    if not re.search(r"^\s*function\b", text, re.M):
        return []
    digest = hashlib.sha256("\0".join([as_module(text, name), *(path.read_text() for path in packages)]).encode()).hexdigest()[:24]
    kept = cache / f"{name}-{digest}"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            folder = pathlib.Path(temporary)
            (folder / package.name).write_text(as_module(text, name))
            files = [*packages[:packages.index(package)], folder / package.name]
            done = subprocess.run([verilator, "--cc", "-Wno-lint", "-Wno-style", "--top-module", name, "--prefix", "Vpackage", "--Mdir",
                                   str(folder / "model"), "--coverage-line", *map(str, files)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                raise PackageError(f"{name} as a module does not pass Verilator:\n{done.stdout}")
            model = folder / "model"
            for path in model.iterdir():
                if path.suffix != ".cpp":
                    path.unlink()
            try:
                model.rename(kept)
            except OSError:          # another model of the same build was faster
                pass
    mine = [insert for insert in inserts(kept) if insert.page.endswith(f"/{name}")]
    return [dataclasses.replace(insert, file=str(package)) for insert in mine]


def unnamed(model: list[Insert], package: pathlib.Path, points: list[Insert]) -> list[Insert]:
    """The package's points with their numbers in `model`; empty if the model does not use the package."""
    first = [insert for insert in model if insert.file == str(package) and insert.page.endswith(f"/{package.stem}")]
    if not first:
        return []
    named = {insert.index for insert in model}
    begin = end = first[0].index
    while begin > 0 and begin - 1 not in named:
        begin -= 1
    if len(first) != 1 or end - begin + 1 != len(points) or first[0].arguments.split(", ")[:2] != points[0].arguments.split(", ")[:2]:
        raise PackageError(f"{package}: {end - begin + 1} counters for {len(points)} points; is this another version of Verilator?")
    numbers = [end, *range(begin, end)]
    return [dataclasses.replace(point, index=number) for point, number in zip(points, numbers, strict=True)]
