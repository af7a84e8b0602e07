"""waivers.py: what a waiver must say."""
import pathlib
import random
import string
import tempfile
import tomllib
import unittest

import waivers

GOOD = '''
[[waiver]]
owner = "core"
reason = "the state cannot be left"
kind = "line"
file = "rtl/core/a.sv"
text = "default:"
'''


class WaiversTest(unittest.TestCase):
    def test_a_complete_waiver_is_read(self):
        waiver, = waivers.parse(tomllib.loads(GOOD))
        self.assertEqual((waiver.kind, waiver.owner, waiver.where), ("line", "core", {"file": "rtl/core/a.sv", "text": "default:"}))

    def test_a_waiver_without_owner_reason_or_text_is_refused(self):
        for key in ("owner", "reason", "kind", "file", "text"):
            text = "\n".join(line for line in GOOD.split("\n") if not line.startswith(key))
            with self.subTest(key=key), self.assertRaises(waivers.WaiverError):
                waivers.parse(tomllib.loads(text))

    def test_an_empty_owner_and_a_word_as_reason_are_refused(self):
        for old, new in (('"core"', '" "'), ('"the state cannot be left"', '"unreachable"')):
            with self.assertRaisesRegex(waivers.WaiverError, "owner and a reason"):
                waivers.parse(tomllib.loads(GOOD.replace(old, new)))

    def test_unknown_keys_kinds_and_tables_are_refused(self):
        for text in (GOOD + 'line = "3"\n', GOOD.replace('"line"', '"file"'), GOOD + "[more]\n", "waiver = 3", "[waiver]\nx = 1",
                     GOOD.replace('"default:"', "7"), "waiver = [3]"):
            with self.subTest(text=text), self.assertRaises(waivers.WaiverError):
                waivers.parse(tomllib.loads(text))

    def test_bits(self):
        self.assertEqual([waivers.parse_bits(t) for t in ("7:4", "3", "8+", "all")], [(4, 7), (3, 3), (8, None), (0, None)])
        for text in ("", "4:7", "x", "1:", ":1", "-1", "1+2", "8 +"):
            with self.subTest(text=text), self.assertRaises(waivers.WaiverError):
                waivers.parse_bits(text)

    def test_garbage_in_the_file_is_a_waiver_error(self):
        generator = random.Random(7)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "w.toml"
            for _ in range(300):
                text = list(GOOD)
                for _ in range(3):
                    text[generator.randrange(len(text))] = generator.choice(string.printable)
                path.write_text("".join(text))
                try:
                    waivers.read(path)
                except waivers.WaiverError:
                    pass
            path.write_bytes(b"\xff\xff")
            with self.assertRaises(waivers.WaiverError):
                waivers.read(path)

    def test_stale_waivers_are_problems(self):
        waiver, = waivers.parse(tomllib.loads(GOOD))
        self.assertIn("names nothing", waivers.problems([waiver])[0])
        waiver.matched = 2
        self.assertIn("all it names is covered", waivers.problems([waiver])[0])
        self.assertEqual(waivers.problems([waiver], whole=False), [])
        waiver.needed = 1
        self.assertEqual(waivers.problems([waiver]), [])


if __name__ == "__main__":
    unittest.main()
