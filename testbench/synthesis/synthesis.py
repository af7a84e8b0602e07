#!/usr/bin/env python3
"""Reads the RTL as a synthesis tool does, refuses what is no hardware, and counts cells.

usage: synthesis.py [--build FOLDER] [--page PAGE] [--n N] [--update | --check] [--keep FOLDER]
       synthesis.py --read FILE ... --top MODULE        the same checks of other sources, without the page

Refused are latches, wires with two drivers, wires that are used and not driven, combinational loops, and black boxes but RAMs. Yosys 0.70 with
slang reads (.venv, scripts/packages), Debian's Yosys 0.23 checks and counts. --check fails too if the page's table is not
what was counted; --update writes it.
Exit code 0: good; 1: refused, or the page is not current; 2: it could not be run."""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "spec"))
import systemverilog  # noqa: E402
sys.path.insert(0, str(ROOT / "testbench" / "formal"))
import yosys_slang  # noqa: E402

TIMEOUT = 1500  # seconds of one tool's run
MACROS = ("ram_macro",)  # what a memory compiler makes
LATCH = re.compile(r"\$(dlatch|adlatch|dlatchsr|sr|_DLATCH_\w*|_DLATCHSR_\w*|_SR_\w*)$")
FLIP_FLOP = re.compile(r"\$(a|s|al|d)*(dff)(e|sr|ce|sre)*$")
# of Yosys 0.70, not known to Yosys 0.23
PLAIN = """(* techmap_celltype = "$buf" *)
module plain_wire #(parameter WIDTH = 1) (input [WIDTH-1:0] A, output [WIDTH-1:0] Y);
  assign Y = A;
endmodule
"""


class CannotRun(Exception):
    """Nothing is said about the RTL: a tool or a source is missing."""


def run(command, folder):
    if shutil.which(str(command[0])) is None:
        raise CannotRun(f"no program {command[0]}: scripts/packages installs it")
    try:
        done = subprocess.run([str(part) for part in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"{Path(command[0]).name}: not done after {TIMEOUT} s") from error
    return done.returncode, done.stdout


def rtl_sources(build, folder, n=0, preset=""):
    """The core's sources in order, with the structural array and the RAMs' macro forms, and the package of chip.toml (n: instead of its
    own, 0: that) or of a preset."""
    generated = build / "generated" / "rtl"
    if preset:
        package = generated / preset / "chip_pkg.sv"
        if not package.is_file():
            raise CannotRun(f"no source {package}: build the target weft_spec_generate")
        shutil.copyfile(package, folder / "chip_pkg.sv")
    else:
        chip = tomllib.loads((Path(__file__).parent / "chip.toml").read_text())
        if n:
            chip["acc_bank_rows"] = chip["acc_bank_rows"] * n // chip["n"]
            chip["n"] = n
        chip["word_bytes"] = 2 * chip["n"]
        (folder / "chip_pkg.sv").write_text(systemverilog.chip_pkg(chip))
    first = [generated / "weft_pkg.sv", folder / "chip_pkg.sv", ROOT / "rtl/common/core_pkg.sv"]
    first += [ROOT / "rtl/common/port_pkg.sv", generated / "vpu_table_pkg.sv"]
    for path in first:
        if not path.is_file():
            raise CannotRun(f"no source {path}: build the target weft_spec_generate")
    macros = {path.name: path for path in (ROOT / "rtl/ram/macro").glob("*.sv")}   # in place of what is simulated
    rest = [macros.pop(path.name, path) for path in sorted((ROOT / "rtl").glob("*/*.sv"))] + sorted(macros.values())
    packages = [path for path in rest if path.stem.endswith("_pkg") and path not in first]
    packages.sort(key=lambda path: path.stem == "vpu_function_pkg")     # after those that it imports
    modules = [path for path in rest if not path.stem.endswith("_pkg") and path.stem != "mxu_array"]
    chosen = 0
    for i, path in enumerate(modules):                              # each module on the way down to the array has the parameter
        text = path.read_text()
        if "bit Structural = 1'b0" in text:
            modules[i] = folder / path.name
            modules[i].write_text(text.replace("bit Structural = 1'b0", "bit Structural = 1'b1"))
            chosen += path.stem == "mxu"
    if chosen != 1:
        raise CannotRun("rtl/mxu/mxu.sv: no parameter Structural of value 0 to choose the PE instances by")
    return first + packages + modules


def read(sources, top, folder, parameters=None):
    """Writes plain.il, a design that both versions of Yosys know, one module for each instance. parameters: of the top module."""
    (folder / "plain.v").write_text(PLAIN)
    for path in sources:                                            # the front end sees its working folder and nothing else
        if path.parent != folder:
            shutil.copyfile(path, folder / path.name)
    macros = " ".join(f"--blackboxed-module {name}" for name in MACROS)
    values = "".join(f"-G {name}={value} " for name, value in (parameters or {}).items())
    (folder / "read.ys").write_text(
        f"read_slang --threads 1 --ignore-assertions --ignore-initial --keep-hierarchy {macros} --top {top} {values}"
        f"{' '.join(path.name for path in sources)}\n"
        "techmap -map plain.v\nbwmuxmap\nopt_clean\nwrite_rtlil plain.il\n")
    code, log = run(yosys_slang.command("read.ys"), folder)
    if code != 0:
        said = [line for line in log.splitlines() if line.strip()]
        return [line for line in said if "rror" in line] or said[-5:] or [f"{top}: the front end ended with exit code {code} and no word"]
    return []


def check(top, folder):
    """Problems that Yosys finds, and the cells: {module: {cell type: number}}."""
    # a macro's ports are as wide as its parameters say
    dynamic = "".join(f"setattr -mod -set dynports 1 ={name}\n" for name in MACROS if f"module \\{name}\n" in (folder / "plain.il").read_text())
    (folder / "check.ys").write_text(f"read_rtlil plain.il\n{dynamic}hierarchy -top {top}\nproc\ncheck\nmemory_collect\nopt_clean\n"
                                     "select -clear\nwrite_rtlil checked.il\n")
    code, log = run(["yosys", "-q", "-s", "check.ys"], folder)
    if code != 0:
        raise CannotRun(f"yosys: {log.strip().splitlines()[-1] if log.strip() else code}")
    problems = [line.removeprefix("Warning: ") for line in log.splitlines() if line.startswith("Warning: ")]
    text = (folder / "checked.il").read_text()
    blocks = {}
    for attributes, name in re.findall(r"((?:^attribute .*\n)+)module \\(\S+)", text, flags=re.M):
        if "\\blackbox" in attributes and name not in MACROS:
            problems.append(f"black box {name}")
    for match in re.finditer(r"^module \\(\S+)\n(.*?)^end\n", text, flags=re.M | re.S):
        cells = {"cells": 0, "flip-flop bits": 0, "memory bits": 0}
        for kind, name, body in re.findall(r"^  cell (\S+) (\S+)\n(.*?)^  end\n", match[2], flags=re.M | re.S):
            if kind.removeprefix("\\") in MACROS:
                sizes = [int(value, 2 if tick else 10) for tick, value in re.findall(
                    r"parameter (?:signed )?\\(?:Words|Granules|CodeBits) (32')?(\d+)$", body, flags=re.M)]
                if len(sizes) != 3:
                    raise CannotRun(f"{name} in {match[1]}: Words, Granules and CodeBits are not told")
                cells["memory bits"] += sizes[0] * sizes[1] * sizes[2]
            size = {key: int(value) for key, value in re.findall(r"parameter (?:signed )?\\(WIDTH|SIZE) (\d+)$", body, flags=re.M)}
            if LATCH.match(kind):
                problems.append(f"latch {name.lstrip(chr(92))} in {match[1]}")
            if kind.startswith("\\"):
                continue                                            # an instance
            cells["cells"] += 1
            if FLIP_FLOP.match(kind):
                cells["flip-flop bits"] += size["WIDTH"]
            if kind in ("$mem", "$mem_v2"):
                cells["memory bits"] += size["WIDTH"] * size["SIZE"]
        blocks[match[1]] = cells
    return problems, blocks


def table(blocks):
    """Rows of the page: one a block, all of its instances together."""
    sums = {}
    for module, cells in blocks.items():
        block = module.split("$")[0]
        if block in MACROS:
            continue
        row = sums.setdefault(block, {"instances": 0, "cells": 0, "flip-flop bits": 0, "memory bits": 0})
        row["instances"] += 1
        for key, value in cells.items():
            row[key] += value
    lines = ["| block | instances | cells | flip-flop bits | memory bits |", "|---|---|---|---|---|"]
    for block, row in sorted(sums.items()):
        lines.append(f"| {block} | " + " | ".join(str(row[key]) for key in row) + " |")
    total = [sum(row[key] for row in sums.values()) for key in ("instances", "cells", "flip-flop bits", "memory bits")]
    return "\n".join(lines + ["| **all** | " + " | ".join(str(value) for value in total) + " |"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="CMake build folder, default: build")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "synthesis.md", help="default: docs/synthesis.md")
    parser.add_argument("--n", type=int, default=0, help="an array of N x N, with ACC as large in rows of it; default: chip.toml's 8")
    parser.add_argument("--update", action="store_true", help="write the table between the page's marks")
    parser.add_argument("--check", action="store_true", help="fail if the page's table is not current")
    parser.add_argument("--read", nargs="+", type=Path, metavar="FILE", help="these sources instead of the core's")
    parser.add_argument("--top", default="weft_core", help="default: weft_core")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep scripts and designs there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.keep or scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            sources = [path.resolve() for path in arguments.read] if arguments.read else rtl_sources(arguments.build.resolve(), folder, arguments.n)
            problems = read(sources, arguments.top, folder)
            blocks = {}
            if not problems:
                problems, blocks = check(arguments.top, folder)
        except CannotRun as error:
            print(f"synthesis: {error}", file=sys.stderr)
            return 2
    for problem in problems:
        print(f"synthesis: {problem}", file=sys.stderr)
    if problems:
        return 1
    rows = table(blocks)
    print(rows)
    if arguments.update or arguments.check:
        old = arguments.page.read_text()
        mark = f"cells at {arguments.n}" if arguments.n else "cells"
        if f"<!-- {mark} -->" not in old:
            print(f"synthesis: {arguments.page.name} has no mark '{mark}'", file=sys.stderr)
            return 2
        new = re.sub(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda match: f"{match[1]}{rows}\n{match[2]}", old, flags=re.S)
        if arguments.update:
            arguments.page.write_text(new)
        elif new != old:
            print(f"synthesis: the table of {arguments.page.name} is not current: testbench/synthesis/synthesis.py --update", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
