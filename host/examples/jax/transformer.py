"""A small transformer that predicts the next byte of a text: its parameters, its loss, one step of AdamW.

Plain JAX; nothing here knows on which device it runs. Shapes: tokens [batch, length] of int32, logits
[batch, length, 256], parameters a dictionary of f32 arrays, those of the layers stacked along their first dimension.
"""

import dataclasses
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

VOCABULARY = 256
TEXT = pathlib.Path(__file__).resolve().parents[3] / "LICENSES" / "Apache-2.0.txt"


@dataclasses.dataclass(frozen=True)
class Size:
    width: int = 32
    heads: int = 4
    layers: int = 2
    length: int = 32
    batch: int = 8


def parameters(key: jax.Array, size: Size) -> dict:
    shapes = {"table": (VOCABULARY, size.width), "places": (size.length, size.width),
              "qkv": (size.layers, size.width, 3 * size.width), "out": (size.layers, size.width, size.width),
              "up": (size.layers, size.width, 4 * size.width), "down": (size.layers, 4 * size.width, size.width)}
    keys = jax.random.split(key, len(shapes))
    return {name: jax.random.normal(k, shape) / math.sqrt(shape[-2] if name not in ("table", "places") else size.width)
            for (name, shape), k in zip(shapes.items(), keys, strict=True)}


def norm(x: jax.Array) -> jax.Array:
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def heads_of(x: jax.Array, heads: int) -> jax.Array:
    """[batch, length, width] -> [batch, heads, length, width / heads]."""
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def layer(x: jax.Array, p: dict, heads: int) -> jax.Array:
    q, k, v = (heads_of(part, heads) for part in jnp.split(norm(x) @ p["qkv"], 3, -1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e9))
    mixed = jnp.einsum("bhqk,bhkd->bhqd", weights, v).swapaxes(1, 2).reshape(x.shape)
    x = x + mixed @ p["out"]
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]


def logits(p: dict, tokens: jax.Array, size: Size) -> jax.Array:
    x = p["table"][tokens] + p["places"][: tokens.shape[1]]
    stacked = {name: p[name] for name in ("qkv", "out", "up", "down")}
    x, _ = lax.scan(lambda x, each: (layer(x, each, size.heads), None), x, stacked)
    return norm(x) @ p["table"].T / math.sqrt(size.width)


def loss(p: dict, tokens: jax.Array, size: Size) -> jax.Array:
    """Mean of -log p(next byte), in nats. tokens: [batch, length + 1]."""
    scores = jax.nn.log_softmax(logits(p, tokens[:, :-1], size))
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], -1))


def adamw(p: dict, gradients: dict, state: tuple, rate: float = 3e-3, decay: float = 1e-2) -> tuple[dict, tuple]:
    """One step; state: means, squares, steps so far."""
    means, squares, steps = state
    steps = steps + 1
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
    squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, gradients)

    def step(w, m, s):
        return w - rate * (m / (1 - 0.9**steps) / (jnp.sqrt(s / (1 - 0.999**steps)) + 1e-8) + decay * w)

    return jax.tree.map(step, p, means, squares), (means, squares, steps)


def fresh_state(p: dict) -> tuple:
    zeros = jax.tree.map(jnp.zeros_like, p)
    return zeros, zeros, jnp.float32(0)


def batches(seed: int, size: Size):
    """Pieces of the text, drawn without end: [batch, length + 1]."""
    text = np.frombuffer(TEXT.read_bytes(), np.uint8).astype(np.int32)
    draw = np.random.default_rng(seed)
    while True:
        begins = draw.integers(0, len(text) - size.length - 1, size.batch)
        yield np.stack([text[b : b + size.length + 1] for b in begins])
