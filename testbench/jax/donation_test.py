"""Arrays that are given to a jitted function: gone behind the call, their memory is the result's.

environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import os
import pathlib
import sys
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
os.environ["JAX_PLATFORMS"] = "weft"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


def step(x, w):
    return x + 2 * w, jnp.sum(w)


def arrays():
    x = np.arange(4096, dtype=np.float32).reshape(64, 64)
    return jax.device_put(x), jax.device_put(x + 1), x + 2 * (x + 1)


class Donation(unittest.TestCase):
    def test_a_donated_array_is_gone_and_the_others_are_not(self):
        x, w, expected = arrays()
        y, _ = jax.jit(step, donate_argnums=0)(x, w)
        self.assertTrue(x.is_deleted())
        self.assertFalse(w.is_deleted())
        np.testing.assert_array_equal(y, expected)
        with self.assertRaisesRegex(RuntimeError, "deleted"):
            x + 1
        self.assertEqual(float(w[0, 1]), 2)

    def test_without_donation_nothing_is_gone(self):
        x, w, _ = arrays()
        jax.jit(step)(x, w)
        self.assertFalse(x.is_deleted() or w.is_deleted())

    def test_a_result_has_the_place_of_what_was_given_for_it(self):
        statistics = jax.devices()[0].memory_stats
        x, w, _ = arrays()
        f = jax.jit(lambda x: x + 1, donate_argnums=0)
        place = x.unsafe_buffer_pointer()
        in_use = statistics()["bytes_in_use"]
        for _turn in range(10):
            x = f(x)
            self.assertEqual(x.unsafe_buffer_pointer(), place)
            self.assertEqual(statistics()["bytes_in_use"], in_use)
        self.assertEqual(float(x[0, 1]), 11)
        del x
        self.assertEqual(statistics()["bytes_in_use"], in_use - w.nbytes)

    def test_a_result_that_only_fits_in_the_place_of_its_argument(self):
        statistics = jax.devices()[0].memory_stats()
        free = statistics["bytes_limit"] - statistics["bytes_in_use"]
        rows = int(0.6 * free) // 4096 // 4
        x = jax.device_put(np.ones((rows, 4096), np.float32))
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "RESOURCE_EXHAUSTED"):
            jax.jit(lambda x: x * 2)(x)
        self.assertEqual(float(jax.jit(lambda x: x * 2, donate_argnums=0)(x)[-1, -1]), 2)

    def test_work_in_flight_reads_what_is_donated_behind_it(self):
        x, w, expected = arrays()
        before = jax.jit(step)(x, w)[0]
        after = jax.jit(lambda x: x * 0, donate_argnums=0)(x)
        np.testing.assert_array_equal(before, expected)
        np.testing.assert_array_equal(after, np.zeros((64, 64), np.float32))

    def test_an_array_is_not_donated_and_read_by_the_same_call(self):
        x, _, _ = arrays()
        f = jax.jit(step, donate_argnums=0)
        with self.assertRaisesRegex((ValueError, jax.errors.JaxRuntimeError), "(?i)donate"):
            f(x, x)
        self.assertFalse(x.is_deleted())

    def test_an_array_is_not_donated_twice(self):
        x, w, _ = arrays()
        f = jax.jit(lambda x, y: (x + 1, y + 1), donate_argnums=(0, 1))
        with self.assertRaisesRegex((ValueError, jax.errors.JaxRuntimeError), "(?i)donate"):
            f(x, x)
        self.assertFalse(x.is_deleted())
        f(x, w)
        self.assertTrue(x.is_deleted() and w.is_deleted())
        with self.assertRaisesRegex((ValueError, RuntimeError), "deleted"):
            f(x, w)

    def test_what_no_result_can_use_is_told(self):
        x, w, _ = arrays()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            jax.jit(lambda x: jnp.sum(x), donate_argnums=0)(x)
        self.assertTrue(any("donated buffers were not usable" in str(warning.message) for warning in told))

    def test_memory_of_a_program_tells_what_is_shared(self):
        x, w, _ = arrays()
        shared = jax.jit(step, donate_argnums=0).lower(x, w).compile().memory_analysis()
        self.assertEqual(shared.alias_size_in_bytes, x.nbytes)
        self.assertEqual(jax.jit(step).lower(x, w).compile().memory_analysis().alias_size_in_bytes, 0)


if __name__ == "__main__":
    unittest.main()
