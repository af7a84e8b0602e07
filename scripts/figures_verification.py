"""The figures of the verification: what is proved, covered, killed, injected, and how fast a bench answers."""
import json
import os
import re
import subprocess
import time

from figures_tools import folder, read, row

RANDOM_PROGRAMS = {"ci": 2000, "nightly": 20000, "release": 20000}
MUTANTS = {"ci": 30, "nightly": 400, "release": 400}
GOAL_MUTANTS, GOAL_KILLED = 300, 95.0
FLIPS = 5000
PROOFS = 12
LOOP_S = 30
UNWRITTEN_TEST = "a program that reads VMEM that nothing has written since power-up ends with ECC_UNCORRECTABLE"
UNFETCHED_TEST = "a command that memory does not have is fault COMMAND_FETCH of its queue, with its address"  # the firmware lets no program go there
CODES_TEST = "every fault code can be raised at the n-th command of a queue"
# A source of each block, which is touched, and the bench of that block.
LOOP = {"common": "rtl/common/fifo.sv", "core": "rtl/core/issue.sv", "csr": "rtl/csr/counters.sv", "dma": "rtl/dma/dma_addrgen.sv", "mxu": "rtl/mxu/mxu_acc.sv",
        "sync": "rtl/sync/semaphores.sv", "vmem": "rtl/vmem/vmem_arbiter.sv", "vpu": "rtl/vpu/vpu_reduce.sv"}


def script(tools, *command):
    """Runs a script that may end with 1 because a figure does not hold: what it wrote is the figure."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=tools.root, timeout=4 * 3600)
    if done.returncode not in (0, 1):
        raise tools.Failed(f"{' '.join(map(str, command))} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def random_run(tools):
    """The campaign of the level, run once."""
    if "random" not in tools.kept:
        out = folder(tools) / "random.json"
        level = "ci" if tools.level == "ci" else "nightly"
        script(tools, "testbench/gate_cores/with_gate_cores", tools.build, tools.program("random_programs"), "--level", level, "--jobs", os.cpu_count(), "--keep-going", "--json", out)
        tools.kept["random"] = read(tools, out)
    return tools.kept["random"]


def random_programs(tools):
    result = random_run(tools)
    small = [batch for batch in result["batches"] if not batch["chip"].startswith("v5e")]
    large = [batch for batch in result["batches"] if batch["chip"].startswith("v5e")]
    rows = []
    for what, batches, goal in (("N = 8, 16, 32", small, RANDOM_PROGRAMS[tools.level]), ("N = 128", large, 50)):
        programs, failed = sum(batch["programs"] for batch in batches), sum(batch["failed"] for batch in batches)
        rows.append(row(f"random programs, {what}", failed, f"of {programs} differ from golden", f"0 of {goal}", failed == 0 and programs >= goal))
    return rows


def coverage(tools):
    level = "ci" if tools.level == "ci" else "nightly"
    document = json.loads(script(tools, "scripts/coverage", "--level", level, "--json"))
    names = {"line": "line", "branch": "branch", "toggle": "port toggle", "bin": "functional"}
    rows = []
    for metric, name in names.items():
        found, goal = document["totals"][metric], document["thresholds"][metric]
        rows.append(row(f"coverage, {name}", found["percent"], f"% of {found['total']} points, {found['waived']} more waived", f">= {goal:g}", found["percent"] >= goal))
    return rows


def formal(tools):
    out = folder(tools) / "formal.json"
    script(tools, "testbench/formal/prove.py", "--build", tools.build, "--jobs", os.cpu_count(), "--json", out)
    proofs = read(tools, out)
    proofs = proofs["proofs"] if isinstance(proofs, dict) else proofs
    good = [p for p in proofs if p["ran"] and p["holds"] and p["mutants_killed"] == p["mutants"] > 0 and p["covers_reached"] == p["covers"] > 0]
    unbounded = [p for p in good if p["method"] in ("induction", "exhaustive")]
    mutants = sum(p["mutants_killed"] for p in good)
    return [row("formal", len(unbounded), f"of {len(proofs)} proofs by induction or exhaustively, {mutants} mutants refuted", f">= {PROOFS}, all hold",
                len(good) == len(proofs) and len(unbounded) >= PROOFS)]


def mutation(tools):
    out = folder(tools) / "mutation.json"
    script(tools, "scripts/mutate", "--count", MUTANTS[tools.level], "--seed", 1, "--json", out)
    result = read(tools, out)
    enough = result["mutants"] >= (GOAL_MUTANTS if tools.level != "ci" else MUTANTS["ci"])
    return [row("mutation", result["score"], f"% of {result['mutants']} mutants killed, {result['unexplained']} survivors unexplained",
                f">= {GOAL_KILLED:g} of >= {GOAL_MUTANTS}" + (" (nightly)" if tools.level == "ci" else ""),
                enough and result["score"] >= GOAL_KILLED and result["unexplained"] == 0)]


def stack_codes(tools):
    """Codes that wrong programs reach through driver and firmware on the RTL: SEMAPHORE_LEAK is found by the firmware alone."""
    environment = {**os.environ, "WEFT_SIM": tools.program("weft-sim"), "WEFT_CHECK_HAZARDS": "1"}
    done = subprocess.run([tools.program("fault_codes_test")], capture_output=True, text=True, env=environment, timeout=300)
    line = re.search(r"^fault_codes: rtl(.*)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or line is None:
        raise tools.Failed(f"fault_codes_test ended with {done.returncode}\n{done.stdout[-2000:]}")
    return set(line.group(1).split())


def passes(tools, program, test):
    done = subprocess.run([tools.program(program), test], capture_output=True, text=True)
    return done.returncode == 0 and "All tests passed" in done.stdout  # no test of that name ends with 0 too


def fault_codes(tools):
    """By programs: the random campaign, wrong programs through the whole stack, one that reads what nothing has written, and queues whose commands memory does not have. By injection: the test that asks for each."""
    faults = set(re.findall(r'^name = "([A-Z_]+)"', (tools.root / "spec/faults.toml").read_text(), re.MULTILINE))
    reached = stack_codes(tools) | {code for code, state in random_run(tools)["fault_codes"].items() if state}
    if passes(tools, "rtl_core_xsafety_test", UNWRITTEN_TEST):
        reached |= {"ECC_UNCORRECTABLE"}
    if passes(tools, "prefetch_core_test", UNFETCHED_TEST):
        reached |= {"COMMAND_FETCH"}
    missing = ", ".join(sorted(faults - reached))
    by_injection = passes(tools, "injection_test", CODES_TEST)
    return [row("fault codes by programs", len(faults & reached), f"of {len(faults)}; not: {missing or 'none'}", "all", faults <= reached),
            row("fault codes by injection", len(faults) if by_injection else 0, f"of {len(faults)}", "all", by_injection)]


def fault_injection(tools):
    out = folder(tools) / "injection.json"
    script(tools, tools.program("fault_injection"), "--count", FLIPS, "--seed", 1, "--json", out)
    result = read(tools, out)
    silent = result["results"]["silent"]
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(result["results"].items()) if name != "silent" and count)
    return [row("fault injection", silent, f"silent corruptions of {result['flips']} single flips ({kinds})", f"0 of {FLIPS}", silent == 0 and result["flips"] >= FLIPS)]


def loop(tools):
    """A source is touched, its bench built and run: what an engineer waits for."""
    rows = []
    environment = {**os.environ, "CCACHE_DISABLE": "1", "WEFT_BUILD": str(tools.build)}
    for block, source in LOOP.items():
        best = None
        for _ in range(min(tools.repetitions, 2)):
            os.utime(tools.root / source)
            begin = time.monotonic()
            tools.run(["scripts/bench", block], cwd=tools.root, env=environment)
            seconds = time.monotonic() - begin
            best = seconds if best is None else min(best, seconds)
        rows.append(row(f"loop, {block}", best, "s from an edited source to the bench's result, without ccache", f"<= {LOOP_S}", best <= LOOP_S))
    return rows


FIGURES = (("random programs", random_programs), ("coverage", coverage), ("formal", formal), ("mutation", mutation), ("fault codes", fault_codes),
           ("fault injection", fault_injection), ("loop", loop))
