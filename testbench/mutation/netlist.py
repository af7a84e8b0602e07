"""A module as one step of a state machine: what a register, a memory or a cut instance holds comes in by ports, what it takes goes
out by ports. Reads and writes RTLIL, the text form of Yosys."""
from __future__ import annotations

import re
from dataclasses import dataclass, field

CELL = re.compile(r"^  cell (\S+) (\S+)\n((?:    .*\n)*)  end\n", re.M)
MARKED = re.compile(r"(?:^\\|\.)(invariant|alike|contract)_\w+$")
RESET = "rst_ni"


class NetlistError(Exception):
    """A cell that holds state and has no rule here."""


@dataclass
class Step:
    """The text of the module `name` without state, and its ports: name -> bits."""
    text: str
    inputs: dict[str, int] = field(default_factory=dict)        # of the module itself
    outputs: dict[str, int] = field(default_factory=dict)
    state: dict[str, tuple[str, str, int]] = field(default_factory=dict)   # register -> its input port, output port, bits
    held: dict[str, int] = field(default_factory=dict)          # input ports: what memories and cut instances give
    taken: dict[str, int] = field(default_factory=dict)         # output ports: what memories and cut instances take
    invariants: list[str] = field(default_factory=list)
    contracts: list[str] = field(default_factory=list)
    alike: dict[str, int] = field(default_factory=dict)


def port_name(kind: str, cell: str) -> str:
    return f"{kind}:" + re.sub(r"[^\w.\[\]]", "_", cell)


def modules_of(rtlil: str) -> dict[str, str]:
    return {m[1]: m[0] for m in re.finditer(r"^module (\S+)\n.*?^end\n", rtlil, re.M | re.S)}


def ports_of(module: str) -> dict[str, tuple[str, int]]:
    """name -> direction, bits"""
    found = {}
    for options, name in re.findall(r"^  wire (.*?)(\\\S+)$", module, re.M):
        direction = re.search(r"\b(input|output|inout)\b", options)
        if direction:
            width = re.search(r"\bwidth (\d+)", options)
            found[name] = (direction[1], int(width[1]) if width else 1)
    return found


def step(rtlil: str, top: str, name: str) -> Step:
    """The module `top` of a flattened design as a step, under another name."""
    modules = modules_of(rtlil)
    module = modules[f"\\{top}"]
    result = Step("")
    extra: list[str] = []      # wires and connections
    seen: dict[str, int] = {}

    def wire(port: str, direction: str, bits: int, signal: str) -> None:
        index = len(extra) + 1
        extra.append(f"  wire width {bits} {direction} {1000000 + index} \\{port}\n")
        extra.append(f"  connect {signal} \\{port}\n" if direction == "input" else f"  connect \\{port} {signal}\n")

    def takes(key: str, bits: int, signal: str) -> None:
        result.taken[port_name("take", key)] = bits
        wire(port_name("take", key), "output", bits, signal)

    def holds(key: str, bits: int, signal: str) -> None:
        result.held[port_name("hold", key)] = bits
        wire(port_name("hold", key), "input", bits, signal)

    def replace(match: re.Match) -> str:
        kind, cell, body = match.groups()
        connect = dict(re.findall(r"^    connect (\S+) (.*)$", body, re.M))
        parameter = dict(re.findall(r"^    parameter (?:signed )?(\S+) (.*)$", body, re.M))
        if kind == "$dff":
            cell = re.sub(r"^(\$memory.*)\$\d+$", r"\1", cell)      # Yosys numbers the words' registers
            if cell in result.state:
                raise NetlistError(f"two registers {cell}")
            bits = int(parameter["\\WIDTH"])
            now, following = port_name("now", cell), port_name("next", cell)
            result.state[cell] = (now, following, bits)
            wire(now, "input", bits, connect["\\Q"])
            wire(following, "output", bits, connect["\\D"])
            return ""
        if kind in ("$memrd_v2", "$memwr_v2"):
            memory = parameter["\\MEMID"].strip('"')
            seen[kind + memory] = place = seen.get(kind + memory, 0) + 1
            address, bits = integer(parameter["\\ABITS"]), integer(parameter["\\WIDTH"])
            key = f"{kind[1:6]}.{memory}.{place}"
            takes(key + ".addr", address, connect["\\ADDR"])
            if kind == "$memrd_v2":
                if not parameter["\\CLK_ENABLE"].endswith("0"):
                    raise NetlistError(f"{cell}: a clocked read port")
                holds(key + ".data", bits, connect["\\DATA"])
            else:
                takes(key + ".data", bits, connect["\\DATA"])
                takes(key + ".en", bits, connect["\\EN"])
            return ""
        if kind in ("$meminit_v2", "$meminit", "$scopeinfo"):
            return ""
        if kind in modules:                      # an instance that is cut
            for port, (direction, bits) in ports_of(modules[kind]).items():
                if port in connect:
                    (takes if direction == "input" else holds)(f"{cell}{port}", bits, connect[port])
            return ""
        if not kind.startswith("$") or re.match(r"\$(.*ff|.*dff.*|.*latch.*|mem.*|sr)(_|$)", kind):
            raise NetlistError(f"{cell}: no rule for a cell {kind}")
        return match[0]

    module = CELL.sub(replace, re.sub(r"^ +attribute .*\n", "", module, flags=re.M))
    module = re.sub(r"^  memory .*\n", "", module, flags=re.M)
    for port, (direction, bits) in ports_of(module).items():
        (result.inputs if direction == "input" else result.outputs)[port[1:]] = bits
    for options, signal in re.findall(r"^  wire (.*?)(\\\S+)$", module, re.M):
        marked = MARKED.search(signal)
        if marked:
            width = re.search(r"\bwidth (\d+)", options)
            bits, port = int(width[1]) if width else 1, port_name(marked[1], signal)
            if marked[1] == "alike":
                result.alike[port] = bits
            else:
                (result.invariants if marked[1] == "invariant" else result.contracts).append(port)
            wire(port, "output", bits, signal)
    head, rest = module.split("\n", 1)
    result.text = f"module \\{name}\n" + rest.removesuffix("end\n") + "".join(extra) + "end\n"
    return result


def integer(text: str) -> int:
    """A parameter: decimal, or bits."""
    bits = re.fullmatch(r"\d+'s?([01]+)", text)
    return int(bits[1], 2) if bits else int(text)


def one_bit(value: int) -> str:
    return f"1'b{value}"


def wrapper(original: Step, mutated: Step, loose: frozenset[str] = frozenset()) -> str:
    """Verilog: `different` is 1 if from one state, with one input, the two give another output or another next state, or if an
    invariant does not follow from those of the state before, or not from reset. `possible` is 1 if what is assumed holds."""
    for what, ports in (("outputs", "outputs"), ("inputs", "inputs"), ("what memories and instances take", "taken")):
        if getattr(original, ports) != getattr(mutated, ports):
            raise NetlistError(f"{what} of the mutant are others: "
                               f"{set(getattr(original, ports).items()) ^ set(getattr(mutated, ports).items())}")
    lines: list[str] = []
    drive: dict[str, list[tuple[str, str]]] = {"first": [], "second": [], "mutant": [], "mutant_second": []}
    state = dict(original.state) | mutated.state
    count = 0

    def declare(direction: str, bits: int) -> str:
        nonlocal count
        count += 1
        lines.append(f"  {direction} [{bits - 1}:0] v{count};")
        return f"v{count}"

    free = {}
    for port, bits in {**original.inputs, **original.held, **mutated.held}.items():
        free[port] = declare("input", bits)
        later = declare("input", bits)
        for module, names in ((original, ("first", "second")), (mutated, ("mutant", "mutant_second"))):
            if port in module.inputs or port in module.held:
                drive[names[0]].append((port, free[port]))
                drive[names[1]].append((port, later))
    different, following, same = [], {}, []
    for cell, (now, next_, bits) in state.items():
        value = declare("input", bits)
        mine = declare("wire", bits)
        if cell in original.state:
            following[now] = declare("wire", bits)
            drive["first"] += [(now, value), (next_, following[now])]
            drive["second"].append((now, following[now]))
        if cell in mutated.state:
            other = declare("input", bits) if cell in loose else value
            drive["mutant"] += [(now, other), (next_, mine)]
            if cell in loose:
                same.append(f"{other} == {value}")
            drive["mutant_second"].append((now, mine))
        if cell in original.state and cell in mutated.state and cell not in loose:
            different.append((following[now], mine))
    stated = len(different)
    for port, bits in {**original.outputs, **original.taken}.items():
        one, other = declare("wire", bits), declare("wire", bits)
        drive["first"].append((port, one))
        drive["mutant"].append((port, other))
        different.append((one, other))
    given, kept = [], []
    for step_of, before, after in ((original, "first", "second"), (mutated, "mutant", "mutant_second")):
        for port in step_of.invariants:
            values = declare("wire", 1), declare("wire", 1)
            drive[before].append((port, values[0]))
            drive[after].append((port, values[1]))
            given.append(values[0])
            kept.append(values[1])
    for port in original.contracts:
        given.append(declare("wire", 1))
        same.append(given[-1])
        drive["first"].append((port, given[-1]))
    related, carried = [], []
    for port, bits in original.alike.items():
        values = {instance: declare("wire", bits) for instance in drive}
        for instance, value in values.items():
            drive[instance].append((port, value))
        related.append(f"{values['first']} == {values['mutant']}")
        carried.append((values["second"], values["mutant_second"]))
    # The first cycle is one of reset, from one state in both.
    in_reset = f"!{free[RESET]}" if RESET in free else one_bit(0)
    lines.append(f"  wire assumed = &{{{', '.join(given + related + [one_bit(1)])}}};")
    lines.append(f"  wire starts = &{{{', '.join(same + [in_reset])}}};")
    different += carried
    lines.append(f"  wire [{len(different) - 1}:0] differs;")
    lines += [f"  assign differs[{index}] = {one} != {other};" for index, (one, other) in enumerate(different)]
    registers = [f"differs[{index}]" for index in [*range(stated), *range(len(different) - len(carried), len(different))]]
    lines.append(f"  wire moves = |{{{', '.join(registers + [one_bit(0)])}}};")
    lines.append(f"  wire broken = !(&{{{', '.join(kept + [one_bit(1)])}}});")
    lines.append("  assign different = (assumed | starts) & broken | starts & moves | assumed & |differs;")
    lines.append("  assign possible = assumed;")
    both = bool(kept or carried)
    if both and RESET not in free:
        raise NetlistError(f"no {RESET} to begin with: an invariant and a loose register need one")
    for instance, ports in drive.items():
        if instance.endswith("second") and not both:
            continue
        module = "mutated" if instance.startswith("mutant") else "original"
        lines.append(f"  {module} {instance} (" + ", ".join(f".\\{port} ({value})" for port, value in ports) + ");")
    inputs = [line.split()[-1].rstrip(";") for line in lines if line.startswith("  input")]
    return f"module miter({', '.join(['different', 'possible', *inputs])});\n  output different, possible;\n" + "\n".join(lines) + "\nendmodule\n"
