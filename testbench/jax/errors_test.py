"""Bad input and bad luck: each is a Python exception that says what to do, and the process goes on.

environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import ctypes
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
import jax_plugins.weft  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

PRELUDE = """
import os, signal, subprocess, threading, time, jax, numpy as np
jax.config.update("jax_platforms", "weft")
busy = jax.jit(lambda n, x: jax.lax.fori_loop(0, n, lambda i, x: jax.numpy.sin(x) + i, x))
x = jax.device_put(np.ones((64, 64), np.float32))
busy(2, x).block_until_ready()
"""


def child(code: str, chips: str = "", **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"PYTHONPATH": HOST_PYTHON} | ({"WEFT_CHIPS": chips} if chips else {}), **options)


class Arguments(ctypes.Structure):
    """A structure of the PJRT C API: its size, no extension, and fields of a pointer's size."""

    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("fields", ctypes.c_void_p * 16)]

    @classmethod
    def of(cls, count: int, *fields):
        made = cls(8 * (2 + count), None)
        for i, field in enumerate(fields):
            made.fields[i] = ctypes.cast(field, ctypes.c_void_p) if field is not None else None
        return made


class Plugin:
    """The plugin's table, as a framework sees it."""

    SLOTS = {"Error_Destroy": 0, "Error_Message": 1, "Client_Create": 10, "Client_Destroy": 11, "Client_Compile": 20}
    HEAD = 2 + 4  # words before the slots: size, extension, and the version's size, extension, numbers

    def __init__(self):
        library = ctypes.CDLL(str(jax_plugins.weft.library()))
        library.GetPjrtApi.restype = ctypes.POINTER(ctypes.c_void_p)
        self.table = library.GetPjrtApi()

    def call(self, name: str, arguments: Arguments) -> str:
        """The message of the error; empty: none."""
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Arguments))
        address = self.table[self.HEAD - 1 + self.SLOTS[name]]
        error = function(address)(ctypes.byref(arguments))
        if not error:
            return ""
        text = Arguments.of(3, error)
        ctypes.CFUNCTYPE(None, ctypes.POINTER(Arguments))(self.table[self.HEAD - 1 + self.SLOTS["Error_Message"]])(text)
        message = ctypes.string_at(text.fields[1], text.fields[2]).decode()
        ctypes.CFUNCTYPE(None, ctypes.POINTER(Arguments))(self.table[self.HEAD - 1 + self.SLOTS["Error_Destroy"]])(Arguments.of(1, error))
        return message


class Frameworks(unittest.TestCase):
    """What another jaxlib may hand over."""

    def setUp(self):
        self.plugin = Plugin()
        create = Arguments.of(7)
        self.assertEqual(self.plugin.call("Client_Create", create), "")
        self.client = create.fields[6]

    def tearDown(self):
        self.assertEqual(self.plugin.call("Client_Destroy", Arguments.of(1, self.client)), "")

    def compile(self, code: bytes, form: bytes = b"mlir") -> str:
        text = ctypes.create_string_buffer(code, len(code))
        program = Arguments.of(4, ctypes.addressof(text), len(code), ctypes.cast(form, ctypes.c_void_p).value, len(form))
        return self.plugin.call("Client_Compile", Arguments.of(5, self.client, ctypes.addressof(program), None, 0))

    def test_a_structure_of_an_older_interface_is_refused_by_its_size(self):
        arguments = Arguments.of(5, self.client)
        arguments.size = 24
        self.assertRegex(self.plugin.call("Client_Compile", arguments), "structure has 24 bytes.*older version of PJRT")

    def test_a_program_that_is_cut_anywhere_is_refused(self):
        module = jax.jit(lambda x: jnp.sin(x) @ x).lower(np.ones((4, 4), np.float32)).compiler_ir("stablehlo")
        code = stablehlo.serialize_portable_artifact(module, "1.13.3")
        for end in range(0, len(code) - 1, 7):
            self.assertNotEqual(self.compile(code[:end]), "", f"cut at byte {end} of {len(code)}")
        self.assertEqual(self.compile(code), "")

    def test_a_program_in_another_format_is_refused_by_its_name(self):
        self.assertRegex(self.compile(b"HloModule m", b"hlo"), "format 'hlo'; supported: mlir")


class Programs(unittest.TestCase):
    def test_an_unknown_operator_is_told_with_the_line_of_the_program(self):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, r"UNIMPLEMENTED: operator vhlo\.\w+_v\d \(.*errors_test\.py:\d+\)"):
            jax.jit(lambda x: jax.lax.complex(x, x))(np.zeros(8, np.float32))

    def test_calls_wait_for_the_memory_of_arrays_that_nobody_has(self):
        limit = jax.devices()[0].memory_stats()["bytes_limit"]
        slow = jax.jit(lambda x: jnp.sin(jnp.sin(x)) + 1)  # an island
        x = jax.device_put(np.zeros(limit // 40, np.float32), jax.devices()[0])
        for _ in range(16):  # of a tenth of the memory each, which is there until it has been computed
            y = slow(x)
        self.assertEqual(float(y[0]), 1)

    def test_no_memory_is_told_with_what_was_asked_and_what_is_free(self):
        limit = jax.devices()[0].memory_stats()["bytes_limit"]
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, rf"RESOURCE_EXHAUSTED.*\[{limit // 4 + 1}\].*\d+.*free"):
            jax.block_until_ready(jax.jit(lambda: jnp.zeros(limit // 4 + 1, jnp.float32))())
        np.testing.assert_array_equal(jnp.arange(3) + 1, [1, 2, 3])

    def test_a_callback_without_the_cpu_says_what_is_missing(self):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "INTERNAL: callback .*failed to find a local CPU device"):
            jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(lambda a: a, x, x))(np.float32(1)))


class Luck(unittest.TestCase):
    def test_a_chip_that_dies_in_the_middle_is_an_exception(self):
        result = child("""
simulators = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout.split()
simulators = [int(p) for p in simulators if "weft-sim" in open(f"/proc/{p}/cmdline").read()]
assert len(simulators) == 1, simulators
w = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
f = jax.jit(lambda x: x @ w)
assert f.lower(x).compile().cost_analysis()["device programs"] == 1
f(x).block_until_ready()
os.kill(simulators[0], signal.SIGKILL)
try:
    for _ in range(100):
        f(x).block_until_ready()
    print("no error")
except jax.errors.JaxRuntimeError as error:
    print("told:", str(error).splitlines()[0])
""")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"told: (UNAVAILABLE|DEADLINE_EXCEEDED|ABORTED)")

    def test_a_slice_that_dies_between_collectives_is_an_exception_on_all_devices(self):
        result = child("""
simulators = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout.split()
simulators = [int(p) for p in simulators if "weft-sim" in open(f"/proc/{p}/cmdline").read()]
assert len(simulators) == 1, simulators
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
f = jax.jit(jax.shard_map(lambda x: jax.lax.psum(jax.lax.psum(x, "i") @ x.T, "i"), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P()))
y = np.ones((64, 64), np.float32)
f(y).block_until_ready()
threading.Timer(0.2, lambda: os.kill(simulators[0], signal.SIGKILL)).start()
try:
    for _ in range(1000):
        z = f(y)
        z.block_until_ready()
    print("no error")
except jax.errors.JaxRuntimeError as error:
    print("told:", str(error).splitlines()[0])
try:
    f(y).block_until_ready()
except jax.errors.JaxRuntimeError as error:
    print("again:", str(error).splitlines()[0])
""", chips="nano-2x2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"told: (UNAVAILABLE|DEADLINE_EXCEEDED|ABORTED)")
        self.assertRegex(result.stdout, r"again: (UNAVAILABLE|DEADLINE_EXCEEDED|ABORTED|FAILED_PRECONDITION)")

    def test_control_c_during_a_launch_is_an_interrupt_and_the_chip_goes_on(self):
        result = child("""
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test that a shell started in its background ignores it
threading.Timer(0.3, lambda: os.killpg(0, signal.SIGINT)).start()
try:
    busy(20000, x).block_until_ready()
    time.sleep(1)
    print("no interrupt")
except KeyboardInterrupt:
    w = np.eye(64, dtype=np.float32)
    w[1, 0] = 63
    print("told:", float(jax.jit(lambda x: x @ w)(x)[0, 0]))
""", start_new_session=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("told: 64.0", result.stdout)

    def test_a_process_that_ends_with_work_in_flight_ends_well(self):
        result = child("y = busy(3000, x)")
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
