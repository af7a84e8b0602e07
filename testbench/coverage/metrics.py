"""From merged data to figures: lines, branches, bits of ports and bins, each covered, waived or missed.

line     a line that a point names is covered if one of the points that name it was hit.
branch   a point of an if (taken, not taken, even without an else), of an else-if chain or of a case item.
toggle   a bit of a port or of a field of a port, without clocks; covered if it rose and fell in one instance.
bin      a declared functional bin.
"""
from __future__ import annotations

import dataclasses
import pathlib
import re

import sv_module
import sv_struct
from data import Coverage, PortBits
from waivers import Waiver

METRICS = ("line", "branch", "toggle", "bin")
BRANCHES = ("if", "else", "elsif", "case")


@dataclasses.dataclass
class Item:
    """One thing to cover."""
    metric: str
    file: str            # below the repository; "" for a bin
    line: int
    name: str            # branch: if, else ...; toggle: module.port[bit], module.port[element].field[bit]; bin: its name
    hits: int
    waiver: Waiver | None = None
    note: str = ""       # toggle: "rose only", "fell only", "still"

    @property
    def state(self) -> str:
        return "covered" if self.hits else "waived" if self.waiver else "missed"


@dataclasses.dataclass
class Totals:
    covered: int = 0
    waived: int = 0
    missed: int = 0

    def add(self, item: Item) -> None:
        setattr(self, item.state, getattr(self, item.state) + 1)

    @property
    def total(self) -> int:
        """What counts: waived items do not."""
        return self.covered + self.missed

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.total if self.total else 100.0


class Sources:
    """The RTL's text, below the root of the repository."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self._lines: dict[str, list[str]] = {}
        self._modules: dict[str, tuple[str, sv_module.Module]] = {}
        self._structs: sv_struct.Structs | None = None

    def relative(self, file: str) -> str:
        """"rtl/core/issue.sv", or "" for a file that is not RTL."""
        try:
            name = pathlib.Path(file).resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return ""
        return name if name.startswith("rtl/") else ""

    def lines(self, file: str) -> list[str]:
        if file not in self._lines:
            path = self.root / file
            self._lines[file] = path.read_text().split("\n") if path.exists() else []
        return self._lines[file]

    def text(self, file: str, line: int) -> str:
        lines = self.lines(file)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def module(self, name: str) -> tuple[str, sv_module.Module] | None:
        """File and header of an RTL module."""
        return self.modules().get(name)

    def modules(self) -> dict[str, tuple[str, sv_module.Module]]:
        if not self._modules:
            for path in sorted((self.root / "rtl").glob("*/*.sv")):
                if path.name.endswith("_pkg.sv"):
                    continue
                module = sv_module.parse_file(path)
                self._modules[module.name] = (path.relative_to(self.root).as_posix(), module)
        return self._modules

    def struct(self, module: sv_module.Module, port: sv_module.Port) -> sv_struct.Struct | None:
        """The struct that a port is of, if a package of the RTL declares it."""
        if self._structs is None:
            self._structs = sv_struct.Structs(sorted((self.root / "rtl").glob("*/*_pkg.sv")))
        return self._structs.of_port(module, port)

    def declarations(self) -> dict[str, str]:
        """The line that declares each port, or if it is a struct, each of its fields: of "module.port" or "module.port.field"."""
        found = {}
        for name, (file, module) in self.modules().items():
            for port in module.ports:
                struct = self.struct(module, port)
                if struct is None:
                    found[f"{name}.{port.name}"] = self.text(file, port.line)
                for field in struct.fields if struct else ():
                    found[f"{name}.{port.name}.{field.name}"] = self.text(self.relative(str(struct.file)), field.line)
        return found


def _place_waivers(items: list[Item], waivers: list[Waiver], sources: Sources) -> list[str]:
    """Marks what lines' and branches' waivers name. Problems: texts that are not in the file."""
    problems = []
    for waiver in waivers:
        file, text = waiver.where["file"], waiver.where["text"]
        if not any(text in line for line in sources.lines(file)):
            problems.append(f"stale waiver, its text is not in the file: {waiver}")
            continue
        for item in items:
            if item.metric != waiver.kind or item.file != file or text not in sources.text(file, item.line):
                continue
            if waiver.kind == "branch" and item.name != waiver.where["branch"]:
                continue
            _mark(item, waiver)
    return problems


def _mark(item: Item, waiver: Waiver) -> None:
    waiver.matched += 1
    if not item.hits:
        waiver.needed += 1
        item.waiver = item.waiver or waiver


def line_and_branch_items(coverage: Coverage, sources: Sources) -> list[Item]:
    lines: dict[tuple[str, int], int] = {}
    branches: list[Item] = []
    for point, hits in coverage.hits.items():
        file = sources.relative(point.file)
        if not file or point.kind == "user":
            continue
        for line in point.lines:
            lines[file, line] = max(lines.get((file, line), 0), hits)
        if point.comment in BRANCHES:
            branches.append(Item("branch", file, point.line, point.comment, hits))
    items = [Item("line", file, line, "", hits) for (file, line), hits in lines.items()]
    return sorted(items + branches, key=lambda item: (item.file, item.line, item.metric, item.name))


def toggle_waiver_problems(waivers: list[Waiver], sources: Sources) -> list[str]:
    """What is wrong with waivers of ports that the sources alone tell: names that nothing has, texts that are not there."""
    problems = []
    declarations = sources.declarations()
    structs = {name.rpartition(".")[0] for name in declarations if name.count(".") == 2}
    for waiver in waivers:
        named = [name for name in declarations if waiver.matches_port(name)]
        wrong = next((name for name in named if waiver.where["text"] not in declarations[name]), None)
        if wrong is not None:
            problems.append(f"stale waiver, its text is not in the declaration of {wrong}: {waiver}")
        elif not named:
            port = next((name for name in sorted(structs) if waiver.matches_port(name) or waiver.matches_port_of_field(name)), None)
            problems.append(f"waiver of no port that the RTL has: {waiver}" if port is None else
                            f"{port} is a struct, and the waiver names none of its fields: {waiver}")
    return problems


_NAME = re.compile(r"(\w+)(?:\[\d+\])?((?:\.\w+)?)$")   # of a port in the data: its field, if it is a struct


def toggle_items(coverage: Coverage, sources: Sources, waivers: list[Waiver]) -> tuple[list[Item], list[str]]:
    items, problems = [], toggle_waiver_problems(waivers, sources)
    declarations = sources.declarations()
    for (module, port), bits in sorted(coverage.ports.items()):
        name, field = _NAME.match(port).groups()
        if f"{module}.{name}{field}" not in declarations:
            problems.append(f"data of a port that the RTL does not have: {module}.{port}; are the data of another revision?")
            continue
        file, header = sources.module(module)
        declared = header.port(name)
        mine = [waiver for waiver in waivers if waiver.matches_port(f"{module}.{name}{field}")]
        for bit in range(bits.width):
            item = Item("toggle", file, declared.line, f"{module}.{port}[{bit}]", bits.both >> bit & 1, note=_note(bits, bit))
            for waiver in mine:
                first, last = waiver.low_bit()
                if bit >= first and (last is None or bit <= last):
                    _mark(item, waiver)
            items.append(item)
    return items, problems


def _note(bits: PortBits, bit: int) -> str:
    rose, fell, both = bits.rose >> bit & 1, bits.fell >> bit & 1, bits.both >> bit & 1
    if both:
        return ""
    return "rose and fell in different instances" if rose and fell else "rose only" if rose else "fell only" if fell else "still"


def bin_items(coverage: Coverage, declared: dict[str, str], waivers: list[Waiver]) -> tuple[list[Item], list[str]]:
    """`declared`: bin name to its group. A user point that is not declared and a bin that no model has are problems."""
    problems, hits = [], {}
    for point, count in coverage.hits.items():
        if point.kind == "user":
            hits[point.comment] = hits.get(point.comment, 0) + count
    for name in sorted(set(hits) - set(declared)):
        problems.append(f"bin {name} was counted but is not declared")
    items = []
    for name, group in declared.items():
        if name not in hits:
            problems.append(f"bin {name} is declared but in no model that ran")
        item = Item("bin", "", 0, name, hits.get(name, 0), note=group)
        for waiver in waivers:
            if waiver.matches_bin(name):
                _mark(item, waiver)
        items.append(item)
    return items, problems


def measure(coverage: Coverage, sources: Sources, waivers: list[Waiver], bins: dict[str, str]) -> tuple[list[Item], list[str]]:
    """All items, and what is wrong with data or waivers."""
    by_kind = {kind: [waiver for waiver in waivers if waiver.kind == kind] for kind in METRICS}
    items = line_and_branch_items(coverage, sources)
    problems = _place_waivers(items, by_kind["line"] + by_kind["branch"], sources)
    toggles, more = toggle_items(coverage, sources, by_kind["toggle"])
    problems += more
    functional, more = bin_items(coverage, bins, by_kind["bin"])
    return items + toggles + functional, problems + more


def totals(items: list[Item]) -> dict[str, Totals]:
    result = {metric: Totals() for metric in METRICS}
    for item in items:
        result[item.metric].add(item)
    return result
