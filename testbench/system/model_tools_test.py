#!/usr/bin/python3
"""What tells how well a model runs, as a user calls it: weft compile --explain, weft run --profile, weft bench, weft plan."""
import json
import re
import unittest
import xml.etree.ElementTree as ElementTree

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


class Profile(ModelTools):
    def profiled(self, model, *arguments):
        report = self.weft_json("run", model, *arguments, "--profile", "p.json", "--profile", "p.html")
        return report, json.loads((self.folder / "p.json").read_text()), (self.folder / "p.html").read_text()

    def test_every_cycle_of_the_run_belongs_to_a_layer_on_both_cores(self):
        np.save(self.path("x.npy"), np.ones((8, 64), np.float32))
        for core in ("fast", "rtl"):
            report, profile, _ = self.profiled(DIGITS, *NANO, "--core", core, "--input", "pixels=x.npy")
            layers = profile["layers"]
            self.assertEqual([layer["layer"] for layer in layers], ["hidden_layer", "output_layer"])
            for layer in layers:
                self.assertEqual(sum(layer["cycles_by_engine"].values()), layer["cycles"])
                self.assertGreater(layer["busy_cycles"]["mxu"], layer["macs"] // 64 - 1)
            self.assertEqual(sum(layer["cycles"] for layer in layers), report["device_cycles"])
            self.assertEqual(sum(layer["macs"] for layer in layers), report["macs"])
            self.assertEqual(profile["sum"]["bound_cycles"], 8 * 9472 / 64)
            self.assertAlmostEqual(profile["sum"]["achieved"], 8 * 9472 / 64 / report["device_cycles"])
        self.assertEqual(self.files(), ["p.html", "p.json", "x.npy"])

    def test_the_page_is_drawings_that_need_nothing_else(self):
        np.save(self.path("x.npy"), np.ones((9, 24), np.float32))
        report, profile, page = self.profiled(self.network(), *NANO, "--core", "fast", "--input", "x=x.npy")
        self.assertEqual(profile["islands"], 1)
        self.assertEqual(profile["sum"]["cycles"], report["device_cycles"])
        for word in ("http", "src=", "href", "<script", "<link", "url(", "@import"):
            self.assertNotIn(word, page)
        drawings = {drawing.get("id"): drawing for drawing in map(ElementTree.fromstring, re.findall(r"<svg.*?</svg>", page, re.DOTALL))}
        self.assertEqual(set(drawings), {"roofline", "bars"})
        dots = drawings["roofline"].findall("circle") + drawings["roofline"].findall("rect")
        seen = [layer for layer in profile["layers"] if layer["cycles"]]
        self.assertEqual([dot.find("title").text.split(":")[0] for dot in dots], [layer["layer"] for layer in seen])
        bars = drawings["bars"].findall("g")
        self.assertEqual(len(bars), len(profile["layers"]))
        widths = [sum(float(piece.get("width")) for piece in bar.findall("rect")) for bar in bars]
        longest = max(layer["cycles"] for layer in profile["layers"])
        for width, layer in zip(widths, profile["layers"], strict=True):
            self.assertAlmostEqual(width / max(widths), layer["cycles"] / longest, places=3)

    def test_a_profile_and_a_trace_of_one_run(self):
        np.save(self.path("x.npy"), np.ones((50, 64), np.float32))
        files = (DIGITS, *NANO, "--core", "fast", "--input", "pixels=x.npy", "--trace", "t.json")
        report, profile, _ = self.profiled(*files)
        names = {event["name"] for event in json.loads((self.folder / "t.json").read_text())}
        self.assertIn("hidden_layer rows 0.. columns 0..", names)
        self.assertEqual(profile["sum"]["cycles"], report["device_cycles"])

    def test_what_has_no_profile_is_refused_before_anything_runs(self):
        np.save(self.path("x.npy"), np.ones((1, 64), np.float32))
        run = ("run", DIGITS, *NANO, "--core", "fast", "--input", "pixels=x.npy")
        self.refused(2, "p.txt: a profile is a page (.html) or a document (.json)", *run, "--profile", "p.txt")
        self.refused(2, "nowhere/p.html", *run, "--profile", "nowhere/p.html")
        self.refused(2, "would be written to it", *run, "--profile", "p.json", "--trace", "p.json")
        self.refused(2, "would be written over", *run[:-1], "pixels=x.json", "--profile", "x.json")
        self.refused(2, "one that is attached", *run, "--socket", "s", "--profile", "p.html")
        self.refused(1, "--profile excludes --slice", *run[:2], "--slice", "nano-2x2", "--profile", "p.html")
        self.refused(2, "the host computes it", *run, "--device", "none", "--profile", "p.html")
        self.weft("compile", DIGITS, *NANO, "-o", "d.weft")
        self.refused(2, "--profile needs the ONNX model", "run", "d.weft", *run[2:], "--profile", "p.html")
        self.refused(2, "--precision needs the ONNX model", "run", "d.weft", *run[2:], "--precision", "bf16x6")
        self.assertEqual(self.files(), ["d.weft", "x.npy"])


class Bench(ModelTools):
    def test_a_row_is_what_running_that_batch_measures(self):
        bench = self.weft_json("bench", DIGITS, *NANO, "--batch", "50,3")
        self.assertEqual([row["batch"] for row in bench["batches"]], [50, 3])
        for row in bench["batches"]:
            np.save(self.path("x.npy"), np.ones((row["batch"], 64), np.float32))
            run = self.weft_json("run", DIGITS, *NANO, "--core", "fast", "--input", "pixels=x.npy")
            self.assertEqual((row["device_cycles"], row["macs"]), (run["device_cycles"], run["macs"]))
            self.assertAlmostEqual(row["samples_per_second"], row["batch"] / (row["device_cycles"] * 1e-9))

    def test_both_cores_give_the_same_rows(self):
        rows = [self.weft_json("bench", DIGITS, *NANO, "--batch", "3", "--core", core)["batches"] for core in ("fast", "rtl")]
        for row in rows[0] + rows[1]:
            row.pop("host_seconds")
        self.assertEqual(*rows)

    def test_a_picture_and_a_table_with_islands(self):
        text = self.weft("bench", self.network(), *NANO, "--picture", "b.svg")
        self.assertEqual([line.split()[0] for line in text.splitlines()[2:]], ["1", "8", "32", "128"])
        self.assertIn("host s", text)
        drawing = ElementTree.parse(self.path("b.svg"))
        circles = drawing.findall(".//{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(circles), 2 * 4)
        heights = [float(circle.get("cy")) for circle in circles[:4]]
        self.assertEqual(heights, sorted(heights, reverse=True))  # more samples a second

    def test_a_model_of_one_size_has_one_row(self):
        helper_shape = self.network()
        model = onnx.load(self.path(helper_shape))
        for value in (model.graph.input[0], model.graph.output[0]):
            value.type.tensor_type.shape.dim[0].dim_value = 6
        onnx.save(model, self.path("six.onnx"))
        self.assertEqual([row["batch"] for row in self.weft_json("bench", "six.onnx", *NANO)["batches"]], [6])
        self.refused(2, "no input has a symbolic first dimension, so its batch is 6", "bench", "six.onnx", *NANO, "--batch", "6,7")

    def test_a_batch_that_is_refused_loses_no_other_row(self):
        code, out, err = self.run_weft("bench", DIGITS, *NANO, "--batch", "4,1000000000", "--json")
        self.assertEqual(code, 2, err)
        self.assertIn("batch 1000000000: ", err)
        self.assertEqual([row["batch"] for row in json.loads(out)["batches"]], [4])

    def test_bad_words_are_refused(self):
        for batches in ("0", "1,,2", "x", "1,1"):
            self.refused(2, "--batch", "bench", DIGITS, *NANO, "--batch", batches)
        self.refused(2, "a picture is an .svg file", "bench", DIGITS, *NANO, "--picture", "b.png")
        self.refused(2, "none.onnx", "bench", "none.onnx", *NANO)
        self.refused(2, "there is no chip", "bench", DIGITS, "--chip", "v9")
        self.refused(1, "MODEL is required", "bench")
        self.assertEqual(self.files(), [])


class Plan(ModelTools):
    def test_the_estimate_is_near_what_a_run_measures(self):
        for batch, chip in ((50, "nano"), (128, "nano-4mxu"), (8, "small")):
            row = self.weft_json("plan", DIGITS, "--chip", chip, "--batch", batch)["chips"][0]
            measured = self.weft_json("bench", DIGITS, "--chip", chip, "--batch", batch)["batches"][0]
            self.assertEqual(row["bound_cycles"], measured["bound_cycles"])
            self.assertLessEqual(row["bound_cycles"], row["estimate_cycles"])
            self.assertLess(abs(row["estimate_cycles"] / measured["device_cycles"] - 1), 0.3, (chip, row, measured))

    def test_every_preset_has_a_row(self):
        plan = self.weft_json("plan", self.network(), "--batch", 4)
        names = [row["chip"] for row in plan["chips"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"nano", "v2", "v5e", "v6e"}, set(names))
        for row in plan["chips"]:
            self.assertTrue(row["fits"])
            self.assertEqual(row["host_reasons"], {"no command for sine": 1})
            self.assertGreater(row["estimate_cycles"], row["bound_cycles"])

    def test_from_the_critical_batch_on_hbm_does_not_bind(self):
        critical = self.weft_json("plan", DIGITS, *NANO)["chips"][0]["critical_batch"]
        bound = {row["batch"]: row["bound_by"] for row in self.weft_json("bench", DIGITS, *NANO, "--batch", f"{critical - 1},{critical}")["batches"]}
        self.assertEqual(bound, {critical - 1: "HBM", critical: "MXU"})

    def test_bad_words_are_refused(self):
        self.refused(2, "there is no chip 'v9'", "plan", DIGITS, "--chip", "nano,v9")
        self.refused(2, "nano is there twice", "plan", DIGITS, "--chip", "nano,nano")
        self.refused(2, "none.onnx", "plan", "none.onnx")
        self.refused(1, "--batch", "plan", DIGITS, "--batch", "0")
        self.refused(1, "MODEL is required", "plan")


if __name__ == "__main__":
    unittest.main()
