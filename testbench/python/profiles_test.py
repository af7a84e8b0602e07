#!/usr/bin/env python3
"""weft.profile of products, networks and, where JAX is installed, jitted functions."""
import os
import unittest

import numpy as np
from weft_package import ROOT

import weft

DIGITS = ROOT / "host/examples/digits/digits.onnx"
try:
    import jax
except ImportError:
    jax = None


class Profiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.device = weft.open("nano")
        cls.addClassCleanup(cls.device.close)

    def test_products_are_added_up_by_shape(self):
        a, b = np.ones((16, 32), np.float32), np.ones((32, 8), np.float32)
        with weft.profile() as p:
            for _ in range(3):
                self.device.gemm(a, b)
            self.device.gemm(b.T.copy(), a.T.copy())
        self.assertEqual([(q.name, q.calls, len(q.launches), q.macs) for q in p.programs],
                         [("gemm 16x32x8 bf16", 3, 3, 3 * 16 * 32 * 8), ("gemm 8x32x16 bf16", 1, 1, 8 * 32 * 16)])
        first = p.programs[0]
        self.assertEqual(len({launch.cycles for launch in first.launches}), 1)
        self.assertEqual(first.device_seconds, first.device_cycles / 1e9)
        self.assertTrue(0 < first.utilization < 1)
        self.assertIn("one operator", first.operators_missing)
        self.assertIn("gemm 16x32x8", p.table())

    def test_an_operators_cycles_add_up_to_those_of_the_launch(self):
        model = weft.compile(DIGITS, preset="nano", shapes={"pixels": (16, 64)})
        with weft.profile() as p:
            for _ in range(2):
                model.run({"pixels": np.ones((16, 64), np.float32)}, device=self.device)
        program = p.programs[0]
        self.assertEqual((len(p.programs), program.calls, program.operators_missing), (1, 2, ""))
        self.assertGreater(len(program.operators), 1)
        for launch in program.launches:
            self.assertEqual(sum(o.cycles for o in program.operators), launch.cycles)
        for o in program.operators:
            self.assertEqual(o.mxu_cycles + o.vpu_cycles + o.dma_cycles + o.idle_cycles, o.cycles)
            self.assertTrue(0 <= o.achieved <= 1)
        self.assertEqual(program.macs, 2 * sum(o.macs for o in program.operators))

    def test_one_profile_at_a_time_and_none_without_a_begin(self):
        with weft.profile(operators=False) as p, self.assertRaises(weft.Error) as caught:
            with weft.profile():
                self.fail("a second profile has begun")
        self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)
        self.assertEqual(p.programs, [])
        with self.assertRaises(weft.Error):
            weft.profile().__exit__(None, None, None)

    def test_an_exception_inside_ends_it_and_goes_on(self):
        with self.assertRaises(ZeroDivisionError), weft.profile():
            raise ZeroDivisionError
        with weft.profile():
            pass

    def test_nothing_is_noted_outside(self):
        self.device.gemm(np.ones((4, 4), np.float32), np.ones((4, 4), np.float32))
        with weft.profile() as p:
            pass
        self.assertEqual(p.programs, [])

    @unittest.skipIf(jax is None, "this Python has no JAX")
    def test_a_jitted_function_is_noted_with_its_operators(self):
        os.environ["WEFT_CHIPS"] = "nano"
        x, w = np.ones((32, 64), np.float32), np.ones((64, 64), np.float32)
        layer = jax.jit(lambda x: jax.nn.relu(x @ w) @ w, backend="weft")
        layer(x).block_until_ready()
        with weft.profile() as p:
            for _ in range(2):
                layer(x)  # nobody waits for it
        self.assertEqual([(q.calls, len(q.launches), q.operators_missing) for q in p.programs], [(2, 2, "")])
        program = p.programs[0]
        self.assertEqual(sum(o.cycles for o in program.operators), program.launches[0].cycles)
        self.assertEqual(sum(o.macs for o in program.operators), 2 * 32 * 64 * 64)
        self.assertIn("jit", program.name)


if __name__ == "__main__":
    unittest.main()
