#!/usr/bin/env python3
"""Executables: loaded, asked, launched."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from weft_package import ROOT, weft_command

import weft

ROWS, K, N = 64, 96, 32  # of host/examples/api/gemm_model.py


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weft-python-")
        cls.addClassCleanup(cls.folder.cleanup)
        model, cls.path = pathlib.Path(cls.folder.name, "gemm.onnx"), pathlib.Path(cls.folder.name, "gemm.weft")
        subprocess.run([sys.executable, ROOT / "host/examples/api/gemm_model.py", model], check=True)
        weft_command("compile", model, "--chip", "nano", "-o", cls.path)
        cls.device = weft.open("nano")
        cls.addClassCleanup(cls.device.close)

    def test_a_kernel_tells_its_arguments(self):
        kernel = self.device.load(self.path).kernels[0]
        self.assertEqual([(a.name, a.dtype.name, a.direction.name, a.shape) for a in kernel.arguments],
                         [("x", "BF16", "INPUT", (ROWS, K)), ("y", "F32", "OUTPUT", (ROWS, N))])
        self.assertEqual(kernel.macs, ROWS * K * N)

    def test_a_launch_computes_the_product_exactly(self):
        kernel = self.device.load(self.path.read_bytes()).kernels[0]
        x, y = (self.device.buffer(a.size_bytes, weft.Memory.HOST) for a in kernel.arguments)
        values = ((5 * np.arange(ROWS)[:, None] + np.arange(K)) % 16 - 8).astype(np.float32) / 8
        kernel.arguments[0].rows(x)[:] = values.view(np.uint32) >> 16
        with self.device.queue() as queue:
            event = queue.launch(kernel, [x, (y, 0)], tag=7).wait()
        weights = ((7 * np.arange(K)[:, None] + 3 * np.arange(N)) % 16 - 8).astype(np.float32) / 8
        np.testing.assert_array_equal(kernel.arguments[1].rows(y), values @ weights)
        self.assertEqual(event.cycles, event.end_cycle - event.start_cycle)
        self.assertGreater(event.cycles, kernel.cycle_estimate // 2)

    def test_rows_leave_out_what_pads_them(self):
        digits, path = ROOT / "host/examples/digits/digits.onnx", pathlib.Path(self.folder.name, "digits.weft")
        weft_command("compile", digits, "--batch", 16, "--chip", "nano", "-o", path)
        kernel = self.device.load(path).kernels[0]
        pixels = (np.arange(16 * 64).reshape(16, 64) % 17 / 16).astype(np.float32)
        given, made = (self.device.buffer(a.size_bytes, weft.Memory.HOST) for a in kernel.arguments)
        kernel.arguments[0].rows(given)[:] = pixels.view(np.uint32) >> 16
        self.device.queue().launch(kernel, [given, made]).wait()
        scores = kernel.arguments[1].rows(made)
        self.assertGreater(kernel.arguments[1].pitch_bytes, scores.shape[1] * 4)
        expected = weft.compile(digits, preset="nano", symbols={"batch": 16}).run({"pixels": pixels}, device=self.device)["scores"]
        np.testing.assert_array_equal(scores.view(np.uint32), expected.view(np.uint32))

    def test_wrong_launches_name_the_argument(self):
        program = self.device.load(self.path)
        kernel = program.kernels[0]
        x, small = self.device.buffer(kernel.arguments[0].size_bytes), self.device.buffer(16)
        queue = self.device.queue()
        for arguments, words in (([], "argument"), ([x], "argument"), ([x, small], "y"), ([x, x, x], "argument"), ([x, (x, 8)], "")):
            with self.assertRaises(weft.Error) as caught:
                queue.launch(kernel, arguments)
            self.assertEqual(caught.exception.status, weft.Status.INVALID_ARGUMENT)
            self.assertIn(words, str(caught.exception))
        program.release()
        program.release()
        with self.assertRaises(weft.Error) as caught:
            queue.launch(kernel, [x, x])
        self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)

    def test_bytes_that_are_no_executable_are_refused(self):
        good = self.path.read_bytes()
        for data in (b"", b"WEFT", good[:-1], good[:100], bytes(len(good)), good[:200] + bytes([good[200] ^ 1]) + good[201:]):
            with self.assertRaises(weft.Error) as caught:
                self.device.load(data)
            self.assertIn(caught.exception.status, (weft.Status.EXECUTABLE_INVALID, weft.Status.INVALID_ARGUMENT))
        with self.assertRaises(FileNotFoundError):
            self.device.load("/nowhere.weft")


if __name__ == "__main__":
    unittest.main()
