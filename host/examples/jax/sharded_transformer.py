"""Trains the transformer on all devices: by pairs, each pair has its part of the batch, and each of the two half of every layer.

usage: sharded_transformer.py [--steps N] [--seed SEED]
"""

import argparse

import jax
import numpy as np
import transformer
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

SIZE = transformer.Size(width=16, heads=2, layers=2, length=16, batch=8)
# Of each layer's matrices the columns, then the rows: what is between lies in halves, and a sum over both joins it.
HALVES = {"table": P(), "places": P(), "qkv": P(None, None, "model"), "out": P(None, "model"), "up": P(None, None, "model"),
          "down": P(None, "model")}


def places() -> tuple:
    """Of the parameters, the optimiser's state and the tokens."""
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 2), ("data", "model"))
    of = {name: NamedSharding(mesh, spec) for name, spec in HALVES.items()}
    return of, (of, of, NamedSharding(mesh, P())), NamedSharding(mesh, P("data"))


def step_of(size: transformer.Size):
    of, of_state, of_tokens = places()

    def step(p, state, tokens):
        value, gradients = jax.value_and_grad(transformer.loss)(p, tokens, size)
        return *transformer.adamw(p, gradients, state), value

    return jax.jit(step, in_shardings=(of, of_state, of_tokens), out_shardings=(of, of_state, of_state[2]))


def train(steps: int, seed: int, size: transformer.Size = SIZE) -> list[float]:
    """The loss before each step."""
    of, of_state, _ = places()
    step = step_of(size)
    p = jax.device_put(transformer.parameters(jax.random.key(seed), size), of)
    state = jax.device_put(transformer.fresh_state(p), of_state)
    losses = []
    for _, tokens in zip(range(steps), transformer.batches(seed, size), strict=False):
        p, state, value = step(p, state, tokens)
        losses.append(value)
    return [float(value) for value in losses]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    losses = train(options.steps, options.seed)
    print(f"{jax.device_count()} devices: loss {losses[0]:.4f} before the first step, {losses[-1]:.4f} before the last of {len(losses)}")


if __name__ == "__main__":
    main()
