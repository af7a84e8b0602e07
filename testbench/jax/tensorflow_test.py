"""TensorFlow's functions on Weft, against TensorFlow on the CPU.

usage: tensorflow_test.py      environment: EXAMPLE_STEPS (100: of training), WEFT_CHIPS, WEFT_SIM, WEFT_PJRT_LIBRARY
Exit code 77: this Python has no tensorflow, which needs 1 GB; docs/jax.md tells which versions.
"""

import importlib.util
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path[:0] = [str(ROOT / "host" / "python"), str(ROOT / "host" / "examples" / "tensorflow")]
missing = [name for name in ("tensorflow", "jax") if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: {' and '.join(missing)} not installed", file=sys.stderr)
    sys.exit(77)

import digits_mlp  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from weft import tensorflow_plugin  # noqa: E402

STEPS, SEED = int(os.environ.get("EXAMPLE_STEPS", "100")), 1
DRAW = np.random.default_rng(SEED)


def drawn(*size):
    return DRAW.standard_normal(size).astype(np.float32)


class OnChip(unittest.TestCase):
    def test_structures_types_and_shapes(self):
        function = tensorflow_plugin.on_chip(lambda pair: {"sum": pair[0] + pair[1], "kind": pair[0] > pair[1], "count": tf.constant(3)})
        for size in ((), (5,), (2, 3)):
            a, b = drawn(*size), drawn(*size)
            result = function((a, tf.constant(b)))
            self.assertEqual({name: value.dtype for name, value in result.items()}, {"sum": tf.float32, "kind": tf.bool, "count": tf.int32})
            np.testing.assert_array_equal(result["sum"], a + b)
            np.testing.assert_array_equal(result["kind"], a > b)
        self.assertEqual(int(tensorflow_plugin.on_chip(lambda x: x * 7)(np.int32(6))), 42)

    def test_a_variable_has_the_value_of_the_call(self):
        variable = tf.Variable(drawn(4))
        function = tensorflow_plugin.on_chip(lambda x: x + variable)
        x = drawn(4)
        for _ in range(3):
            np.testing.assert_array_equal(function(x), x + variable.numpy())
            variable.assign(drawn(4))

    def test_what_cannot_run_is_an_exception_with_a_reason(self):
        variable = tf.Variable(1.0)

        def assigns(x):
            variable.assign_add(1.0)
            return x

        for function, words in ((assigns, "assigns to variables .AssignAddVariableOp."), (tf.strings.as_string, "not convertible"),
                                (lambda x: tf.unique(x)[0], "dynamic shape")):
            with self.assertRaisesRegex(ValueError, words):
                tensorflow_plugin.on_chip(function)(drawn(2))
        self.assertEqual(float(variable), 1.0)
        with self.assertRaisesRegex(IndexError, "there is no chip 99"):
            tensorflow_plugin.on_chip(assigns, device=99)


class Training(unittest.TestCase):
    def test_a_network_learns_as_on_the_cpu(self):
        (ours, read), (reference, wanted) = (digits_mlp.train(STEPS, SEED, on) for on in (tensorflow_plugin.on_chip, tf.function))
        mean, expected = (sum(losses[-10:]) / 10 for losses in (ours, reference))
        print(f"seed {SEED}, {STEPS} steps: mean of the last 10 {mean:.6f}, on the CPU {expected:.6f}; {read} and {wanted} of {digits_mlp.HELD_OUT} read", file=sys.stderr)
        self.assertEqual(len(ours), STEPS)
        self.assertLess(reference[-1], reference[0])
        self.assertLess(abs(mean / expected - 1), 0.02)


if __name__ == "__main__":
    unittest.main()
