"""Programs that each chip runs on its part, on a slice of eight, against JAX on eight devices of the CPU.

environment: WEFT_SIM, WEFT_PJRT_LIBRARY, SHARDED_PROGRAMS (24: random ones)
"""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
os.environ["JAX_PLATFORMS"] = "weft,cpu"
os.environ["WEFT_CHIPS"] = "nano-4x2"
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8 --xla_cpu_collective_call_terminate_timeout_seconds=600"
os.environ["NPROC"] = "64"  # threads of the CPU's eight devices, which wait for each other in them

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import weft  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

SEED, PROGRAMS = 21, int(os.environ.get("SHARDED_PROGRAMS", "24"))
AXES = {"x": 4, "y": 2}


def mesh(platform: str) -> Mesh:
    return Mesh(np.array(jax.devices(platform)).reshape(tuple(AXES.values())), tuple(AXES))


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng([SEED, *shape]).integers(-99, 99, shape, dtype=np.int32)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng([SEED, *shape]).standard_normal(shape).astype(np.float32)


def collectives(axes, count: int, ring: list) -> tuple:
    return (lambda a: lax.psum(a, axes), lambda a: lax.pmax(a, axes), lambda a: lax.pmin(a, axes),
            lambda a: lax.all_gather(a, axes, axis=1), lambda a: lax.all_gather(a, axes, axis=0, tiled=True),
            lambda a: lax.psum_scatter(a, axes, scatter_dimension=1, tiled=True),
            lambda a: lax.all_to_all(a, axes, 1, 0, tiled=True), lambda a: lax.ppermute(a, axes, ring),
            lambda a: lax.ppermute(a, axes, [(count - 1, 0)]), lambda a: a + lax.axis_index(axes))


class Sharded(unittest.TestCase):
    def on(self, platform: str, function, arguments, over=None, **shardings):
        """The results as arrays, and what compiling it told. Shardings are PartitionSpecs."""
        over = over or mesh(platform)
        place = lambda tree: jax.tree.map(lambda spec: NamedSharding(over, spec), tree, is_leaf=lambda x: isinstance(x, P))  # noqa: E731
        shardings = {name: place(specs) for name, specs in shardings.items()}
        if "in_shardings" in shardings:
            arguments = [jax.device_put(a, s) for a, s in zip(arguments, shardings["in_shardings"], strict=True)]
        compiled = jax.jit(function, **shardings).lower(*arguments).compile()
        return jax.tree.map(np.asarray, compiled(*arguments)), compiled.cost_analysis()

    def check(self, make, arguments, over=None, **shardings):
        """make(mesh) is the function. What compiling for Weft told."""
        results = {}
        for platform in ("weft", "cpu"):
            own = over(platform) if over else mesh(platform)
            results[platform], cost = self.on(platform, make(own), arguments, own, **shardings)
            if platform == "weft":
                told = cost
        for ours, reference in zip(jax.tree.leaves(results["weft"]), jax.tree.leaves(results["cpu"]), strict=True):
            np.testing.assert_array_equal(ours, reference)
        self.assertEqual(told["gathered programs"], 0)
        return told


class Manual(Sharded):
    def manual(self, function, arguments, inputs, outputs):
        return self.check(lambda over: jax.shard_map(function, mesh=over, in_specs=inputs, out_specs=outputs, check_vma=False), arguments)

    def test_each_collective_along_each_axis_and_both(self):
        x = integers(32, 16)
        for axes in ("x", "y", ("x", "y"), ("y", "x")):
            names = (axes,) if isinstance(axes, str) else axes
            count = int(np.prod([AXES[name] for name in names]))
            ring = [(k, (k + 1) % count) for k in range(count)]
            for function in collectives(axes, count, ring):
                told = self.manual(lambda a, f=function: f(a)[None, None], (x,), P("x", "y"), P("x", "y"))
                self.assertLessEqual(told["collectives"], 1)

    def test_collectives_of_each_type(self):
        for dtype in (np.int8, np.uint8, np.int16, np.uint32, np.float16, jnp.bfloat16, np.float32, np.bool_):
            x = (integers(8, 24) % 4).astype(dtype)
            self.manual(lambda a: lax.psum(a.astype(np.int32) if a.dtype == bool else a, "x"), (x,), P("x"), P())
            self.manual(lambda a: lax.all_gather(a, ("x", "y"), tiled=True), (x,), P(("x", "y")), P())
            self.manual(lambda a: lax.ppermute(a, "y", [(0, 1), (1, 0)]), (x,), P("x", "y"), P("x", "y"))

    def test_places_along_an_axis_of_a_computation_over_some_axes(self):
        for name, spec in (("x", P("x")), ("y", P("y"))):
            self.check(lambda over, n=name, s=spec: jax.shard_map(lambda a: a + lax.axis_index(n), mesh=over, in_specs=s, out_specs=s,
                                                                  axis_names={n}, check_vma=False), (integers(8, 2),))

    def test_a_manual_computation_in_another_one(self):
        def make(over):
            def inner(a, b):
                return lax.psum(a, "y") + lax.axis_index("y"), lax.all_gather(b, "y", axis=1, tiled=True)

            def outer(a):
                of_y = jax.shard_map(inner, mesh=jax.sharding.get_abstract_mesh(), in_specs=(P(None, "y"), P(None, "y")), out_specs=(P("y"), P()),
                                     axis_names={"y"}, check_vma=False)
                b, c = of_y(a, a * 3)
                return lax.psum(b, "x") + c[:, ::2].repeat(2, 0) + lax.axis_index("x")

            return jax.shard_map(outer, mesh=over, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False)

        for spec in (P("x"), P("x", "y"), P()):
            told = self.check(make, (integers(8, 8),), in_shardings=(spec,), out_shardings=P("x"))
            self.assertEqual(told["replicated operators"], 0)

    def test_a_manual_computation_in_a_loop_or_branch_of_another_one(self):
        def make(over, turns):
            def inner(a, k):
                return lax.psum(a, "y") + lax.axis_index("y") * k + lax.axis_index("x")

            def outer(a):
                of_y = jax.shard_map(inner, mesh=jax.sharding.get_abstract_mesh(), in_specs=(P(None, "y"), P()), out_specs=P(None, "y"),
                                     axis_names={"y"}, check_vma=False)
                last = turns + lax.axis_index("x") if turns else 0
                a = lax.while_loop(lambda c: c[0] < last, lambda c: (c[0] + 1, of_y(c[1], c[0])), (0, a))[1]
                return lax.cond(lax.axis_index("x") % 2 == 0, lambda a: of_y(a, 3), lambda a: -a, a)

            return jax.shard_map(outer, mesh=over, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False)

        for turns in (0, 2):  # chips that differ in x take different numbers of turns
            self.check(lambda over, t=turns: make(over, t), (integers(8, 8),), in_shardings=(P("x"),), out_shardings=P("x"))

    def test_sums_are_added_in_the_documented_order(self):
        """docs/collectives.md: of block r first what comes from below, then rank r's own, then what comes from above."""
        x = floats(4, 64)
        order = sorted(jax.devices("weft"), key=lambda device: device.coords[1::-1])  # rows of four along the slice's first axis
        over = Mesh(np.array(order).reshape(2, 4), ("y", "x"))
        function = jax.shard_map(lambda a: lax.psum(a[0], "x"), mesh=over, in_specs=P("x"), out_specs=P(), check_vma=False)
        made, told = self.on("weft", function, (x,), over)
        self.assertEqual(told["collectives"], 1)
        wanted = np.empty(64, np.float32)
        for r in range(4):
            parts, sums = x[:, 16 * r:16 * r + 16], []
            for side in (range(r), range(3, r, -1)):
                total = None
                for rank in side:
                    total = parts[rank] if total is None else total + parts[rank]
                sums.append(total)
            total = parts[r] if sums[0] is None else sums[0] + parts[r]
            wanted[16 * r:16 * r + 16] = total if sums[1] is None else total + sums[1]
        np.testing.assert_array_equal(made, wanted)

    def test_collectives_in_loops(self):
        ring = [(k, (k + 1) % 4) for k in range(4)]

        def function(a):
            return lax.fori_loop(0, 4, lambda k, c: (c[0] + c[1] * (k + 1), lax.ppermute(c[1], "x", ring)), (a * 0, a))[0]

        self.manual(function, (integers(16, 3),), P("x"), P("x"))
        self.manual(lambda a: lax.fori_loop(0, 3, lambda _, c: lax.pmax(c + lax.axis_index("y"), "y"), a), (integers(16, 4),), P("x", "y"), P("x"))

    def test_manual_computations_in_loops_and_over_some_axes(self):
        def turns(over):
            part = jax.shard_map(lambda a: a + lax.psum(a, "x") * lax.axis_index("y"), mesh=over, in_specs=P("x", "y"), out_specs=P("x", "y"))
            return lambda a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, part(c[1])), (jnp.int32(0), a))[1]

        self.check(turns, (integers(16, 8),), in_shardings=(P("x"),), out_shardings=P("y"))
        for axis in AXES:
            self.check(lambda over, axis=axis: jax.shard_map(lambda a: lax.ppermute(a * 2 + lax.psum(a, axis), axis, [(0, 1), (1, 0)]), mesh=over,
                                                             in_specs=P(axis), out_specs=P(axis), axis_names={axis}, check_vma=False),
                       (integers(16, 8),), in_shardings=(P("x", "y"),), out_shardings=P(None, "y"))

    def test_the_same_bits_and_cycles_in_every_run(self):
        x = floats(32, 64)
        f = jax.jit(jax.shard_map(lambda a, b: lax.psum(jnp.tanh(a @ b), ("x", "y")), mesh=mesh("weft"), in_specs=(P(("x", "y")), P()),
                                  out_specs=P()))
        f(x, floats(64, 16)).block_until_ready()  # the first call may take other cycles: device_counts compares it with that of another process
        seen = set()
        for _ in range(4):
            with weft.profile(operators=False) as profile:
                bits = np.asarray(f(x, floats(64, 16))).tobytes()
            programs = {program.name: sorted(launch.cycles for launch in program.launches) for program in profile.programs}
            self.assertEqual([len(cycles) for cycles in programs.values()], [8])  # the collective is in the launch of each chip
            seen.add((bits, str(programs)))
        self.assertEqual(len(seen), 1)


class Automatic(Sharded):
    def test_random_programs_in_random_parts(self):
        print(f"seed {SEED}, {PROGRAMS} programs", file=sys.stderr)
        for number in range(PROGRAMS):
            draw = np.random.default_rng([SEED, number])
            shapes = [tuple(int(n) for n in draw.choice([4, 8, 16], draw.integers(1, 4))) for _ in range(3)]

            def spec(shape, draw=draw):
                names = [None] * len(shape)
                for axis in AXES:
                    d = int(draw.integers(0, len(shape) + 1))
                    if d < len(shape) and names[d] is None and shape[d] % AXES[axis] == 0:
                        names[d] = axis
                return P(*names)

            steps = [int(step) for step in draw.integers(0, 9, 8)]
            sides = [int(side) for side in draw.integers(0, 1 << 20, 8)]

            def function(*arrays, steps=steps, sides=sides):
                values = list(arrays)
                for step, side in zip(steps, sides, strict=True):
                    x, y = values[side % len(values)], values[side // 7 % len(values)]
                    d = side % x.ndim if x.ndim else 0
                    if x.ndim == 0:
                        values.append(jnp.broadcast_to(x, (8, 4)))
                    elif step == 0:
                        values.append(x * 3 + lax.broadcasted_iota(jnp.int32, x.shape, d))
                    elif step == 1:
                        values.append(jnp.tensordot(x, y, (d, d)) if y.ndim > d and y.shape[d] == x.shape[d] and x.size * y.size < 1 << 20 else -x)
                    elif step == 2:
                        values.append(jnp.sum(x, d) if side & 1 else jnp.max(x, d, keepdims=True))
                    elif step == 3:
                        values.append(jnp.moveaxis(x, d, 0))
                    elif step == 4:
                        values.append(x.reshape(-1, 4) if x.size % 4 == 0 else x.ravel())
                    elif step == 5:
                        values.append(jnp.flip(x, d))
                    elif step == 6:
                        values.append(jnp.concatenate([x, x + 1], d)[tuple(slice(None) for _ in range(d)) + (slice(1, 1 + x.shape[d]),)])
                    elif step == 7:
                        values.append(jnp.cumsum(x, d) if side & 1 else jnp.sort(x, d))
                    else:
                        values.append(jnp.where(x > y, x, y) if x.shape == y.shape else jnp.take(x, jnp.array([1, 0]), d) if x.shape[d] > 1 else x)
                return values[-1], values[-2]

            arguments = [integers(*shape) for shape in shapes]
            outputs = jax.eval_shape(function, *arguments)
            with self.subTest(number=number):
                self.check(lambda _, f=function: f, arguments, in_shardings=tuple(spec(s) for s in shapes),
                           out_shardings=tuple(spec(o.shape) for o in outputs))

    def test_layers_in_parts_take_the_collectives_that_they_need(self):
        x, a, b = integers(16, 32), integers(32, 8), integers(8, 32)
        told = self.check(lambda _: lambda x, a, b: jnp.maximum(x @ a, 0) @ b, (x, a, b),
                          in_shardings=(P("x"), P(None, "y"), P("y")), out_shardings=P("x"))
        self.assertEqual((told["collectives"], told["replicated operators"]), (1, 0))
        told = self.check(lambda _: lambda x, a: x @ a, (x, a), in_shardings=(P(("x", "y")), P("x")), out_shardings=P(("x", "y")))
        self.assertEqual(told["collectives"], 1)  # the weights are gathered

    def test_what_has_no_rule_is_computed_by_each_chip(self):
        told = self.check(lambda _: lambda a: lax.linalg.triangular_solve(a, jnp.ones((8, 1)), left_side=True, lower=True),
                          (np.eye(8, dtype=np.float32) * 2,), in_shardings=(P("x"),), out_shardings=P("x"))
        self.assertEqual(told["replicated operators"], 1)

    def test_elements_at_computed_places(self):
        x, k = integers(16, 8), np.array([5, 1, 9, 1])
        told = self.check(lambda _: lambda x, k: x[k], (x, k), in_shardings=(P(None, "y"), P("x")), out_shardings=P("x", "y"))
        self.assertEqual((told["collectives"], told["replicated operators"]), (0, 0))
        told = self.check(lambda _: lambda x, k, u: x.at[k].add(u), (x, k, integers(4, 8)), in_shardings=(P(None, "y"), P("x"), P("x", "y")),
                          out_shardings=P(None, "y"))
        self.assertEqual((told["collectives"], told["replicated operators"]), (1, 0))
        self.check(lambda _: lambda x, k, u: x.at[k].set(u), (x, np.array([5, 1, 9, 2]), integers(4, 8)),
                   in_shardings=(P("x", "y"), P("x"), P("x", "y")), out_shardings=P("x"))
        self.check(lambda _: lambda x, k: jnp.take_along_axis(x, k[:, None], 1), (x, np.arange(16) % 8), in_shardings=(P("x", "y"), P("x")),
                   out_shardings=P("x"))
        pick = lambda x, k: jnp.take_along_axis(x, k[:, None], 1)  # noqa: E731
        for function in (pick, jax.grad(lambda x, k: jnp.sum(pick(x, k)))):  # one element of each row
            told = self.check(lambda _, f=function: f, (floats(16, 8), np.arange(16) % 8), in_shardings=(P("x"), P("x")), out_shardings=P("x"))
            self.assertEqual((told["collectives"], told["replicated operators"]), (0, 0))

    def test_loops_and_branches_of_whole_arrays(self):
        self.check(lambda _: lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 3 + c[0]), (jnp.int32(0), x))[1],
                   (integers(16, 8),), in_shardings=(P("x", "y"),), out_shardings=P("y"))
        self.check(lambda _: lambda x: lax.scan(lambda c, r: (c + r * 3, jnp.max(c)), jnp.zeros(8, jnp.int32), x), (integers(16, 8),),
                   in_shardings=(P("x", "y"),), out_shardings=(P("y"), P("x")))
        self.check(lambda _: lambda x: lax.cond(jnp.sum(x) > 0, lambda x: x * 2, lambda x: -x, x), (integers(16, 8),),
                   in_shardings=(P("x", "y"),), out_shardings=P("x", "y"))


class Sums(unittest.TestCase):
    def test_sums_that_are_left_to_be_made(self):
        over = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2, devices=jax.devices("weft"))
        with jax.set_mesh(over):
            a, b = jax.device_put(integers(8, 8), P("x", "y")), jax.device_put(integers(8, 4), P("y", None))
            f = jax.jit(lambda a, b: jnp.einsum("ab,bc->ac", a, b, out_sharding=P("x", None, unreduced={"y"})))
            self.assertEqual(f.lower(a, b).compile().cost_analysis()["gathered programs"], 0)
            y = f(a, b)
            g = jax.jit(lambda y: jax.sharding.reshard(y + y, P("x")))
            self.assertEqual(g.lower(y).compile().cost_analysis()["gathered programs"], 0)
            np.testing.assert_array_equal(np.asarray(g(y)), 2 * integers(8, 8) @ integers(8, 4))

    def test_a_manual_computation_takes_and_leaves_parts_of_sums(self):
        over = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2, devices=jax.devices("weft"))
        with jax.set_mesh(over):
            a, b = jax.device_put(integers(8, 8), P("x", "y")), jax.device_put(integers(8, 4), P("y", None))
            leave = jax.jit(jax.shard_map(lambda a, b: lax.pcast(a @ b, "y", to="unreduced"), out_specs=P("x", unreduced={"y"})))
            y = leave(a, b)
            self.assertEqual((y.sharding.spec.unreduced, leave.lower(a, b).compile().cost_analysis()["gathered programs"]), ({"y"}, 0))
            take = jax.jit(jax.shard_map(lambda y: lax.psum(y, "y"), in_specs=P("x", unreduced={"y"}), out_specs=P("x")))
            self.assertEqual(take.lower(y).compile().cost_analysis()["gathered programs"], 0)
            for whole in (take(y), jax.sharding.reshard(y, P("x"))):
                np.testing.assert_array_equal(np.asarray(whole), integers(8, 8) @ integers(8, 4))


if __name__ == "__main__":
    unittest.main()
