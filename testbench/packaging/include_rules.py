#!/usr/bin/env python3
"""Checks who includes whom against the table of docs/architecture.md. Exit 1 names file, line and rule.

CMake's views already make a forbidden include fail to compile where the target does not link the component; this test also sees
files that no target compiles, and a link that should not have been made."""
import re
import sys
from pathlib import Path

# folder -> folders of the repository that its sources may include (weft/spec/ is open to all)
ALLOWED = {
    "firmware": {"firmware"},
    "model/golden": {"model/golden"},
    "model/verilated": {"model/verilated"},
    "model/loadable": {"model/loadable"},
    "model/core": {"model/core", "model/golden", "model/loadable", "model/verilated"},
    "model/trace": {"model/trace"},
    "base": {"base"},
    "model/ici": {"model/ici", "model/trace", "base"},
    "model/replay": {"model/replay", "model/ici", "base"},
    "model/rv32": {"model/rv32"},
    "model/ibex": {"model/ibex", "model/rv32"},
    "model/chip": {"model/chip", "model/rv32", "model/ici", "model/trace", "model/core", "model/golden", "firmware", "base"},
    "model/server": {"model/server", "model/chip", "model/core", "firmware/state.hpp"},
    "model/record": {"model/record", "model/server", "model/chip", "model/core"},
    "driver": {"driver", "base"},
    "host/compiler": {"host/compiler", "base"},
    "host/runtime": {"host/runtime", "host/compiler", "base"},
    "host/reference": {"host/reference", "host/compiler", "model/golden"},
    "host/tools": {"host/tools", "host/reference", "base", "host/runtime", "host/compiler", "model/golden", "model/loadable", "driver/program/executable_loader.hpp", "driver/transport/sim_process.hpp",
                   # the simulated network between the hosts of several slices
                   "model/ici/dcn.hpp", "model/ici/time.hpp", "model/ici/slice.hpp",
                   # tools for a live chip: decoders of what the device wrote, and registers
                   "driver/report", "driver/hang/hang_report.hpp", "driver/abi/abi.hpp", "driver/transport/registers.hpp"},
    "host/examples": {"host/examples", "base", "host/tools", "host/reference", "host/runtime", "host/compiler", "model/golden"},
}

# Rooms in folders whose rooms are floors: room -> the rooms below it that its sources may include.
FLOORS = {
    "driver": {"transport": (), "memory": ("transport",), "program": (), "report": ("transport", "program"), "log": ("report",), "queue": ("transport", "memory", "report"),
               "hang": ("transport", "program", "report", "queue"), "mock": ("transport", "queue"),
               "device": ("transport", "memory", "program", "report", "log", "queue", "hang"),
               "abi": ("transport", "memory", "program", "report", "log", "queue", "hang", "mock", "device")},
    "model/core": {"remote": (), "command": (), "fast": ("remote", "command"), "rtl": ("remote", "command"), "lockstep": ("command", "rtl"), "hazard": ("command", "rtl")},
    "host/tools": {"formats": (), "live": ("formats",), "trace": ("formats",), "cores": (), "inject": ("live",), "run": ("formats",), "selftest": ("formats", "live", "run"),
                   "cost": ("formats", "live", "run", "trace"), "abi": ("formats", "run", "cost"),
                   "commands": ("formats", "live", "trace", "cores", "inject", "run", "selftest", "cost")},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]((?:base|firmware|model|driver|host|testbench|rtl)/[^">]+)[">]')


def upward(folder, room, included):
    """Whether `included` lies in a room of `folder` that is neither `room` nor below it."""
    other = included.removeprefix(folder + "/").split("/")
    return included.startswith(folder + "/") and len(other) > 1 and other[0] not in (room, *FLOORS[folder][room])


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    wrong, seen = [], 0
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cpp", ".hpp", ".h", ".c"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                seen += 1
                if not any(match.group(1) == a or match.group(1).startswith(a + "/") for a in allowed):
                    wrong.append(f"{path.relative_to(root)}:{number}: {folder} may not include {match.group(1)}")
    for folder, rooms in FLOORS.items():
        wrong += [f"{path.parent.relative_to(root)}: has no floor in {Path(__file__).name}" for path in {p.parent: p for p in (root / folder).rglob("*.?pp")}.values()
                  if path.parent != root / folder and path.relative_to(root / folder).parts[0] not in rooms and "include" not in path.parts]
        for room in rooms:
            for path in sorted((root / folder / room).glob("*.?pp")):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    match = INCLUDE.match(line)
                    if match and upward(folder, room, match.group(1)):
                        wrong.append(f"{path.relative_to(root)}:{number}: {room} may not include {match.group(1)}")
    print("\n".join(wrong))
    if not seen:
        print("no include was found: the check looks in the wrong place")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
