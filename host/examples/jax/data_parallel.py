"""Trains the digits on all devices: each has its part of the batch (pmap), or parameters lie in parts too (pjit).

usage: data_parallel.py [--steps N] [--seed SEED] [--how pmap|pjit]
"""

import argparse

import digits_cnn
import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def batches(steps: int, seed: int):
    """The batches of digits_cnn."""
    images, labels = digits_cnn.digits()
    draw = np.random.default_rng(seed)
    for _ in range(steps):
        batch = draw.integers(digits_cnn.HELD_OUT, len(images), digits_cnn.BATCH)
        yield images[batch], labels[batch]


def by_pmap(steps: int, seed: int) -> list[float]:
    """The loss before each step; the gradients' mean is taken over the devices."""
    count = jax.device_count()

    def step(p, images, labels):
        value, gradients = jax.value_and_grad(digits_cnn.loss)(p, images, labels)
        value, gradients = lax.pmean((value, gradients), "devices")
        return jax.tree.map(lambda w, g: w - digits_cnn.RATE * g, p, gradients), value

    parallel = jax.pmap(step, "devices", in_axes=(None, 0, 0), out_axes=(None, None))
    p = digits_cnn.parameters(jax.random.key(seed))
    losses = []
    for images, labels in batches(steps, seed):
        p, value = parallel(p, images.reshape(count, -1, *images.shape[1:]), labels.reshape(count, -1))
        losses.append(value)
    return [float(value) for value in losses]


def by_pjit(steps: int, seed: int) -> list[float]:
    """The same with half of the devices along the batch and half along the model's parameters."""
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 2), ("data", "model"))
    place = lambda *axes: NamedSharding(mesh, P(*axes))
    places = {"filters": place(None, None, None, "model"), "bias": place("model"), "dense": place("model"), "offsets": place()}
    step = jax.jit(digits_cnn.step, in_shardings=(places, place("data"), place("data")), out_shardings=(places, place()))
    p = jax.device_put(digits_cnn.parameters(jax.random.key(seed)), places)
    losses = []
    for images, labels in batches(steps, seed):
        p, value = step(p, images, labels)
        losses.append(value)
    return [float(value) for value in losses]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--how", choices=("pmap", "pjit"), default="pmap")
    options = parser.parse_args()
    losses = (by_pmap if options.how == "pmap" else by_pjit)(options.steps, options.seed)
    print(f"{jax.device_count()} devices: loss {losses[0]:.3f} before the first step, {losses[-1]:.3f} before the last of {len(losses)}")


if __name__ == "__main__":
    main()
