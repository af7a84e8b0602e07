"""The census on Weft's plugin against JAX on the CPU, in one process.

usage: programs_test.py [--only NAME..] [--json]     environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM
"""

import argparse
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
os.environ["JAX_PLATFORMS"] = "weft,cpu"

import jax  # noqa: E402
import numpy as np  # noqa: E402
import programs  # noqa: E402

# Of the largest element of a result: f32 that is computed in another order, and products of operands rounded to bf16.
EXACT, ROUNDED = 2e-5, 2e-2


def difference(name: str, ours, reference, bound: float) -> str | None:
    """Why they are not equal; None: they are. Shapes and types first, then every element."""
    ours, reference = jax.tree.leaves(ours), jax.tree.leaves(reference)
    if len(ours) != len(reference) or not ours:
        return f"{len(ours)} results, {len(reference)} expected"
    for i, (a, b) in enumerate(zip(ours, reference, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result {i} is {a.dtype}{list(a.shape)}, {b.dtype}{list(b.shape)} is expected"
        if not np.issubdtype(b.dtype, np.floating) and b.dtype.name != "bfloat16":
            if not np.array_equal(a, b):
                return f"result {i} differs in {np.sum(a != b)} of {a.size} elements"
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not np.array_equal(np.isnan(a), np.isnan(b)) or not np.array_equal(np.isinf(a), np.isinf(b)):
            return f"result {i} has other NaN or infinite elements"
        finite = np.isfinite(b)
        scale = max(1e-6, np.max(np.abs(b[finite]), initial=0))
        worst = np.max(np.abs(a[finite] - b[finite]), initial=0) / scale
        if worst > bound:
            return f"result {i} differs by {worst:.2e} of its largest element; allowed: {bound:.0e}"
    return None


def bound_of(program, executable) -> float:
    if program.name.endswith("bf16"):
        return ROUNDED
    rounded = program.products and executable.cost_analysis()["device programs"] > 0
    return ROUNDED if rounded else EXACT


def run(program) -> dict:
    found = {"name": program.name}
    try:
        with jax.default_device(jax.devices("weft")[0]):
            begin = time.perf_counter()
            executable = jax.jit(program.function).lower(*program.arguments).compile()
            found["compile_ms"] = round(1e3 * (time.perf_counter() - begin), 2)
            ours = jax.block_until_ready(executable(*program.arguments))
            begin = time.perf_counter()
            jax.block_until_ready(executable(*program.arguments))
            found["call_ms"] = round(1e3 * (time.perf_counter() - begin), 3)
            found["device_programs"] = int(executable.cost_analysis()["device programs"])
            platforms = {d.platform for leaf in jax.tree.leaves(ours) for d in leaf.devices()}
        if platforms != {"weft"}:
            return found | {"error": f"ran on {platforms}"}
        with jax.default_device(jax.devices("cpu")[0]), jax.default_matmul_precision("highest"):
            reference = jax.jit(program.function)(*program.arguments)
        if why := difference(program.name, ours, reference, bound_of(program, executable)):
            found["error"] = why
    except Exception as error:  # noqa: BLE001  what a program meets is its result
        found["error"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen = [p for p in programs.census() if not options.only or p.name in options.only]
    results = [run(program) for program in chosen]
    wrong = [r for r in results if "error" in r]
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        for r in wrong:
            print(f"{r['name']}: {r['error']}")
        on_device = sum(r.get("device_programs", 0) > 0 for r in results)
        print(f"{len(results)} programs, seed {programs.SEED}: {len(results) - len(wrong)} as on the CPU, "
              f"{on_device} with device programs, {len(wrong)} wrong or refused")
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
