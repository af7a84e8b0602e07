"""The figures of the RTL's form: the structural array beside the fast one, PeLatency, formal equality, synthesis, speed, bugs by hand."""
import json
import os
import re
import resource
import statistics
import subprocess

from figures_tools import ctest, folder, read, row

LIMIT_S = 4 * 3600
PROGRAMS = 2000
SIZES = {"nano": 8, "mini": 16, "small": 32}
SESSIONS_CI = ("cores_agree_test", "driver_sim_test", "launch_test", "hang_test", "fault_codes_test", "queues_sim_test", "slice_sim_test")
BUGS, GOAL_BUGS = 40, 38
GATE_PROGRAMS, PE_LEVELS = 20, 60


def judged(tools, command):
    """Runs what ends with 1 if a figure does not hold."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=tools.root, timeout=LIMIT_S)
    if done.returncode not in (0, 1):
        raise tools.Failed(f"{' '.join(map(str, command))} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return done


def failing(tools, expression, name):
    """(tests that ran, names of those that did not pass)."""
    found = ctest(tools, ["-R", expression, "-j", os.cpu_count()], name, timeout=LIMIT_S)
    return len(found), [test for test, (good, _) in found.items() if not good]


def structural(tools):
    """Whole cores with either array on the same random programs."""
    level = "ci" if tools.level == "ci" else "nightly"
    judged(tools, ["scripts/regress", level, "--only", "both arrays", "--build", tools.build])
    found = read(tools, tools.build / "regression" / level / "both arrays" / "arrays.json")
    rows = []
    for chip, size in SIZES.items():
        batches = [batch for batch in found["batches"] if batch["chip"] == chip]
        programs, failed = sum(b["programs"] for b in batches), sum(b["failed"] for b in batches)
        rows.append(row(f"structural, N = {size}", failed, f"of {programs} programs differ in a cycle, a counter or a byte", "0", failed == 0 and programs > 0,
                        oracle="the fast array, whose oracle is model/golden"))
    programs = found["programs"]
    rows.append(row("structural, programs", programs, "on all sizes", f">= {PROGRAMS}" + (" (nightly)" if tools.level == "ci" else ""), programs >= PROGRAMS or tools.level == "ci"))
    return rows + sessions(tools)


def sessions(tools):
    """What the system tests do on nano: recorded with the fast array, replayed with the structural one; slices of nanos with it at once."""
    out = folder(tools) / "array_sessions.json"
    out.unlink(missing_ok=True)
    judged(tools, ["testbench/system/array_sessions.py", "--build", tools.build, "--json", out, *(["--only", *SESSIONS_CI] if tools.level == "ci" else [])])
    found = read(tools, out)
    failed = [name for name, test in found.items() if not test["passed"]]
    replays = [replay for test in found.values() for replay in test["replays"]]
    different = [replay for replay in replays if not replay["identical"] or not replay["cycles_compared"]]
    nightly = f" (all: nightly; ci: {', '.join(SESSIONS_CI)})" if tools.level == "ci" else ""
    return [row("structural, system tests", len(failed), f"of {len(found)} fail" + (f": {failed[0]}" if failed else ""), "0" + nightly, not failed and len(found) > 0,
                oracle="each test's own"),
            row("structural, sessions on nano", len(different), f"of {len(replays)} differ in a byte, an access, a register or a cycle from the fast array: "
                f"{sum(replay.get('completions', 0) for replay in replays)} completions, {sum(replay.get('device_cycles', 0) for replay in replays)} device cycles; "
                f"{sum(test['long'] for test in found.values())} hangs of the fast core and {sum(test['unlike'] for test in found.values())} that no core reproduces left out",
                "0" + nightly, not different and len(replays) > 0, oracle="the fast array, whose oracle is model/golden")]


def pe_latency(tools):
    ran, bad = failing(tools, r"nano-pe[234]|^mxu_pe[234]_test", "pe_latency")
    return [row("PeLatency 2 to 4", len(bad), f"of {ran} tests against model/golden and the fast core fail" + (f": {bad[0]}" if bad else ""), "0", not bad and ran > 0,
                oracle="model/golden")]


LINK = ("fma_start", "fma_carried")      # a link of the loops' chain is a PE's multiply-add, with the true product
ARRAYS = {n: [f"array_{form}_{n}" for form in ("loops", "instances")] for n in (2, 3, 4)}   # each form gives the chain of any function


def formal(tools):
    """testbench/formal/README.md, "The two arrays": why link and chain together are equality with the true product."""
    out = folder(tools) / "arrays_formal.json"
    listed = dict(line.split("\t")[:2] for line in judged(tools, ["testbench/formal/prove.py", "--list"]).stdout.splitlines())
    names = [*LINK, *(name for pair in ARRAYS.values() for name in pair if name in listed)]
    if not set(LINK) <= set(listed):
        raise tools.Failed(f"no proof is called {' or '.join(LINK)}")
    if tools.level == "ci":
        names = [name for name in names if listed[name] != "nightly"]
    judged(tools, ["testbench/formal/prove.py", "--build", tools.build, "--only", *names, "--jobs", os.cpu_count(), "--json", out])
    good = {proof["name"] for proof in read(tools, out) if proof["good"]}
    sizes = [n for n, pair in ARRAYS.items() if good.issuperset([*LINK, *pair])]
    nightly = "" if tools.level != "ci" or len(sizes) == len(ARRAYS) else " (3, 4: nightly)"
    return [row("structural, formal equality", len(good), f"of {len(names)} proofs hold; with the true product at N = {', '.join(map(str, sizes)) or 'none'}",
                "all; N = 2, 3, 4 with the true product" + nightly, len(good) == len(names) and (len(sizes) == len(ARRAYS) or (nightly != "" and sizes == [2])),
                oracle="Yosys and ABC")]


def synthesis(tools):
    """Yosys on the core with the structural array; the page is compared with what it says now."""
    ran, bad = failing(tools, "^synthesis(_refusals)?$" if tools.level == "ci" else "^synthesis", "synthesis")
    return [row("synthesis", len(bad), f"of {ran} tests fail: latches, black boxes, the page" + (f": {bad[0]}" if bad else ""), "0", not bad and ran > 0, oracle="Yosys")]


def gates(tools):
    """The netlist of gates on the RTL's pins; mapping takes a quarter of an hour the first time."""
    if tools.level == "ci":
        return []
    netlist, out = folder(tools) / "core.net", folder(tools) / "gates.json"
    said = judged(tools, ["testbench/synthesis/gates.py", "--build", tools.build]).stdout
    judged(tools, ["testbench/synthesis/gates.py", "--build", tools.build, "--netlist", netlist])
    judged(tools, [tools.program("gate_programs"), netlist, "--count", GATE_PROGRAMS, "--json", out])
    found = read(tools, out)
    pes = dict(re.findall(r"^\| (\d) \| (\d+) \| \d+ \| \d+ \|$", said, re.M))
    if len(pes) != 4:
        raise tools.Failed("gates.py tells no levels of a PE at each PeLatency")
    return [row("gates, N = 8", found["differ"], f"of {found['programs']} programs differ in an output or a word of memory; {found['gates']} gates, {found['cycles']} cycles", "0",
                found["differ"] == 0 and found["programs"] >= GATE_PROGRAMS and found["cycles"] > 0, oracle="the RTL, whose oracle is model/golden"),
            row("gates, inverted", found["seen"], f"of {found['inverted']} copies with an inverted gate differ", "a quarter", 4 * found["seen"] >= found["inverted"] > 0),
            row("gates, a PE at PeLatency 3", int(pes["3"]), "levels of gates between registers", f"< {PE_LEVELS}", int(pes["3"]) < PE_LEVELS, oracle="Yosys and ABC"),
            row("gates, the whole core", found["levels"], "levels of gates between registers", "stated", None)]


def speed(tools):
    """Simulated MACs a second. A comparison with another commit needs both builds at hand: it is no figure of one tree."""
    rows = []
    for name, words in (("fast array, v5e-1mxu", ("1024x1024x1024", "v5e-1mxu", "rtl")), ("structural, N = 32", ("256x256x256", "small?array=structural", "rtl")),
                        ("fast core, v5e-1mxu", ("2048x2048x2048", "v5e-1mxu", "fast"))):
        shape, chip, core = words
        chip, _, option = chip.partition("?")
        command = ["testbench/gate_cores/with_gate_cores", tools.build, tools.program("weft"), "gemm", "--shape", shape, "--chip", chip, "--core", core, "--json"]
        env = {**os.environ, "WEFT_SIM": tools.program("weft-sim"), **({"WEFT_ARRAY": option.partition("=")[2]} if option else {})}
        best = max(json.loads(tools.run(command, LIMIT_S, env=env, cwd=tools.root))["simulated_macs_per_second"] for _ in range(tools.repetitions))
        rows.append(row(f"speed, {name}", best / 1e6, "M MAC/s", "stated", None))
    return rows


def several_mxus(tools):
    """v5e's four MXUs beside one of them: MACs per second of processor time less that of a small product, in turns, so that what else
    runs meets both. The core of v5e is built by weft build-chip: minutes the first time."""
    if tools.level == "ci":
        return []
    environment = {**os.environ, "WEFT_SIM": tools.program("weft-sim")}
    tools.run([tools.program("weft"), "build-chip", "v5e"], LIMIT_S)

    def seconds(chip, shape):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        tools.run([tools.program("weft"), "gemm", "--shape", shape, "--chip", chip, "--core", "rtl"], LIMIT_S, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    rates = {"v5e-1mxu": [], "v5e": []}
    for _ in range(3 * tools.repetitions):  # two runs of a chip can be 4 % apart on a machine that does nothing else
        for chip, found in rates.items():
            found.append(1024**3 / (seconds(chip, "1024x1024x1024") - seconds(chip, "8x8x8")) / 1e6)
    one, four = (statistics.median(found) for found in rates.values())
    return [row("speed, v5e with four MXUs", four, f"M MAC per second of processor time; v5e-1mxu {one:.0f}", "at least v5e-1mxu's", four >= one)]


def bugs(tools):
    """Bugs that a reviewer would plant, hunted by the tests of level ci; the build of the mutated RTL takes minutes."""
    if tools.level == "ci":
        return []
    out = folder(tools) / "bugs.json"
    judged(tools, ["scripts/mutate", "--bugs", "--json", out])
    found = read(tools, out)
    return [row("bugs by hand", found["killed"], f"of {found['bugs']} killed", f">= {GOAL_BUGS} of {BUGS}", found["killed"] >= GOAL_BUGS and found["bugs"] >= BUGS)]


FIGURES = (("structural", structural), ("PeLatency", pe_latency), ("formal", formal), ("synthesis", synthesis), ("gates", gates), ("speed", speed),
           ("several MXUs", several_mxus), ("bugs", bugs))
