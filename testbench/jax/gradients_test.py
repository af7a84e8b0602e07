"""Gradients by the compiler's pass against JAX's on the CPU: functions that JAX lowers without gradients, to operators of StableHLO
alone (jaxlib does not write those of CHLO, erf and square among them, which testbench/unit/compiler/passes has).

environment: GRADIENT_RUNNER
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

VERSION = "1.13.3"  # of StableHLO, as host/pjrt asks for it
SEED = 5
BOUND = 2e-5  # of the largest element of a gradient: f32 in another order of sums
jax.config.update("jax_default_matmul_precision", "highest")


def cross_entropy(scores, labels):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(scores) * jax.nn.one_hot(labels, scores.shape[-1]), -1))


def norm(x, scale, shift):
    less = x - x.mean(-1, keepdims=True)
    return less * lax.rsqrt((less * less).mean(-1, keepdims=True) + 1e-5) * scale + shift


def attention(x, queries, keys, values, out):
    heads, width = 4, x.shape[-1] // 4
    q, k, v = ((x @ w).reshape(-1, heads, width).transpose(1, 0, 2) for w in (queries, keys, values))
    weights = jax.nn.softmax(q @ k.transpose(0, 2, 1) / np.sqrt(width), -1)
    return (weights @ v).transpose(1, 0, 2).reshape(x.shape) @ out


def convolution(x, w, **how):
    return lax.conv_general_dilated(x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **how)


def programs():
    """(name, function of one float, arguments)."""
    random = np.random.default_rng(SEED)

    def draw(*shape):
        return random.standard_normal(shape).astype(np.float32)

    labels = random.integers(0, 10, 6).astype(np.int32)
    x = draw(6, 16)
    yield "relu layers and cross-entropy", lambda x, w, b, v, c, t: cross_entropy(
        jax.nn.relu(x @ w + b) @ v + c, t), (x, draw(16, 24), draw(24), draw(24, 10), draw(10), labels)
    for name, function in {"gelu by tanh": jax.nn.gelu, "silu": jax.nn.silu,
                           "softplus": jax.nn.softplus, "elu": jax.nn.elu, "tanh": jnp.tanh}.items():
        yield name, lambda x, w, function=function: (function(x) * w).sum(), (x, draw(6, 16))
    yield "layer norm", lambda x, s, h, w: (norm(x, s, h) * w).sum(), (x, draw(16), draw(16), draw(6, 16))
    yield "attention", lambda x, q, k, v, o, w: (attention(x, q, k, v, o) * w).sum(), (
        x, draw(16, 16), draw(16, 16), draw(16, 16), draw(16, 16), draw(6, 16))
    yield "embedding", lambda table, i, w: (table[i] * w).sum(), (draw(10, 8), labels, draw(6, 8))
    for name, how in {"": {"window_strides": (1, 1), "padding": "SAME"},
                      ", strides": {"window_strides": (2, 1), "padding": "VALID"},
                      ", dilation": {"window_strides": (1, 2), "padding": ((1, 0), (2, 1)), "rhs_dilation": (2, 1)},
                      ", transposed": {"window_strides": (1, 1), "padding": ((1, 1), (1, 2)), "lhs_dilation": (2, 2)}}.items():
        yield "convolution" + name, lambda x, w, how=how: (convolution(x, w, **how) ** 2).sum(), (draw(2, 7, 6, 3), draw(3, 2, 3, 4))
    yield "depthwise convolution", lambda x, w: (convolution(
        x, w, window_strides=(1, 2), padding="SAME", feature_group_count=3) ** 2).sum(), (draw(2, 7, 6, 3), draw(3, 2, 1, 6))
    yield "largest of windows", lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2), (1, 2, 2), "SAME") ** 2).sum(), (draw(2, 7, 6),)
    yield "average pooling", lambda x: (lax.reduce_window(x, 0.0, lax.add, (1, 2, 3), (1, 2, 1), "SAME") ** 2).sum(), (draw(2, 5, 6),)
    yield "movements", lambda x, y: (jnp.concatenate([jnp.pad(x, ((1, 2), (0, 0)))[:, ::-2].T, y], 1) ** 3).sum(), (x, draw(8, 3))
    yield "largest and length", lambda x: x.max(1).sum() + jnp.sqrt((x * x).sum()), (x,)


class Gradients(unittest.TestCase):
    def computed(self, function, arguments):
        """By the pass: an array for each argument of floats."""
        module = jax.jit(function).trace(*arguments).lower(lowering_platforms=("tpu",)).compiler_ir("stablehlo")
        with tempfile.TemporaryDirectory() as folder:
            program, inputs, gradients = (pathlib.Path(folder) / name for name in ("program", "inputs", "gradients"))
            program.write_bytes(stablehlo.serialize_portable_artifact(module, VERSION))
            inputs.write_bytes(b"".join(argument.tobytes() for argument in arguments))
            done = subprocess.run([os.environ["GRADIENT_RUNNER"], program, inputs, gradients], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            flat = np.frombuffer(gradients.read_bytes(), np.float32)
        floats = [argument for argument in arguments if argument.dtype == np.float32]
        self.assertEqual(flat.size, sum(argument.size for argument in floats))
        ends = np.cumsum([argument.size for argument in floats])[:-1]
        return [part.reshape(argument.shape) for part, argument in zip(np.split(flat, ends), floats, strict=True)]

    def test_they_are_those_of_jax(self):
        print(f"seed {SEED}")
        for name, function, arguments in programs():
            with self.subTest(name):
                floats = [i for i, argument in enumerate(arguments) if argument.dtype == np.float32]
                expected = jax.grad(function, argnums=floats)(*arguments)
                for number, made, right in zip(floats, self.computed(function, arguments), expected, strict=True):
                    right = np.asarray(right)
                    self.assertGreater(np.abs(right).max(), 0, f"argument {number}")
                    self.assertLessEqual(np.abs(made - right).max(), BOUND * np.abs(right).max(), f"argument {number}")


if __name__ == "__main__":
    unittest.main()
