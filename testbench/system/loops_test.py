#!/usr/bin/python3
"""Equal layers as a loop of the control list, as a user sees it: --loops of weft compile and weft run, on every core, and what the tools tell of turns."""
import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from weft_command import WeftTest

NANO = ("--chip", "nano")
LAYERS, ROWS, WIDTH = 6, 20, 24


class Loops(WeftTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(5)
        weights, nodes, last = [], [], "x"
        for i in range(LAYERS):
            for name, shape in ((f"w{i}", (WIDTH, WIDTH)), (f"b{i}", (WIDTH,))):
                weights.append(numpy_helper.from_array((random.standard_normal(shape) / 8).astype(np.float32), name))
            nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], name=f"layer{i}/product"),
                      helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], name=f"layer{i}/bias"),
                      helper.make_node("Tanh", [f"a{i}"], [f"t{i}"], name=f"layer{i}/tanh"),
                      helper.make_node("Add", [f"t{i}", last], [f"y{i}"], name=f"layer{i}/sum")]
            last = f"y{i}"
        values = [helper.make_tensor_value_info(value, TensorProto.FLOAT, [ROWS, WIDTH]) for value in ("x", last)]
        graph = helper.make_graph(nodes, "layers", values[:1], values[1:], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("m.onnx"))
        np.save(self.path("x.npy"), random.standard_normal((ROWS, WIDTH)).astype(np.float32))

    def run_model(self, loops, core):
        report = self.weft_json("run", "m.onnx", *NANO, "--core", core, "--loops", loops, "--verify", "--input", "x=x.npy", "--output", f"y{LAYERS - 1}=y.npy")
        self.assertEqual(report["differing"], 0)
        return np.load(self.path("y.npy"))

    def test_a_loop_has_the_bits_of_layers_written_out_on_every_core(self):
        expected = self.run_model("never", "fast")
        self.assertEqual(expected.shape, (ROWS, WIDTH))
        self.assertNotEqual(float(np.abs(expected).max()), 0)
        for core in ("fast", "rtl", "lockstep"):
            np.testing.assert_array_equal(self.run_model("always", core), expected, core)

    def test_a_program_has_its_layers_once(self):
        sizes = {}
        for loops in ("auto", "never", "always"):
            self.weft("compile", "m.onnx", *NANO, "--loops", loops, "-o", "m.weft")
            text = self.weft("disasm", "m.weft")
            self.assertEqual(f"loop {LAYERS} turns" in text, loops == "always", loops)
            sizes[loops] = text.count("\n")
        self.assertEqual(sizes["auto"], sizes["never"])
        self.assertLess(2 * sizes["always"], sizes["never"])

    def test_the_table_of_layers_has_every_turn(self):
        tables = {loops: self.weft_json("compile", "m.onnx", *NANO, "--loops", loops, "--explain") for loops in ("always", "never")}
        layers = {loops: table["parts"][0]["layers"] for loops, table in tables.items()}
        self.assertEqual([layer["layer"] for layer in layers["always"]], [layer["layer"] for layer in layers["never"]])
        for looped, alone in zip(layers["always"], layers["never"], strict=True):
            if "product" in looped["layer"]:
                self.assertEqual(looped["cycles"]["mxu"], alone["cycles"]["mxu"], looped["layer"])
            self.assertEqual(looped["hbm_bytes"]["constants"], alone["hbm_bytes"]["constants"], looped["layer"])
        self.assertEqual(tables["always"]["cycle_estimate"], tables["never"]["cycle_estimate"])

    def test_the_cycles_of_a_run_belong_to_the_layers_of_their_turns(self):
        self.weft("run", "m.onnx", *NANO, "--core", "fast", "--loops", "always", "--input", "x=x.npy", "--profile", "p.json")
        layers = json.loads((self.folder / "p.json").read_text())["layers"]
        products = [layer for layer in layers if layer["layer"].endswith("/product")]
        self.assertEqual(len(products), LAYERS)
        for layer in products:
            self.assertGreater(layer["busy_cycles"]["mxu"], 0, layer["layer"])

    def test_another_word_is_refused(self):
        code, out, err = self.run_weft("compile", "m.onnx", "--loops", "often")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("--loops", err)


if __name__ == "__main__":
    unittest.main()
