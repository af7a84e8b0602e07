"""The same programs on 1, 4, 8 and 16 chips: the same bits on each, where no order of a reduction changes, and the same
bits and device cycles in each of two runs.

usage: device_counts.py [--json]
environment: WEFT_SIM, WEFT_PJRT_LIBRARY; each slice runs in a process of its own, twice
exit code: 0: all is the same; 1: something differs; 2: a run has failed
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "host" / "python"))
SLICES = {1: "nano", 4: "nano-2x2", 8: "nano-4x2", 16: "nano-4x4"}
RUNS = 2


def programs() -> dict:
    """Name -> digest of the bits and device cycles, on all chips that there are."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import weft
    from jax import lax
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), ("i",))
    draw = np.random.default_rng(9)
    x, w = (draw.standard_normal(shape).astype(np.float32) for shape in ((64, 32), (32, 32)))
    n = draw.integers(-(2**30), 2**30, (64, 8), dtype=np.int32)
    rows = jax.device_put(x, NamedSharding(mesh, P("i")))
    columns = jax.device_put(w, NamedSharding(mesh, P(None, "i") if 32 % len(jax.devices()) == 0 else P()))

    def manual(function, inputs, outputs):
        # The function is the same on every device: what is gathered is known to be so by its author, not by JAX.
        return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False))

    def gathered(x):
        return jnp.tanh(lax.all_gather(x, "i", tiled=True)) * 2

    found = {}
    for name, function, arguments in (
            ("a layer of sharded rows", jax.jit(lambda x, w: jax.nn.gelu(x @ w)), (rows, w)),
            ("a layer of sharded columns", jax.jit(lambda x, w: jnp.maximum(x @ w, 0)), (x, columns)),
            ("an argument's gradient", jax.jit(jax.grad(lambda x, w: jnp.sum(jnp.tanh(x @ w)))), (rows, w)),
            ("shard_map of a layer", manual(lambda x, w: jnp.tanh(x @ w), (P("i"), P()), P("i")), (rows, w)),
            ("all_gather", manual(gathered, P("i"), P()), (rows,)),
            ("psum of integers", manual(lambda n: lax.psum(jnp.sum(n, 0), "i"), P("i"), P()), (n,)),
            ("pmax", manual(lambda x: lax.pmax(jnp.max(x, 0), "i"), P("i"), P()), (rows,)),
            ("a loop with a computed end", jax.jit(lambda x, w: lax.while_loop(
                lambda s: s[1] < 7, lambda s: (jnp.tanh(s[0] @ w * 0.2), s[1] + jnp.int32(x.shape[0] // 64)), (x, 0))), (rows, w))):
        with weft.profile(operators=False) as profile:
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(function(*arguments))]
        digest = hashlib.sha256()
        for leaf in leaves:
            digest.update(f"{leaf.dtype}{leaf.shape}".encode() + leaf.tobytes())
        found[name] = [digest.hexdigest(), sum(launch.cycles for program in profile.programs for launch in program.launches)]
    return found


def run(chips: str) -> dict:
    done = subprocess.run([sys.executable, "-B", __file__, "--here"], env=os.environ | {"WEFT_CHIPS": chips, "JAX_PLATFORMS": "weft"},
                          capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        print(f"device_counts: {chips}: {done.stderr.strip()[-600:]}", file=sys.stderr)
        sys.exit(2)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(programs()))
        return 0
    runs = {count: [run(chips) for _ in range(RUNS)] for count, chips in SLICES.items()}
    names = list(runs[1][0])
    counts = [name for name in names if len({runs[count][0][name][0] for count in SLICES}) != 1]
    again = [f"{name}, {count} chips" for count in SLICES for name in names if any(other[name] != runs[count][0][name] for other in runs[count])]
    if options.json:
        print(json.dumps({"programs": len(names), "counts": list(SLICES), "differ": counts, "differ_again": again}))
    else:
        print(f"{len(names)} programs on {', '.join(map(str, SLICES))} chips: {len(counts)} differ by their number {counts}, "
              f"{len(again)} from run to run {again}")
    return 1 if counts or again else 0


if __name__ == "__main__":
    sys.exit(main())
