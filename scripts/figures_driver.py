"""The figures of driver and firmware: what is tested of the catalogue of faults, what random faults break, how fast commands pass, who notices a kill."""
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from figures_tools import row

SOAK = {"ci": 500, "nightly": 10_000, "release": 10_000}
GOAL_SOAK = 10_000
GOAL_EXECUTIONS = 10_000_000
FUZZ_MUCH = ("--executions", "200000", "--total", str(GOAL_EXECUTIONS), "--seconds", "1800")  # of each target, of all, at most of each
FUZZ = {"ci": ("--seconds", "60"), "nightly": FUZZ_MUCH, "release": FUZZ_MUCH}
KILLS = {"ci": 30, "nightly": 500, "release": 500}
GOAL_KILLS = 500
IMAGE_BYTES, STACK_BYTES, GOAL_COVERAGE = 48 * 1024, 4 * 1024, 95.0
CATALOGUE_TEST = "every fault of the catalogue is answered as the catalogue says, on both cores alike"
# Sentences of weft inject about a broken invariant, by what they are counted as.
BROKEN = {"waits past their bound": re.compile(r"took more than|has not ended"), "lost or double completions": re.compile(r"ended \d+ times|commands completed of"),
          "foreign bytes": re.compile(r"outside of every destination"), "wrong results": re.compile(r"^host memory: .*\((?!outside)")}


def environment(tools):
    return {**os.environ, "WEFT_SIM": tools.program("weft-sim"), "WEFT_REPORT_DIR": "off"}


def sibling(tools, name, *arguments):
    """A script that builds what it needs and writes its figures as JSON."""
    path, out = tools.root / "scripts" / name, tools.build / f"figures_{name}.json"
    if not path.is_file():
        raise tools.Failed(f"scripts/{name} is not there")
    out.unlink(missing_ok=True)
    done = subprocess.run([str(path), "--json", str(out), *map(str, arguments)], capture_output=True, text=True, cwd=tools.root, timeout=12 * 3600)
    try:
        return json.loads(out.read_text())
    except (OSError, ValueError):
        raise tools.Failed(f"scripts/{name} ended with {done.returncode} and wrote no JSON\n{(done.stdout + done.stderr)[-2000:]}") from None


def catalogue(tools):
    check = [sys.executable, tools.root / "testbench/system/catalogue.py", "--build", tools.build, "--json"]
    found = json.loads(tools.run(check, cwd=tools.root))
    name = CATALOGUE_TEST.replace(",", "\\,")  # to Catch a bare comma means "or"
    done = subprocess.run([tools.program("fault_catalogue_test"), name], capture_output=True, text=True, env=environment(tools), timeout=1800)
    both = done.returncode == 0 and "All tests passed" in done.stdout
    return [row("catalogue, entries", found["tested"], f"of {found['entries']} with a test; {found['tests']} tests", "all", found["tested"] == found["entries"]),
            row("catalogue, both cores", found["schedules"] if both else 0, f"of {found['schedules']} schedules of faults with the same outcome, no invariant broken", "all", both)]


def inject(tools, core, count, seed):
    """One run of weft inject: what each fault did. Exit code 6 says that an invariant is broken, and the JSON says which."""
    command = [tools.program("weft"), "inject", "--count", str(count), "--seed", str(seed), "--core", core, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(tools), timeout=6 * 3600)
    if done.returncode not in (0, 6):
        raise tools.Failed(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def soak(tools):
    """Three of four faults on the fast core, the rest on the RTL, beside each other."""
    count = SOAK[tools.level]
    runs = (("fast", count - count // 4, 1), ("rtl", count // 4, 1 + count))
    with ThreadPoolExecutor(len(runs)) as pool:
        trials = [trial for found in pool.map(lambda run: inject(tools, *run), runs) for trial in found]
    sentences = [sentence for trial in trials for sentence in trial["broken"]]
    acted = sum(1 for trial in trials if trial["acted"])
    rows, counted = [], 0
    for name, pattern in BROKEN.items():
        broken = sum(1 for sentence in sentences if pattern.search(sentence))
        counted += broken
        rows.append(row(f"soak, {name}", broken, f"in {len(trials)} random faults, of which {acted} acted", f"0 in {GOAL_SOAK}" + (" (nightly)" if tools.level == "ci" else ""),
                        broken == 0 and len(trials) >= count))
    other = len(sentences) - counted
    rows.append(row("soak, next run differs", other, f"in {len(trials)}", "0", other == 0 and len(trials) >= count))
    return rows


def submissions(tools):
    best = max((tools.run_json("submission_rate") for _ in range(min(tools.repetitions, 3))), key=lambda r: r["commands_per_second"])
    rate, p99, rings = best["commands_per_second"], best["single_p99_us"] / 1000, best["ring_entries_per_second"]
    return [row(f"submissions, batches of {best['batch']}", rate, "empty commands a second", ">= 200000", rate >= 200_000),
            row("submissions, one, p99", p99, "ms", "<= 1", p99 <= 1), row("submissions, ring code alone", rings, "entries a second", ">= 20000000", rings >= 20e6)]


def processes(tools):
    kills = KILLS[tools.level]
    command = [tools.program("process_campaign"), "--kills", str(kills), "--functions", "8", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(tools), timeout=3600)
    if done.returncode not in (0, 1):
        raise tools.Failed(f"{' '.join(command)} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    found = json.loads(done.stdout)
    leaks = max(0, found["leaked_descriptors"]) + max(0, found["leaked_maps"]) + found["fresh_nonzero"]
    return [row("processes, others notice", found["differing"] + len(found["failures"]), f"of {found['elements']} elements differ, {found['kills']} kills among {found['processes']} processes",
                f"0 at {GOAL_KILLS} kills" + (" (nightly)" if tools.level == "ci" else ""), found["ok"] and found["differing"] == 0 and found["elements"] > 0),
            row("processes, leaks", leaks, "descriptors, maps and foreign bytes", "0", leaks == 0)]


def fuzz(tools):
    targets = sibling(tools, "fuzz", *FUZZ[tools.level])["targets"]
    executions = sum(target["executions"] for target in targets)
    bad = sum(target["exit_code"] != 0 for target in targets)
    return [row("fuzz", executions, f"executions of {len(targets)} targets, {bad} with a crash, a hang or a report", f">= {GOAL_EXECUTIONS}, 0", executions >= GOAL_EXECUTIONS and bad == 0)]


def firmware(tools):
    image = tools.build / "firmware/image"
    text = tools.run([sys.executable, tools.root / "firmware/bare/check_image.py", image / "weft_firmware_rv32.elf", image])
    size = int(re.search(r"^image (\d+) ", text, re.MULTILINE).group(1))
    stack = int(re.search(r"^stack (\d+) of", text, re.MULTILINE).group(1))
    rows = [row("firmware, RV32 image", size, "bytes", f"<= {IMAGE_BYTES}", size <= IMAGE_BYTES), row("firmware, stack", stack, "bytes", f"<= {STACK_BYTES}", 0 < stack <= STACK_BYTES)]
    percent = sibling(tools, "firmware_coverage")["percent"]
    return rows + [row("firmware, line coverage", percent, "% of its host tests", f">= {GOAL_COVERAGE:g}", percent >= GOAL_COVERAGE)]


FIGURES = (("catalogue", catalogue), ("soak", soak), ("submissions", submissions), ("processes", processes), ("fuzz", fuzz), ("firmware", firmware))
