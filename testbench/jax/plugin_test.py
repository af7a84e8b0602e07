"""What JAX asks of a plugin beside the results of programs: devices, arrays, errors, memory, forks.

environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import os
import pathlib
import subprocess
import sys
import unittest

HOST_PYTHON = str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python")
sys.path.insert(0, HOST_PYTHON)
os.environ["JAX_PLATFORMS"] = "weft"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import serialize_executable  # noqa: E402


def child(code: str, **environment: str) -> subprocess.CompletedProcess:
    """A fresh interpreter with the plugin."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"PYTHONPATH": HOST_PYTHON} | environment)


class Devices(unittest.TestCase):
    def test_a_device_tells_its_chip(self):
        (device,) = jax.devices()
        self.assertEqual(device.platform, "weft")
        self.assertEqual(device.device_kind, f"Weft {os.environ.get('WEFT_CHIPS', 'v5e-1mxu')}")
        self.assertEqual(list(device.coords), [0, 0, 0])
        self.assertEqual(jax.default_backend(), "weft")

    def test_a_chip_that_does_not_exist_is_refused_by_name(self):
        result = child("import jax; jax.devices()", WEFT_CHIPS="v99")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("WEFT_CHIPS names 'v99'", result.stderr)

    def test_a_library_that_is_not_there_is_told_with_its_path(self):
        result = child("import jax; jax.devices()", WEFT_PJRT_LIBRARY="/nowhere/libweft_pjrt.so")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nowhere/libweft_pjrt.so", result.stderr)

    def test_in_a_tree_the_library_is_that_of_its_build_folder(self):
        built = str(pathlib.Path(HOST_PYTHON).parents[1] / "build" / "lib" / "libweft_pjrt.so")
        result = child("from jax_plugins import weft; print(weft.library())", WEFT_PJRT_LIBRARY="")
        self.assertIn(built, result.stdout + result.stderr)  # there, or named among the places where it is not

    def test_a_simulator_that_is_not_there_is_told_with_its_path(self):
        result = child("import jax; jax.devices()", WEFT_SIM="/nowhere/weft-sim")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nowhere/weft-sim", result.stderr)


class Parts(unittest.TestCase):
    def test_of_a_program_that_a_chip_refuses_the_products_are_device_programs(self):
        """A gather at places of two dimensions is compared with all of them: 4,096 places by 8,192, 128 MiB of f32, in nano's 64 MiB."""
        def function(x, w, i, j):
            y = jnp.tanh(x @ w)
            return y[i, j] * 2, y.T @ y, jnp.sum(jnp.abs(y @ w.T), -1)

        draw = np.random.default_rng(1)
        arguments = (*(np.asarray(jnp.asarray(draw.standard_normal(shape, np.float32)).astype(jnp.bfloat16), np.float32) for shape in ((64, 32), (32, 128))),
                     draw.integers(0, 64, 4096, np.int32), draw.integers(0, 128, 4096, np.int32))
        compiled = jax.jit(function).lower(*arguments).compile()
        told = compiled.cost_analysis()
        self.assertEqual(told["device flops"], told["flops"])
        self.assertGreater(told["islands"], 0)
        results = compiled(*arguments)
        x, w, i, j = arguments
        y = np.tanh(x @ w)
        for ours, wanted in zip(results, (y[i, j] * 2, y.T @ y, np.abs(y @ w.T).sum(-1)), strict=True):
            np.testing.assert_allclose(ours, wanted, atol=2e-2 * np.abs(wanted).max())
        read = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
        self.assertEqual(read.cost_analysis(), told)
        for ours, again in zip(results, read(*arguments), strict=True):
            np.testing.assert_array_equal(ours, again)


class Arrays(unittest.TestCase):
    def test_every_type_comes_back_as_it_went(self):
        for dtype in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32"):
            x = np.arange(24).reshape(2, 3, 4).astype(jnp.dtype(dtype))
            for array in (x, x.T, x[:, ::-1, 1:3], x[:0], x[0, 0, 0]):
                back = np.asarray(jax.device_put(array))
                self.assertEqual(back.dtype, array.dtype)
                np.testing.assert_array_equal(back, array)

    def test_a_deleted_array_cannot_be_read(self):
        x = jnp.arange(3)
        x.delete()
        with self.assertRaisesRegex(RuntimeError, "deleted"):
            np.asarray(x)

    def test_memory_is_counted_and_given_back(self):
        statistics = jax.devices()[0].memory_stats
        before = statistics()["bytes_in_use"]
        x = jax.device_put(np.zeros((256, 1024), np.float32))
        self.assertEqual(statistics()["bytes_in_use"], before + x.nbytes)
        self.assertGreaterEqual(statistics()["peak_bytes_in_use"], before + x.nbytes)
        del x
        self.assertEqual(statistics()["bytes_in_use"], before)

    def test_an_array_that_hbm_cannot_hold_is_refused_with_what_is_free(self):
        limit = jax.devices()[0].memory_stats()["bytes_limit"]
        shape = (limit // 4 + 1,)
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "RESOURCE_EXHAUSTED.*NO_DEVICE_MEMORY"):
            jax.block_until_ready(jax.jit(lambda: jnp.zeros(shape, jnp.float32))())
        np.testing.assert_array_equal(jnp.arange(3) + 1, [1, 2, 3])


class Programs(unittest.TestCase):
    def test_an_operator_that_is_not_built_is_refused_by_name_and_version(self):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, r"UNIMPLEMENTED: operator vhlo\.\w+_v\d.*complex"):
            jax.jit(jnp.fft.fft)(np.zeros(8, np.float32))

    def test_a_program_runs_again_after_one_was_refused(self):
        with self.assertRaises(jax.errors.JaxRuntimeError):
            jax.jit(jnp.fft.fft)(np.zeros(8, np.float32))
        self.assertEqual(float(jax.jit(lambda x: x + 1)(2.0)), 3.0)

    def test_a_product_by_constants_is_a_device_program_rounded_to_bf16(self):
        rng = np.random.default_rng(5)
        w = rng.standard_normal((64, 64)).astype(np.float32)
        x = rng.standard_normal((32, 64)).astype(np.float32)
        executable = jax.jit(lambda x: x @ w).lower(x).compile()
        self.assertEqual(executable.cost_analysis()["device programs"], 1)
        self.assertEqual(executable.cost_analysis()["device flops"], 2 * 32 * 64 * 64)
        bf16 = lambda a: np.asarray(jnp.asarray(a, jnp.bfloat16), np.float64)
        np.testing.assert_allclose(executable(x), bf16(x) @ bf16(w), rtol=1e-5, atol=1e-5)

    def test_a_product_of_highest_precision_is_f32(self):
        rng = np.random.default_rng(6)
        w = rng.standard_normal((64, 64)).astype(np.float32)
        x = rng.standard_normal((32, 64)).astype(np.float32)
        y = jax.jit(lambda x: jnp.dot(x, w, precision="highest"))(x)
        np.testing.assert_allclose(y, x.astype(np.float64) @ w.astype(np.float64), rtol=1e-4, atol=1e-5)

    def test_a_sum_beside_a_product_stays_f32(self):
        w = np.eye(16, dtype=np.float32)
        x, y = np.ones((4, 16), np.float32), np.full((4, 16), 1 + 2.0**-20, np.float32)
        np.testing.assert_array_equal(jax.jit(lambda x, y: x @ w + y)(x, y), x + y)

    def test_random_bits_are_threefrys_known_answers(self):
        # Random123's known answers of threefry2x32 with 20 rounds: key, counter, both words.
        for key, counter, words in (((0, 0), (0, 0), (0x6b200159, 0x99ba4efe)),
                                    ((0xffffffff,) * 2, (0xffffffff,) * 2, (0x1cb996fc, 0xbb002be7)),
                                    ((0x13198a2e, 0x03707344), (0x243f6a88, 0x85a308d3), (0xc4923a9c, 0x483df7a0))):
            state = np.array([*key, *counter], np.uint32)
            after, bits = jax.jit(lambda s: jax.lax.rng_bit_generator(s, (2,)))(state)
            np.testing.assert_array_equal(bits, np.array(words, np.uint32))
            self.assertEqual(int(after[2]) | int(after[3]) << 32, ((counter[0] | counter[1] << 32) + 1) % 2**64)

    def test_random_bits_of_every_width_go_on_where_the_state_says(self):
        state = np.arange(4, dtype=np.uint32)
        draw = lambda state, dtype, count: jax.jit(lambda s: jax.lax.rng_bit_generator(s, (count,), dtype=dtype))(state)
        _, whole = draw(state, np.uint32, 12)
        after, first = draw(state, np.uint32, 5)  # three blocks of two words
        np.testing.assert_array_equal(first, whole[:5])
        np.testing.assert_array_equal(draw(after, np.uint32, 6)[1], whole[6:])
        for dtype in (np.uint8, np.uint16):
            np.testing.assert_array_equal(draw(state, dtype, 13)[1], np.asarray(whole).view(dtype)[:13])
        self.assertEqual(draw(state, np.uint32, 0)[1].shape, (0,))

    def test_keys_of_the_rbg_generator_draw_as_others_do(self):
        x = np.asarray(jax.random.normal(jax.random.key(3, impl="rbg"), (4000,)))
        self.assertLess(abs(x.mean()), 0.06)
        self.assertLess(abs(x.std() - 1), 0.05)

    def test_memory_of_a_chip_is_not_viewed_by_others_and_the_error_tells_what_to_do(self):
        x = jnp.arange(6.0)
        for call in (lambda: np.from_dlpack(x), x.__dlpack__):
            with self.assertRaisesRegex(Exception, "UNIMPLEMENTED.*numpy.asarray"):
                call()
        with self.assertRaises(BufferError):
            jax.dlpack.from_dlpack(x)
        np.testing.assert_array_equal(np.asarray(x), np.arange(6, dtype=np.float32))

    def test_dlpack_copies_between_host_and_chip_where_jax_has_its_cpu_too(self):
        result = child("""
import jax, numpy as np
weft = jax.devices("weft")[0]
for dtype in (np.int8, np.uint16, np.int32, np.float16, np.float32):
    x = np.arange(24, dtype=dtype).reshape(2, 3, 4)
    there = jax.dlpack.from_dlpack(x, device=weft, copy=True)
    assert there.devices() == {weft}, there.devices()
    back = np.from_dlpack(there, device="cpu", copy=True)
    assert back.dtype == x.dtype and (back == x).all()
    x[0] = 0
    assert (np.asarray(there)[0].ravel() == np.arange(12)).all()
print("copied")
""", JAX_PLATFORMS="weft,cpu")
        self.assertIn("copied", result.stdout, result.stderr)

    def test_arrays_have_addresses(self):
        x, y = jnp.arange(8), jnp.arange(8) + 1
        self.assertNotEqual(x.unsafe_buffer_pointer(), y.unsafe_buffer_pointer())
        self.assertEqual(x.unsafe_buffer_pointer(), x.unsafe_buffer_pointer())

    def test_a_forked_child_is_told_so(self):
        result = child("""
import os, jax
x = jax.numpy.arange(3)
y = x + 1  # compiled before the fork: jaxlib's own compiler waits for threads that a child does not have
pid = os.fork()
if pid == 0:
    try:
        print(x + 1)
        os._exit(1)
    except Exception as error:
        os._exit(0 if 'forked' in str(error) or 'INVALID_STATE' in str(error) else 2)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
print(x + 1)
""")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("[1 2 3]", result.stdout)


if __name__ == "__main__":
    unittest.main()
