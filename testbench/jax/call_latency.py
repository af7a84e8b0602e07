"""What a call of a jitted function costs, and a compilation.

usage: call_latency.py [--calls N] [--json]     environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "host" / "python"), str(ROOT / "host" / "examples" / "jax")]
os.environ["JAX_PLATFORMS"] = "weft"

import jax  # noqa: E402
import numpy as np  # noqa: E402
import transformer  # noqa: E402


def call_us(function, argument, calls: int) -> tuple[float, float]:
    """Medians until the call returns, and until its result is ready. The argument is ready before."""
    function(argument).block_until_ready()
    returned, ready = [], []
    for _ in range(calls):
        begin = time.perf_counter()
        result = function(argument)
        returned.append(time.perf_counter() - begin)
        result.block_until_ready()
        ready.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(returned), 1e6 * statistics.median(ready)


def compile_s() -> float:
    """Of a training step of the transformer in host/examples/jax, from StableHLO to what is run."""
    size = transformer.Size()

    def step(p, state, tokens):
        value, gradients = jax.value_and_grad(transformer.loss)(p, tokens, size)
        return transformer.adamw(p, gradients, state), value

    p = transformer.parameters(jax.random.key(1), size)
    lowered = jax.jit(step).lower(p, transformer.fresh_state(p), next(transformer.batches(1, size)))
    begin = time.perf_counter()
    lowered.compile()
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    weights = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    x = jax.device_put(np.ones((32, 64), np.float32))
    found = {"calls": options.calls, "chip": jax.devices()[0].device_kind}
    found["return_us"], found["ready_us"] = call_us(jax.jit(lambda x: x + 1), x, options.calls)
    product = jax.jit(lambda x: x @ weights)
    if product.lower(x).compile().cost_analysis()["device programs"] != 1:
        print("call_latency: a product by constants is no device program", file=sys.stderr)
        return 1
    found["device_return_us"], found["device_ready_us"] = call_us(product, x, options.calls)
    found["compile_s"] = compile_s()
    if options.json:
        print(json.dumps(found))
        return 0
    print(f"an island: {found['return_us']:.1f} us until the call returns, {found['ready_us']:.1f} until its result is ready")
    print(f"a device program: {found['device_return_us']:.1f} us, {found['device_ready_us']:.1f}")
    print(f"compilation of a training step: {found['compile_s']:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
