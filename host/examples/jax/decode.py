"""Greedy decoding of a transformer with a cache of keys and values, which dynamic_update_slice fills place by place.

usage: decode.py [--steps N] [--seed SEED] [--text TEXT]
"""

import argparse
import functools
import math

import jax
import jax.numpy as jnp
import transformer
from jax import lax
from transformer import Size, norm


def attend(x: jax.Array, p: dict, keys: jax.Array, values: jax.Array, place: jax.Array, heads: int):
    """One layer on one token [width] at `place`; keys and values [length, width] get this token's row."""
    q, k, v = jnp.split(norm(x) @ p["qkv"], 3)
    keys = lax.dynamic_update_slice(keys, k[None], (place, 0))
    values = lax.dynamic_update_slice(values, v[None], (place, 0))
    split = lambda rows: rows.reshape(rows.shape[0], heads, -1)  # noqa: E731
    scores = jnp.einsum("hd,khd->hk", q.reshape(heads, -1), split(keys)) / math.sqrt(len(x) // heads)
    weights = jax.nn.softmax(jnp.where(jnp.arange(len(keys)) <= place, scores, -1e9))
    x = x + jnp.einsum("hk,khd->hd", weights, split(values)).reshape(-1) @ p["out"]
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"], keys, values


@functools.partial(jax.jit, static_argnums=3)
def decode(p: dict, prompt: jax.Array, known: jax.Array, size: Size) -> jax.Array:
    """Tokens [length]: the first `known` of the prompt, then the most probable ones."""
    stacked = {name: p[name] for name in ("qkv", "out", "up", "down")}

    def token(place, state):
        tokens, keys, values = state

        def one(x, each):
            x, k, v = attend(x, each[0], each[1], each[2], place, size.heads)
            return x, (k, v)

        x, (keys, values) = lax.scan(one, p["table"][tokens[place]] + p["places"][place], (stacked, keys, values))
        best = jnp.argmax(norm(x) @ p["table"].T).astype(tokens.dtype)
        best = jnp.where(place + 1 < known, tokens[place + 1], best)
        return lax.dynamic_update_slice(tokens, best[None], (place + 1,)), keys, values

    cache = jnp.zeros((size.layers, size.length, size.width))
    return lax.fori_loop(0, size.length - 1, token, (prompt, cache, cache))[0]


def decode_without_cache(p: dict, prompt: jax.Array, known: int, size: Size) -> jax.Array:
    """The same, every token from the whole text so far."""
    predict = jax.jit(lambda p, tokens: jnp.argmax(transformer.logits(p, tokens[None], size)[0], -1))
    tokens = jnp.asarray(prompt)
    for place in range(known - 1, size.length - 1):
        tokens = tokens.at[place + 1].set(predict(p, tokens)[place].astype(tokens.dtype))
    return tokens


def trained(steps: int, seed: int, size: Size) -> dict:
    @jax.jit
    def step(p, state, tokens):
        return transformer.adamw(p, jax.grad(transformer.loss)(p, tokens, size), state)

    p = transformer.parameters(jax.random.key(seed), size)
    state = transformer.fresh_state(p)
    for _, tokens in zip(range(steps), transformer.batches(seed, size), strict=False):
        p, state = step(p, state, tokens)
    return p


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300, help="of training")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", default="You may ")
    options = parser.parse_args()
    size = Size()
    prompt = options.text.encode()[: size.length - 1]
    tokens = jnp.zeros(size.length, jnp.int32).at[: len(prompt)].set(jnp.array(list(prompt), jnp.int32))
    read = decode(trained(options.steps, options.seed, size), tokens, jnp.int32(len(prompt)), size)
    print(repr(bytes(int(t) for t in read).decode("latin1")))


if __name__ == "__main__":
    main()
