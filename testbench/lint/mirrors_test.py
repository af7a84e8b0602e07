#!/usr/bin/env python3
"""What mirrors.py finds in lists of files, and what it leaves alone."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from mirrors import check_lengths, check_mirrors  # noqa: E402

WHY = "a reason that a reader can follow, in a sentence"
FILES = ["driver/queue/ring.cpp", "testbench/unit/driver/queue/ring_test.cpp", "model/core/rtl.cpp", "testbench/unit/fast_core/rtl_test.cpp", "host/tools/formats/npy.cpp",
         "testbench/unit/tools/formats/npy_test.cpp", "host/examples/digits/batch.cpp", "testbench/unit/digits/batch_test.cpp", "driver/abi/abi.cpp", "testbench/unit/driver/abi/call_test.c",
         "driver/abi/abi.hpp", "rtl/core.sv", "scripts/tool.py"]
GROUP = {"why": WHY, "sources": ["driver/abi/*.cpp"], "tests": ["testbench/unit/driver/abi/call_test.c", "testbench/unit"]}


class Mirrors(unittest.TestCase):
    def test_a_mirrored_source_and_a_listed_one_are_well(self):
        self.assertEqual(check_mirrors(FILES, [GROUP]), ([], 5, 4))

    def test_a_source_without_a_test_is_found_unless_it_stands_in_one_group(self):
        for files, groups in (([*FILES, "firmware/boot.cpp"], [GROUP]), ([*FILES, "host/tools/ring.cpp"], [GROUP]), (FILES, [GROUP, GROUP])):
            with self.subTest(files=files[-1], groups=len(groups)):
                wrong = check_mirrors(files, groups)[0]
                self.assertEqual(len(wrong), 1)
                self.assertIn("no unit test mirrors it", wrong[0])

    def test_an_entry_that_holds_no_more_is_found(self):
        for changes in ({"tests": ["testbench/unit/none_test.cpp"]}, {"tests": []}, {"why": "none"}, {"sources": ["driver/abi/*.cpp", "driver/queue/ring.cpp"]},
                        {"sources": ["driver/abi/*.cpp", "driver/gone*.cpp"]}):
            with self.subTest(changes=changes):
                self.assertEqual(len(check_mirrors(FILES, [GROUP | changes])[0]), 1)

    def test_a_long_file_and_an_allowance_that_is_not_needed_are_found(self):
        large = [{"file": "weft.h", "lines": 800, "why": WHY}]
        self.assertEqual(check_lengths({"weft.h": 800, "a.cpp": 500}, large), [])
        for lengths in ({"weft.h": 801}, {"weft.h": 800, "a.cpp": 501}, {"weft.h": 500}, {}):
            with self.subTest(lengths=lengths):
                self.assertEqual(len(check_lengths(lengths, large)), 1)


if __name__ == "__main__":
    unittest.main()
