"""Programs of several devices on a slice of four chips, against NumPy.

environment: WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import os
import pathlib
import sys
import unittest

HOST = pathlib.Path(__file__).resolve().parents[2] / "host"
sys.path[:0] = [str(HOST / "python"), str(HOST / "examples" / "jax")]
os.environ["JAX_PLATFORMS"] = "weft"
os.environ["WEFT_CHIPS"] = "nano-2x2"

import data_parallel  # noqa: E402
import digits_cnn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

SEED = 5


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng([SEED, *shape]).standard_normal(shape).astype(np.float32)


def mesh(*names: str, shape: tuple = (4,), devices=None) -> Mesh:
    return Mesh(np.array(devices or jax.devices()).reshape(shape), names)


def manual(function, inputs, outputs, over=None):
    return jax.jit(jax.shard_map(function, mesh=over or mesh("i"), in_specs=inputs, out_specs=outputs))


class Devices(unittest.TestCase):
    def test_a_slice_has_its_chips_at_their_coordinates(self):
        self.assertEqual([list(d.coords) for d in jax.devices()], [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
        self.assertEqual([d.id for d in jax.devices()], [0, 1, 2, 3])

    def test_a_program_runs_on_the_chip_that_its_argument_is_on(self):
        for device in jax.devices():
            y = jax.jit(lambda x: x * 2)(jax.device_put(np.arange(4), device))
            self.assertEqual(y.devices(), {device})
            np.testing.assert_array_equal(y, [0, 2, 4, 6])

    def test_an_array_is_sharded_and_sharded_anew(self):
        x = floats(8, 12)
        for spec in (P("x", "y"), P("y"), P(None, ("x", "y")), P(("y", "x"))):
            y = jax.device_put(x, NamedSharding(mesh("x", "y", shape=(2, 2)), spec))
            np.testing.assert_array_equal(y, x)
            np.testing.assert_array_equal(jax.device_put(y, NamedSharding(mesh("i"), P(None, "i"))), x)

    def test_a_donated_array_is_gone_on_all_devices(self):
        place = NamedSharding(mesh("i"), P("i"))
        for shardings in ({"out_shardings": place}, {}):  # JAX names the result that has its place, or none
            x = jax.device_put(floats(8, 12), place)
            addresses = [shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards]
            y = jax.jit(lambda x: x * 2, donate_argnums=0, **shardings)(x)
            self.assertTrue(x.is_deleted())
            np.testing.assert_array_equal(y, 2 * floats(8, 12))
            if shardings:
                self.assertEqual([shard.data.unsafe_buffer_pointer() for shard in y.addressable_shards], addresses)


class SomeOfTheDevices(unittest.TestCase):
    """Two or three of four chips, no neighbours or in another order than theirs."""

    def setUp(self):
        devices = jax.devices()
        self.pairs = ((devices[1], devices[3]), (devices[3], devices[0]), (devices[2], devices[1]))

    def test_manual_computations(self):
        x, w = floats(8, 16), floats(16, 8)
        for pair in self.pairs:
            over = mesh("i", shape=(2,), devices=pair)
            f = manual(lambda x, w: lax.psum(x @ w, "i") + lax.axis_index("i"), (P(None, "i"), P("i")), P("i"), over)
            y = f(x, w)
            self.assertEqual(y.devices(), set(pair))
            np.testing.assert_allclose(y, np.concatenate([x @ w, x @ w + 1]), atol=0.05)
            np.testing.assert_array_equal(manual(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]), P("i"), P("i"), over)(x), np.roll(x, 4, 0))
            np.testing.assert_array_equal(jax.pmap(lambda x: lax.psum(x, "i"), "i", devices=pair)(x[:2]), np.tile(x[0] + x[1], (2, 1)))

    def test_programs_of_whole_arrays(self):
        x, w = floats(8, 16), floats(16, 8)
        for pair in self.pairs:
            over = mesh("i", shape=(2,), devices=pair)
            f = jax.jit(lambda x, w: jnp.tanh(x @ w) + 1, out_shardings=NamedSharding(over, P("i")))
            args = jax.device_put(x, NamedSharding(over, P(None, "i"))), jax.device_put(w, NamedSharding(over, P("i")))
            y = f(*args)
            self.assertEqual([shard.device for shard in y.addressable_shards], list(pair))
            self.assertEqual(f.lower(*args).compile().cost_analysis()["gathered programs"], 0)
            np.testing.assert_allclose(y, np.tanh(x @ w) + 1, atol=0.05)

    def test_one_device_beside_a_program_of_the_others(self):
        x = floats(16, 16)
        three = jax.device_put(x, jax.devices()[3])
        pair = jax.device_put(x, NamedSharding(mesh("i", shape=(2,), devices=jax.devices()[:2]), P("i")))
        f = jax.jit(lambda x: x @ x)
        alone, together = f(three), f(pair)
        self.assertEqual((alone.devices(), together.devices()), ({jax.devices()[3]}, set(jax.devices()[:2])))
        np.testing.assert_allclose(alone, x @ x, atol=0.1)
        np.testing.assert_allclose(together, x @ x, atol=0.1)
        with self.assertRaisesRegex(ValueError, "incompatible devices"):
            jax.jit(jnp.add)(three, pair)

    def test_arrays_go_from_device_to_device(self):
        x = floats(8, 12)
        here = jax.device_put(x, jax.devices()[0])
        for place in (jax.devices()[3], jax.devices()[1], jax.devices()[0]):
            here = jax.device_put(here, place)
            self.assertEqual(here.devices(), {place})
            np.testing.assert_array_equal(here, x)
        for pair in self.pairs:
            place = NamedSharding(mesh("i", shape=(2,), devices=pair), P("i"))
            here = jax.device_put(here, place)
            self.assertEqual(here.sharding, place)
            np.testing.assert_array_equal(here, x)

    def test_an_array_is_made_of_those_of_some_devices(self):
        x = floats(8, 12)
        for pair in self.pairs:
            place = NamedSharding(mesh("i", shape=(2,), devices=pair), P("i"))
            parts = [jax.device_put(x[4 * i : 4 * i + 4], device) for i, device in enumerate(pair)]
            y = jax.make_array_from_single_device_arrays((8, 12), place, parts)
            np.testing.assert_array_equal(y, x)
            np.testing.assert_array_equal(jax.jit(lambda y: y + 1)(y), x + 1)

    def test_a_mesh_of_three(self):
        over = mesh("i", shape=(3,), devices=[jax.devices()[i] for i in (3, 1, 2)])
        x = floats(9, 4)
        np.testing.assert_allclose(manual(lambda x: lax.psum(x, "i"), P("i"), P(), over)(x), x.reshape(3, 3, 4).sum(0), atol=1e-5)
        np.testing.assert_allclose(jax.jit(lambda x: x.sum(0))(jax.device_put(x, NamedSharding(over, P("i")))), x.sum(0), atol=1e-5)


class Manual(unittest.TestCase):
    """Each device runs the function on its part."""

    def test_pmap_takes_the_mean_of_gradients(self):
        w, x = floats(6), floats(4, 3, 6)
        with jax.default_matmul_precision("highest"):
            gradient = jax.pmap(lambda w, x: lax.pmean(jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w), "i"), "i",
                                in_axes=(None, 0))(w, x)
        wanted = np.mean([2 * part.T @ (part @ w) for part in x], 0)
        np.testing.assert_allclose(gradient, np.broadcast_to(wanted, (4, 6)), rtol=1e-4)

    def test_sums_and_extremes(self):
        x = floats(8, 3)
        parts = x.reshape(4, 2, 3)
        for function, wanted in ((lax.psum, parts.sum(0)), (lax.pmax, parts.max(0)), (lax.pmin, parts.min(0)),
                                 (lax.pmean, parts.mean(0))):
            np.testing.assert_allclose(manual(lambda a, f=function: f(a, "i"), P("i"), P())(x), wanted, rtol=1e-6)

    def test_a_sum_of_bf16_and_of_integers(self):
        for dtype in (jnp.bfloat16, np.int32, np.uint8):
            x = np.arange(8).astype(dtype)
            y = manual(lambda a: lax.psum(a, "i"), P("i"), P())(x)
            np.testing.assert_array_equal(np.asarray(y), x.reshape(4, 2).sum(0))

    def test_gather_scatter_exchange_and_permutation(self):
        x = floats(8, 16)
        gathered = manual(lambda a: lax.all_gather(a, "i", tiled=True) * 1, P("i"), P("i"))(x)
        np.testing.assert_array_equal(gathered, np.concatenate([x] * 4))
        stacked = manual(lambda a: lax.all_gather(a, "i") * 1, P("i"), P("i"))(x)
        np.testing.assert_array_equal(stacked, np.concatenate([x.reshape(4, 2, 16)] * 4))
        scattered = manual(lambda a: lax.psum_scatter(a, "i", scatter_dimension=1, tiled=True), P("i"), P(None, "i"))(x)
        np.testing.assert_allclose(scattered, x.reshape(4, 2, 16).sum(0), rtol=1e-6)
        ring = [(k, (k + 1) % 4) for k in range(4)]
        np.testing.assert_array_equal(manual(lambda a: lax.ppermute(a, "i", ring), P("i"), P("i"))(x), np.roll(x, 2, 0))
        some = manual(lambda a: lax.ppermute(a, "i", [(3, 0)]), P("i"), P("i"))(x)
        np.testing.assert_array_equal(some, np.concatenate([x[6:], np.zeros((6, 16), np.float32)]))
        np.testing.assert_array_equal(manual(lambda a: lax.all_to_all(a, "i", 1, 0, tiled=True), P("i"), P(None, "i"))(x), x)

    def test_each_device_knows_its_place_on_each_axis(self):
        both = mesh("x", "y", shape=(2, 2))
        y = manual(lambda: (10 * lax.axis_index("x") + lax.axis_index("y"))[None, None], (), P("x", "y"), both)()
        np.testing.assert_array_equal(y, [[0, 1], [10, 11]])

    def test_results_lie_as_the_function_says(self):
        both = mesh("x", "y", shape=(2, 2))
        y = manual(lambda a: lax.all_gather(a, "y", axis=1, tiled=True), P("x", "y"), P("x", "y"), both)(floats(4, 6))
        self.assertEqual([shard.data.shape for shard in y.addressable_shards], [(2, 6)] * 4)

    def test_a_constraint_on_a_result_is_where_it_lies(self):
        place = NamedSharding(mesh("i"), P(None, "i"))
        y = jax.jit(lambda x: lax.with_sharding_constraint(x + 1, place))(jax.device_put(floats(8, 12), place))
        self.assertTrue(y.sharding.is_equivalent_to(place, 2))
        np.testing.assert_array_equal(y, floats(8, 12) + 1)

    def test_a_constraint_that_cuts_unevenly_leaves_a_result_whole(self):
        place = NamedSharding(mesh("i"), P("i"))
        y = jax.jit(lambda x: lax.with_sharding_constraint(x[:6], place))(jax.device_put(floats(8, 3), place))
        np.testing.assert_array_equal(y, floats(8, 3)[:6])

    def test_one_axis_of_two_is_summed(self):
        x = floats(4, 6)
        both = mesh("x", "y", shape=(2, 2))
        y = manual(lambda a: lax.psum(a, "y"), P("x", "y"), P("x"), both)(x)
        np.testing.assert_allclose(y, x[:, :3] + x[:, 3:], rtol=1e-6)

    def test_devices_in_another_order_than_the_slice(self):
        order = [jax.devices()[k] for k in (2, 0, 3, 1)]
        x = floats(8, 3)
        over = mesh("i", devices=order)
        y = manual(lambda a: a + lax.axis_index("i"), P("i"), P("i"), over)(jax.device_put(x, NamedSharding(over, P("i"))))
        np.testing.assert_array_equal(y, x + np.repeat(np.arange(4), 2)[:, None].astype(np.float32))

    def test_loops_whose_turns_differ_from_device_to_device(self):
        def function(a):
            return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] * 2), (lax.axis_index("i"), a))[1]

        np.testing.assert_array_equal(manual(function, P("i"), P("i"))(np.ones(4, np.float32)), [1, 2, 4, 8])

    def test_a_ring_of_exchanges_in_a_loop(self):
        ring = [(k, (k + 1) % 4) for k in range(4)]

        def function(a):
            total, _ = lax.fori_loop(0, 4, lambda _, c: (c[0] + c[1], lax.ppermute(c[1], "i", ring)), (a * 0, a))
            return total

        x = floats(4, 3)
        np.testing.assert_allclose(manual(function, P("i"), P("i"))(x), np.broadcast_to(x.sum(0), (4, 3)), rtol=1e-5)

    def test_results_are_the_same_in_every_run(self):
        x = floats(8, 64)
        f = manual(lambda a: lax.psum(jnp.sin(a), "i"), P("i"), P())
        first = np.asarray(f(x))
        for _ in range(5):
            np.testing.assert_array_equal(f(x), first)


class Automatic(unittest.TestCase):
    """Arguments and results are sharded; the program is one of whole arrays."""

    def test_data_and_model_parallel_layers(self):
        x, a, b = floats(8, 16), floats(16, 12), floats(12, 16)
        both = mesh("data", "model", shape=(2, 2))
        place = lambda *spec: NamedSharding(both, P(*spec))  # noqa: E731
        f = jax.jit(lambda x, a, b: jax.nn.relu(x @ a) @ b, out_shardings=place("data"),
                    in_shardings=(place("data"), place(None, "model"), place("model")))
        with jax.default_matmul_precision("highest"):
            y = f(x, a, b)
        self.assertEqual(y.sharding.spec, P("data"))
        np.testing.assert_allclose(y, np.maximum(x @ a, 0) @ b, rtol=1e-4, atol=1e-5)

    def test_a_training_step_keeps_its_parameters_sharded_as_asked(self):
        w, x = floats(16, 4), floats(8, 16)
        over = mesh("i")
        place = NamedSharding(over, P("i"))
        step = jax.jit(lambda w, x: w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), out_shardings=place)
        with jax.default_matmul_precision("highest"):
            y = step(jax.device_put(w, place), jax.device_put(x, place))
        self.assertTrue(y.sharding.is_equivalent_to(place, 2))
        np.testing.assert_allclose(y, w - 0.1 * 2 * x.T @ (x @ w) / 32, rtol=1e-4, atol=1e-5)

    def test_results_that_nothing_is_said_of_lie_as_they_are_computed(self):
        place = NamedSharding(mesh("i"), P("i"))
        x = jax.device_put(floats(8, 4), place)
        y, total = jax.jit(lambda x: (x * 2, x.sum()))(x)
        self.assertTrue(y.sharding.is_equivalent_to(place, 2))
        self.assertTrue(total.sharding.is_fully_replicated)
        self.assertEqual([shard.data.shape for shard in y.addressable_shards], [(2, 4)] * 4)
        np.testing.assert_array_equal(y, floats(8, 4) * 2)

    def test_what_partitioning_finds_hard_is_right(self):
        x = floats(8, 16)
        over = mesh("i")
        put = lambda a, *spec: jax.device_put(a, NamedSharding(over, P(*spec)))  # noqa: E731
        np.testing.assert_array_equal(jax.jit(lambda x: x[::-1])(put(x, "i")), x[::-1])
        np.testing.assert_array_equal(jax.jit(lambda t, k: t[k])(put(x, "i"), np.array([5, 1, 7])), x[[5, 1, 7]])
        np.testing.assert_allclose(jax.jit(lambda x: (x[:7] * 2).sum(0))(put(x, "i")), (x[:7] * 2).sum(0), rtol=1e-5)
        np.testing.assert_array_equal(jax.jit(lambda x: jnp.sort(x, 0))(put(x, "i")), np.sort(x, 0))


class Examples(unittest.TestCase):
    """host/examples/jax/data_parallel.py against one device of the slice, from the same seed."""

    STEPS = 5

    def test_parts_of_a_batch_on_all_devices_learn_as_the_batch_on_one(self):
        with jax.default_matmul_precision("highest"):
            one = digits_cnn.train(self.STEPS, SEED)[0]
            for train in (data_parallel.by_pmap, data_parallel.by_pjit):
                many = train(self.STEPS, SEED)
                self.assertEqual(len(many), self.STEPS)
                np.testing.assert_allclose(many, one, rtol=1e-4)


class Refusals(unittest.TestCase):
    def test_a_mesh_of_one_device(self):
        x = floats(4, 6)

        def function(x):
            gathered = lax.all_gather(lax.psum(x, "i"), "i", tiled=True) + lax.axis_index("i")
            return lax.ppermute(lax.all_to_all(gathered, "i", 0, 1, tiled=True), "i", [(0, 0)])

        made = manual(function, P("i"), P("i"), mesh("i", shape=(1,), devices=jax.devices()[2:3]))(x)
        np.testing.assert_array_equal(made, x)

    def test_groups_of_different_sizes_are_refused_by_name(self):
        f = jax.pmap(lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1, 2, 3]]), "i")
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, r"UNIMPLEMENTED: operator vhlo\.all_reduce.*groups of devices of different sizes"):
            f(floats(4, 2))

    def test_sums_that_are_left_to_be_made_are_made_when_they_are_read(self):
        over = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2, devices=jax.devices())
        with jax.set_mesh(over):
            for kind in (np.float32, np.int32, jnp.bfloat16):
                a, b = np.arange(-8, 8).reshape(4, 4).astype(kind), np.arange(8).reshape(4, 2).astype(kind)

                def left(a, b):
                    return jnp.einsum("ab,bc->ac", a, b, out_sharding=P("x", None, unreduced={"y"}))

                y = jax.jit(left)(jax.device_put(a, P("x", "y")), jax.device_put(b, P("y", None)))
                self.assertEqual(y.sharding.spec.unreduced, {"y"})
                rows = [0, 0]
                for shard in y.addressable_shards:
                    rows[list(over.devices.flat).index(shard.device) // 2] += np.asarray(shard.data)
                np.testing.assert_array_equal(np.concatenate(rows), a @ b)
                whole = jax.jit(lambda y: jax.sharding.reshard(y + y, P("x", None)))(y)
                np.testing.assert_array_equal(whole, 2 * (a @ b))
            # Each of two devices has one of two parts, and each part is there twice.
            values = [np.array([n, 10 * n, -n], np.float32) for n in (1, 2)]
            arrays = [jax.device_put(values[i // 2], device) for i, device in enumerate(over.devices.flat)]
            made = jax.make_array_from_single_device_arrays((3,), NamedSharding(over, P(None, unreduced={"x"})), arrays)
            np.testing.assert_array_equal(jax.jit(lambda x: jax.sharding.reshard(x, P(None)))(made), [3, 30, -3])

    def test_a_slice_that_does_not_exist_is_refused_with_its_name(self):
        import subprocess
        result = subprocess.run([sys.executable, "-c", "import jax; jax.devices()"], capture_output=True, text=True, timeout=60,
                                env=os.environ | {"WEFT_CHIPS": "nano-0x7", "PYTHONPATH": str(HOST / "python")})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("WEFT_CHIPS names 'nano-0x7'", result.stderr)


if __name__ == "__main__":
    unittest.main()
