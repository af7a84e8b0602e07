#!/usr/bin/env python3
"""Maps the core of a preset, with the structural array, to gates of two inputs: how deep each block is, and a netlist to simulate.

usage: gates.py [--build FOLDER] [--jobs N] [--page PAGE] --update | --check    the table of levels in docs/synthesis.md
       gates.py [--build FOLDER] [--jobs N] --netlist FILE      gates, flip-flops, memories and RAM macros of all blocks, for gate_programs

Each different block is mapped once: by Debian's Yosys and its ABC, from what synthesis.py reads. Results are kept in
BUILD/synthesis by their contents.
Exit code 0: good; 1: the page is not current; 2: it could not be run."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import synthesis  # noqa: E402
from synthesis import MACROS, CannotRun  # noqa: E402

CHIP = "nano"                            # N = 8, and the random programs run on it
TOP = "weft_core"
GATES = "AND,OR,XOR,NAND,NOR,XNOR,ANDNOT,ORNOT"
MAP = f"""proc
opt_expr
opt_clean
opt_merge
wreduce
alumacc
memory_collect
techmap
simplemap
abc -g {GATES} -script +strash;CHOICESmap,-D,1
opt_clean
"""
CHOICES = "dch,-f;"
LARGE = ("vpu_functions", "vpu_lanes")   # of half a million gates and more: mapped without choices, which take an hour
PES = (1, 2, 3, 4)                       # PeLatency


def modules(text):
    """{name: text} of RTLIL without attributes other than those that say what a module is, and the first free automatic number."""
    text = re.sub(r"(?m)^ *attribute (?!\\(?:top|dynports|blackbox) ).*\n", "", text)
    number = re.search(r"(?m)^autoidx (\d+)$", text)[1]
    found = {match[1]: match[0] for match in re.finditer(r"(?ms)^(?:attribute [^\n]*\n)*module \\(\S+)\n.*?^end\n", text)}
    return found, int(number)


def merged(blocks):
    """{name: text} with one module for all that are the same but for their automatic names, and the number of instances of each name."""
    blocks = dict(blocks)
    while True:
        first, same = {}, {}
        for name, text in blocks.items():
            names = {}
            body = re.sub(r"\$[^\s\[\]{}]*\$\d+", lambda match, names=names: names.setdefault(match[0], f"$automatic{len(names)}"), text.replace(f"module \\{name}\n", "", 1))
            if body in first:
                same[name] = first[body]
            else:
                first[body] = name
        if not same:
            break
        for name, text in list(blocks.items()):
            if name in same:
                del blocks[name]
            else:
                blocks[name] = re.sub(r"(?m)^  cell \\(\S+) ", lambda match, same=same: f"  cell \\{same.get(match[1], match[1])} ", text)
    instances = dict.fromkeys(blocks, 0)
    pending = [TOP] if TOP in blocks else list(blocks)[:1]
    while pending:
        name = pending.pop()
        instances[name] += 1
        pending += [cell for cell in re.findall(r"(?m)^  cell \\(\S+) ", blocks[name]) if cell in blocks]
    return blocks, instances


def yosys(script, folder):
    (folder / "run.ys").write_text(script)
    code, log = synthesis.run(["yosys", "-q", "-T", "-s", "run.ys"], folder)
    if code != 0:
        raise CannotRun(f"yosys: {log.strip().splitlines()[-1] if log.strip() else code}")


def plain_netlist(text):
    """RTLIL of one mapped module as lines of words; a net is a number, 0 and 1 are the constants.

    module NAME NETS               in|out PORT NET ...         same NET NET
    gate TYPE A B Y                flop D Q                    instance MODULE NAME, then lines  pin PORT NET ...
    memory WORDS WIDTH ADDRESS_BITS READS WRITES, then lines  RD_ADDR NET ...  and so on
    ram NAME WORDS GRANULES CODE_BITS, then lines  pin PORT NET ..."""
    first, widths, count, lines = {}, {}, 2, []
    for width, direction, name in re.findall(r"(?m)^  wire (?:width (\d+) )?(?:upto )?(?:offset \d+ )?(?:signed )?((?:input|output|inout) \d+ )?(\S+)$", text):
        first[name], widths[name] = count, int(width or 1)
        count += widths[name]
        if direction:
            lines.append(f"{'in' if direction.startswith('input') else 'out'} {name[1:]} {' '.join(map(str, range(first[name], count)))}")

    def nets(signal):
        """From bit 0 up."""
        found = []
        for name, high, low, width, bits, whole in re.findall(r"([\\$][^\s{}]+)(?: \[(\d+)(?::(\d+))?\])?|(\d+)'([01xz-]+)|(-?\d+)", signal):
            if bits:                          # one digit that is no number may stand for all
                part = [1 if digit == "1" else 0 for digit in reversed(bits.rjust(int(width), bits[0]))]
            elif whole:                       # 32 bits, in decimal
                part = [int(whole) >> bit & 1 for bit in range(32)]
            elif high:
                part = list(range(first[name] + int(low or high), first[name] + int(high) + 1))
            else:
                part = list(range(first[name], first[name] + widths[name]))
            found = part + found              # a concatenation names the highest part first
        return found

    def words(signal):
        return " ".join(map(str, nets(signal)))

    for cell in re.finditer(r"(?ms)^  cell (\S+) (\S+)\n(.*?)^  end\n", text):
        kind, name, body = cell.groups()
        pins = dict(re.findall(r"(?m)^    connect \\(\S+) (.*)$", body))
        values = {key: int(value, 2 if tick else 10) for key, tick, value in re.findall(r"(?m)^    parameter (?:signed )?\\(\w+) (?:\d+(')s?)?(-?\d+)$", body)}
        gate = re.fullmatch(r"\$_(AND|OR|XOR|NAND|NOR|XNOR|ANDNOT|ORNOT)_", kind)
        if gate:
            lines.append(f"gate {gate[1]} {words(pins['A'])} {words(pins['B'])} {words(pins['Y'])}")
        elif kind == "$_NOT_":
            lines.append(f"gate NAND {words(pins['A'])} 1 {words(pins['Y'])}")
        elif kind == "$_DFF_P_":
            lines.append(f"flop {words(pins['D'])} {words(pins['Q'])}")
        elif kind == "$mem_v2":
            if values["RD_CLK_ENABLE"] or values["OFFSET"]:
                raise CannotRun(f"{name}: a memory whose reads are clocked, or which does not begin at 0")
            lines.append(f"memory {values['SIZE']} {values['WIDTH']} {values['ABITS']} {values['RD_PORTS']} {values['WR_PORTS']}")
            lines += [f"{pin} {words(pins[pin])}" for pin in ("RD_ADDR", "RD_DATA", "WR_ADDR", "WR_DATA", "WR_EN")]
        elif kind.removeprefix("\\") in MACROS:
            lines.append(f"ram {name[1:]} {values['Words']} {values['Granules']} {values['CodeBits']}")
            lines += [f"pin {pin} {words(pins[pin])}" for pin in ("read_i", "raddr_i", "rdata_o", "write_i", "waddr_i", "wdata_i")]
        elif kind.startswith("\\"):
            lines.append(f"instance {kind[1:]} {name[1:]}")
            lines += [f"pin {pin} {words(signal)}" for pin, signal in pins.items()]
        else:
            raise CannotRun(f"{name}: a cell {kind} is left")
    for left, right in re.findall(r"(?m)^  connect (\S.*?) ((?:\{.*\}|\S+)(?: \[\d+(?::\d+)?\])?)$", text):
        pair = nets(left), nets(right)
        if len(pair[0]) != len(pair[1]):
            raise CannotRun(f"connect {left} {right}: {len(pair[0])} and {len(pair[1])} bits")
        lines += [f"same {a} {b}" for a, b in zip(*pair, strict=True)]
    module = re.search(r"(?m)^module \\(\S+)$", text)[1]
    names = [f"name {first[name]} {widths[name]} {name[1:]}" for name in first if name.startswith("\\")]
    return "\n".join([f"module {module} {count}", *lines]) + "\n", names


def deepest(netlist, names):
    """{levels, from, to}: the most gates one after the other, and the nearest names that the source has for its ends. An instance, a
    memory, a flip-flop, a port is an end."""
    same, gates, registers, called = {}, [], {}, {}

    def root(net):
        while net in same:
            net = same[net]
        return net

    for line in netlist.splitlines():
        words = line.split(" ")
        if words[0] == "gate":
            gates.append(tuple(map(int, words[2:])))
        elif words[0] == "same":
            one, other = sorted((root(int(words[1])), root(int(words[2]))))
            if one != other:
                same[other] = one
        elif words[0] == "flop":
            registers[int(words[1])] = int(words[2])
    for line in names:
        _, first, width, name = line.split(" ", 3)
        for bit in range(int(width)):
            called.setdefault(root(int(first) + bit), name if width == "1" else f"{name}[{bit}]")
    registers = {root(d): root(q) for d, q in registers.items()}
    driver, users, missing = {}, {}, [0] * len(gates)
    for index, (_, _, y) in enumerate(gates):
        driver[root(y)] = index
    for index, (a, b, _) in enumerate(gates):
        for net in {root(a), root(b)}:
            if net in driver:
                users.setdefault(driver[net], []).append(index)
                missing[index] += 1
    level, before = [0] * len(gates), [-1] * len(gates)
    ready = [index for index, count in enumerate(missing) if count == 0]
    for index in ready:
        level[index] += 1
        for user in users.get(index, ()):
            if level[index] > level[user]:
                level[user], before[user] = level[index], index
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    if len(ready) != len(gates):
        raise CannotRun("a loop of gates")
    if not gates:
        return {"levels": 0, "from": "", "to": ""}
    last = max(ready, key=lambda index: level[index])
    first = last
    while before[first] >= 0:
        first = before[first]
    output = root(gates[last][2])
    starts = [called[net] for net in map(root, gates[first][:2]) if net in called]
    return {"levels": level[last], "from": starts[0] if starts else "", "to": called.get(output) or called.get(registers.get(output), "")}


class Mapper:
    """Maps modules to gates; remembers them in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        code, self.version = synthesis.run(["yosys", "-V"], folder)
        if code != 0:
            raise CannotRun("yosys -V fails")

    def map(self, text, number, flatten=""):
        """plain_netlist() of the same module made of gates, and its deepest() path. flatten: of this top module, with those below it."""
        large = any(text.startswith(f"module \\{name}$") for name in LARGE)
        to_gates = MAP.replace("CHOICES", "" if large else CHOICES)
        script = f"hierarchy -top {flatten}\nproc\nflatten\n" if flatten else ""
        key = hashlib.sha256(f"{self.version}{script}{to_gates}{text}".encode()).hexdigest()[:24]
        kept, path = self.folder / f"{key}.net", self.folder / f"{key}.json"
        if not (kept.is_file() and path.is_file()):
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                folder = Path(scratch)
                (folder / "block.il").write_text(f"autoidx {number}\n{text}")
                yosys(f"read_rtlil block.il\n{script}{to_gates}write_rtlil gates.il\n", folder)
                netlist, names = plain_netlist((folder / "gates.il").read_text())
                (folder / "path.json").write_text(json.dumps(deepest(netlist, names)))
                (folder / "gates.net").write_text(netlist)
                os.replace(folder / "path.json", path)
                os.replace(folder / "gates.net", kept)
        return kept.read_text(), json.loads(path.read_text())


def core(build, folder):
    """(blocks, instances, first free automatic number) of the preset's whole core."""
    problems = synthesis.read(synthesis.rtl_sources(build, folder, preset=CHIP), TOP, folder)
    if problems:
        raise CannotRun(problems[0])
    found, number = modules((folder / "plain.il").read_text())
    blocks, instances = merged(found)
    return blocks, instances, number


def mapped_core(build, folder, mapper, jobs):
    """{name: (netlist, its deepest path)}, and (blocks, instances)."""
    blocks, instances, number = core(build, folder)
    todo = sorted((name for name in blocks if name not in MACROS), key=lambda name: -len(blocks[name]))   # those that take longest first
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda name: mapper.map(blocks[name], number), todo))
    return dict(zip(todo, done, strict=True)), blocks, instances


def gates_in(block):
    return len(re.findall(r"(?m)^gate ", block))


def flip_flops_in(block):
    return len(re.findall(r"(?m)^flop ", block))


def pe_rows(build, folder, mapper):
    """A PE with all that is in it, at each PeLatency."""
    lines = ["| PeLatency | levels | gates | flip-flop bits |", "|---|---|---|---|"]
    for latency in PES:
        sources = [path for path in synthesis.rtl_sources(build, folder, preset=CHIP) if path.stem.endswith("_pkg") or path.stem in ("mxu_pe", "mxu_multiply_add", "mxu_cut")]
        problems = synthesis.read(sources, "mxu_pe", folder, {"Latency": latency})
        if problems:
            raise CannotRun(problems[0])
        found, number = modules((folder / "plain.il").read_text())
        gates, path = mapper.map("".join(found.values()), number, flatten="mxu_pe")
        lines.append(f"| {latency} | {path['levels']} | {gates_in(gates)} | {flip_flops_in(gates)} |")
    return "\n".join(lines)


def level_rows(mapped, instances):
    rows = {}
    for name, (gates, path) in mapped.items():
        block = name.split("$")[0]
        row = rows.setdefault(block, {"instances": 0, "gates": 0, "deepest": (-1, "", "")})
        row["instances"] += instances[name]
        row["gates"] += instances[name] * gates_in(gates)
        row["deepest"] = max(row["deepest"], (path["levels"], path["from"], path["to"]))
    lines = ["| block | instances | gates | levels | from | to |", "|---|---|---|---|---|---|"]
    for block, row in sorted(rows.items()):
        depth, first, last = row["deepest"]
        ends = " | ".join(f"`{end}`" if end else "-" for end in (first, last))
        lines.append(f"| {block} | {row['instances']} | {row['gates']} | {depth} | {ends} |")
    return "\n".join(lines + [f"| **all** | {sum(row['instances'] for row in rows.values())} | {sum(row['gates'] for row in rows.values())} | | | |"])


def write_netlist(target, mapped):
    """The blocks one after the other, the top first, for gate_netlist.cpp."""
    target.parent.mkdir(parents=True, exist_ok=True)
    order = [TOP, *sorted(name for name in mapped if name != TOP)]
    target.write_text("".join(mapped[name][0] for name in order))
    print(f"{sum(gates_in(mapped[name][0]) for name in order)} gates in {len(order)} different blocks")


def write_page(page, tables, update):
    old = new = page.read_text()
    for mark, rows in tables.items():
        if f"<!-- {mark} -->" not in old:
            raise CannotRun(f"{page.name} has no mark '{mark}'")
        new = re.sub(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda match, rows=rows: f"{match[1]}{rows}\n{match[2]}", new, flags=re.S)
    if update:
        page.write_text(new)
    elif new != old:
        print(f"gates: the levels of {page.name} are not current: testbench/synthesis/gates.py --update", file=sys.stderr)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=synthesis.ROOT / "build", help="CMake build folder, default: build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="blocks that are mapped at once")
    parser.add_argument("--page", type=Path, default=synthesis.ROOT / "docs" / "synthesis.md", help="default: docs/synthesis.md")
    parser.add_argument("--netlist", type=Path, metavar="FILE", help="write the netlist there")
    parser.add_argument("--update", action="store_true", help="write the tables between the page's marks")
    parser.add_argument("--check", action="store_true", help="fail if the page's tables are not current")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            mapper = Mapper(build / "synthesis")
            mapped, blocks, instances = mapped_core(build, folder, mapper, arguments.jobs)
            if arguments.netlist:
                write_netlist(arguments.netlist.resolve(), mapped)
                return 0
            tables = {"levels": level_rows(mapped, instances), "levels of a PE": pe_rows(build, folder, mapper)}
            print("\n\n".join(tables.values()))
            return write_page(arguments.page, tables, arguments.update) if arguments.update or arguments.check else 0
        except CannotRun as error:
            print(f"gates: {error}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
