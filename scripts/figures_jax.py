"""The figures of JAX on Weft: JAX's own tests, a census of programs, the examples, calls, several devices."""
import json
import os
import subprocess

from figures_tools import folder, read, row

GOAL_PASS, GOAL_RETURN_US, GOAL_READY_US, GOAL_COMPILE_S = 0.90, 60, 1000, 2
GOAL_PRODUCTS, GOAL_ELEMENTS = 90, 80  # %
FILES = ("lax_test", "lax_numpy_test", "lax_control_flow_test", "random_test", "nn_test")
MANY = ("pmap_test", "shard_map_test", "pjit_test")  # on a slice of eight chips: not at level ci
SAMPLE, SEED = 60, 1  # tests of each file at level ci
LIMIT_S = {"ci": 1800, "nightly": 4 * 3600, "release": 24 * 3600}


def run(tools, script, *arguments, **environment):
    """A script of testbench/jax with the Python of .venv, or the one that WEFT_JAX_PYTHON names."""
    python = os.environ.get("WEFT_JAX_PYTHON") or tools.root / ".venv/bin/python"
    try:
        subprocess.run([python, "-c", "import jaxlib"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise tools.Failed(f"{python} has no jaxlib: scripts/packages installs it") from None
    environment = {**os.environ, "WEFT_SIM": tools.program("weft-sim"), "WEFT_CHIPS": "nano",
                   "WEFT_PJRT_LIBRARY": str(tools.build / "lib/libweft_pjrt.so"), **environment}
    try:
        return subprocess.run([python, "-B", tools.root / "testbench/jax" / script, *map(str, arguments)], env=environment,
                              capture_output=True, text=True, timeout=LIMIT_S[tools.level])
    except subprocess.TimeoutExpired:
        raise tools.Failed(f"testbench/jax/{script} has not ended in {LIMIT_S[tools.level]} s") from None


def own_tests(tools):
    """Tests of JAX's release; level ci draws some of each file, nightly runs one case of each, release ten."""
    if not os.environ.get("WEFT_JAX_SOURCE"):
        raise tools.Failed("WEFT_JAX_SOURCE names no checkout of JAX's repository at the release of scripts/requirements.txt")
    draw = ("--sample", SAMPLE, "--seed", SEED) if tools.level == "ci" else ()
    cases = 10 if tools.level == "release" else 1
    runs = [(FILES, "nano")] if tools.level == "ci" else [(FILES, "nano"), (MANY, "nano-4x2")]
    rows, crashes, version = [], 0, ""
    for files, chips in runs:
        out = folder(tools) / f"jax_{chips}.json"
        out.unlink(missing_ok=True)
        done = run(tools, "own_tests.py", "--file", *files, "--cases", cases, *draw, "--json", out, WEFT_CHIPS=chips)
        if not out.is_file():
            raise tools.Failed(done.stderr.strip()[-600:] or "testbench/jax/own_tests.py wrote no tally")
        found = read(tools, out)
        version = found["jax"]
        for name, tally in found["files"].items():
            crashes += tally["crash"]
            share = tally["passed"] / tally["judged"] if tally["judged"] else 0
            drawn = f", drawn of {tally['of']} with seed {SEED}" if draw else ""
            rows.append(row(f"JAX's own, {name}", round(100 * share, 1), f"% of {tally['judged']} pass{drawn}; {tally['excluded']} of other types, {tally['skipped']} skipped by JAX, "
                            f"{tally['timeout']} do not end", ">= 90", share >= GOAL_PASS, oracle=f"jax {version}",
                            reasons=tally["reasons"], excluded=tally["excluded_types"]))
    rows.append(row("JAX's own, crashes", crashes, "processes that ended", "0", crashes == 0, oracle=f"jax {version}"))
    return rows


def census(tools):
    done = run(tools, "programs_test.py", "--json")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise tools.Failed(f"testbench/jax/programs_test.py: {done.stderr.strip()[-600:]}") from None
    wrong = [program["name"] for program in found if "error" in program]
    device = sum(program.get("device_programs", 0) > 0 for program in found)
    return [row("census, wrong or refused", len(wrong), f"of {len(found)} programs, {device} with device programs{': ' if wrong else ''}{', '.join(wrong)}", "0", not wrong and bool(found), oracle="JAX on the CPU")]


def unit(tools, name, script, oracle, **environment):
    """A file of tests, of which none may fail and some must be."""
    done = run(tools, script, **environment)
    tail = done.stderr.strip().splitlines()
    ran = next((int(line.split()[1]) for line in tail if line.startswith("Ran ")), 0)
    return [row(name, ran, f"tests{'' if done.returncode == 0 else ', ' + tail[-1] if tail else ', no output'}", "none fails", done.returncode == 0 and ran > 0, oracle=oracle)]


def steps_of(tools):
    return "20" if tools.level == "ci" else "100"


def examples(tools):
    return unit(tools, f"examples, {steps_of(tools)} steps", "examples_test.py", "JAX on the CPU", EXAMPLE_STEPS=steps_of(tools))


def examples_on_many(tools):
    return unit(tools, f"a transformer on eight chips, {steps_of(tools)} steps", "sharded_training_test.py", "JAX on the CPU", EXAMPLE_STEPS=steps_of(tools))


def callbacks(tools):
    return unit(tools, "callbacks", "callbacks_test.py", "Python")


def devices(tools):
    return unit(tools, "several devices, 2x2", "devices_test.py", "NumPy")


def device_counts(tools):
    rows = []
    done = run(tools, "device_counts.py", "--json")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise tools.Failed(f"testbench/jax/device_counts.py: {done.stderr.strip()[-600:]}") from None
    where = f"of {found['programs']} programs on {', '.join(map(str, found['counts']))} chips"
    for name, differ in (("bits on each number of chips", found["differ"]), ("bits and cycles in each of two runs", found["differ_again"])):
        rows.append(row(name, len(differ), f"differ {where}{': ' if differ else ''}{', '.join(differ)}", "0", not differ, oracle="one chip, the first run"))
    return rows


def gathered(tools):
    rows = []
    done = run(tools, "gathered_programs.py", "--json")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise tools.Failed(f"testbench/jax/gathered_programs.py: {done.stderr.strip()[-600:]}") from None
    for name, example in found.items():
        count = len(example["gathered"])
        rows.append(row(f"gathered programs, {name}", count, f"of {example['programs']} of several devices{'; two runs differ' * (not example['same'])}", "0",
                        count == 0 and example["same"]))
    return rows


def calls(tools):
    done = run(tools, "call_latency.py", "--json")
    if done.returncode != 0:
        raise tools.Failed(f"testbench/jax/call_latency.py: {done.stderr.strip()[-600:]}")
    found = json.loads(done.stdout)
    rows = []
    for name, key in (("an island", ""), ("a device program", "device_")):
        for what, value, goal in (("until it returns", found[f"{key}return_us"], GOAL_RETURN_US), ("until it is ready", found[f"{key}ready_us"], GOAL_READY_US)):
            rows.append(row(f"call of {name}, {what}", value, f"us, median of {found['calls']}, nano, fast core", f"<= {goal}", value <= goal))
    rows.append(row("compilation, transformer step", found["compile_s"], "s", f"<= {GOAL_COMPILE_S}", found["compile_s"] <= GOAL_COMPILE_S))
    return rows


def shares(tools):
    """What of the examples' steps device programs have, on a chip of full size."""
    done = run(tools, "device_share.py", "--json", WEFT_CHIPS="v5e-1mxu")
    if done.returncode != 0:
        raise tools.Failed(f"testbench/jax/device_share.py: {done.stderr.strip()[-600:]}")
    rows = []
    for name, share in json.loads(done.stdout).items():
        products, elements, islands = round(100 * share["products"], 1), round(100 * share["elements"], 1), share["islands"]
        where = f"in {share['device_programs']} device programs, v5e-1mxu"
        rows += [row(f"{name}: products", products, f"% {where}", ">= 90", products >= GOAL_PRODUCTS),
                 row(f"{name}: elementwise work", elements, f"% {where}", ">= 80", elements >= GOAL_ELEMENTS),
                 row(f"{name}: islands", islands, "beside the device programs", "0", islands == 0)]
    return rows


# What fails or does not end costs its own rows.
FIGURES = (("JAX's own tests", own_tests), ("census", census), ("examples", examples), ("examples on eight chips", examples_on_many), ("on the device", shares),
           ("callbacks", callbacks), ("several devices", devices), ("numbers of devices", device_counts), ("gathered programs", gathered), ("calls", calls))
