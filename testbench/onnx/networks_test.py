"""A layer of an encoder and a small convolutional network are one device program each, on nano's RTL and on v5e, with the golden
model's bits and close to onnxruntime's results."""
import json
import os
import tempfile
import unittest

import numpy as np
import onnxruntime

import networks
import oracle

CHIPS = (("nano", "rtl"), ("v5e", "fast"))
ERROR = 0.005  # relative, L2: products are of bf16


class Networks(unittest.TestCase):
    def check(self, model, shape):
        x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
        expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        for chip, core in CHIPS:
            with self.subTest(chip=chip, core=core), tempfile.TemporaryDirectory() as folder:
                outcome = oracle.ask_weft(os.environ["WEFT"], folder, model, {"x": x}, "--chip", chip, "--core", core)
                self.assertEqual(outcome.code, 0, outcome.err)
                report = json.loads(outcome.out)
                self.assertNotIn("parts", report)  # one device program
                self.assertEqual((report["elements"], report["differing"]), (expected.size, 0))
                found = outcome.outputs["y"]
                self.assertEqual(found.shape, expected.shape)
                self.assertLess(np.linalg.norm(found - expected) / np.linalg.norm(expected), ERROR)

    def test_a_layer_of_an_encoder(self):
        self.check(networks.encoder_layer(12, 32, 4, 64), (1, 12, 32))

    def test_a_small_convolutional_network(self):
        self.check(networks.small_cnn(), (1, 3, 16, 16))


if __name__ == "__main__":
    unittest.main()
