"""Trains a transformer on a text, one jitted step after the other.

usage: language_model.py [--steps N] [--seed SEED] [--precision default|highest] [--json]
"""

import argparse
import json

import jax
import transformer

SIZE = transformer.Size()


def train(steps: int, seed: int, size: transformer.Size = SIZE) -> list[float]:
    """The loss before each step, on the default device."""

    @jax.jit
    def step(p, state, tokens):
        value, gradients = jax.value_and_grad(transformer.loss)(p, tokens, size)
        p, state = transformer.adamw(p, gradients, state)
        return p, state, value

    p = transformer.parameters(jax.random.key(seed), size)
    state = transformer.fresh_state(p)
    losses = []
    for _, tokens in zip(range(steps), transformer.batches(seed, size), strict=False):
        p, state, value = step(p, state, tokens)
        losses.append(value)
    return [float(value) for value in losses]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--precision", choices=("default", "highest"), default="default")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with jax.default_matmul_precision(options.precision):
        losses = train(options.steps, options.seed)
    if options.json:
        print(json.dumps({"losses": losses}))
        return
    for i in range(0, len(losses), max(1, len(losses) // 10)):
        print(f"step {i:4}: loss {losses[i]:.4f}")
    print(f"step {len(losses) - 1:4}: loss {losses[-1]:.4f} on {jax.devices()[0].device_kind}")


if __name__ == "__main__":
    main()
