"""The figures of one network on a slice: a transformer block in several shardings."""
import json
import os
import subprocess

from figures_tools import row

GOAL_HIDDEN, GOAL_SHARDINGS = 0.80, 8


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
