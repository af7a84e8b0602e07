"""The figures of one network on a slice: a transformer block in several shardings, and uniform traffic on a 16x16 torus beside what BookSim2 accepts."""
import json
import os
import subprocess

from figures_tools import row

GOAL_HIDDEN, GOAL_SHARDINGS, GOAL_BOOKSIM = 0.80, 8, 0.90
# BookSim2 (28f43299), torus, k = 16, n = 2, dim_order, uniform, seed 1, sim_type = throughput, offered 0.5 flits a node and cycle; all else as it comes, delays of its routers too:
# flits a node and cycle that it accepts, by virtual channels, flits of a packet, and flits of a channel's buffer.
BOOKSIM = (((2, 8, 64), 0.1792), ((16, 1, 8), 0.1832), ((16, 8, 64), 0.3107))
HOP_PACKETS = 3.5  # half the way of a credit and of its flit in a router of BookSim2, 7 cycles, in packets of one flit


def sharding(tools):
    """A block in micro-batches, each sharding in a process with a trace; bits against one chip."""
    python = tools.root / ".venv/bin/python"
    environment = os.environ | {"WEFT_SIM": str(tools.program("weft-sim")), "WEFT_PJRT_LIBRARY": str(tools.root / "build/lib/libweft_pjrt.so")}
    done = subprocess.run([python, "-B", tools.root / "testbench/jax/block_shardings.py", "--json"], capture_output=True, text=True, env=environment, timeout=3600)
    if done.returncode != 0:
        raise tools.Failed(f"block_shardings.py ended with {done.returncode}\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    rows = []
    for name, of in found.items():
        on_device = of["differing"] == 0 and of["elements"] > 0 and of["islands"] == of["gathered programs"] == 0
        told = f"{of['us']:.0f} us; {of['differing']} of {of['elements']} elements differ from one chip"
        if of["share"] is None:
            rows.append(row(f"sharding, {name}", None, f"nothing travels: {told}", "0 differ", on_device))
            continue
        rows.append(row(f"sharding, {name}", 100 * of["share"], f"% of what travels is hidden: {of['link_us']:.0f} us of links; {told}", f">= {100 * GOAL_HIDDEN:g}, 0 differ",
                        on_device and of["share"] >= GOAL_HIDDEN))
    rows.append(row("shardings", len(found), "of a transformer block", f">= {GOAL_SHARDINGS}", len(found) >= GOAL_SHARDINGS))
    return rows


def booksim(tools):
    """Uniform traffic on v5e-16x16 at saturation, in packets of one size: along x first in two channels of 8 packets, as BookSim2's dim_order goes; then by the routes of chips' DMA."""
    rows = []
    for what, more, configurations in (("x first, two channels of 8 packets", ("--one-order", "--buffers", 8), BOOKSIM[:1]), ("routes of DMA, 12 channels of 8 packets", ("--buffers", 8), BOOKSIM[1:])):
        found = tools.run_json("ici_saturation", "uniform", "--slice", "v5e-16x16", "--packets", 4000, "--hop-packets", HOP_PACKETS, *more, timeout=1800)["packets_a_packet_time"]
        for (channels, flits, buffer), theirs in configurations:
            rows.append(row(f"16x16 uniform, {what}", found / theirs, f"times what BookSim2 accepts with {channels} channels of {buffer} flits and packets of {flits}: {found:.3f} of 0.5 against {theirs:.3f}",
                            f">= {GOAL_BOOKSIM:g}", found >= GOAL_BOOKSIM * theirs))
    return rows
