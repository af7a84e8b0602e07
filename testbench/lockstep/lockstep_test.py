"""Runs a system test with the firmware's image, and the natively compiled firmware beside each of its simulators.

usage: lockstep_test.py LOCKSTEP PROGRAM [ARGUMENT...]
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def pointer_registers():
    """Addresses whose stores are of pointers, which are others natively: lockstep compares where such a store goes, and not what it stores."""
    text = (Path(__file__).resolve().parents[2] / "firmware/bare/registers.hpp").read_text()
    numbers = {name: int(value.replace("'", ""), 16) for name, value in re.findall(r"uintptr_t (k\w+) = (0x[0-9a-f']+);", text)}
    return {numbers["kManager"] + numbers[name] for name in ("kDmaSram", "kCrcSram")}


def is_found(lockstep, log, kind):
    """Another number in the last but one line of a kind is a difference, with the number of a line."""
    lines = log.read_text().splitlines()
    pointers = pointer_registers()
    places = [i for i, line in enumerate(lines) if line.startswith(kind) and not (kind == "S" and int(line.split()[1], 16) in pointers)]
    if len(places) < 2:
        print(f"{log}: fewer than two lines {kind}", file=sys.stderr)
        return False
    at = places[-2]
    words = lines[at].split()
    word = -1 if kind == "S" else 1  # the value that is stored; else the address, the data, the digest
    words[word] = f"{int(words[word][0], 16) ^ 1:x}" + words[word][1:]
    spoilt = log.with_name("spoilt")
    spoilt.write_text("\n".join([*lines[:at], " ".join(words), *lines[at + 1:]]) + "\n")
    result = subprocess.run([lockstep, str(spoilt)], capture_output=True, text=True)
    # What a DMA brings may be data that the firmware only hands on: then its own DMA has another CRC, or nothing has.
    found = result.returncode == 1 and f"{spoilt}:" in result.stderr or kind == "D" and result.returncode == 0
    print(f"{kind} in line {at + 1} spoilt: {result.stderr.strip() or 'no difference'}")
    return found


def main():
    lockstep, *program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WEFT_MANAGER": "rv32", "WEFT_MANAGER_LOG": f"{folder}/%p.log"}
        if subprocess.run(program, env=environment).returncode != 0:
            print("the program itself has failed", file=sys.stderr)
            return 1
        logs = sorted(Path(folder).glob("*.log*"))
        if not logs:
            print("no simulator has written a log: nothing was compared", file=sys.stderr)
            return 1
        if subprocess.run([lockstep, *map(str, logs)]).returncode != 0:
            return 1
        return sum(not is_found(lockstep, logs[-1], kind) for kind in "LSDE")


if __name__ == "__main__":
    sys.exit(main())
