"""Trains the transformer in bfloat16 with parameters of f32, and goes on where a checkpoint ends.

usage: mixed_precision.py [--steps N] [--seed SEED] [--checkpoint FILE.npz]

With a checkpoint that exists, training goes on from it; at the end one is written.
"""

import argparse
import itertools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import transformer

SIZE = transformer.Size()


def loss(p: dict, tokens: jax.Array, size: transformer.Size) -> jax.Array:
    """As transformer.loss; all layers are computed in bfloat16, the softmax of the scores in f32."""
    halves = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
    scores = jax.nn.log_softmax(transformer.logits(halves, tokens[:, :-1], size).astype(jnp.float32))
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], -1))


def save(path: pathlib.Path, taken: int, values) -> None:
    """values: any tree of arrays, after `taken` steps."""
    np.savez(path, taken, *map(np.asarray, jax.tree.leaves(values)))


def restore(path: pathlib.Path, like) -> tuple[int, object]:
    """What save() has written, as a tree like `like`."""
    with np.load(path) as file:
        taken, *leaves = (file[name] for name in file.files)
    return int(taken), jax.tree.unflatten(jax.tree.structure(like), map(jnp.asarray, leaves))


def train(steps: int, seed: int, size: transformer.Size = SIZE, checkpoint: pathlib.Path | None = None) -> list[float]:
    """The loss before each step that is taken now."""

    @jax.jit
    def step(p, state, tokens):
        value, gradients = jax.value_and_grad(loss)(p, tokens, size)
        p, state = transformer.adamw(p, gradients, state)
        return p, state, value

    p = transformer.parameters(jax.random.key(seed), size)
    state, taken, losses = transformer.fresh_state(p), 0, []
    if checkpoint is not None and checkpoint.exists():
        taken, (p, state) = restore(checkpoint, (p, state))
    for tokens in itertools.islice(transformer.batches(seed, size), taken, taken + steps):
        p, state, value = step(p, state, tokens)
        losses.append(value)
    if checkpoint is not None:
        save(checkpoint, taken + steps, (p, state))
    return [float(value) for value in losses]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint", type=pathlib.Path)
    options = parser.parse_args()
    losses = train(options.steps, options.seed, checkpoint=options.checkpoint)
    print(f"loss {losses[0]:.4f} before the first step, {losses[-1]:.4f} before the last of {len(losses)}")


if __name__ == "__main__":
    main()
