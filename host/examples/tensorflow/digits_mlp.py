"""Trains a network of two layers on 8 x 8 pixels of handwritten digits with TensorFlow, and counts what it reads of those held out.

usage: digits_mlp.py [--device weft|cpu] [--steps N] [--seed SEED] [--json]      environment: WEFT_CHIPS, WEFT_CORE
"""

import argparse
import json
import pathlib

import numpy as np
import tensorflow as tf

DATA = pathlib.Path(__file__).resolve().parents[1] / "digits" / "optdigits.csv"
HELD_OUT, BATCH, HIDDEN, CLASSES, RATE = 599, 64, 128, 10, 0.2
SIZES = {"w1": (64, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, CLASSES), "b2": (CLASSES,)}


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Pixels [count, 64] of 0 to 1, and labels [count, 10] of 0 and 1, both f32."""
    rows = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
    return rows[:, :64] / 16, np.eye(CLASSES, dtype=np.float32)[rows[:, 64].astype(int)]


def scores(parameters, pixels):
    return tf.nn.relu(pixels @ parameters["w1"] + parameters["b1"]) @ parameters["w2"] + parameters["b2"]


def step(parameters, pixels, labels):
    """A step of gradient descent: the parameters behind it, and the loss before it."""
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, scores(parameters, pixels)))
    gradients = tape.gradient(loss, parameters)
    return {name: value - RATE * gradients[name] for name, value in parameters.items()}, loss


def train(steps: int, seed: int, on_device) -> tuple[list[float], int]:
    """The loss before each step, and the digits held out that are read right afterwards. `on_device`: what makes a function run there."""
    pixels, labels = digits()
    draw = np.random.default_rng(seed)
    parameters = {name: tf.constant(draw.normal(0, 0.1, size).astype(np.float32)) for name, size in SIZES.items()}
    own_step, losses = on_device(step), []
    for _ in range(steps):
        batch = draw.integers(HELD_OUT, len(pixels), BATCH)
        parameters, loss = own_step(parameters, tf.constant(pixels[batch]), tf.constant(labels[batch]))
        losses.append(float(loss))
    read = on_device(scores)(parameters, tf.constant(pixels[:HELD_OUT])).numpy().argmax(-1)
    return losses, int((read == labels[:HELD_OUT].argmax(-1)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("weft", "cpu"), default="weft")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    on_device = tf.function
    if options.device == "weft":
        import weft.tensorflow_plugin

        on_device = weft.tensorflow_plugin.on_chip
    losses, right = train(options.steps, options.seed, on_device)
    if options.json:
        print(json.dumps({"losses": losses, "right": right, "held_out": HELD_OUT}))
        return
    print(f"loss {losses[0]:.3f} before the first step, {losses[-1]:.3f} before the last of {len(losses)}")
    print(f"{right} of {HELD_OUT} digits that were held out are read right, on {options.device}")


if __name__ == "__main__":
    main()
