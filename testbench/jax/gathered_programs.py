"""How many programs of the examples for several devices are gathered, and whether each run has the same losses.

usage: gathered_programs.py [--json] [--steps N]
environment: WEFT_SIM, WEFT_PJRT_LIBRARY; each example runs in a process of its own, twice
exit code: 0: none, and the same; 1: some, or losses that differ; 2: a run has failed, or had no program of several devices
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "host" / "examples" / "jax"
RUNS = {"pmap": ("nano-2x2", "data_parallel.py", "--how", "pmap"), "pjit": ("nano-4x2", "data_parallel.py", "--how", "pjit"),
        "transformer": ("nano-4x2", "sharded_transformer.py")}


def run(how: str, steps: int) -> tuple[list[str], str]:
    """What the log tells of each program of several devices, and what the script prints."""
    chips, example, *arguments = RUNS[how]
    settings = os.environ | {"WEFT_CHIPS": chips, "JAX_PLATFORMS": "weft", "WEFT_JAX_LOG": "parts", "PYTHONPATH": str(ROOT / "host" / "python")}
    done = subprocess.run([sys.executable, "-B", str(EXAMPLES / example), *arguments, "--steps", str(steps)], env=settings, capture_output=True,
                          text=True, timeout=600, check=False)
    programs = re.findall(r"^weft: .* on \d+ devices.*$", done.stderr, re.M)
    if done.returncode != 0 or not programs:
        print(f"gathered_programs: {how}: {done.stderr.strip()[-600:]}", file=sys.stderr)
        sys.exit(2)
    return programs, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    found = {}
    for how, (chips, *_) in RUNS.items():
        (programs, losses), (_, again) = (run(how, options.steps) for _ in range(2))
        gathered = [program for program in programs if "gathered because" in program]
        found[f"{how} on {chips}"] = {"programs": len(programs), "gathered": gathered, "same": losses == again}
        if not options.json:
            print(f"{how} on {chips}: {len(gathered)} of {len(programs)} programs of several devices are gathered; two runs have "
                  f"{'the same' if losses == again else 'other'} losses")
    if options.json:
        print(json.dumps(found))
    return 0 if all(not entry["gathered"] and entry["same"] for entry in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
