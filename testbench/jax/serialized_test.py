"""Compiled programs as bytes: read back, refused when they are not whole, and kept by JAX's compilation cache.

environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HOST_PYTHON = str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python")
sys.path.insert(0, HOST_PYTHON)
os.environ["JAX_PLATFORMS"] = "weft"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jax.experimental import serialize_executable  # noqa: E402

SEED = 1


@jax.jit
def function(x, w, places):
    """A device program and an island: fmod has no command."""
    return jnp.fmod(jnp.tanh(x @ w)[places], 0.5), jnp.argmax(x, -1)


def arguments():
    draw = np.random.default_rng(SEED)
    return (draw.standard_normal((6, 10), np.float32), draw.standard_normal((10, 7), np.float32),
            draw.integers(0, 6, 5, np.int32))


class Serialized(unittest.TestCase):
    def test_a_program_that_is_read_back_computes_the_same(self):
        compiled = function.lower(*arguments()).compile()
        cost = compiled.cost_analysis()
        self.assertGreaterEqual(cost["device programs"], 1)
        self.assertGreaterEqual(cost["islands"], 1)
        read = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
        for ours, theirs in zip(read(*arguments()), compiled(*arguments()), strict=True):
            np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
        self.assertEqual(read.cost_analysis(), cost)

    def test_bytes_that_are_cut_or_changed_are_refused(self):
        client = jax.devices()[0].client
        whole = client.serialize_executable(function.lower(*arguments()).compile().runtime_executable())
        begin = whole.index(b"weft-pjrt-program")  # before it stands what JAX says of the program
        self.assertGreater(len(whole), begin + 1000)
        devices = xla_client.DeviceList(tuple(jax.devices()))
        draw = np.random.default_rng(SEED)
        for _ in range(40):
            at = int(draw.integers(begin, len(whole)))
            with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "INVALID_ARGUMENT"):
                client.deserialize_executable(whole[:at], devices, None)
            changed = whole[:at] + bytes([whole[at] ^ 1 << int(draw.integers(0, 8))]) + whole[at + 1 :]
            with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "INVALID_ARGUMENT: a serialized program"):
                client.deserialize_executable(changed, devices, None)

    def test_memory_of_a_program_is_told(self):
        memory = function.lower(*arguments()).compile().memory_analysis()
        self.assertEqual(memory.argument_size_in_bytes, 4 * (60 + 70 + 5))
        self.assertEqual(memory.output_size_in_bytes, 4 * (35 + 6))
        self.assertGreater(memory.generated_code_size_in_bytes, 0)

    def test_the_compilation_cache_keeps_programs_from_one_process_to_the_next(self):
        code = """
import jax
seen = []
jax.monitoring.register_event_listener(lambda event, **_: seen.append(event))
print(jax.jit(lambda x: x @ x + 1)(jax.numpy.ones((8, 8))).sum())
print(sum(event.endswith('/cache_hits') for event in seen), 'hits')
"""
        with tempfile.TemporaryDirectory() as folder:
            outputs = []
            for _ in range(2):
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                                      env=os.environ | {"PYTHONPATH": HOST_PYTHON, "JAX_COMPILATION_CACHE_DIR": folder,
                                                        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                                                        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"})
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs.append(done.stdout.splitlines())
        self.assertEqual(outputs[0][0], "576.0")
        self.assertEqual(outputs[1][0], outputs[0][0])
        self.assertEqual(outputs[0][1], "0 hits")
        self.assertNotEqual(outputs[1][1], "0 hits")


if __name__ == "__main__":
    unittest.main()
