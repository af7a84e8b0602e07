#!/usr/bin/python3
"""What tells how well a model runs, as a user calls it: weft compile --explain."""
import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from weft_command import DIGITS, WeftTest

NANO = ("--chip", "nano")


class ModelTools(WeftTest):
    def network(self, name="m.onnx"):
        """fc1 with bias and relu, fc2, and a sine that the host computes; the batch is symbolic."""
        random = np.random.default_rng(3)
        weights = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), f"w{i}")
                   for i, shape in enumerate(((24, 16), (16,), (16, 8)))]
        nodes = [helper.make_node("MatMul", ["x", "w0"], ["a"], name="fc1"), helper.make_node("Add", ["a", "w1"], ["b"], name="bias1"),
                 helper.make_node("Relu", ["b"], ["c"], name="relu1"), helper.make_node("MatMul", ["c", "w2"], ["d"], name="fc2"),
                 helper.make_node("Sin", ["d"], ["y"], name="wave")]
        values = [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["rows", width]) for value, width in (("x", 24), ("y", 8))]
        graph = helper.make_graph(nodes, "m", values[:1], values[1:], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path(name))
        return name

    def refused(self, code, message, *arguments):
        """One message and the exit code, nothing on stdout."""
        got, out, err = self.run_weft(*arguments)
        self.assertEqual((got, out), (code, ""), err)
        self.assertIn(message, err)


class Explain(ModelTools):
    def test_the_sums_are_what_compiling_and_running_say(self):
        explained = self.weft_json("compile", DIGITS, *NANO, "--batch", 50, "--explain")
        compiled = self.weft_json("compile", DIGITS, *NANO, "--batch", 50, "-o", "d.weft")
        layers = explained["parts"][0]["layers"]
        self.assertEqual([layer["layer"] for layer in layers], ["hidden_layer", "output_layer"])
        self.assertEqual(sum(layer["macs"] for layer in layers), compiled["macs"])
        self.assertEqual(explained["cycle_estimate"], compiled["cycle_estimate"])
        np.save(self.path("x.npy"), np.ones((50, 64), np.float32))
        run = self.weft_json("run", DIGITS, *NANO, "--core", "fast", "--input", "pixels=x.npy")
        self.assertEqual(sum(sum(layer["hbm_bytes"].values()) for layer in layers), run["bytes_hbm"])

    def test_operators_of_other_nodes_and_islands_are_named(self):
        text = self.weft("compile", self.network(), *NANO, "--explain")
        self.assertIn("dot_general, add (bias1), maximum (relu1)", text)
        self.assertIn("island: part 1 of 2, nodes wave\n  1 because: no command for sine\n", text)
        explained = self.weft_json("compile", "m.onnx", *NANO, "--batch", 7, "--explain")
        self.assertEqual([part["where"] for part in explained["parts"]], ["device", "host"])
        self.assertEqual(explained["sum"]["macs"], 7 * (24 * 16 + 16 * 8))

    def test_what_cannot_be_explained_is_refused(self):
        self.refused(1, "--output excludes --explain", "compile", DIGITS, "--explain", "-o", "d.weft")
        self.refused(2, "there is no chip", "compile", DIGITS, "--explain", "--chip", "v9")
        self.refused(2, "none.onnx", "compile", "none.onnx", "--explain")
        (self.folder / "bad.onnx").write_bytes(b"no model")
        self.refused(2, "bad.onnx: not an ONNX model", "compile", "bad.onnx", "--explain")
        self.assertEqual(self.files(), ["bad.onnx"])


if __name__ == "__main__":
    unittest.main()
