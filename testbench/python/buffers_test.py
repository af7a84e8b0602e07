#!/usr/bin/env python3
"""Buffers with NumPy arrays of every shape and order."""
import gc
import unittest

import numpy as np
from weft_package import ROOT  # noqa: F401

import weft


class Buffers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.device = weft.open("nano")
        cls.addClassCleanup(cls.device.close)

    def test_arrays_come_back_from_hbm_whatever_their_order(self):
        base = np.random.default_rng(1).integers(0, 255, (6, 8, 10), np.uint8)
        for array in (base, base[::2], base[:, ::-1], base.T, np.asfortranarray(base), base.astype(">i4"), base.astype(np.float64), base[1, 2, 3:4], np.array(7, np.int16)):
            with self.subTest(strides=array.strides, dtype=array.dtype):
                buffer = self.device.put(array)
                self.assertEqual(buffer.size, array.nbytes)
                back = buffer.read(array.dtype, array.shape)
                np.testing.assert_array_equal(back, array)

    def test_writes_and_reads_at_offsets_leave_the_rest(self):
        for memory in weft.Memory:
            buffer = self.device.buffer(100, memory)
            buffer.write(np.arange(100, dtype=np.uint8))
            buffer.write(np.full(7, 255, np.uint8), offset=31)
            expected = np.arange(100, dtype=np.uint8)
            expected[31:38] = 255
            np.testing.assert_array_equal(buffer.read(np.uint8, (100,)), expected)
            np.testing.assert_array_equal(buffer.read(np.uint8, (5, 3), offset=30), expected[30:45].reshape(5, 3))

    def test_a_view_is_the_memory_itself_and_outlives_the_buffer(self):
        buffer = self.device.buffer(64, weft.Memory.HOST)
        self.assertFalse(buffer.view().any())
        view = buffer.view(np.int32, (2, 3), offset=8)
        view[1, 2] = -5
        self.assertEqual(buffer.read(np.int32, (6,), offset=8)[5], -5)
        buffer.release()
        gc.collect()
        view += 1
        self.assertEqual(view[1, 2], -4)

    def test_the_memory_goes_with_the_last_reference(self):
        free = self.device.info.hbm_free_bytes
        buffer = self.device.buffer(1 << 20)
        self.assertLess(self.device.info.hbm_free_bytes, free)
        del buffer
        gc.collect()
        self.assertEqual(self.device.info.hbm_free_bytes, free)

    def test_wrong_sizes_and_places_are_exceptions(self):
        host, hbm = self.device.buffer(16, weft.Memory.HOST), self.device.buffer(16)
        released = self.device.buffer(16)
        released.release()
        for kind, call in (
            (weft.Error, lambda: self.device.buffer(0)), (weft.Error, lambda: self.device.buffer(-1)), (weft.Error, lambda: self.device.buffer(1 << 70)),
            (weft.Error, lambda: self.device.buffer(1 << 50)), (weft.Error, hbm.view), (ValueError, lambda: host.view(np.int32, (5,))), (ValueError, lambda: host.view(offset=17)),
            (ValueError, lambda: host.view(offset=-1)), (ValueError, lambda: host.write(np.zeros(17, np.uint8))), (ValueError, lambda: hbm.write(np.zeros(8, np.uint8), offset=9)),
            (ValueError, lambda: hbm.read(np.uint8, (8,), offset=-1)), (ValueError, lambda: self.device.put(np.zeros((3, 0)))), (weft.Error, released.view),
            (weft.Error, lambda: released.read(np.uint8, (1,))), (weft.Error, lambda: released.device_address)):
            with self.assertRaises(kind):
                call()
        self.assertEqual(hbm.read(np.uint8, (0,)).shape, (0,))
        hbm.write(np.zeros(0))

    def test_no_memory_tells_what_was_asked_for_and_what_is_free(self):
        with self.assertRaises(weft.Error) as caught:
            self.device.buffer(1 << 40)
        self.assertEqual(caught.exception.status, weft.Status.NO_DEVICE_MEMORY)
        self.assertRegex(str(caught.exception), "1099511627776")


if __name__ == "__main__":
    unittest.main()
