#!/usr/bin/env python3
"""What abi.py finds in pairs of headers, and what it allows."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from abi import RELEASES, compare, describe, judge, last_release, text_of  # noqa: E402

OLD = """#include <stdint.h>
typedef enum weft_kind { WEFT_KIND_A, WEFT_KIND_B = 5, WEFT_KIND_C } weft_kind;
typedef struct weft_part { uint32_t number; } weft_part;
typedef struct weft_info { uint32_t size; weft_kind kind; weft_part part; uint64_t cycles; } weft_info;
typedef struct weft_unreached { int a; } weft_unreached;
int weft_ask(weft_info* info);
int weft_end(int code);
"""


class Abi(unittest.TestCase):
    def described(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "weft").mkdir()
            (Path(folder) / "weft" / "weft.h").write_text(text)
            return describe([folder])

    def broken(self, was, now):
        self.assertIn(was, OLD)
        return sorted(compare(self.described(OLD), self.described(OLD.replace(was, now))))

    def test_what_calls_reach_is_described(self):
        found = self.described(OLD)
        self.assertEqual(found["calls"], {"weft_ask": "int (weft_info *)", "weft_end": "int (int)"})
        self.assertEqual(sorted(found["structures"]), ["weft_info", "weft_part"])
        self.assertEqual(found["constants"], {"WEFT_KIND_A": 0, "WEFT_KIND_B": 5, "WEFT_KIND_C": 6})

    def test_what_adds_breaks_nothing(self):
        for was, now in (("uint64_t cycles;", "uint64_t cycles; uint32_t more;"), ("WEFT_KIND_C }", "WEFT_KIND_C, WEFT_KIND_D }"), ("int weft_end", "int weft_new(void);\nint weft_end"),
                         ("{ int a; }", "{ int b; }"), ("int weft_end(int code)", "int weft_end(int other)")):
            with self.subTest(now=now):
                self.assertEqual(self.broken(was, now), [])

    def test_what_breaks_is_named(self):
        for was, now, names in (("int weft_end(int code);", "", ["weft_end"]), ("(int code)", "(long code)", ["weft_end"]), ("WEFT_KIND_B = 5", "WEFT_KIND_B = 4", ["WEFT_KIND_B", "WEFT_KIND_C"]),
                                ("WEFT_KIND_A, ", "", ["WEFT_KIND_A"]), ("uint64_t cycles;", "uint32_t cycles;", ["weft_info"]), ("uint64_t cycles;", "uint64_t ticks;", ["weft_info"]),
                                ("uint64_t cycles;", "", ["weft_info"]), ("weft_kind kind;", "uint32_t more; weft_kind kind;", ["weft_info"]),
                                ("{ uint32_t number; }", "{ uint32_t number; uint32_t more; }", ["weft_part"])):
            with self.subTest(now=now):
                self.assertEqual(self.broken(was, now), names)

    def test_what_breaks_is_announced_with_another_version(self):
        log = "# Changelog\n## 0.2.0\n`weft_end` takes a long.\n## 0.1.0\n`weft_ask`\n"
        self.assertEqual(judge({}, (0, 1), (0, 1), log), [])
        self.assertEqual(judge({"weft_end": "so"}, (0, 1), (0, 2), log), [])
        self.assertEqual(len(judge({"weft_end": "so"}, (0, 2), (0, 2), log)), 2)
        self.assertEqual(judge({"weft_ask": "so"}, (0, 1), (0, 2), log), ["so"])
        self.assertEqual(len(judge({"weft_end": "so"}, (1, 1), (1, 2), log)), 2)
        self.assertEqual(judge({"weft_end": "so"}, (1, 1), (2, 0), log), [])

    def test_a_release_is_described_in_a_file_and_the_newest_counts(self):
        description = self.described(OLD)
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(last_release(Path(folder)))
            (Path(folder) / RELEASES).mkdir(parents=True)
            for version, text in (("0.9.1", "{}"), ("0.10.0", text_of(description)), ("0.2.0", "{}")):
                (Path(folder) / RELEASES / f"{version}.json").write_text(text)
            version, found = last_release(Path(folder))
        self.assertEqual(version, (0, 10))
        self.assertEqual(compare(found, description), {})
        self.assertEqual(sorted(compare(found, self.described(OLD.replace("uint64_t cycles;", "")))), ["weft_info"])


if __name__ == "__main__":
    unittest.main()
