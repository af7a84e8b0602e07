"""Quantised networks, and ONNX's own vectors of the operators of 8 bits, on a device: its bits are the golden model's, and its results onnxruntime's."""
import json
import os
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime

import oracle
import quantized
import quantized_models
from conformance import DATA, DISPUTED, tensors

CHIPS = (("nano", "rtl"), ("v5e", "fast"))
ERROR = 1e-6 if quantized_models.exact() else 0.05  # of the largest value
MODELS = 40
OPERATORS = ("convinteger", "matmulinteger", "qlinearconv", "qlinearmatmul")


class Quantized(unittest.TestCase):
    def run_on(self, chip, core, model, given):
        with tempfile.TemporaryDirectory() as folder:
            outcome = oracle.ask_weft(os.environ["WEFT"], folder, model, given, "--chip", chip, "--core", core)
        self.assertEqual(outcome.code, 0, outcome.err)
        report = json.loads(outcome.out)
        self.assertEqual(report["differing"], 0)
        self.assertGreater(report["elements"], 0)
        return outcome.outputs, report

    def network(self, model):
        """The elements are onnxruntime's, but where it adds f32 in another order."""
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        given = {model.graph.input[0].name: quantized.drawn(np.random.default_rng(5), shape)}
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        expected = session.run(None, given)[0]
        for chip, core in CHIPS:
            with self.subTest(chip=chip, core=core):
                outputs, report = self.run_on(chip, core, model, given)
                self.assertNotIn("parts", report)  # one device program
                found = outputs[model.graph.output[0].name]
                self.assertEqual(found.shape, expected.shape)
                self.assertLessEqual(np.abs(found - expected).max(), ERROR * np.abs(expected).max())

    def test_mlp(self):
        self.network(quantized.quantized(quantized.mlp()))

    def test_mlp_with_a_scale_for_each_column(self):
        self.network(quantized.quantized(quantized.mlp(), per_channel=True))

    def test_mlp_without_zero_points(self):
        self.network(quantized.quantized(quantized.mlp(), symmetric=True))

    def test_mlp_of_unsigned_weights(self):
        self.network(quantized.quantized(quantized.mlp(), weight_type=quantized.UNSIGNED))

    def test_mlp_that_quantises_while_it_runs(self):
        self.network(quantized.quantized(quantized.mlp(), "dynamic"))

    def test_cnn(self):
        self.network(quantized.quantized(quantized.cnn(), per_channel=True))

    def test_random_models(self):
        for seed in range(1, 1 + MODELS):
            with self.subTest(seed=seed):
                why, kind = quantized_models.wrong(seed, os.environ["WEFT"], "--chip", "nano", "--core", "fast")
                self.assertEqual(why, "")
                self.assertTrue(kind == "device" or kind.startswith("onnxruntime"), kind)


def vector_test(folder):
    def test(self):
        model = onnx.load(str(folder / "model.onnx"))
        declared = [i.type.tensor_type.elem_type for i in model.graph.input]
        given = dict(zip([i.name for i in model.graph.input], tensors(folder / "test_data_set_0", "input", declared), strict=True))
        expected = tensors(folder / "test_data_set_0", "output", [])[0]
        outputs, _ = self.run_on("nano", "rtl", model, given)
        np.testing.assert_array_equal(outputs[model.graph.output[0].name], expected)
    return test


for vector in sorted((DATA / "node").iterdir()):
    if vector.name not in DISPUTED and any(name in vector.name for name in OPERATORS) and "float16" not in vector.name:
        setattr(Quantized, vector.name, vector_test(vector))


if __name__ == "__main__":
    unittest.main()
