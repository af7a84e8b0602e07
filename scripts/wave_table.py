"""What scripts/wave does. Needs pywellen, of .venv."""
import argparse
import re
import sys

import pywellen

UNITS_A_CYCLE = 2  # the clock rises at 2 c + 1; what a signal is in cycle c stands at 2 c (docs/waves.md)

FST_BEGIN = bytes([0, 0, 0, 0, 0, 0, 0, 1, 73])  # a header block of 329 bytes


class Wrong(Exception):
    """What a caller has to mend."""


def find(variables, wanted):
    """(variable, high, low) of a SIGNAL; high None: all bits."""
    name, high, low = re.fullmatch(r"(.*?)(?:\[(\d+):(\d+)\])?", wanted).groups()
    exact = [v for v in variables if v.full_name == name]
    found = exact or [v for v in variables if v.full_name.endswith("." + name)]
    if len(found) > 1:
        found = found[:1] if len({v.signal_id for v in found}) == 1 else found
    if not found:
        raise Wrong(f"no signal is named {name}; without a name scripts/wave lists them")
    if len(found) > 1:
        raise Wrong(f"{len(found)} signals end in {name}: " + ", ".join(sorted(v.full_name for v in found)[:6]))
    bits = found[0].bitwidth or 1
    if high is not None and not int(low) <= int(high) < bits:
        raise Wrong(f"{wanted}: {found[0].full_name} has bits {bits - 1} to 0")
    return found[0], None if high is None else int(high), int(low or 0)


def changes(waveform, signals):
    """{cycle: {index of a signal: its value in that cycle}}, a cycle for each in which one changes, and the hexadecimal digits of each signal."""
    table, digits, parts = {}, [], {}
    for index, (variable, high, low) in enumerate(signals):
        width = (variable.bitwidth or 1) if high is None else high - low + 1
        digits.append((width + 3) // 4)
        parts.setdefault(variable.full_name, (variable, []))[1].append((index, low, (1 << width) - 1))
    for variable, wanted in parts.values():  # a variable's changes are read once, however many parts of it are wanted

        def take(time, _, value, wanted=wanted):
            cycle = (time + UNITS_A_CYCLE - 1) // UNITS_A_CYCLE
            table.setdefault(cycle, {}).update({index: int(value) >> low & mask for index, low, mask in wanted})
        waveform.stream_changes(take, [variable])
    return table, digits


def print_table(waveform, names, first, last):
    variables = list(waveform.all_vars())
    table, digits = changes(waveform, [find(variables, name) for name in names])
    widths = [max(digit, len(name)) for digit, name in zip(digits, names, strict=True)]
    print("   cycle  " + "  ".join(name.rjust(width) for name, width in zip(names, widths, strict=True)))
    now = dict.fromkeys(range(len(names)), 0)
    for cycle in sorted(table):
        before = dict(now)
        now |= table[cycle]
        if first <= cycle <= last and now != before:
            print(f"{cycle:8}  " + "  ".join(f"{now[i]:0{digits[i]}x}".rjust(widths[i]) for i in range(len(names))))


def is_fst(path):
    with open(path, "rb") as file:
        return file.read(len(FST_BEGIN)) == FST_BEGIN


def main():
    parser = argparse.ArgumentParser(prog="scripts/wave", description="Signals of an FST file as a table; the head of scripts/wave tells the arguments.")
    parser.add_argument("file", metavar="FILE.fst")
    parser.add_argument("signals", nargs="*", metavar="SIGNAL")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="CYCLE")
    parser.add_argument("--to", type=int, default=sys.maxsize, dest="last", metavar="CYCLE")
    arguments = parser.parse_args()
    try:
        if not is_fst(arguments.file):
            raise Wrong(f"{arguments.file} is no FST file")
        waveform = pywellen.Waveform(arguments.file)
        if arguments.signals:
            print_table(waveform, arguments.signals, arguments.first, arguments.last)
        else:
            for variable in sorted(waveform.all_vars(), key=lambda v: v.full_name):
                print(f"{variable.full_name} {variable.bitwidth or 1}")
    except Wrong as error:
        print(f"scripts/wave: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"scripts/wave: {arguments.file}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
