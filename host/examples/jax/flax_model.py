"""The language model in flax, trained by optax's AdamW; as code for a TPU has it.

usage: flax_model.py [--steps N] [--seed SEED]      needs `pip install flax==0.12.8 optax==0.2.8`
"""

import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
import transformer


class Block(nn.Module):
    size: transformer.Size

    @nn.compact
    def __call__(self, x):
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
        x = x + nn.MultiHeadDotProductAttention(self.size.heads)(nn.LayerNorm()(x), mask=mask)
        h = nn.gelu(nn.Dense(4 * self.size.width)(nn.LayerNorm()(x)))
        return x + nn.Dense(self.size.width)(h)


class Model(nn.Module):
    size: transformer.Size

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(transformer.VOCABULARY, self.size.width)(tokens)
        x = x + nn.Embed(self.size.length, self.size.width)(jnp.arange(tokens.shape[1]))
        for _ in range(self.size.layers):
            x = Block(self.size)(x)
        return nn.Dense(transformer.VOCABULARY)(nn.LayerNorm()(x))


def train(steps: int, seed: int, size: transformer.Size) -> list[float]:
    """The loss before each step, on the default device."""
    model, optimizer = Model(size), optax.adamw(3e-3, weight_decay=1e-2)

    def loss(p, tokens):
        scores = model.apply(p, tokens[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(scores, tokens[:, 1:]).mean()

    @jax.jit
    def step(p, state, tokens):
        value, gradients = jax.value_and_grad(loss)(p, tokens)
        updates, state = optimizer.update(gradients, state, p)
        return optax.apply_updates(p, updates), state, value

    batches = transformer.batches(seed, size)
    p = model.init(jax.random.key(seed), jnp.zeros((1, size.length), jnp.int32))
    state = optimizer.init(p)
    losses = []
    for _ in range(steps):
        p, state, value = step(p, state, next(batches))
        losses.append(value)
    return [float(value) for value in losses]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    losses = train(options.steps, options.seed, transformer.Size())
    for i in range(0, len(losses), max(1, len(losses) // 10)):
        print(f"step {i:4}: loss {losses[i]:.4f}")
    print(f"step {len(losses) - 1:4}: loss {losses[-1]:.4f} on {jax.devices()[0].device_kind}")


if __name__ == "__main__":
    main()
