"""Rows of tables by computed indices, as embeddings read them: every bit as JAX on the CPU has it, in a device program.

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

SEED = 7
SIZES = [(1, 16, 1), (50, 1, 9), (50, 7, 8), (300, 16, 33), (1000, 40, 128), (20000, 130, 20), (70, 700, 70)]


def draw(rows: int, columns: int, count: int, low: int, high: int, dtype=np.float32):
    rng = np.random.default_rng([SEED, rows, columns, count])
    table = rng.integers(-(2**31), 2**31, (rows, columns), np.int64).astype(np.int32)
    if dtype is np.float32:
        table = rng.standard_normal((rows, columns)).astype(np.float32)
    return table, rng.integers(low, high, count).astype(np.int32), rng.standard_normal((columns, 4)).astype(np.float32)


class Rows(unittest.TestCase):
    def judge(self, take, table, indices, w):
        """Of the rows and a product of them, for which the program is the device's, the rows have the CPU's bits."""
        def both(table, indices, w):
            rows = take(table, indices)
            return rows, rows.astype(jnp.float32).reshape(-1, len(w)) @ w

        with jax.default_device(jax.devices("weft")[0]):
            program = jax.jit(both).lower(table, indices, w).compile()
            cost = program.cost_analysis()
            self.assertEqual((cost["device programs"], cost["islands"]), (1, 0))
            rows = np.asarray(jax.jit(both)(table, indices, w)[0])
        with jax.default_device(jax.devices("cpu")[0]):
            expected = np.asarray(jax.jit(take)(table, indices))
        self.assertEqual((rows.dtype, rows.shape), (expected.dtype, expected.shape))
        self.assertGreater(rows.size, 0)
        np.testing.assert_array_equal(rows.view(np.int32), expected.view(np.int32))

    def test_rows_inside_and_counted_from_the_end(self):
        for rows, columns, count in SIZES:
            for dtype in (np.float32, np.int32):
                with self.subTest(rows=rows, columns=columns, count=count, dtype=dtype):
                    self.judge(lambda t, i: t[i], *draw(rows, columns, count, -rows, rows, dtype))

    def test_rows_that_are_none_are_clipped(self):
        for mode in ("clip", "wrap"):
            for rows, columns, count in SIZES[:5]:
                with self.subTest(mode=mode, rows=rows, columns=columns, count=count):
                    self.judge(lambda t, i, mode=mode: jnp.take(t, i, axis=0, mode=mode), *draw(rows, columns, count, -3 * rows, 3 * rows))

    def test_rows_that_are_none_are_filled(self):
        for rows, columns, count in SIZES[:5]:
            with self.subTest(rows=rows, columns=columns, count=count):
                self.judge(lambda t, i: jnp.take(t, i, axis=0), *draw(rows, columns, count, -2 * rows, 2 * rows))
                self.judge(lambda t, i: t.at[i].get(mode="fill", fill_value=0.5), *draw(rows, columns, count, -2 * rows, 2 * rows))

    def test_indices_and_tables_of_several_dimensions(self):
        table, indices, w = draw(60, 24, 30, -70, 70)
        self.judge(lambda t, i: t.reshape(60, 4, 6)[i], table.reshape(60, 24), indices, w)
        self.judge(lambda t, i: jnp.take(t, i, axis=0, mode="clip").reshape(30, 24), table.reshape(60, 2, 12), indices.reshape(2, 3, 5), w)

    def test_the_table_is_the_matrix_of_a_product_too(self):
        table, indices, _ = draw(300, 32, 20, 0, 300)
        self.judge(lambda t, i: t[i], table, indices, table.T.copy())

        def tied(t, i):
            return t[i], t[i] @ t.T

        with jax.default_device(jax.devices("weft")[0]):
            rows, scores = jax.jit(tied)(table, indices)
        np.testing.assert_array_equal(np.asarray(rows).view(np.int32), table[indices].view(np.int32))
        np.testing.assert_allclose(scores, table[indices] @ table.T, atol=0.02 * np.abs(scores).max())

    def test_no_indices_at_all(self):
        table, _, _ = draw(30, 32, 1, 0, 30)
        with jax.default_device(jax.devices("weft")[0]):
            self.assertEqual(jax.jit(lambda t, i: t[i])(table, np.zeros(0, np.int32)).shape, (0, 32))

    def test_a_table_with_infinities(self):
        table, indices, w = draw(64, 24, 40, 0, 64)
        table[indices[0], 3], table[5, 4], table[6, 5] = np.inf, np.nan, -0.0
        self.judge(lambda t, i: t[i], table, indices, w)


if __name__ == "__main__":
    unittest.main()
