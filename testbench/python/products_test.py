#!/usr/bin/env python3
"""weft.gemm against the weft command, which compares with the golden model, and against exact sums."""
import pathlib
import tempfile
import threading
import unittest

import numpy as np
from weft_package import weft_command

import weft

SEED = 5
SHAPES = [(1, 1, 1), (3, 5, 7), (16, 16, 16), (33, 70, 41)]


class Products(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"seed {SEED}")
        cls.random = np.random.default_rng(SEED)
        cls.device = weft.open("nano")
        cls.addClassCleanup(cls.device.close)

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def of_the_command(self, a, b, precision):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(pathlib.Path(folder, name)) for name in ("a.npy", "b.npy", "c.npy")]
            np.save(paths[0], a)
            np.save(paths[1], b)
            weft_command("gemm", *paths[:2], "-o", paths[2], "--precision", precision, "--chip", "nano", "--core", "fast", "--verify")
            return np.load(paths[2])

    def test_the_bits_are_those_of_weft_gemm_and_of_the_golden_model(self):
        for precision, (m, k, n) in zip(("bf16", "bf16x3", "bf16x6", "bf16"), SHAPES, strict=True):
            with self.subTest(precision=precision, m=m, k=k, n=n):
                a, b = self.floats(m, k), self.floats(k, n)
                c = self.device.gemm(a, b, precision)
                self.assertEqual((c.dtype, c.shape), (np.float32, (m, n)))
                np.testing.assert_array_equal(c.view(np.uint32), self.of_the_command(a, b, precision).view(np.uint32))

    def test_int8_products_are_exact(self):
        for m, k, n in SHAPES:
            a, b = (self.random.integers(-128, 128, shape, np.int8) for shape in ((m, k), (k, n)))
            c = weft.gemm(a, b, device=self.device)
            self.assertEqual(c.dtype, np.int32)
            np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))

    def test_strides_and_orders_change_nothing(self):
        a, b = self.floats(20, 24), self.floats(24, 12)
        expected = self.device.gemm(a, b)
        wide = np.zeros((40, 48), np.float32)
        wide[::2, ::-2] = a
        for left, right in ((np.asfortranarray(a), b), (a, b.T.copy().T), (wide[::2, ::-2], b)):
            self.assertFalse(left.flags.c_contiguous and right.flags.c_contiguous)
            np.testing.assert_array_equal(self.device.gemm(left, right).view(np.uint32), expected.view(np.uint32))

    def test_sizes_of_zero_give_what_numpy_gives(self):
        for m, k, n in ((0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)):
            c = weft.gemm(np.ones((m, k), np.float32), np.ones((k, n), np.float32), device=self.device)
            expected = np.ones((m, k), np.float32) @ np.ones((k, n), np.float32)
            self.assertEqual((c.shape, c.dtype, c.tolist()), (expected.shape, expected.dtype, expected.tolist()))

    def test_what_does_not_fit_is_an_exception_with_both_shapes_or_types(self):
        f, i = np.ones((2, 3), np.float32), np.ones((3, 2), np.int8)
        for kind, words, call in (
            (ValueError, "2 x 3 and b 2 x 3", lambda: self.device.gemm(f, f)), (TypeError, "float32 and b of int8", lambda: self.device.gemm(f, i)),
            (TypeError, "float64", lambda: self.device.gemm(f.astype(np.float64), f.T)), (TypeError, "complex", lambda: self.device.gemm(f, f.T.astype(np.complex64))),
            (TypeError, ">f4", lambda: self.device.gemm(f.astype(">f4"), f.T)), (TypeError, "list", lambda: self.device.gemm([[1.0]], f)), (ValueError, "matrices", lambda: self.device.gemm(f[0], f.T)),
            (ValueError, "matrices", lambda: self.device.gemm(f[None], f.T)), (ValueError, "fp8", lambda: self.device.gemm(f, f.T, "fp8")),
            (ValueError, "int8", lambda: self.device.gemm(f, f.T, "int8")), (ValueError, "bf16", lambda: self.device.gemm(i.T, i, "bf16"))):
            with self.assertRaisesRegex(kind, words):
                call()

    def test_a_product_that_does_not_fit_in_memory_is_told_and_the_next_one_works(self):
        with self.assertRaises(weft.Error) as caught:
            self.device.gemm(np.zeros((1, 1 << 20), np.int8), np.zeros((1 << 20, 128), np.int8))
        self.assertIn(caught.exception.status, (weft.Status.NO_DEVICE_MEMORY, weft.Status.UNSUPPORTED))
        self.assertEqual(self.device.gemm(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)).tolist(), [[1, 0], [0, 1]])

    def test_threads_get_their_own_results(self):
        pairs = [(self.floats(8 + t, 16), self.floats(16, 8)) for t in range(4)]
        expected = [self.device.gemm(a, b) for a, b in pairs]
        found = [[] for _ in pairs]

        def work(t):
            for _ in range(10):
                found[t].append(self.device.gemm(*pairs[t]))

        threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for t, results in enumerate(found):
            self.assertEqual(len(results), 10)
            for c in results:
                np.testing.assert_array_equal(c.view(np.uint32), expected[t].view(np.uint32))

    def test_the_default_device_is_the_one_of_the_environment(self):
        import os

        os.environ["WEFT_CHIPS"] = "nano"
        self.addCleanup(os.environ.pop, "WEFT_CHIPS")
        one = np.eye(3, dtype=np.float32)
        self.assertEqual(weft.gemm(one, one).tolist(), one.tolist())
        self.assertIs(weft.default_device(), weft.default_device())
        self.assertEqual(weft.default_device().info.preset, "nano")
        weft.default_device().close()
        self.assertEqual(weft.gemm(one, one).tolist(), one.tolist())


if __name__ == "__main__":
    unittest.main()
