"""Random numbers of jitted programs are those of JAX on the CPU, bit by bit, and made by the device.

environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
os.environ["JAX_PLATFORMS"] = "weft,cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.extend.random import threefry_2x32  # noqa: E402

WEFT, CPU = jax.devices("weft")[0], jax.devices("cpu")[0]
SHAPE = (40, 33)


def programs():
    """Functions of a key, each with the name of what it draws."""
    yield "bits", lambda key: jax.random.bits(key, SHAPE)
    yield "bits of a vector", lambda key: jax.random.bits(key, (1301,))
    yield "bits of a vector that lies as rows", lambda key: jax.random.bits(key, (1536,))
    yield "uniform numbers in long rows", lambda key: jax.random.uniform(key, (3, 1000))
    yield "uniform", lambda key: jax.random.uniform(key, SHAPE)
    yield "uniform in a range", lambda key: jax.random.uniform(key, SHAPE, minval=-4.0, maxval=4.0)
    yield "bernoulli", lambda key: jax.random.bernoulli(key, 0.3, SHAPE)
    yield "split, fold_in and bits", lambda key: jax.random.bits(jax.random.fold_in(jax.random.split(key, 3)[1], 77), SHAPE)
    yield "dropout", lambda key: jnp.where(jax.random.bernoulli(key, 0.75, SHAPE), jnp.full(SHAPE, 3.0), 0.0)
    yield "rademacher", lambda key: jax.random.rademacher(key, SHAPE)


def compiled(function, *arguments):
    with jax.default_device(WEFT):
        return jax.jit(function).lower(*arguments).compile()


class Random(unittest.TestCase):
    def keys(self):
        for seed in (0, 1, 2**31 - 1):
            yield seed, np.asarray(jax.random.PRNGKey(seed))
        yield "largest", np.array([0xFFFFFFFF, 0xFFFFFFFF], np.uint32)

    def test_every_bit_is_that_of_the_cpu_and_there_is_no_island(self):
        for name, function in programs():
            for seed, key in self.keys():
                with self.subTest(name, key=seed):
                    executable = compiled(function, key)
                    cost = executable.cost_analysis()
                    self.assertEqual((cost["device programs"], cost["islands"]), (1, 0))
                    with jax.default_device(CPU):
                        expected = np.asarray(jax.jit(function)(key))
                    made = np.asarray(executable(jax.device_put(key, WEFT)))
                    self.assertEqual((made.shape, made.dtype), (expected.shape, expected.dtype))
                    self.assertEqual(int(np.sum(made.view(np.uint8) != expected.view(np.uint8))), 0)

    def test_normal_numbers_are_those_of_the_cpu_but_for_the_rounding_of_a_logarithm(self):
        key = np.asarray(jax.random.PRNGKey(5))

        def function(key):
            return jax.random.normal(key, (64, 64))

        executable = compiled(function, key)
        self.assertEqual((executable.cost_analysis()["device programs"], executable.cost_analysis()["islands"]), (1, 0))
        with jax.default_device(CPU):
            expected = np.asarray(jax.jit(function)(key))
        made = np.asarray(executable(jax.device_put(key, WEFT)))
        self.assertLess(float(np.max(np.abs(made - expected))), 2e-5)

    def test_few_numbers_stay_with_the_host(self):
        key = np.asarray(jax.random.PRNGKey(5))
        executable = compiled(lambda key: jax.random.bits(key, (9,)), key)
        self.assertEqual(executable.cost_analysis()["device programs"], 0)

    def test_a_key_of_rbg_gives_the_bits_of_threefry_and_the_state_that_follows(self):
        state = np.array([1, 2, 0xFFFFFFF0, 7], np.uint32)  # the low word of the counter overflows

        def function(state):
            return jax.lax.rng_bit_generator(state, (2600,), jnp.uint32)

        executable = compiled(function, state)
        self.assertEqual((executable.cost_analysis()["device programs"], executable.cost_analysis()["islands"]), (1, 0))
        after, bits = (np.asarray(x) for x in executable(jax.device_put(state, WEFT)))
        np.testing.assert_array_equal(after, [1, 2, (0xFFFFFFF0 + 1300) % 2**32, 8])
        self.assertEqual(bits.shape, (2600,))
        counters = np.uint64(0x7FFFFFFF0) + np.arange(1300, dtype=np.uint64)
        words = np.concatenate([counters & np.uint64(0xFFFFFFFF), counters >> np.uint64(32)]).astype(np.uint32)
        with jax.default_device(CPU):
            expected = np.asarray(threefry_2x32(state[:2], words)).reshape(2, -1)
        np.testing.assert_array_equal(bits.reshape(-1, 2).T, expected)


if __name__ == "__main__":
    unittest.main()
