"""The figures of a slice that several processes simulate: the cycles of one process, the end when one dies, and what the exchange between them costs."""
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import figures_ici
from figures_tools import row

COLLECTIVES = ("all-gather", "reduce-scatter", "all-reduce", "broadcast", "all-to-all", "permute", "barrier")
RANKS = (1, 2, 4, 8, 16)
SEEDS = {"ci": 20, "nightly": 500, "release": 500}
STORMS = {"ci": 2, "nightly": 20, "release": 50}
GOAL_DEAD_S, GOAL_SHARE, TRIES = 5.0, 0.9, 5
SPEED = ("all-reduce", "--slice", "nano-4x4", "--core", "rtl", "--axis", "xy", "--bytes", 128 << 10)


def run_in(tools, processes, *arguments, meter=""):
    command = [tools.program("weft"), "collective", *map(str, arguments), "--json"]
    environment = {**figures_ici.with_sim(tools), "WEFT_PROCESSES": str(processes), "WEFT_METER": str(meter)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    if done.returncode not in (0, 6):
        raise tools.Failed(f"{' '.join(command)} with {processes} processes ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return json.loads(done.stdout)


def same(tools):
    """Every collective on 16 chips by 1 to 16 processes; collectives that seeds draw."""
    moved, differing, cases = 0, 0, 0
    for collective in COLLECTIVES:
        runs = [run_in(tools, ranks, collective, "--slice", "nano-4x4", "--axis", "xy", "--bytes", 32 << 10) for ranks in RANKS]
        moved += sum(run["device_cycles"] != runs[0]["device_cycles"] for run in runs)
        differing += sum(run["differing"] for run in runs)
        cases += len(runs)
    seeds = SEEDS.get(tools.level, SEEDS["nightly"])
    test = [str(tools.root / "testbench/system/ranks_test.py"), "--seeds", str(seeds)]
    drawn = subprocess.run(["/usr/bin/python3", "-B", *test], capture_output=True, text=True, env={**figures_ici.with_sim(tools), "WEFT": str(tools.program("weft"))}, timeout=7200)
    good = moved == 0 and differing == 0 and drawn.returncode == 0
    return [row("ranks, cycles that differ from one process's", moved, f"of {cases} runs, {differing} elements differ; {seeds} collectives drawn by seed {'pass' if drawn.returncode == 0 else 'FAIL: ' + drawn.stderr[-400:]}", "0, 0 differ", good)]


def dead(tools):
    """From the death of one of four ranks, with a collective under way, to the end of all of them."""
    with tempfile.TemporaryDirectory(prefix="weft-ranks-") as folder:
        simulator = subprocess.Popen([tools.program("weft-sim"), "--slice", "nano-4x4", "--processes", "4", "--listen", folder], stderr=subprocess.PIPE, text=True)
        try:
            end = time.monotonic() + 30
            while not Path(folder, "chip15-function0.sock").exists():
                if time.monotonic() > end:
                    raise tools.Failed("weft-sim --processes 4 does not listen after 30 s")
                time.sleep(0.02)
            ranks = Path(f"/proc/{simulator.pid}/task/{simulator.pid}/children").read_text().split()
            client = subprocess.Popen([tools.program("weft"), "collective", "all-reduce", "--listen", folder, "--bytes", str(8 << 20)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=figures_ici.with_sim(tools))
            time.sleep(0.5)
            begin = time.monotonic()
            os.kill(int(ranks[1]), signal.SIGKILL)
            code = simulator.wait(30)
            took = time.monotonic() - begin
            told = f"rank 1 (process {ranks[1]}" in simulator.stderr.read()
            left = [pid for pid in ranks if Path(f"/proc/{pid}").exists()]
            client.wait(60)
        finally:
            simulator.kill()
            simulator.wait()
            simulator.stderr.close()
    return [row("ranks, a dead one", took, f"s until it is {'told' if told else 'NOT TOLD'} and all have ended, exit code {code}, {len(left)} processes left", f"<= {GOAL_DEAD_S:g}, 0 left", took <= GOAL_DEAD_S and told and not left)]


def storms(tools):
    """Links that die, flap and lose bits, chips that are cut off, resets: what 1, 2 and 4 processes tell of it."""
    count = STORMS.get(tools.level, STORMS["nightly"])
    test = [str(tools.root / "testbench/system/ranks_test.py"), "--storms", str(count)]
    done = subprocess.run(["/usr/bin/python3", "-B", *test], capture_output=True, text=True, env={**figures_ici.with_sim(tools), "WEFT": str(tools.program("weft"))}, timeout=7200)
    return [row("ranks, storms of faults", count, f"by 1, 2 and 4 processes {'tell the same' if done.returncode == 0 else 'DIFFER: ' + done.stderr[-400:]}", "the same", done.returncode == 0)]


def ranks(tools):
    return same(tools) + storms(tools) + dead(tools)


def speed_up(tools):
    """Two ranks on two processors, of the best of a few runs: what runs beside it costs wall time only."""
    best, cycles, differing = None, set(), 0
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            found = run_in(tools, 2, *SPEED, meter=Path(folder, "meter.json"))
            meter = json.loads(Path(folder, "meter.json").read_text())
        cycles.add(found["device_cycles"])
        differing += found["differing"]
        share = meter["longest_ns"] / meter["wall_ns"]
        if best is None or share > best[0]:
            best = share, meter
    share, meter = best
    ideal, got = meter["work_ns"] / meter["longest_ns"], meter["work_ns"] / meter["wall_ns"]
    return [row("speed-up, 16 RTL chips by 2 ranks", share, f"of the ideal of the same run, the best of {TRIES}: {got:.2f} times one processor of {ideal:.2f}, {meter['windows']} windows, {1e-6 * (meter['wall_ns'] - meter['longest_ns']) / meter['windows']:.3f} ms a window beside its work; "
                f"{differing} elements differ", f">= {GOAL_SHARE:g}", share >= GOAL_SHARE and differing == 0 and len(cycles) == 1)]
