"""The figures of the interconnect: worked examples, collectives against their reference, deadlock, link errors, speed and memory of both models, training on slices, determinism."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

from figures_tools import row

PACKETS_OFF, FLOWS_OFF = 0.02, 0.001  # relative, against exact with and without framing
GOAL_STEP_US = 1.0
LONGEST_S = {"ci": 900, "nightly": 7200, "release": 24 * 3600}
SATURATED = ("v5e-4x4", "v5e-8x8", "v4-4x4x4", "v4-4x4x8_twisted")
GOAL_PACKETS = 1_000_000
ERROR_RATES = ("0", "1e-8", "1e-7", "1e-6")
GOAL_HOPS_64, GOAL_HOPS_4096, GOAL_IDLE_BYTES = 5e6, 1.5e6, 32 * 1024
GOAL_FLOW_S, GOAL_FLOW_BYTES = 3.0, 200e6
GOAL_EPOCH_S, GOAL_ACCURACY = 60.0, 0.95
TRAINING_EPOCHS = 8
CIRCLE_TESTS = ("channels of no slice wait for each other in a circle", "every single dead link leaves a way between all chips, without a circle")
ERROR_TESTS = ("bit errors cost what go-back-N loses", "goodput is that of go-back-N", "flipped, lost, doubled and reordered frames are delivered exactly once and in order")
GROUP_TEST = "Three runs of a launch group take the same cycles and give the same bits"
SLICES = ("nano-2x2", "nano-4x4", "nano-1x16", "v4-2x2x2")


def with_sim(tools):
    return {**os.environ, "WEFT_SIM": tools.program("weft-sim")}


def examples(tools):
    """A row of each model for each example, and one of programs with real data. Exact with framing is what flows with framing take. The table itself: build/bin/ici_examples."""
    found = tools.run_json("ici_examples", "--level", tools.level, timeout=LONGEST_S[tools.level], env=with_sim(tools))
    rows = []
    for e in found:
        name, exact, published = f"{e['name']} {e['slice']}", e["exact_us"], f"published {e['published_us']:g}" if e["published_us"] else "not published"
        flow = e["flow_us"] / exact - 1
        framing = e["framing_us"]
        if e["packet_us"] is not None:
            off = max(abs(e["packet_us"] / exact - 1), abs(e["framed_us"] / e["flow_framed_us"] - 1))
            rows.append(row(f"{name}, packets", e["framed_us"], f"us: {published}, exact {exact:.2f}, framing {framing:.2f}; without framing {e['packet_us']:.2f}; {100 * off:.2f} % off",
                            f"<= {100 * PACKETS_OFF:g} % off exact + framing", off <= PACKETS_OFF))
        else:
            rows.append(row(f"{name}, packets", None, "packets take long", f"--level {e['packets_at_level']}", None))
        rows.append(row(f"{name}, flows", e["flow_us"], f"us: {published}, exact {exact:.2f}; {100 * flow:+.3f} % off", f"<= {100 * FLOWS_OFF:g} % off exact", abs(flow) <= FLOWS_OFF))
        if e["program_us"] is not None:
            overhead = (e["program_us"] - exact - framing) / e["program_steps"]
            rows.append(row(f"{name}, programs", overhead, f"us a step more than exact + framing: {e['program_us']:.2f} us, {e['program_steps']} steps, {e['program_differing']} elements differ",
                            f"<= {GOAL_STEP_US:g}, 0 differ", overhead <= GOAL_STEP_US and e["program_differing"] == 0))
    return rows


def collective(tools, kind, *arguments):
    """One run of weft collective. Exit code 6: elements differ, and the JSON says how many, of how many: of none only for a barrier."""
    command = [tools.program("weft"), "collective", kind, *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=with_sim(tools), timeout=900)
    if done.returncode not in (0, 6):
        raise tools.Failed(f"{' '.join(command)} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    found = json.loads(done.stdout)
    if kind != "barrier" and found["elements"] == 0:
        raise tools.Failed(f"{' '.join(command)} compared nothing")
    return found


def step_overhead(tools):
    """A short collective on a line of 4, from neighbour to neighbour: what is left of its time without its barrier, the hops and the bytes on the links, by steps."""
    where, length = ("--slice", "v5e-4x4", "--axis", "x"), 256
    barrier = collective(tools, "barrier", *where)["microseconds"]
    rows = []
    for kind, steps in (("all-gather", 3), ("reduce-scatter", 3), ("all-reduce", 6)):
        found = collective(tools, kind, *where, "--bytes", length, "--algorithm", "neighbor")
        wire_us = steps * (length / 4 + 42) / found["link_bytes_per_second"] * 1e6  # a block with its header in one frame
        overhead = (found["microseconds"] - barrier - wire_us - steps) / steps
        rows.append(row(f"overhead a step, {kind}", overhead, f"us on v5e-4x4: {found['microseconds']:.2f} us, of which barrier {barrier:.2f}, {steps} hops and {wire_us:.2f} on links",
                        f"<= {GOAL_STEP_US:g}", overhead <= GOAL_STEP_US))
    return rows


def correctness(tools):
    """Every kind over every choice of axes, in both algorithms; on the slices of ci all dtypes and lengths, on the others lengths in turn, and dtypes where nothing is added."""
    where = {"ci": [word for name in SLICES for word in ("--slice", name)], "nightly": ["--all", "64", "--powers-of-two"], "release": ["--all", "64"]}[tools.level]
    command = [tools.program("collective_sweep"), *where, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=with_sim(tools), timeout=LONGEST_S[tools.level])
    if done.returncode not in (0, 1):
        raise tools.Failed(f"{' '.join(command)} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    found = json.loads(done.stdout)
    return [row("correctness", found["differing"], f"of {found['elements']} elements differ from the documented order, {found['runs']} collectives on {found['slices']} slices, dtypes f32, bf16, i32, i8",
                "0", found["differing"] == 0 and found["elements"] > 0)]


def traffic(tools, *arguments):
    command = [tools.program("ici_traffic"), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode not in (0, 1):
        raise tools.Failed(f"{' '.join(command)} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return json.loads(done.stdout)


def passed(tools, program, tests):
    """How many of these cases pass."""
    good = 0
    for test in tests:
        pattern = test.replace(",", "\\,")  # a comma separates cases
        done = subprocess.run([tools.program(program), pattern], capture_output=True, text=True, env=with_sim(tools), timeout=1800)
        if "No tests ran" in done.stdout:
            raise tools.Failed(f"{program} has no test '{test}'")
        good += done.returncode == 0 and "All tests passed" in done.stdout
    return good


def deadlock(tools):
    circles = passed(tools, "ici_test", CIRCLE_TESTS)
    rows = [row("deadlock, circles", circles, f"of {len(CIRCLE_TESTS)} proofs that no channels wait in a circle: whole slices, every single dead link", "all", circles == len(CIRCLE_TESTS))]
    for name in SATURATED:
        found = traffic(tools, "--slice", name, "--packets", GOAL_PACKETS)
        bad = found["lost"] + found["doubled"] + found["out_of_order"]
        rows.append(row(f"deadlock, {name}", bad, f"of {found['packets']} random packets at saturation lost, doubled or out of order", "0", bad == 0 and found["delivered"] == GOAL_PACKETS))
    return rows


def link_errors(tools):
    good = passed(tools, "ici_test", ERROR_TESTS)
    rows = [row("link errors, goodput", good, f"of {len(ERROR_TESTS)} tests: goodput within 2 % of the closed form, exactly once", "all", good == len(ERROR_TESTS))]
    for rate in ERROR_RATES:
        found = traffic(tools, "--slice", "v5e-4x4", "--packets", 200_000, "--bit-error-rate", rate)
        bad = found["lost"] + found["doubled"] + found["out_of_order"]
        rows.append(row(f"link errors, rate {rate}", bad, f"of {found['packets']} packets lost, doubled or out of order", "0", bad == 0 and found["delivered"] == found["packets"]))
    return rows


def speed(tools):
    rows = []
    for name, packets, goal in (("v5e-8x8", 400_000, GOAL_HOPS_64), ("v4-16x16x16", 600_000, GOAL_HOPS_4096)):
        runs = [traffic(tools, "--slice", name, "--packets", packets) for _ in range(min(tools.repetitions, 3))]
        best = max(run["packet_hops_per_second"] for run in runs)
        idle = runs[0]["idle_bytes_a_chip"]
        rows.append(row(f"speed, packets, {runs[0]['chips']} chips", best, "packet-hops a second of user time, 64 packets of each chip on their way", f">= {goal:g}", best >= goal))
        rows.append(row(f"memory, {runs[0]['chips']} chips", idle, "bytes an idle chip's network", f"<= {GOAL_IDLE_BYTES}", idle <= GOAL_IDLE_BYTES))
    process = subprocess.Popen([tools.program("ici_examples"), "--flows", "--only", "E11 v4-16x16x16"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    good = process.returncode == 0
    return rows + [row("speed, flows, 16x16x16 all-reduce", usage.ru_utime, "s of user time", f"<= {GOAL_FLOW_S:g}", good and usage.ru_utime <= GOAL_FLOW_S),
                   row("memory, flows, 16x16x16 all-reduce", usage.ru_maxrss * 1024 / 1e6, "MB", f"<= {GOAL_FLOW_BYTES / 1e6:g}", good and usage.ru_maxrss * 1024 <= GOAL_FLOW_BYTES)]


def train(tools, *arguments):
    return tools.run_json("digits_train", *arguments, timeout=1800, env=with_sim(tools))


def differing_bytes(tools, first, second):
    """Two trainings: bytes of their checkpoints that differ, and both reports."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("first", "second")]
        reports = [train(tools, *arguments, "--goal", 0, "--save", file) for arguments, file in zip((first, second), files, strict=True)]
        a, b = (file.read_bytes() for file in files)
    if not a or not b:
        raise tools.Failed("a training left an empty checkpoint: there is nothing to compare")
    return sum(x != y for x, y in zip(a, b, strict=False)) + abs(len(a) - len(b)), reports


def training(tools):
    """The digits network on slices: its accuracy, an epoch of wall time, and checkpoints that must have the same bytes."""
    one, again = (train(tools, "--slice", "v5e-4x4", "--epochs", TRAINING_EPOCHS, "--goal", 0) for _ in range(2))
    alike = all(one[key] == again[key] for key in ("losses", "device_cycles", "accuracy"))
    epoch_s = min(one["wall_seconds"], again["wall_seconds"]) / TRAINING_EPOCHS
    rows = [row("a slice, one epoch on v5e-4x4", epoch_s, f"s of wall time, fast cores; {one['device_cycles']} cycles for {one['step']} steps", f"<= {GOAL_EPOCH_S:g}", epoch_s <= GOAL_EPOCH_S),
            row("a slice, held-out third", 100 * one["accuracy"], f"% after {TRAINING_EPOCHS} epochs", f">= {100 * GOAL_ACCURACY:g}", one["accuracy"] >= GOAL_ACCURACY),
            row("a slice, the same seed again", int(not alike), "of 1 run with other losses, accuracy or cycles", "0", alike)]
    where = ("--slice", "nano-2x2")
    bytes_rtl, _ = differing_bytes(tools, (*where, "--steps", 2), (*where, "--steps", 2, "--core", "rtl"))
    rows.append(row("a slice, four cores in RTL", bytes_rtl, "bytes of the checkpoint differ from that of fast cores, 2 steps on nano-2x2", "0", bytes_rtl == 0))
    bytes_pulled, (_, pulled) = differing_bytes(tools, (*where, "--epochs", 5), (*where, "--epochs", 5, "--pull-link", "0:+x", "--pull-at", 100))
    rows.append(row("a slice, a link is pulled", bytes_pulled, f"bytes of the final weights differ: link {pulled['pulled_link']}", "0", bytes_pulled == 0 and "down" in pulled["pulled_link"]))
    return rows


def determinism(tools):
    sums = {traffic(tools, "--slice", "v4-4x4x8_twisted", "--packets", 200_000, "--bit-error-rate", "1e-6", "--seed", 3)["checksum"] for _ in range(3)}
    group = passed(tools, "slice_sim_test", (GROUP_TEST,))
    ways = ("neighbor", "direct")
    runs = {(way, found["device_cycles"], found["differing"]) for way in ways for _ in range(3)
            for found in [collective(tools, "all-reduce", "--slice", "nano-4x4", "--axis", "xy", "--bytes", 16_400, "--algorithm", way, "--seed", 3)]}
    return [row("determinism, packets", len(sums), "different checksums of 3 runs of one seed", "1", len(sums) == 1),
            row("determinism, launch groups", group, "of 1 test: same bits and cycles of three runs on a slice", "1", group == 1),
            row("determinism, collectives", len(runs), f"different cycles and bits of 3 all-reduces of one seed in either algorithm: {', '.join(f'{c} cycles {w}, {d} differ' for w, c, d in sorted(runs))}",
                "2", len(runs) == 2 and not any(d for _, _, d in runs))]


FIGURES = (("examples", examples), ("overhead", step_overhead), ("correctness", correctness), ("deadlock", deadlock), ("link errors", link_errors), ("speed", speed),
           ("training", training), ("determinism", determinism))
