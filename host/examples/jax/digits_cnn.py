"""Trains a convolutional network on 8 x 8 pixels of handwritten digits, and counts what it reads of those held out.

usage: digits_cnn.py [--steps N] [--seed SEED] [--precision default|highest] [--json]
"""

import argparse
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

DATA = pathlib.Path(__file__).resolve().parents[1] / "digits" / "optdigits.csv"
HELD_OUT, BATCH, CHANNELS, RATE = 599, 32, 8, 0.1


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Images [count, 8, 8, 1] of 0 to 1, and their labels."""
    rows = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
    return rows[:, :64].reshape(-1, 8, 8, 1) / 16, rows[:, 64].astype(np.int32)


def parameters(key: jax.Array) -> dict:
    a, b = jax.random.split(key)
    return {"filters": jax.random.normal(a, (3, 3, 1, CHANNELS)) / 3, "bias": jnp.zeros(CHANNELS),
            "dense": jax.random.normal(b, (16 * CHANNELS, 10)) / np.sqrt(16 * CHANNELS).astype(np.float32),
            "offsets": jnp.zeros(10)}


def scores(p: dict, images: jax.Array) -> jax.Array:
    """[count, 10]."""
    x = lax.conv_general_dilated(images, p["filters"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.nn.relu(x + p["bias"])
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(len(x), -1) @ p["dense"] + p["offsets"]


def loss(p: dict, images: jax.Array, labels: jax.Array) -> jax.Array:
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores(p, images)), labels[:, None], -1))


@jax.jit
def step(p: dict, images: jax.Array, labels: jax.Array) -> tuple[dict, jax.Array]:
    value, gradients = jax.value_and_grad(loss)(p, images, labels)
    return jax.tree.map(lambda w, g: w - RATE * g, p, gradients), value


def train(steps: int, seed: int) -> tuple[list[float], int]:
    """The loss before each step, and the digits held out that are read right afterwards."""
    images, labels = digits()
    p = parameters(jax.random.key(seed))
    draw = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        batch = draw.integers(HELD_OUT, len(images), BATCH)
        p, value = step(p, images[batch], labels[batch])
        losses.append(value)
    read = jnp.argmax(jax.jit(scores)(p, images[:HELD_OUT]), -1)
    return [float(value) for value in losses], int(np.sum(np.asarray(read) == labels[:HELD_OUT]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--precision", choices=("default", "highest"), default="default")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with jax.default_matmul_precision(options.precision):
        losses, right = train(options.steps, options.seed)
    if options.json:
        print(json.dumps({"losses": losses, "right": right, "held_out": HELD_OUT}))
        return
    print(f"loss {losses[0]:.3f} before the first step, {losses[-1]:.3f} before the last of {len(losses)}")
    print(f"{right} of {HELD_OUT} digits that were held out are read right, on {jax.devices()[0].device_kind}")


if __name__ == "__main__":
    main()
