"""The functional bins: read from bins.toml, written as bound SystemVerilog that counts them.

usage: bins.py BINS.toml REPOSITORY OUTPUT-FOLDER

[[group]]
name = "Issue"                                    # bins are named Issue_<value>_<value>_C
module = "issue"                                  # of rtl/, whose instances are watched
doc = "what the group shows"
observe = { cmd = "weft_pkg::none_cmd_t = cmd_q" }   # a signal of the group: its type, an expression in the module's scope
code = "logic seen_q; always_ff ..."              # optional: state of the group, over observed signals and clk_i
when = "taken"                                    # the sample: the clock's edge with this true; without it every edge
bins = { Full = "level == 16" }                   # a bin for each, or the cross product of axes:
axes = [ { A = "cmd.opcode == 1", B = "..." }, { W0 = "...", W1 = "..." } ]
exclude = ["Wait_*_P1"]                           # of the cross: what the specification forbids
exclude_reason = "..."

Covers written by hand in the RTL or in modules bound to it, `Name_C: cover property (...)`, are declared by their text.
"""
from __future__ import annotations

import dataclasses
import fnmatch
import itertools
import pathlib
import re
import sys
import tomllib


class BinsError(ValueError):
    """bins.toml is wrong."""


KEYS = {"name", "module", "doc", "observe", "code", "when", "bins", "axes", "exclude", "exclude_reason"}
_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
_COVER = re.compile(r"\b([A-Za-z]\w*_C)\s*:\s*cover\b")


@dataclasses.dataclass(frozen=True)
class Group:
    name: str
    module: str
    doc: str
    observe: dict[str, tuple[str, str]]    # signal: (type, expression)
    code: str
    when: str
    bins: dict[str, str]                   # bin's name without _C: condition


def _cross(entry: dict, name: str) -> dict[str, str]:
    bins, excluded = {}, set()
    for values in itertools.product(*(axis.items() for axis in entry["axes"])):
        short = "_".join(value for value, _ in values)
        patterns = [p for p in entry.get("exclude", []) if fnmatch.fnmatchcase(short, p)]
        excluded.update(patterns)
        if not patterns:
            bins[f"{name}_{short}"] = " && ".join(f"({condition})" for _, condition in values)
    unused = set(entry.get("exclude", [])) - excluded
    if unused:
        raise BinsError(f"{name}: exclude {sorted(unused)[0]!r} matches nothing")
    return bins


def _group(entry: dict) -> Group:
    name = entry.get("name", "?")
    unknown = set(entry) - KEYS
    if unknown:
        raise BinsError(f"{name}: unknown key {sorted(unknown)[0]!r}")
    for key in ("name", "module", "doc", "observe"):
        if key not in entry:
            raise BinsError(f"{name}: {key} is missing")
    if ("bins" in entry) == ("axes" in entry):
        raise BinsError(f"{name}: either bins or axes")
    if ("exclude" in entry) != ("exclude_reason" in entry) or ("exclude" in entry and "axes" not in entry):
        raise BinsError(f"{name}: exclude goes with axes and exclude_reason")
    names = [name, *(entry.get("bins") or {}), *(value for axis in entry.get("axes", []) for value in axis)]
    for text in names:
        if not isinstance(text, str) or not _NAME.fullmatch(text):
            raise BinsError(f"{name}: {text!r} is no UpperCamel name")
    observe = {}
    for signal, text in entry["observe"].items():
        kind, separator, value = text.partition("=")
        if not separator or not value.strip():
            raise BinsError(f"{name}: observe.{signal} is no 'type = expression'")
        observe[signal] = (kind.strip(), value.strip())
    bins = {f"{name}_{short}": text for short, text in entry["bins"].items()} if "bins" in entry else _cross(entry, name)
    return Group(name, entry["module"], entry["doc"], observe, entry.get("code", ""), entry.get("when", "1'b1"), bins)


def parse(document: dict) -> list[Group]:
    if set(document) != {"group"} or not isinstance(document["group"], list):
        raise BinsError("expected [[group]] and nothing else")
    groups = [_group(entry) for entry in document["group"]]
    names = [group.name for group in groups]
    for name in names:
        if names.count(name) > 1:
            raise BinsError(f"group {name} is there twice")
    return groups


def read(path: pathlib.Path) -> list[Group]:
    try:
        return parse(tomllib.loads(path.read_text()))
    except (BinsError, tomllib.TOMLDecodeError, AttributeError, TypeError) as error:
        raise BinsError(f"{path}: {error}") from None


def covers_in_text(root: pathlib.Path) -> dict[str, str]:
    """Covers written by hand in rtl/ and in what testbench/ binds to it: name to file. Those of testbench/formal/ are not bins: the
    prover reaches them, no simulation."""
    found = {}
    for folder in ("rtl", "testbench"):
        for path in sorted((root / folder).rglob("*.sv")):
            if path.is_relative_to(root / "testbench" / "formal"):
                continue
            for match in _COVER.finditer(re.sub(r"//[^\n]*", "", path.read_text())):
                found[match[1]] = path.relative_to(root).as_posix()
    return found


def declared(groups: list[Group], root: pathlib.Path) -> dict[str, str]:
    """Every bin's name (with _C) to its group or, if it was written by hand, its file."""
    bins = {f"{name}_C": group.name for group in groups for name in group.bins}
    return bins | covers_in_text(root)


def systemverilog(groups: list[Group]) -> str:
    """The modules of one RTL module's groups, and their binds."""
    parts = [f"// Generated by testbench/coverage/bins.py: functional bins of {groups[0].module}.\n"
             "// verilator lint_off WIDTH\n// verilator lint_off UNUSED\n"]
    for group in groups:
        module = f"{group.module}_{group.name.lower()}_bins"
        ports = "".join(f",\n  input wire {kind} {signal}" for signal, (kind, _) in group.observe.items())
        wires = "".join(f", .{signal}({value})" for signal, (_, value) in group.observe.items())
        covers = "\n".join(f"      {name}_C: cover ({condition});" for name, condition in group.bins.items())
        code = "".join(f"  {line}\n" for line in group.code.strip().split("\n")) if group.code.strip() else ""
        parts.append(f"module {module} (\n  input wire clk_i{ports}\n);\n{code}"
                     f"  always @(posedge clk_i) begin\n    if ({group.when}) begin\n{covers}\n    end\n  end\nendmodule\n"
                     f"bind {group.module} {module} u_{group.name.lower()}_bins (.clk_i(clk_i){wires});\n")
    return "\n".join(parts)


def write(groups: list[Group], folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {}
    for group in groups:
        wanted.setdefault(group.module, []).append(group)
    for path in folder.glob("*_bins.sv"):
        if path.name.removesuffix("_bins.sv") not in wanted:
            path.unlink()
    for module, mine in wanted.items():
        path, text = folder / f"{module}_bins.sv", systemverilog(mine)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def main(arguments: list[str]) -> None:
    if len(arguments) != 3:
        raise SystemExit(__doc__)
    try:
        groups = read(pathlib.Path(arguments[0]))
    except BinsError as error:
        raise SystemExit(str(error)) from None
    known = {path.stem for path in (pathlib.Path(arguments[1]) / "rtl").glob("*/*.sv")}
    for group in groups:
        if group.module not in known:
            raise SystemExit(f"{arguments[0]}: group {group.name}: rtl/ has no module {group.module}")
    write(groups, pathlib.Path(arguments[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
