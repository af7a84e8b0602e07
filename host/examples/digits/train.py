#!/usr/bin/python3
"""Trains the digits network and writes digits.onnx.

Data: optdigits.csv, 1797 rows of 64 pixels (0 to 16) and the label. Every third row is held out and never seen here.
Network: 64 - 128 (relu) - 10. Pixels are scaled by 1/16 in the demo, softmax cross-entropy, SGD with momentum.
Needs Debian's python3-numpy and python3-onnx; deterministic for one seed.

usage: train.py [--seed 1] [--epochs 60] [--output digits.onnx]"""
import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent


def load():
    """Training pixels and labels, held-out pixels and labels."""
    table = np.loadtxt(HERE / "optdigits.csv", delimiter=",", dtype=np.int64)
    held_out = np.arange(len(table)) % 3 == 2
    pixels, labels = (table[:, :64] / 16.0).astype(np.float32), table[:, 64]
    return pixels[~held_out], labels[~held_out], pixels[held_out], labels[held_out]


def forward(x, w1, b1, w2, b2):
    hidden = np.maximum(x @ w1 + b1, 0)
    return hidden, hidden @ w2 + b2


def train(x, labels, seed, epochs):
    random = np.random.default_rng(seed)
    parameters = [random.normal(0, np.sqrt(2 / 64), (64, 128)), np.zeros(128), random.normal(0, np.sqrt(2 / 128), (128, 10)), np.zeros(10)]
    velocity = [np.zeros_like(p) for p in parameters]
    rate, momentum, batch, decay = 0.1, 0.9, 64, 1e-4
    for epoch in range(epochs):
        order = random.permutation(len(x))
        for first in range(0, len(x), batch):
            rows = order[first:first + batch]
            w1, b1, w2, b2 = parameters
            hidden, logits = forward(x[rows], w1, b1, w2, b2)
            e = np.exp(logits - logits.max(axis=1, keepdims=True))
            gradient = e / e.sum(axis=1, keepdims=True)
            gradient[np.arange(len(rows)), labels[rows]] -= 1
            gradient /= len(rows)
            back = (gradient @ w2.T) * (hidden > 0)
            gradients = [x[rows].T @ back + decay * w1, back.sum(axis=0), hidden.T @ gradient + decay * w2, gradient.sum(axis=0)]
            for p, v, g in zip(parameters, velocity, gradients, strict=True):
                v *= momentum
                v -= rate * (0.97**epoch) * g
                p += v
    return [p.astype(np.float32) for p in parameters]


def write(path, parameters):
    names = ["w1", "b1", "w2", "b2"]
    nodes = [helper.make_node("Gemm", ["pixels", "w1", "b1"], ["hidden"], name="hidden_layer"),
             helper.make_node("Relu", ["hidden"], ["activated"], name="hidden_relu"),
             helper.make_node("Gemm", ["activated", "w2", "b2"], ["scores"], name="output_layer")]
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 64])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])],
                              [numpy_helper.from_array(p, name) for name, p in zip(names, parameters, strict=True)])
    model = helper.make_model(graph, producer_name="weft digits example", opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--output", type=Path, default=HERE / "digits.onnx")
    args = parser.parse_args()
    x, labels, test_x, test_labels = load()
    parameters = train(x.astype(np.float64), labels, args.seed, args.epochs)
    for name, pixels, truth in (("trained on", x, labels), ("held out", test_x, test_labels)):
        guess = forward(pixels, *parameters)[1].argmax(axis=1)
        print(f"{name}: {len(truth)} digits, {100 * (guess == truth).mean():.2f} % right in fp32")
    write(args.output, parameters)
    print(f"wrote {args.output.name}")


if __name__ == "__main__":
    main()
