"""The figures of the firmware's image: what it computes beside the native build, and what launches, commands and a boot cost.
Each is measured with the image (`rv32`) in charge, on the fast core unless a row says otherwise."""
import json
import os
import re
import subprocess
import sys

from figures_managers import run_in_turns
from figures_tools import ctest, row

LIMIT_S = 2 * 3600
MANAGERS = {"ci": ("native", "rv32"), "nightly": ("native", "rv32", "ibex"), "release": ("native", "rv32", "ibex")}
LAUNCHES = 1000
SCHEDULES = {"ci": 60, "nightly": 500, "release": 500}   # to compare; drawn are as many as that takes
BATCH = 50
GOAL_SCHEDULES = 500
GOAL_BOOT, GOAL_STATE = 50_000, 128 * 1024
GOAL_ONE, GOAL_FIVE = 8, 12
GOAL_SPEED, GOAL_WALL = 100e6, 1.2
GOAL_IBEX = 3   # percent
# Shape, chip, percent of the peak, level from which it is measured.
PRODUCTS = (("512x8x512", "nano", 60, "ci"), ("1024x1024x1024", "v5e-1mxu", 95, "ci"), ("4096x4096x4096", "v5e-1mxu", 99, "nightly"),
            ("4096x4096x4096", "v5e", 97, "nightly"))
# Faults whose occasion counts what firmware and host do by their own pace (passes, reads of a ring, interrupts, a doorbell's value beside what
# was seen of the ring by then, a reset beside another queue's completions): the n-th is another one in another build of the firmware, and from run
# to run. All others are placed by what the workload does.
BY_PACE = re.compile(r"^(firmware_|host_read_|interrupt_|doorbell_value|core_reset_stuck)")
# The n-th copy is one of two queues' that race for the copy engine: one of the two ends with the fault.
RACE = re.compile(r"^copy_")


def environment(tools, manager):
    return {**os.environ, "WEFT": tools.program("weft"), "WEFT_SIM": tools.program("weft-sim"), "WEFT_MANAGER": manager, "WEFT_REPORT_DIR": "off",
            "WEFT_CHECK_HAZARDS": "1"}


def launches(tools):
    rows = []
    for chip in ("v5e", "nano"):
        done = subprocess.run([tools.program("launch_cycles"), "--chip", chip, "--launches", str(LAUNCHES), "--json"], capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode not in (0, 1) or not done.stdout:
            raise tools.Failed(f"launch_cycles --chip {chip} ended with {done.returncode}\n{done.stderr[-2000:]}")
        found = json.loads(done.stdout)
        for kernel in found["kernels"]:
            what = f"{kernel['arguments']} arguments" if kernel["arguments"] else "empty"
            rows.append(row(f"launch on {chip}, {what}", kernel["cycles"], f"core cycles from doorbell to completion, {kernel['instructions']} instructions",
                            f"<= {kernel['budget_cycles']}", kernel["cycles"] <= kernel["budget_cycles"]))
        different, ran = sum(k["different"] for k in found["kernels"]), sum(k["launches"] for k in found["kernels"])
        rows.append(row(f"determinism on {chip}", different, f"of {ran} launches take other cycles in a step, {found['phases']} phases of the manager's clock", "0",
                        different == 0 and ran == LAUNCHES and found["phases"] > 1))
        if chip == "v5e":
            rows.append(row("boot", found["boot_instructions"], "instructions", f"<= {GOAL_BOOT}", 0 < found["boot_instructions"] <= GOAL_BOOT))
            rows.append(row("State", found["state_bytes"], "bytes", f"<= {GOAL_STATE}", 0 < found["state_bytes"] <= GOAL_STATE))
    return rows


def commands(tools):
    """Commands that move no data, fetched by the queues' prefetchers on nano."""
    done = subprocess.run([tools.program("prefetch_core_test"), "sustained at nano's HBM*"], capture_output=True, text=True, timeout=LIMIT_S)
    alone = [float(x) for x in re.findall(r"([\d.]+) cycles a command on queue \d alone", done.stdout)]
    five = [float(x) for x in re.findall(r"([\d.]+) cycles a command on five queues", done.stdout)]
    if len(alone) != 10 or len(five) != 2:
        raise tools.Failed(f"prefetch_core_test printed other lines\n{done.stdout[-2000:]}")
    return [row("commands, one queue", max(alone), "core cycles a command sustained, worst of five queues on RTL and fast core", f"<= {GOAL_ONE}", max(alone) <= GOAL_ONE),
            row("commands, five queues", max(five), "core cycles a command, RTL and fast core", f"<= {GOAL_FIVE}", max(five) <= GOAL_FIVE)]


def utilisation(tools):
    rows = []
    for shape, chip, goal, level in PRODUCTS:
        if level != "ci" and tools.level == "ci":
            continue
        report = json.loads(tools.run([tools.program("weft"), "gemm", "--shape", shape, "--chip", chip, "--core", "fast", "--json"], LIMIT_S, env=environment(tools, "rv32")))
        value = 100 * report["mxu_utilization"]
        rows.append(row(f"utilisation, {shape} on {chip}", value, f"%, {report['device_cycles']} device cycles", f">= {goal}", value >= goal))
    return rows


def equality(tools):
    """The system tests end alike with each manager; the processor time of two of them, in turns."""
    managers = MANAGERS[tools.level]
    found, out = run_in_turns(tools, managers)
    skipped = [name for name, ends in found.items() if all(end["skipped"] for end in ends.values())]
    bad = [name for name, ends in found.items() if not all(end["passed"] for end in ends.values()) or len({(end["cases"], end["skipped"]) for end in ends.values()}) != 1]
    seconds = {m: sum(ends[m]["seconds"] for ends in found.values()) for m in managers}
    cases = sum(ends["native"]["cases"] for ends in found.values())
    ratio = seconds["rv32"] / seconds["native"] if seconds["native"] else 0
    worst = max(found, key=lambda name: found[name]["rv32"]["seconds"] - GOAL_WALL * found[name]["native"]["seconds"])
    times = found[worst]["rv32"]["seconds"] / max(found[worst]["native"]["seconds"], 1e-3)
    for why in dict.fromkeys(out.values()):
        names = [name for name, reason in out.items() if reason == why]
        print(f"  left out, {why}: {', '.join(names)}", file=sys.stderr)
    return [row("image equality, system tests", len(bad), f"of {len(found) - len(skipped)} tests, {cases} cases, fail or run other cases with {', '.join(managers)}"
                + (f": {', '.join(bad)}" if bad else "") + (f"; {len(skipped)} cannot run here: {', '.join(skipped)}" if skipped else ""), "0",
                not bad and len(found) > 20, oracle="each test's own: results, completions and faults that it asks for", tests=found, left_out=out),
            row("processor time, system tests", ratio, f"times native, {seconds['rv32']:.0f} s; farthest from the goal {worst}, {times:.2f} times", f"<= {GOAL_WALL}",
                0 < ratio <= GOAL_WALL)]


def ibex(tools):
    """The simulator fed with what Ibex's RTL loads and when it wakes; launches on both, each on its own."""
    done, alone = (subprocess.run([tools.program("ibex_image_test"), case], capture_output=True, text=True, timeout=LIMIT_S)   # a simulated chip each
                   for case in ("the simulator that is fed*", "launches take the same cycles*"))
    fed = re.search(r"(\d+) accesses, (\d+) wake-ups, (\d+) instructions", done.stdout)
    pairs = [(int(a), int(b)) for a, b in re.findall(r"kernel \d+: (\d+) cycles .*?, on the simulator (\d+)", alone.stdout)]
    if not fed or len(pairs) < 6:
        raise tools.Failed(f"ibex_image_test printed other lines\n{(done.stdout + alone.stdout + alone.stderr)[-2000:]}")
    off = max(100 * abs(a - b) / a for a, b in pairs)
    return [row("rv32 fed by Ibex", 0 if done.returncode == 0 else 1, f"runs differ in a store to registers, in State, pc or a register: {fed[1]} accesses, {fed[2]} wake-ups, {fed[3]} instructions",
                "0", done.returncode == 0, oracle="Ibex's RTL"),
            row("launches on Ibex", off, f"% between Ibex (RV32IMC, single-cycle multiplier, no write-back stage, no caches; ROM and SRAM without wait states) and the simulator, worst of {len(pairs)} launches",
                f"<= {GOAL_IBEX}", off <= GOAL_IBEX, oracle="Ibex's RTL")]


def lockstep(tools):
    """The native build is fed with what the image reads: then both write the same."""
    cases = ctest(tools, ["-R", "^lockstep:", "-LE", "nightly"], "lockstep", timeout=LIMIT_S)
    bad = [name for name, (good, _) in cases.items() if not good]
    return [row("image equality, access by access", len(bad), f"of {len(cases)} lockstep tests differ in a store, a DMA or State" + (f": {bad[0]}" if bad else ""), "0",
                not bad and len(cases) > 0, oracle="the native build of the same sources")]


def draw_schedules(tools, manager, first, count):
    done = subprocess.run([tools.program("weft"), "inject", "--count", str(count), "--seed", str(first), "--core", "fast", "--json"], capture_output=True, text=True,
                          timeout=LIMIT_S, env=environment(tools, manager))
    if done.returncode not in (0, 6):
        raise tools.Failed(f"weft inject with {manager} ended with {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def outcome(trial):
    commands = sorted((c["status"], c["completions"]) for c in trial["commands"]) if RACE.search(trial["faults"]) else trial["commands"]
    return [trial[key] for key in ("faults", "status", "recovery")] + [commands, trial["acted"] > 0]


def schedules(tools):
    """Faults of seeds 1, 2, 3, ... until enough of them are placed by what the workload does. The others count too: their invariants."""
    managers, wanted = MANAGERS[tools.level], SCHEDULES[tools.level]
    drawn, placed, broken, different = 0, 0, [], []
    while placed < wanted:
        found = {manager: draw_schedules(tools, manager, 1 + drawn, BATCH) for manager in managers}
        for trials in zip(*found.values(), strict=True):
            drawn += 1
            broken += [f"seed {drawn}, {manager}: {trial['broken'][0]}" for manager, trial in zip(found, trials, strict=True) if trial["broken"]]
            if BY_PACE.search(trials[0]["faults"]):
                continue
            placed += 1
            if any(outcome(trial) != outcome(trials[0]) for trial in trials):
                different.append(f"seed {drawn}, {trials[0]['faults']}")
    goal = f"0 in {GOAL_SCHEDULES}" + (" (nightly)" if tools.level == "ci" else "")
    return [row("image equality, fault schedules", len(different), f"of {placed} faults placed by what the workload does end otherwise with {', '.join(managers)}"
                + (f": {different[0]}" if different else ""), goal, not different and placed >= wanted, oracle="the native build of the same sources"),
            row("image, invariants under faults", len(broken), f"broken in {drawn} schedules with each" + (f": {broken[0]}" if broken else ""), goal, not broken and drawn >= wanted)]


def speed(tools):
    best = max(tools.run_json("hart_speed", "--seconds", 1)["instructions_per_second"] for _ in range(tools.repetitions))
    return [row("instruction-set simulator", best / 1e6, "M instructions a second", f">= {GOAL_SPEED / 1e6:.0f}", best >= GOAL_SPEED)]


FIGURES = (("launches", launches), ("commands", commands), ("utilisation", utilisation), ("lockstep", lockstep), ("ibex", ibex), ("fault schedules", schedules), ("speed", speed),
           ("system tests", equality))
