"""Loops of jitted programs that the firmware runs: as long as a word in memory says so, or as often as was counted.

A loop of the control list computes the bits of the same turns written out one behind the other, which is what the
compiler makes of few turns whose number it knows. NumPy tells how many there are.

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
from jax import lax  # noqa: E402

WEFT, CPU = jax.devices("weft")[0], jax.devices("cpu")[0]
LONG = 1100  # turns, more than are written out
DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(5, 24)).astype(np.float32)
W = (DRAW.normal(size=(24, 24)) * 0.25).astype(np.float32)


def cost(function, *arguments):
    found = jax.jit(function).lower(*arguments).compile().cost_analysis()
    return found["device programs"], found["islands"]


def results(function, *arguments):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(function)(*arguments))]


def turn(x, w):
    return jnp.tanh(x @ w)


def until(limit):
    """Turns until the largest element is below the limit; their number."""
    def function(x, w):
        return lax.while_loop(lambda s: jnp.max(jnp.abs(s[0])) >= limit, lambda s: (turn(s[0], w), s[1] + 1), (x, 0))
    return function


class Loops(unittest.TestCase):
    def setUp(self):
        self.device = jax.default_device(WEFT)
        self.device.__enter__()
        self.addCleanup(self.device.__exit__, None, None, None)

    def assert_bits(self, made, expected):
        self.assertEqual(len(made), len(expected))
        for a, b in zip(made, expected, strict=True):
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            self.assertEqual(np.sum(np.frombuffer(a.tobytes(), np.uint8) != np.frombuffer(b.tobytes(), np.uint8)), 0)

    def test_an_end_that_is_computed_comes_after_the_right_turn(self):
        w = W * 0.5
        sizes, x = [float(np.max(np.abs(X)))], X
        for _ in range(6):
            x = results(turn, x, w)[0]
            sizes.append(float(np.max(np.abs(x))))
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        for turns in range(6):  # 0: none at all
            with self.subTest(turns=turns):
                function = until(np.float32((sizes[turns] * sizes[turns + 1]) ** 0.5) if turns else np.float32(2 * sizes[0]))
                self.assertEqual(cost(function, X, w), (1, 0))
                wanted = turns + 1 if turns else 0
                made, count = results(function, X, w)
                self.assertEqual(int(count), wanted)
                def written_out(x, w, n=wanted):
                    return lax.fori_loop(0, n, lambda i, x: turn(x, w), x)

                self.assert_bits([made], results(written_out, X, w))

    def test_the_same_program_ends_where_its_arguments_say(self):
        def function(x, w, n):
            return lax.fori_loop(0, n, lambda i, x: turn(x, w), x)

        self.assertEqual(cost(function, X, W, 3), (1, 0))
        compiled = jax.jit(function)
        for n in (0, 1, 2, 7, 8):
            with self.subTest(turns=n):
                self.assert_bits([np.asarray(compiled(X, W, n))],
                                 results(lambda x, w, n=n: lax.fori_loop(0, n, lambda i, x: turn(x, w), x), X, W))

    def test_a_counted_loop_that_is_too_long_to_be_written_out(self):
        for turns in (LONG, LONG + 1):
            with self.subTest(turns=turns):
                def counted(x, w, n=turns):
                    return lax.fori_loop(0, n, lambda i, x: turn(x, w), x)

                def told(x, w, n):
                    return lax.fori_loop(0, n, lambda i, x: turn(x, w), x)

                self.assertEqual(cost(counted, X, W), (1, 0))
                self.assert_bits(results(counted, X, W), results(told, X, W, turns))

    def test_state_of_every_type_and_values_that_change_places(self):
        def body(s):
            i, a, b, key, up, n = s
            c = jnp.where(up, a, -a) @ W
            return i + 1, b + n.astype(jnp.float32), jnp.tanh(c), key * np.uint32(1664525) + np.uint32(7), ~up, n - 3

        def start(x):
            return (0, x, x * 0.5, np.uint32(12345), True, jnp.arange(24, dtype=jnp.int32))

        def function(x, n):
            return lax.while_loop(lambda s: s[0] < n, body, start(x))

        self.assertEqual(cost(function, X, 5)[0], 1)
        for n in (1, 4, 5):
            self.assert_bits(results(function, X, n), results(lambda x, n=n: lax.fori_loop(0, n, lambda i, s: body(s), start(x)), X))

    def test_a_scan_reads_and_stores_slices_forwards_and_backwards(self):
        w = (DRAW.normal(size=(16, 16)) * 0.2).astype(np.float32)
        scales = DRAW.normal(size=(LONG, 8, 16)).astype(np.float32)
        rows = DRAW.normal(size=(LONG, 16)).astype(np.float32)

        def cell(h, x):
            h = jnp.tanh(h @ w + x[0] @ w + x[1])
            return h, (h[0, :4], h * 2)

        for reverse in (False, True):
            with self.subTest(reverse=reverse):
                def function(h, xs, reverse=reverse):
                    return lax.scan(cell, h, xs, reverse=reverse)

                h = np.zeros((8, 16), np.float32)
                self.assertEqual(cost(function, h, (scales, rows)), (1, 0))
                last, first, second = results(function, h, (scales, rows))
                few = slice(LONG - 48, LONG) if reverse else slice(0, 48)  # that are written out
                part = results(function, h, (scales[few], rows[few]))
                self.assert_bits([first[few], second[few]], part[1:])
                self.assert_bits([second[0 if reverse else -1]], [last * 2])

    def test_the_gradient_of_a_scan(self):
        w = (DRAW.normal(size=(LONG, 8, 8)) * 0.3).astype(np.float32)

        def loss(h, w):
            last, stored = lax.scan(lambda h, w: (jnp.tanh(h @ w) + 0.1, jnp.sum(h * h)), h, w)
            return jnp.sum(last) + jnp.sum(stored)

        function = jax.grad(loss, argnums=(0, 1))
        h = DRAW.normal(size=(4, 8)).astype(np.float32)
        self.assertEqual(cost(function, h, w)[0], 2)  # forwards and backwards
        made = results(function, h, w)
        with jax.default_device(CPU):
            expected = results(function, h, w)
        for a, b in zip(made, expected, strict=True):
            self.assertLess(float(np.max(np.abs(a - b))), 2e-2 * float(np.max(np.abs(b))))

    def test_decoding_ends_with_its_token(self):
        width, most = 32, 12
        table = DRAW.normal(size=(8, width)).astype(np.float32)
        out = DRAW.normal(size=(width, 8)).astype(np.float32)

        def step(s):
            i, token, text = s
            token = jnp.argmax(jnp.tanh(jnp.asarray(table)[token] + 0.1 * i.astype(jnp.float32)) @ out).astype(jnp.int32)
            return i + 1, token, lax.dynamic_update_slice(text, token[None], (i,))

        def decode(first, end):
            return lax.while_loop(lambda s: (s[0] < most) & (s[1] != end), step, (0, first, jnp.full(most, -1)))

        self.assertEqual(cost(decode, 3, 5), (1, 0))
        for end in (-1, *range(8)):
            with self.subTest(end=end):
                made = results(decode, np.int32(3), np.int32(end))
                whole = results(decode, np.int32(3), np.int32(-1))[2]
                found = [3, *whole.tolist()]
                length = found.index(end) if end in found else most
                self.assertEqual(int(made[0]), length)
                self.assert_bits([made[2][:length]], [whole[:length]])
                self.assertTrue((made[2][length:] == -1).all())

    def test_loops_beside_products_and_behind_each_other(self):
        def function(x, w, n):
            x = x @ w
            x = lax.fori_loop(0, n, lambda i, x: turn(x, w) + 0.5, x)
            x = jnp.sin(x) @ w  # sine is the host's
            y = lax.fori_loop(0, n + 1, lambda i, x: turn(lax.fori_loop(0, 2, lambda j, z: turn(z, w), x), w), x)
            return x, y

        compiled = results(function, X, W, 3)
        known = results(lambda x, w: function(x, w, 3), X, W)
        self.assert_bits(compiled, known)

    def test_what_the_device_has_no_command_for_stays_an_island(self):
        self.assertEqual(cost(lambda x, w, n: lax.fori_loop(0, n, lambda i, x: jnp.sin(x @ w), x), X, W, 3), (0, 1))
        self.assertEqual(cost(lambda x, n: lax.fori_loop(0, n, lambda i, x: x * 1.5, x), X, 3), (0, 1))


if __name__ == "__main__":
    unittest.main()
