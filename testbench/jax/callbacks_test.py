"""Callbacks of JAX on Weft: what they compute, their order, and what goes wrong in them.

environment: WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY; the chips are a slice of four
"""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

HOST_PYTHON = str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python")
sys.path.insert(0, HOST_PYTHON)
os.environ["JAX_PLATFORMS"] = "weft,cpu"
os.environ["WEFT_CHIPS"] = "nano-2x2"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax._src import dispatch  # noqa: E402
from jax.experimental import io_callback  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

F32 = np.float32
SCALAR = jax.ShapeDtypeStruct((), F32)
X = np.arange(4, dtype=F32)


def like(x) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def double(x):
    return 2 * np.asarray(x)


def doubled(x, **options):
    return jax.pure_callback(double, like(x), x, **options)


class Seen(list):
    """What a callback has been given."""

    __hash__ = object.__hash__  # JAX asks for it

    def __call__(self, *values):
        self.append(values[0].item() if len(values) == 1 else tuple(value.item() for value in values))


class Values(unittest.TestCase):
    def test_of_each_type_and_shape(self):
        for dtype in (np.bool_, np.int8, np.uint16, np.int32, np.uint32, np.float16, jnp.bfloat16, F32):
            for shape in ((), (3,), (2, 0), (2, 3, 5)):
                with self.subTest(dtype=dtype, shape=shape):
                    x = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
                    given = []
                    y = jax.jit(lambda x, given=given: jax.pure_callback(lambda x: (given.append(np.asarray(x)), x)[1], like(x), x))(x)
                    np.testing.assert_array_equal(np.asarray(y), x)
                    self.assertEqual((y.dtype, given[0].dtype, given[0].shape), (x.dtype, x.dtype, shape))

    def test_several_arguments_and_results_beside_device_programs(self):
        w = np.eye(4, dtype=F32)
        f = jax.jit(lambda x: jax.pure_callback(lambda a, b: (a + b["b"], np.int32(7)), (like(x), jax.ShapeDtypeStruct((), np.int32)), x @ w, {"b": x}))
        total, seven = jax.jit(lambda x: jax.tree.map(lambda v: v + 1, f(x @ w)))(np.ones((4, 4), F32))
        np.testing.assert_array_equal(total, np.full((4, 4), 3))
        self.assertEqual(int(seven), 8)

    def test_without_arguments(self):
        self.assertEqual(float(jax.jit(lambda: jax.pure_callback(lambda: F32(5), SCALAR) + 1)()), 6)

    def test_under_vmap(self):
        for method in ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all"):
            with self.subTest(method):
                np.testing.assert_array_equal(jax.jit(jax.vmap(lambda x, m=method: doubled(x, vmap_method=m)))(X), 2 * X)

    def test_in_branches_and_loops(self):
        branch = jax.jit(lambda p, x: jax.lax.cond(p, doubled, lambda x: x, x))
        self.assertEqual([float(branch(p, F32(3))) for p in (True, False)], [6, 3])
        self.assertEqual(float(jax.jit(lambda n, x: jax.lax.fori_loop(0, n, lambda i, x: doubled(x), x))(5, F32(1))), 32)
        self.assertEqual(float(jax.jit(lambda x: jax.lax.while_loop(lambda x: doubled(x) < 64, lambda x: x * 2, x))(F32(1))), 32)
        last, all_of_them = jax.jit(lambda xs: jax.lax.scan(lambda c, x: (c + doubled(x), c), F32(0), xs))(X)
        self.assertEqual((float(last), np.asarray(all_of_them).tolist()), (12, [0, 0, 2, 6]))

    def test_a_gradient_of_what_surrounds_it(self):
        f = jax.custom_vjp(doubled)
        f.defvjp(lambda x: (doubled(x), None), lambda _, g: (doubled(g),))
        w = np.arange(16, dtype=F32).reshape(4, 4)
        loss = lambda x, f: jnp.sum(f(w @ x) ** 2)  # noqa: E731
        ours = jax.jit(jax.grad(lambda x: loss(x, f)))(X)
        np.testing.assert_allclose(ours, jax.grad(lambda x: loss(x, lambda x: 2 * x))(jax.device_put(X, jax.devices("cpu")[0])), rtol=1e-2)

    def test_loops_without_one_are_device_programs_as_before(self):
        w = np.eye(8, dtype=F32)
        program = lambda call: jax.jit(lambda n, x: call(jax.lax.fori_loop(0, n, lambda i, x: x @ w, x))).lower(3, w).compile()  # noqa: E731
        self.assertEqual(program(lambda x: x).cost_analysis()["device programs"], program(doubled).cost_analysis()["device programs"])


class Order(unittest.TestCase):
    def test_ordered_calls_keep_their_order_in_loops_and_branches_and_between_programs(self):
        seen = Seen()
        call = lambda x: io_callback(seen, None, x, ordered=True)  # noqa: E731

        @jax.jit
        def f(n):
            call(n)
            jax.lax.fori_loop(0, 3, lambda i, _: (call(10 * n + i), jax.lax.cond(i == 1, lambda: call(-i), lambda: None), 0)[2], 0)
            call(n + 5)

        for n in (1, 2):
            f(n)
        jax.effects_barrier()
        self.assertEqual(seen, [1, 10, 11, -1, 12, 6, 2, 20, 21, -1, 22, 7])

    def test_calls_without_results_are_not_left_out(self):
        seen = Seen()
        jax.jit(lambda x: (jax.debug.callback(seen, x), io_callback(seen, None, x + 1), jax.lax.cond(x > 0, lambda: jax.debug.callback(seen, x + 2), lambda: None)) and x)(F32(1))
        jax.effects_barrier()
        self.assertEqual(sorted(seen), [1, 2, 3])

    def test_equal_calls_are_made_each(self):
        seen = Seen()
        jax.jit(lambda x: [io_callback(seen, None, x) for _ in range(3)] and x)(F32(1))
        jax.effects_barrier()
        self.assertEqual(seen, [1, 1, 1])

    def test_debug_print_in_a_loop_with_products(self):
        done = child("""
f = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, x: (jax.debug.print("turn {i}: {x}", i=i, x=x[0, 0], ordered=True), x @ (2 * np.eye(2, dtype=np.float32)))[1], x))
f(np.eye(2, dtype=np.float32))""")  # Python ends before the program does
        self.assertEqual((done.stdout.splitlines(), done.returncode), (["turn 0: 1.0", "turn 1: 2.0", "turn 2: 4.0"], 0), done.stderr)


class SeveralDevices(unittest.TestCase):
    def test_shard_map_and_pmap_call_on_each_device(self):
        seen = Seen()
        mesh = Mesh(np.array(jax.devices("weft")), "x")

        def f(x):
            jax.debug.callback(seen, x[0])
            return jax.lax.psum(doubled(x), "x") + x

        for g in (jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))), lambda x: jax.pmap(f, "x")(x.reshape(4, 1)).reshape(4)):
            seen.clear()
            np.testing.assert_array_equal(g(X), 12 + X)
            jax.effects_barrier()
            self.assertEqual(sorted(seen), [0, 1, 2, 3])

    def test_a_program_of_whole_arrays_calls_once(self):
        seen = Seen()
        x = jax.device_put(X, NamedSharding(Mesh(np.array(jax.devices("weft")), "x"), P("x")))
        f = jax.jit(lambda x: (jax.debug.callback(seen, x.sum()), doubled(x) + 1)[1])
        np.testing.assert_array_equal(f(x), 2 * X + 1)
        jax.effects_barrier()
        self.assertEqual((seen, f.lower(x).compile().cost_analysis()["gathered programs"]), ([6], 1))

    def test_one_that_fails_on_one_device_fails_the_program(self):
        def one(x):
            if x[0] == 2:
                raise ValueError("not two")
            return x

        mesh = Mesh(np.array(jax.devices("weft")), "x")
        f = jax.jit(jax.shard_map(lambda x: jax.lax.psum(jax.pure_callback(one, like(x), x), "x"), mesh=mesh, in_specs=P("x"), out_specs=P()))
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "ValueError: not two"):
            f(X).block_until_ready()
        np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(X), X + 1)

    def test_parts_of_whole_arrays_are_refused(self):
        with self.assertRaisesRegex(NotImplementedError, "partitioned"):
            jax.jit(lambda x: jax.debug.callback(print, x, partitioned=True))(X)


class Wrong(unittest.TestCase):
    def fails(self, text: str, function, result=SCALAR):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, rf"INTERNAL: callback \(.*callbacks_test\.py:\d+\): {text}"), self.assertNoLogs("absl"):
            jax.jit(lambda x: jax.pure_callback(function, result, x) + 1)(F32(1)).block_until_ready()
        self.assertEqual(float(jax.jit(doubled)(F32(1))), 2)

    def test_an_exception_is_an_exception_with_its_text(self):
        def function(x):
            raise KeyError("no such thing")

        self.fails("KeyError: 'no such thing'", function)

    def test_so_is_the_end_of_the_program(self):
        self.fails("SystemExit: 3", lambda x: sys.exit(3))

    def test_a_text_that_is_too_long_is_cut(self):
        def function(x):
            raise ValueError("é" * 10000)

        self.fails("ValueError: é+", function)

    def test_a_wrong_result(self):
        self.fails(r"RuntimeError: its result 0 is float32\[2\]; float32\[\] is expected", lambda x: np.zeros(2, F32))
        self.fails(r"RuntimeError: its result 0 is int32\[\]; float32\[\] is expected", lambda x: np.int32(1))
        self.fails("RuntimeError: it returns 2 arrays; 1 are expected", lambda x: (x, x))

    def test_an_effect_that_fails_is_told_at_the_barrier(self):
        def function(x):
            raise ValueError("in a loop")

        jax.jit(lambda: jax.lax.fori_loop(0, 3, lambda i, c: (io_callback(function, None, i), c)[1], 0))()
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "ValueError: in a loop"):
            jax.effects_barrier()
        dispatch.runtime_tokens.clear()  # or it is told again

    def test_work_on_the_chip_that_waits_is_refused(self):
        device = jax.devices("weft")[0]
        self.fails(".*a callback starts work on the chip that waits for the callback", lambda x: np.asarray(jax.jit(jnp.sin)(jax.device_put(x, device))))

    def test_a_program_with_one_is_not_kept(self):
        from jax.experimental import serialize_executable

        with self.assertRaisesRegex(Exception, "functions of this process"):
            serialize_executable.serialize(jax.jit(doubled).lower(X).compile())

    def test_ctrl_c_ends_the_program_when_the_launch_has_ended(self):
        done = child("""
import os, signal
from jax.experimental import io_callback
def function(i):
    if i == 3: os.kill(os.getpid(), signal.SIGINT)
try:
    jax.jit(lambda: jax.lax.fori_loop(0, 100, lambda i, c: (io_callback(function, None, i, ordered=True), c + 1)[1], 0))().block_until_ready()
    jax.effects_barrier()
except KeyboardInterrupt:
    print("interrupted", jax.jit(lambda x: x + 1)(1))""")
        self.assertEqual((done.stdout, done.returncode), ("interrupted 2\n", 0), done.stderr)

    def test_python_ends_while_a_call_is_under_way(self):
        done = child("""
import atexit, threading, time
go, ending = threading.Event(), threading.Event()
def function(x):
    go.wait()
    return x
y = jax.jit(lambda x: jax.pure_callback(function, x, jax.pure_callback(function, x, x)))(np.float32(1))
threading.Thread(target=lambda: (ending.wait(), time.sleep(0.2), go.set()), daemon=True).start()
atexit.register(ending.set)
print("end")""")
        self.assertEqual((done.stdout, done.returncode), ("end\n", 0), done.stderr)


class Lifetime(unittest.TestCase):
    def test_functions_go_with_their_programs(self):
        class Function:
            def __call__(self, x):
                return np.asarray(x)

        def run() -> tuple:
            function = Function()
            return jax.jit(lambda x: jax.pure_callback(function, like(x), x))(X), weakref.ref(function)

        y, gone = run()
        gc.collect()  # the program may be under way
        np.testing.assert_array_equal(y, X)
        jax.clear_caches()
        for _ in range(6000):  # the chip's thread leaves the program behind its results
            gc.collect()
            if gone() is None:
                break
            time.sleep(0.01)
        self.assertIsNone(gone())

    def test_threads_of_python_call_at_once(self):
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda i, x: doubled(x) - x + 1, x))
        found = {}
        threads = [threading.Thread(target=lambda n=n: found.update({n: float(f(F32(n)))})) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {n: n + 20 for n in range(8)})


def child(code: str) -> subprocess.CompletedProcess:
    with tempfile.TemporaryFile() as nothing:
        return subprocess.run([sys.executable, "-c", "import jax, numpy as np\n" + code], stdin=nothing, capture_output=True, text=True, timeout=120,
                              check=False, env=os.environ | {"PYTHONPATH": HOST_PYTHON, "WEFT_CHIPS": "nano"})


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
