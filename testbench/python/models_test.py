#!/usr/bin/env python3
"""weft.compile and Model.run against the weft command."""
import pathlib
import tempfile
import unittest

import numpy as np
from weft_package import ROOT, weft_command

import weft

DIGITS = ROOT / "host/examples/digits/digits.onnx"


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.device = weft.open("nano")
        cls.addClassCleanup(cls.device.close)
        cls.model = weft.compile(DIGITS, preset="nano", symbols={"batch": 16})

    def test_the_bits_are_those_of_weft_run(self):
        x = np.random.default_rng(3).uniform(0, 1, (16, 64)).astype(np.float32)
        name = self.model.inputs[0].name
        outputs, report = self.model.run_reported({name: np.asfortranarray(x)}, device=self.device)
        with tempfile.TemporaryDirectory() as folder:
            given, made = pathlib.Path(folder, "x.npy"), pathlib.Path(folder, "y.npy")
            np.save(given, x)
            out = self.model.outputs[0].name
            weft_command("run", DIGITS, "--chip", "nano", "--core", "fast", "--input", f"{name}={given}", "--output", f"{out}={made}", "--verify")
            np.testing.assert_array_equal(outputs[out].view(np.uint32), np.load(made).view(np.uint32))
        self.assertEqual((report.launches, report.host_seconds > 0), (1, False))
        self.assertEqual(report.device_cycles, report.end_cycle - report.start_cycle)

    def test_products_of_more_passes_are_closer_to_float32(self):
        x = np.random.default_rng(4).uniform(0, 1, (16, 64)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            given, made = pathlib.Path(folder, "x.npy"), pathlib.Path(folder, "y.npy")
            np.save(given, x)
            weft_command("run", DIGITS, "--device", "none", "--input", f"pixels={given}", "--output", f"scores={made}")
            expected = np.load(made).astype(np.float64)
        errors = []
        for precision in ("bf16", "bf16x3", "bf16x6"):
            model = weft.compile(DIGITS, preset="nano", symbols={"batch": 16}, precision=precision)
            scores = model.run({"pixels": x}, device=self.device)["scores"]
            errors.append(np.linalg.norm(scores - expected) / np.linalg.norm(expected))
            self.assertEqual([part["where"] for part in model.parts], ["device"])
        self.assertTrue(errors[0] > 1e-4 > errors[1] > 1e-6 > errors[2], errors)

    def test_it_tells_its_arrays_and_its_parts(self):
        self.assertEqual([(t.name, t.dtype, t.shape) for t in self.model.inputs], [("pixels", np.dtype(np.float32), (16, 64))])
        self.assertEqual(self.model.outputs[0].shape, (16, 10))
        self.assertEqual([part["where"] for part in self.model.parts], ["device"])

    def test_wrong_inputs_are_exceptions_that_name_them(self):
        x = np.zeros((16, 64), np.float32)
        for kind, words, inputs in ((KeyError, "no input 'pixels'", {}), (KeyError, "unknown input 'z'", {"pixels": x, "z": x}), (TypeError, "float64", {"pixels": x.astype(np.float64)}),
                                    (ValueError, r"\(16, 63\)", {"pixels": x[:, 1:]}), (TypeError, "list", {"pixels": [[0.0]]})):
            with self.assertRaisesRegex(kind, words):
                self.model.run(inputs, device=self.device)

    def test_a_device_of_another_preset_is_refused(self):
        other = weft.compile(DIGITS, preset="v5e-1mxu", shapes={"pixels": (16, 64)})
        with self.assertRaises(weft.Error) as caught:
            other.run({"pixels": np.zeros((16, 64), np.float32)}, device=self.device)
        self.assertRegex(str(caught.exception), "INVALID_ARGUMENT.*v5e-1mxu.*nano")

    def test_files_that_are_no_network_are_refused(self):
        for options, words in (({"preset": "none"}, "none"), ({"preset": "nano", "shapes": {"pixels": (-1, 64)}}, ""), ({"preset": "nano", "shapes": {"pixels": (16, 63)}}, "[16, 63]"),
                               ({"preset": "nano", "symbols": {"batch": 2}, "shapes": {"x": (16,)}}, "no input 'x'"), ({"preset": "nano", "symbols": {"other": 2}}, "batch"),
                               ({"preset": "nano", "symbols": {"batch": 2}, "precision": "f32"}, "bf16x6")):
            with self.assertRaises(weft.Error) as caught:
                weft.compile(DIGITS, **options)
            self.assertIn(words, str(caught.exception))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "cut.onnx")
            path.write_bytes(DIGITS.read_bytes()[:1000])
            for name in (path, pathlib.Path(folder, "none.onnx"), pathlib.Path(folder)):
                with self.assertRaises(weft.Error) as caught:
                    weft.compile(name, preset="nano")
                self.assertIn(str(name), str(caught.exception))


if __name__ == "__main__":
    unittest.main()
