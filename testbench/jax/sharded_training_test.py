"""The transformer trained on a slice of eight chips: where its work runs, and its losses against eight devices of the CPU.

environment: WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY, EXAMPLE_STEPS (5: of training; given, the digits are trained too)
"""

import os
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "host" / "python"), str(ROOT / "host" / "examples" / "jax")]
os.environ["JAX_PLATFORMS"] = "weft,cpu"
os.environ["WEFT_CHIPS"] = "nano-4x2"
# The CPU's eight devices wait for each other in as many threads as they are, and a device has several collectives under way:
# with no more threads they wait for ever, and XLA ends the process.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8 --xla_cpu_collective_call_terminate_timeout_seconds=600"
os.environ["NPROC"] = "64"

import data_parallel  # noqa: E402
import digits_cnn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import sharded_transformer  # noqa: E402
import transformer  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

STEPS, SEED = int(os.environ.get("EXAMPLE_STEPS", "5")), 1
SIZE = sharded_transformer.SIZE
BY_BATCH = dict.fromkeys(sharded_transformer.HALVES, P())


def losses(platform: str) -> list[float]:
    devices = jax.devices(platform)
    with mock.patch.object(jax, "devices", lambda: devices), jax.default_device(devices[0]):
        return sharded_transformer.train(STEPS, SEED, SIZE)


class Training(unittest.TestCase):
    def cost(self) -> dict:
        p = jax.eval_shape(lambda: transformer.parameters(jax.random.key(SEED), SIZE))
        tokens = jax.ShapeDtypeStruct((SIZE.batch, SIZE.length + 1), jnp.int32)
        told = sharded_transformer.step_of(SIZE).lower(p, jax.eval_shape(transformer.fresh_state, p), tokens).compile().cost_analysis()
        self.assertEqual((told["gathered programs"], told["replicated operators"]), (0, 0))
        self.assertGreaterEqual(told["device flops"], 0.9 * told["flops"])
        return told

    def test_halves_of_layers_are_computed_by_device_programs(self):
        told = self.cost()
        self.assertGreaterEqual(told["device elements"], 0.8 * told["elements"])

    def test_parts_of_the_batch_take_a_sum_for_each_gradient_and_the_loss(self):
        with mock.patch.object(sharded_transformer, "HALVES", BY_BATCH):
            self.assertLessEqual(self.cost()["collectives"], 12)

    def test_it_learns_as_on_the_cpu(self):
        ours, reference = losses("weft"), losses("cpu")
        print(f"seed {SEED}, {STEPS} steps: {ours[-1]:.4f}, on the CPU {reference[-1]:.4f}", file=sys.stderr)
        self.assertLess(reference[-1], reference[0])
        np.testing.assert_allclose(np.mean(ours[-10:]), np.mean(reference[-10:]), rtol=0.02)
        with jax.default_matmul_precision("highest"):
            ours, reference = losses("weft"), losses("cpu")
        np.testing.assert_allclose(ours[0], reference[0], rtol=1e-5)
        np.testing.assert_allclose(ours[-1], reference[-1], rtol=1e-3)


@unittest.skipUnless("EXAMPLE_STEPS" in os.environ, "devices_test trains them for some steps")
class DataParallel(unittest.TestCase):
    """The digits on all devices against the same batches on one device of the CPU."""

    def compare(self, train):
        def reference():
            with jax.default_device(jax.devices("cpu")[0]):
                return digits_cnn.train(STEPS, SEED)[0]

        ours, expected = train(STEPS, SEED), reference()
        self.assertLess(expected[-1], expected[0])
        np.testing.assert_allclose(np.mean(ours[-10:]), np.mean(expected[-10:]), rtol=0.02)
        with jax.default_matmul_precision("highest"):
            ours, expected = train(STEPS, SEED), reference()
        np.testing.assert_allclose(ours[0], expected[0], rtol=1e-5)
        np.testing.assert_allclose(ours[-1], expected[-1], rtol=1e-3)

    def test_parts_of_the_batch_by_pmap_learn_as_on_the_cpu(self):
        self.compare(data_parallel.by_pmap)

    def test_parts_of_parameters_by_pjit_learn_as_on_the_cpu(self):
        self.compare(data_parallel.by_pjit)


if __name__ == "__main__":
    unittest.main()
