"""The example networks in small are one device program each, on nano's RTL and on v5e, with the golden model's bits and
close to onnxruntime's results."""
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnxruntime

import oracle

sys.path.insert(0, str(Path(__file__).parents[2] / "host/examples/networks"))
import tiny  # noqa: E402

CHIPS = (("nano", "rtl"), ("v5e", "fast"))
ERROR = 0.01  # relative, L2: products are of bf16


class Networks(unittest.TestCase):
    def check(self, name):
        model, given = tiny.NETWORKS[name]()
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        expected = dict(zip(names, session.run(names, given), strict=True))
        for chip, core in CHIPS:
            with self.subTest(chip=chip, core=core), tempfile.TemporaryDirectory() as folder:
                outcome = oracle.ask_weft(os.environ["WEFT"], folder, model, given, "--chip", chip, "--core", core)
                self.assertEqual(outcome.code, 0, outcome.err)
                report = json.loads(outcome.out)
                self.assertNotIn("parts", report)  # one device program
                self.assertEqual((report["elements"], report["differing"]), (sum(e.size for e in expected.values()), 0))
                for output, values in expected.items():
                    found = outcome.outputs[output]
                    self.assertEqual(found.shape, values.shape)
                    self.assertLess(np.linalg.norm(found - values) / np.linalg.norm(values), ERROR)


def test_of(name):
    return lambda self: self.check(name)


for network in tiny.NETWORKS:
    setattr(Networks, f"test_{network}", test_of(network))


if __name__ == "__main__":
    unittest.main()
