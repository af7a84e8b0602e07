"""JAX's own tests on Weft's plugin: how many pass, and why the others do not.

usage: own_tests.py --source FOLDER [--file NAME..] [--cases N] [--sample COUNT] [--seed SEED] [--json FILE]

FOLDER is a checkout of JAX's repository at the release that is installed; nothing of it lies in this tree. The tests are
told that the device is a `tpu`, so that their skips and tolerances are a TPU's; products are of precision `highest`;
types are bool, integers of 8 to 32 bits, bf16, f16, f32. Each file runs in a process of its own, and a new one takes
over behind a test that has ended its process or has not ended in time.

Exit code 0: tests were found and no process crashed; 1: not so; 2: they could not be run.
"""

import argparse
import collections
import json
import os
import pathlib
import queue
import random
import re
import subprocess
import sys
import threading

FILES = ("lax_test", "lax_numpy_test", "lax_control_flow_test", "random_test", "nn_test")
WORKER = pathlib.Path(__file__).with_name("own_tests_worker.py")
LOAD_LIMIT_S, TEST_LIMIT_S = 300, 120
# Types that the tests are not asked to use, as refusals name them.
OTHER = r"complex\w*|f64|i64|ui64|i2|i4|ui2|ui4|f8\w+|f4\w+"
OTHER_TYPES = re.compile(rf"elements of ({OTHER}|a type that is not known)|arrays of ({OTHER})\b"
                         r"|operator vhlo\.(complex|imag|fft)_v|(no available dtypes)")


class Failed(Exception):
    """The tests could not be run."""


def environment(source: pathlib.Path, cases: int) -> dict:
    return os.environ | {
        "JAX_PLATFORMS": "weft", "JAX_TEST_DUT": "tpu", "JAX_DEFAULT_MATMUL_PRECISION": "highest",
        "JAX_NUM_GENERATED_CASES": str(cases), "JAX_SKIP_SLOW_TESTS": "1", "JAX_ENABLE_X64": "0",
        "WEFT_CHIPS": os.environ.get("WEFT_CHIPS", "nano"), "PYTHONDONTWRITEBYTECODE": "1"}


def installed() -> str:
    code = "import importlib.metadata as m, absl; print(m.version('jax'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{sys.executable} lacks jax or absl-py, which scripts/packages installs: {done.stderr.strip()[-200:]}")
    return done.stdout.strip()


def check_release(source: pathlib.Path) -> str:
    """The release of both the checkout and the installation."""
    version = installed()
    path = source / "jax" / "version.py"
    if not (source / "tests").is_dir():
        raise Failed(f"{source} has no folder tests: give --source a checkout of JAX's repository at jax-v{version}")
    if path.is_file():
        found = re.search(r'^_version = "([\d.]+)"', path.read_text(), re.MULTILINE)
        if found and found[1] != version:
            raise Failed(f"{source} is JAX {found[1]}, {version} is installed: check out jax-v{version}")
    return version


def listed(path: pathlib.Path, environ: dict) -> list[str]:
    done = subprocess.run([sys.executable, "-B", WORKER, path, "list"], env=environ, capture_output=True, text=True,
                          timeout=LOAD_LIMIT_S, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        raise Failed(f"{path.name} could not be loaded: {done.stderr.strip()[-600:]}")
    return json.loads(lines[-1])["tests"]


def lines_of(stream) -> queue.Queue:
    """Lines as they come, None behind the last one."""
    lines = queue.Queue()

    def read():
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def run_process(path: pathlib.Path, names: list[str], environ: dict) -> dict[str, tuple[str, str]]:
    """Runs tests in one process until it has ended. Name -> state, reason; of those that have begun."""
    found = {}
    with subprocess.Popen([sys.executable, "-B", WORKER, path, "run"], env=environ, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write("\n".join(names))
        process.stdin.close()
        lines, running = lines_of(process.stdout), None
        while True:
            try:
                line = lines.get(timeout=TEST_LIMIT_S if running or found else LOAD_LIMIT_S)
            except queue.Empty:
                process.kill()
                if running is None:
                    raise Failed(f"{path.name} runs no test in {LOAD_LIMIT_S} s") from None
                found[running] = ("timeout", f"did not end in {TEST_LIMIT_S} s")
                return found
            if line is None:
                break
            event = json.loads(line)
            running = event.get("begin")
            if running is None:
                found[event["end"]] = (event["state"], event["why"])
        code = process.wait()
    if running is not None:
        found[running] = ("crash", f"the process ended with {code}")
    elif not found and code != 0:
        raise Failed(f"{path.name} ended with {code} before its first test")
    return found


def run_file(path: pathlib.Path, names: list[str], environ: dict) -> dict[str, tuple[str, str]]:
    found = {}
    while left := [name for name in names if name not in found]:
        before = len(found)
        found |= run_process(path, left, environ)
        if len(found) == before:
            raise Failed(f"{path.name}: no test ran of {len(left)}")
    return found


def reason_of(why: str) -> str:
    """What a refusal or a difference is about, without shapes and numbers."""
    if operator := re.search(r"operator (\w+\.\w+)[^:]*: (.*)", why):
        return f"{operator[1]}: {operator[2]}"[:120]
    if "Not equal to tolerance" in why or "Arrays are not equal" in why or "Mismatched elements" in why:
        return "values differ"
    if refusal := re.search(r"(\w+Error: )?([A-Z_]{6,}: [^\n]*)", why):
        return re.sub(r"\d+", "N", refusal[2])[:120]
    return re.sub(r"\d+", "N", why.splitlines()[0] if why else "no message")[:120]


def tally(found: dict[str, tuple[str, str]]) -> dict:
    counts, reasons, excluded, failed = collections.Counter(), collections.Counter(), collections.Counter(), {}
    for name, (state, why) in found.items():
        if state == "failed" and (other := OTHER_TYPES.search(why)):
            state = "excluded"
            excluded[next(filter(None, other.groups()))] += 1
        counts[state] += 1
        if state in ("failed", "crash", "timeout"):
            failed[name] = why
            reasons[reason_of(why)] += 1
    judged = counts["passed"] + counts["failed"] + counts["crash"] + counts["timeout"]
    return {"collected": len(found), "judged": judged, **{s: counts[s] for s in ("passed", "failed", "crash", "timeout", "skipped", "excluded")},
            "reasons": dict(reasons.most_common()), "excluded_types": dict(excluded.most_common()), "failures": failed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default=os.environ.get("WEFT_JAX_SOURCE"), help="checkout of JAX's repository; else WEFT_JAX_SOURCE")
    parser.add_argument("--file", nargs="*", default=list(FILES), metavar="NAME", help=f"default: {' '.join(FILES)}")
    parser.add_argument("--cases", type=int, default=1, metavar="N", help="cases of each parameterised test, default: 1")
    parser.add_argument("--sample", type=int, default=0, metavar="COUNT", help="tests of each file, drawn; default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the draw, default: 1")
    parser.add_argument("--only", default="", metavar="TEXT", help="tests whose name contains it")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if not options.source:
        print("own_tests: no --source: a checkout of JAX's repository at the release that is installed", file=sys.stderr)
        return 2
    source = pathlib.Path(options.source).resolve()
    results = {}
    try:
        version = check_release(source)
        environ = environment(source, options.cases)
        for name in options.file:
            path = source / "tests" / f"{name}.py"
            every = [test for test in listed(path, environ) if options.only in test]
            chosen = every
            if 0 < options.sample < len(every):
                chosen = sorted(random.Random(options.seed).sample(every, options.sample))
            results[name] = tally(run_file(path, chosen, environ)) | {"of": len(every)}
            print(f"{name}: {results[name]['passed']} of {results[name]['judged']} judged pass; {len(chosen)} of {len(every)} run", file=sys.stderr)
    except (Failed, subprocess.TimeoutExpired) as error:
        print(f"own_tests: {error}", file=sys.stderr)
        return 2
    found = {"jax": version, "cases": options.cases, "sample": options.sample, "seed": options.seed, "files": results}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    for name, result in results.items():
        share = 100 * result["passed"] / result["judged"] if result["judged"] else 0
        print(f"{name}: {share:.1f} % of {result['judged']} pass; {result['crash']} crash, {result['timeout']} do not end, "
              f"{result['skipped']} skipped by JAX, {result['excluded']} excluded {result['excluded_types']}; seed {options.seed}")
        for reason, count in result["reasons"].items():
            print(f"  {count:4} {reason}")
    return 1 if not results or any(r["crash"] or not r["judged"] for r in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
