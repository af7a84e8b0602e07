"""The figures of large slices: storms, how near routing comes to the bound of shortest ways, fairness, control beside data, what a collective on many chips costs."""
import itertools
import json
import subprocess
import tempfile
import time

import figures_booksim
import figures_ici
import figures_mpi
import figures_ranks
import figures_sharding
import figures_trust
from figures_tools import row

GOAL_SHARE, GOAL_FAIR, GOAL_COST_S = 0.90, 1.2, 10.0
UNIFORM_PACKETS = 16_000  # of each chip: fewer show the luck of the draw
# programs over packets alone, from so many bytes on
GOAL_PROGRAMS = {64 << 10: 1.6, 1 << 20: 1.3, 4 << 20: 1.15}
PROGRAM_SLICES = {"v5e-8x16": "xy", "v5e-16x16": "xy", "v5p-4x4x8": "xyz", "v4-2x2x4": "xyz"}
GOAL_AUTO = 1.08
GOAL_PACKETS_S, LARGEST_SLICE = 300.0, "v5p-16x20x28"
GOAL_MULTISLICE_PACKETS, GOAL_MULTISLICE_FLOWS, MULTISLICE_BYTES = 0.02, 0.001, 32 << 20
MULTISLICE_KINDS = ("all-reduce", "reduce-scatter", "all-gather")
MULTISLICE = (("v5e-16x16", 2, ()), ("v5e-16x16", 4, ()), ("v5p-4x4x8", 4, ()), ("v4-4x4x4", 4, ("--host-gbps", 200)), ("v6e-8x16", 3, ()), ("v5e-16x16", 4, ("--host-gbps", 25, "--dcn-us", 100)))
MULTISLICE_PROGRAMS = (("nano-2x2", 2, 1 << 20), ("v5e-2x2", 2, 8 << 20), ("v5e-2x4", 4, 16 << 20))
REPLAY_SLICES, REPLAY_BYTES, GOAL_REPLAY_PACKETS, GOAL_REPLAY_FLOWS = ("v5e-4x4", "v5e-16x16", "v4-4x4x4", "v5p-4x4x8"), 32 << 20, 0.001, 0.001
GOAL_THOUSAND_S, GOAL_THOUSAND_BYTES = 60.0, 4e9
THOUSAND = ("all-reduce", "--slice", "v4-8x8x16", "--axis", "xyz", "--dtype", "f32", "--bytes", 1 << 20)
COST = ("all-reduce", "--slice", "v5e-16x16", "--axis", "xy", "--dtype", "f32", "--bytes", 1 << 20)


def saturation(tools, *arguments):
    return tools.run_json("ici_saturation", *arguments, timeout=1800)


def bounds(tools):
    """Units over the busiest link of each slice under the best shortest ways, if all pairs of chips send one."""
    python = tools.root / ".venv/bin/python"
    if not python.exists():
        raise tools.Failed(f"{python} is missing, which scripts/packages makes: the bound is a linear program of scipy")
    done = subprocess.run([python, "-B", tools.root / "testbench/routes/route_bound.py"], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise tools.Failed(f"route_bound.py ended with {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def throughput(tools):
    """Routes of chips' DMA, default buffers, no framing. All-to-all of 480 KiB of each chip to each: nothing is taken off for latency. The bound is the busiest link's."""
    rows = []
    for name, bound in bounds(tools).items():
        few, found = (saturation(tools, "all-to-all", "--slice", name, "--bytes", size << 10) for size in (48, 480))
        share = found["share"] * bound / found["largest_load"]
        whole = found["arrived_bytes"] == found["sent_bytes"]
        rows.append(row(f"all-to-all, {name}", share, f"of the bound: {found['us']:.1f} us, the busiest link alone {found['link_us']:.1f}, its load {found['largest_load']:.2f} of {bound:.2f}; "
                        f"48 KiB: {few['us']:.1f} us, {few['link_us']:.1f} alone, and {few['longest_way_hops']} the longest way's latency", f">= {GOAL_SHARE:g}", share >= GOAL_SHARE and whole))
        found = saturation(tools, "uniform", "--slice", name, "--packets", UNIFORM_PACKETS)
        share = found["share"] * found["largest_load"] / bound
        rows.append(row(f"uniform, {name}", share, f"of the bound: {found['bytes_per_second_a_chip'] / 1e9:.2f} GB/s a chip", f">= {GOAL_SHARE:g}", share >= GOAL_SHARE))
        rows.append(row(f"fairness, uniform, {name}", found["most_over_least"], f"most over least bytes by source, {UNIFORM_PACKETS} packets of each chip", f"<= {GOAL_FAIR:g}",
                        found["most_over_least"] <= GOAL_FAIR))
    return rows


def fairness(tools):
    rows = []
    for chips in (4, 8):
        found = saturation(tools, "parking-lot", "--chips", chips)
        rows.append(row(f"fairness, parking lot of {chips}", found["most_over_least"], "most over least bytes by source, until the first of them has sent 16 MB", f"<= {GOAL_FAIR:g}",
                        found["most_over_least"] <= GOAL_FAIR))
    return rows


def control(tools):
    found = saturation(tools, "control", "--chips", 4)
    over = found["most_over_limit_us"]
    return [row("control beside a 64 MiB stream", over, f"us over hops x (1 us + one packet) + 1 us, the worst of {len(found['messages'])} messages", "<= 0", over <= 0 and len(found["messages"]) > 0),
            row("data beside saturated control", 100 * found["data_share_beside_control"], "% of the link's bytes are data's", ">= 10", found["data_share_beside_control"] >= 0.1)]


def collectives(tools):
    """All-reduces of programs with real data, less what the barrier takes that opens them, against the same buckets as packets that no program moves. The algorithm that is chosen against the better one."""
    rows = []
    for name, axes in PROGRAM_SLICES.items():
        where = ("--slice", name, "--axis", axes)
        barrier = figures_ici.collective(tools, "barrier", *where)["microseconds"]
        for size, goal in GOAL_PROGRAMS.items():
            alone = tools.run_json("ici_collective", "all-reduce", *where, "--bytes", size, timeout=1800)["us"]
            runs = {}
            for algorithm in ("neighbor", "direct"):
                try:
                    runs[algorithm] = figures_ici.collective(tools, "all-reduce", *where, "--bytes", size, "--dtype", "f32", "--algorithm", algorithm)
                except tools.Failed:
                    if algorithm == "neighbor":
                        raise  # VMEM has no room to send that much straight
            chosen = figures_ici.collective(tools, "all-reduce", *where, "--bytes", size, "--dtype", "f32")["algorithm"]
            us = {algorithm: found["microseconds"] - barrier for algorithm, found in runs.items()}
            wrong = sum(found["differing"] for found in runs.values())
            share = us[chosen] / alone
            rows.append(row(f"all-reduce, {name}, {size >> 10} KiB", share, f"times the packets alone: {us[chosen]:.1f} us by {chosen} without the barrier of {barrier:.1f}, packets {alone:.1f}; {wrong} elements differ",
                            f"<= {goal:g}, 0 differ", share <= goal and wrong == 0))
            off = us[chosen] / min(us.values())
            rows.append(row(f"auto, {name}, {size >> 10} KiB", off, "times the better algorithm: " + ", ".join(f"{a} {v:.1f} us" for a, v in us.items()), f"<= {GOAL_AUTO:g}", off <= GOAL_AUTO))
    return rows


def cost(tools):
    """Wall time of weft and weft-sim, boot and launch and the check of all bits included."""
    best = None
    for _ in range(min(tools.repetitions, 2)):
        start = time.monotonic()
        found = figures_ici.collective(tools, *COST)
        seconds = time.monotonic() - start
        best = seconds if best is None else min(best, seconds)
    return [row("cost, 1 MiB all-reduce on 256 chips", best, f"s of wall time with real data; {found['microseconds']:.0f} us on the device, {found['differing']} of {found['elements']} elements differ",
                f"<= {GOAL_COST_S:g}, 0 differ", best <= GOAL_COST_S and found["differing"] == 0)]


def thousand(tools):
    """1024 chips, boot and launch included: with real data, then for the time alone, which is to be the same to the cycle."""
    if tools.level == "ci":
        return [row("cost, 1 MiB all-reduce on 1024 chips", None, "it takes minutes", "--level nightly", None)]
    seconds, found = {}, {}
    for what, more in (("with real data", ()), ("timing only", ("--timing-only",))):
        start = time.monotonic()
        found[what] = tools.run_with_peak([tools.program("weft"), "collective", *THOUSAND, *more, "--json"], good=(0, 6), env=figures_ici.with_sim(tools))
        seconds[what] = time.monotonic() - start
    data, alone = found["with real data"], found["timing only"]
    return [row("cost, 1 MiB all-reduce on 1024 chips", seconds["with real data"], f"s of wall time with real data; {data['device_cycles']} cycles, {data['differing']} of {data['elements']} elements differ",
                f"<= {GOAL_THOUSAND_S:g}, 0 differ", seconds["with real data"] <= GOAL_THOUSAND_S and data["differing"] == 0 and data["elements"] > 0),
            row("memory, 1 MiB all-reduce on 1024 chips", data["peak_bytes"] / 1e9, "GB of weft-sim with real data", f"<= {GOAL_THOUSAND_BYTES / 1e9:g}", data["peak_bytes"] <= GOAL_THOUSAND_BYTES),
            row("timing only, 1024 chips", seconds["timing only"], f"s of wall time, {alone['peak_bytes'] / 1e9:.2f} GB of weft-sim; {alone['device_cycles']} cycles, {data['device_cycles']} with real data", "the same cycles",
                alone["device_cycles"] == data["device_cycles"])]


def packets(tools):
    """Packets alone, on the largest slice that there is: no program, no data."""
    found = tools.run_json("ici_collective", "all-reduce", "--slice", LARGEST_SLICE, "--axis", "xyz", "--bytes", 1 << 20, timeout=1800)
    off = found["us"] / found["exact_us"] - 1
    return [row(f"packets of 1 MiB all-reduce on {found['chips']} chips", found["user_seconds"], f"s of user time, {found['peak_bytes'] / 1e9:.2f} GB; {found['us']:.1f} us, {100 * off:+.1f} % off its closed form, framing included",
                f"<= {GOAL_PACKETS_S:g}", found["user_seconds"] <= GOAL_PACKETS_S)]


def replay(tools):
    """An execution trace of one all-reduce, without framing, against its closed form."""
    rows = []
    for grain, goal, flags in (("packets", GOAL_REPLAY_PACKETS, ()), ("flows", GOAL_REPLAY_FLOWS, ("--flows",))):
        worst, cases = 0.0, []
        for name in REPLAY_SLICES:
            with tempfile.TemporaryDirectory() as folder:
                exact = tools.run_json("ici_collective", "all-reduce", "--slice", name, "--bytes", REPLAY_BYTES, "--no-framing", "--flows", "--write", f"{folder}/sum")["exact_in_step_us"]
                found = tools.run_json("ici_replay", f"{folder}/sum", "--slice", name, "--no-framing", *flags)
            off = abs(found["us"] / exact - 1)
            worst = max(worst, off)
            cases.append(f"{name} {found['us']:.1f} us, {100 * off:.3f} %")
        rows.append(row(f"replay, {grain}", 100 * worst, "% off the closed form at most: " + "; ".join(cases), f"<= {100 * goal:g}", worst <= goal and len(cases) == len(REPLAY_SLICES)))
    return rows


def multislice(tools):
    """Collectives over slices that their hosts' network joins, without framing, against their closed forms."""
    rows = []
    for grain, goal, flags in (("packets", GOAL_MULTISLICE_PACKETS, ()), ("flows", GOAL_MULTISLICE_FLOWS, ("--flows",))):
        worst, cases = 0.0, []
        for kind, (name, slices, more) in itertools.product(MULTISLICE_KINDS, MULTISLICE):
            found = tools.run_json("ici_collective", kind, "--slice", name, "--slices", slices, "--bytes", MULTISLICE_BYTES, "--no-framing", *more, *flags, timeout=1800)
            off = abs(found["us"] / found["exact_us"] - 1)
            worst = max(worst, off)
            cases.append(f"{kind} {slices} x {name} {found['us']:.1f} us, {100 * off:.3f} %")
        rows.append(row(f"multislice, {grain}", 100 * worst, "% off the closed form at most: " + "; ".join(cases), f"<= {100 * goal:g}", worst <= goal and len(cases) == len(MULTISLICE_KINDS) * len(MULTISLICE)))
    return rows


def multislice_programs(tools):
    """Programs with real data on a simulator for each slice: what the hosts' network takes, framing included, against its closed form."""
    worst, wrong, cases = 0.0, 0, []
    for name, slices, size in MULTISLICE_PROGRAMS:
        found = figures_ici.collective(tools, "all-reduce", "--slice", name, "--axis", "xy", "--slices", slices, "--bytes", size, "--dtype", "f32")
        off = abs(found["network_us"] / found["network_exact_us"] - 1)
        worst, wrong = max(worst, off), wrong + found["differing"]
        cases.append(f"{slices} x {name} {found['network_us']:.1f} us of {found['microseconds']:.1f}, {100 * off:.2f} %")
    return [row("multislice, programs", 100 * worst, "% off the closed form of the hosts' network at most: " + "; ".join(cases) + f"; {wrong} elements differ", f"<= {100 * GOAL_MULTISLICE_PACKETS:g}, 0 differ",
                worst <= GOAL_MULTISLICE_PACKETS and wrong == 0 and len(cases) == len(MULTISLICE_PROGRAMS))]


FIGURES = (("stuck", figures_trust.storms), ("throughput", throughput), ("booksim", figures_booksim.booksim), ("fairness", fairness), ("control", control), ("collectives", collectives), ("packets", packets), ("cost", cost), ("thousand", thousand), ("ranks", figures_ranks.ranks), ("mpi", figures_mpi.mpi), ("speed-up", figures_ranks.speed_up), ("multislice", multislice), ("multislice-programs", multislice_programs), ("replay", replay), ("sharding", figures_sharding.sharding))
