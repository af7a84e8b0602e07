#!/usr/bin/env python3
"""Collectives of a slice, against NumPy."""
import unittest

import numpy as np
from weft_package import ROOT  # noqa: F401

import weft
from weft import ArgumentDtype, CollectiveKind

SEED = 1
CHIPS = 6


def blocks(array, ranks):
    """As docs/collectives.md cuts an array: granules of 16 bytes, the first ranks one more."""
    granule = 16 // array.itemsize
    whole, rest = divmod(len(array) // granule, ranks)
    ends = np.cumsum([0] + [(whole + (rank < rest)) * granule for rank in range(ranks)])
    return [array[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]


class Collectives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.chips = weft.open_slice("nano-3x2")
        cls.addClassCleanup(cls.chips.close)
        print(f"seed {SEED}")

    def arrays(self, elements, dtype=np.float32):
        """Whole numbers, whose sums are exact in any order."""
        draw = np.random.default_rng(SEED)
        return [draw.integers(-50, 50, elements).astype(dtype) for _ in range(CHIPS)]

    def check(self, collective, inputs, expected):
        outputs, cycles = collective.run(inputs)
        self.assertEqual(len(outputs), CHIPS)
        for chip, (found, due) in enumerate(zip(outputs, expected, strict=True)):
            self.assertEqual(found.dtype, due.dtype)
            np.testing.assert_array_equal(found, due, err_msg=f"{collective.kind.name}, chip {chip}")
        self.assertGreater(cycles, 0)
        return cycles

    def test_all_kinds_over_all_chips(self):
        for elements in (4, 24, 28, 1000):  # fewer granules than chips, as many, one more, many
            given = self.arrays(elements)
            size, total = 4 * elements, np.sum(given, axis=0)
            make = lambda kind, **options: self.chips.collective(kind, ArgumentDtype.F32, size, **options)  # noqa: B023, E731
            whole = given[0]
            self.check(make(CollectiveKind.ALL_REDUCE), given, [total] * CHIPS)
            self.check(make(CollectiveKind.BROADCAST, root=4), given, [given[4]] * CHIPS)
            self.check(make(CollectiveKind.PERMUTE, shift=2), given, [given[(chip - 2) % CHIPS] for chip in range(CHIPS)])
            if elements < 4 * CHIPS:
                continue
            self.check(make(CollectiveKind.ALL_GATHER), blocks(whole, CHIPS), [whole] * CHIPS)
            self.check(make(CollectiveKind.REDUCE_SCATTER), given, blocks(total, CHIPS))
            self.check(make(CollectiveKind.ALL_TO_ALL), given, [np.concatenate([blocks(array, CHIPS)[chip] for array in given]) for chip in range(CHIPS)])

    def test_along_an_axis_and_in_groups(self):
        given = self.arrays(96, np.int32)
        rows = [[0, 1, 2], [3, 4, 5]]
        expected = [np.sum([given[other] for other in rows[chip // 3]], axis=0, dtype=np.int32) for chip in range(CHIPS)]
        for options in ({"axes": "x"}, {"groups": rows}):
            self.check(self.chips.collective(CollectiveKind.ALL_REDUCE, ArgumentDtype.I32, 384, **options), given, expected)
        columns = [given[chip % 3] + given[chip % 3 + 3] for chip in range(CHIPS)]
        scattered = [blocks(column, 2)[chip // 3] for chip, column in enumerate(columns)]
        self.check(self.chips.collective(CollectiveKind.REDUCE_SCATTER, ArgumentDtype.I32, 384, axes="y"), given, scattered)

    def test_a_barrier_moves_nothing_and_runs_take_the_same_cycles(self):
        barrier = self.chips.collective(CollectiveKind.BARRIER, ArgumentDtype.F32, 0)
        outputs, cycles = barrier.run([None] * CHIPS)
        self.assertEqual(outputs, [None] * CHIPS)
        self.assertEqual({barrier.run([None] * CHIPS)[1] for _ in range(3)}, {cycles})

    def test_bits_of_bf16(self):
        given = [array.view(np.uint32) >> 16 for array in self.arrays(64)]
        given = [array.astype(np.uint16) for array in given]
        self.check(self.chips.collective(CollectiveKind.BROADCAST, ArgumentDtype.BF16, 128), given, [given[0]] * CHIPS)

    def test_what_cannot_be_is_refused(self):
        make = self.chips.collective
        for call, kind in ((lambda: make(CollectiveKind.ALL_REDUCE, ArgumentDtype.F32, 20), weft.Error), (lambda: make(CollectiveKind.ALL_REDUCE, ArgumentDtype.F32, 0), weft.Error),
                           (lambda: make(CollectiveKind.BROADCAST, ArgumentDtype.F32, 64, root=6), weft.Error), (lambda: make(CollectiveKind.ALL_REDUCE, ArgumentDtype.F32, 64, groups=[[0, 9]]), weft.Error),
                           (lambda: make(CollectiveKind.ALL_REDUCE, ArgumentDtype.F32, 64, groups=[[0, 1], [2]]), ValueError), (lambda: make(CollectiveKind.ALL_REDUCE, ArgumentDtype.F32, 64, axes="w"), ValueError),
                           (lambda: make(9, ArgumentDtype.F32, 64), ValueError), (lambda: make(CollectiveKind.ALL_REDUCE, ArgumentDtype.F32, -16), ValueError)):
            self.assertRaises(kind, call)

    def test_arrays_that_do_not_fit_are_refused_before_anything_runs(self):
        collective, given = self.chips.collective(CollectiveKind.ALL_REDUCE, ArgumentDtype.F32, 256), self.arrays(64)
        for wrong, kind in ((given[:5], ValueError), ([*given[:5], None], ValueError), ([*given[:5], given[5][:63]], ValueError), ([*given[:5], given[5].astype(np.float64)], TypeError)):
            self.assertRaises(kind, collective.run, wrong)
        self.check(collective, given, [np.sum(given, axis=0)] * CHIPS)

    def test_launches_on_buffers_name_what_is_wrong(self):
        collective = self.chips.collective(CollectiveKind.ALL_REDUCE, ArgumentDtype.F32, 256)
        device = self.chips.devices[0]
        queue, part = device.queue(), collective.parts[0]
        source, target = device.buffer(part.input_bytes), device.buffer(part.output_bytes)
        host, small = device.buffer(part.output_bytes, weft.Memory.HOST), device.buffer(part.output_bytes // 2)
        for arguments in ((0, queue, source), (0, queue, source, host), (0, queue, source, small), (1, queue, source, target), (6, queue, source, target)):
            with self.assertRaises(weft.Error) as caught:
                collective.launch(*arguments)
            self.assertEqual(caught.exception.status, weft.Status.INVALID_ARGUMENT)
        collective._handle.release()
        with self.assertRaises(weft.Error) as caught:
            collective.launch(0, queue, source, target)
        self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)


if __name__ == "__main__":
    unittest.main()
