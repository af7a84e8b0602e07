"""ONNX's test models with bits turned over, cut off and doubled, through weft's importer and reference: none may crash, hang or grow.

usage: mutations.py [--count N] [--seed S] [--first I]      (Python of .venv; RUNNER names the program, default build/bin/conformance_runner)

A mutant is taken or refused with a message; anything else (a signal, another exit code, over 60 s of CPU or 8 GiB) is a failure, printed
with the line that makes it again. Exit code 1: there was one, or nothing ran."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from conformance import ROOT, cases

CHUNK = 500


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        way = rng.random()
        at = rng.randrange(len(data))
        if way < 0.8:
            data[at] ^= 1 << rng.randrange(8)
        elif way < 0.9:
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif way < 0.95:
            del data[at:at + rng.randrange(1, 9)]
        else:
            data[at:at] = data[at:at + rng.randrange(1, 9)]
        if not data:
            return b"\0"
    return bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    arguments = parser.parse_args()
    runner = os.environ.get("RUNNER", str(ROOT / "build/bin/conformance_runner"))
    vectors = list(cases(None, ""))
    print(f"seed {arguments.seed}: mutants {arguments.first} to {arguments.first + arguments.count - 1}", flush=True)
    codes, failures = Counter(), 0
    end = arguments.first + arguments.count
    for first in range(arguments.first, end, CHUNK):
        with tempfile.TemporaryDirectory(prefix="weft-mutants-") as work:
            lines, names = [], []
            for i in range(first, min(first + CHUNK, end)):
                rng = random.Random(f"{arguments.seed} {i}")
                _, folder, data = rng.choice(vectors)
                model = Path(work) / f"{i}.onnx"
                model.write_bytes(mutate(rng, (folder / "model.onnx").read_bytes()))
                lines.append(f"{model}\t{data}\t{Path(work) / str(i)}\n")
                names.append((i, folder.name))
            done = subprocess.run([runner], input="".join(lines), capture_output=True, text=True, check=True)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            if len(rows) != len(names):
                sys.exit(f"mutations.py: {len(rows)} of {len(names)} mutants ran")
            for (i, name), row in zip(names, rows, strict=True):
                codes[row["code"]] += 1
                defect = "has a defect" in row["message"] or (row["code"] == 2 and not row["message"])
                if row["code"] not in (0, 2, 3) or defect:
                    failures += 1
                    print(f"FAILED: {name}: exit code {row['code']}, signal {row['signal']}: {row['message'][:200]}\n"
                          f"rerun: .venv/bin/python testbench/onnx/mutations.py --seed {arguments.seed} --first {i} --count 1")
    print(f"{sum(codes.values())} mutants: {codes[0]} taken, {codes[2]} refused, {codes[3]} no longer a model, {failures} failed")
    sys.exit(1 if failures or not codes[2] else 0)


if __name__ == "__main__":
    main()
