"""What of the examples' steps is in device programs: products, elementwise work, islands.

usage: device_share.py [--small] [--json] [--check]     environment: WEFT_CHIPS, WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "host" / "python"), str(ROOT / "host" / "examples" / "jax")]
os.environ["JAX_PLATFORMS"] = "weft"

import decode  # noqa: E402
import digits_cnn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import transformer  # noqa: E402

SMALL = transformer.Size(width=16, heads=2, layers=2, length=16, batch=4)


def shapes(tree):
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), x.dtype), tree)


def programs(size: transformer.Size) -> dict:
    """The lowered steps by name; nothing of them runs."""
    p = jax.eval_shape(lambda: transformer.parameters(jax.random.key(1), size))
    state = jax.eval_shape(transformer.fresh_state, p)
    tokens = jax.ShapeDtypeStruct((size.batch, size.length + 1), jnp.int32)

    def step(p, state, tokens):
        value, gradients = jax.value_and_grad(transformer.loss)(p, tokens, size)
        return transformer.adamw(p, gradients, state), value

    def dropping_step(p, state, tokens, key):
        """The same with a tenth of the embedded places dropped, other ones in each step."""
        def loss(p):
            kept = jax.random.bernoulli(jax.random.fold_in(key, 1), 0.9, p["table"].shape)
            return transformer.loss(p | {"table": jnp.where(kept, p["table"] / 0.9, 0)}, tokens, size)

        value, gradients = jax.value_and_grad(loss)(p)
        return transformer.adamw(p, gradients, state), value

    images, labels = digits_cnn.digits()
    network = jax.eval_shape(lambda: digits_cnn.parameters(jax.random.key(1)))
    batch = shapes((images[: digits_cnn.BATCH], labels[: digits_cnn.BATCH]))
    scalar = jax.ShapeDtypeStruct((), jnp.int32)
    return {"transformer, training step": jax.jit(step).lower(p, state, tokens),
            "transformer, step with dropout": jax.jit(dropping_step).lower(p, state, tokens, jax.random.PRNGKey(3)),
            "transformer, decoding": decode.decode.lower(p, jax.ShapeDtypeStruct((size.length,), jnp.int32), scalar, size),
            "digits, training step": digits_cnn.step.lower(network, *batch),
            "digits, inference": jax.jit(digits_cnn.scores).lower(network, batch[0])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="the transformer of the tests")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail if a step has an island or work outside of device programs")
    options = parser.parse_args()
    found = {}
    for name, lowered in programs(SMALL if options.small else transformer.Size()).items():
        cost = lowered.compile().cost_analysis()
        found[name] = {"products": cost["device flops"] / max(cost["flops"], 1),
                       "elements": cost["device elements"] / max(cost["elements"], 1),
                       "device_programs": int(cost["device programs"]), "islands": int(cost["islands"])}
    if options.json:
        print(json.dumps(found))
        return 0
    for name, share in found.items():
        print(f"{name:28} {100 * share['products']:5.1f} % of the products, {100 * share['elements']:5.1f} % of the elements, "
              f"{share['device_programs']} device programs, {share['islands']} islands")
    whole = all(share["products"] == share["elements"] == share["device_programs"] == 1 and share["islands"] == 0
                for share in found.values())
    return 0 if whole or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
