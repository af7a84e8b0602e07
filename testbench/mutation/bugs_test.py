"""Tests of bugs.py: what is no bug is refused, and each bug fits the RTL as it is."""
import random
import tempfile
import unittest
from pathlib import Path

import bugs
import mutate
import schemata
import small_design
from small_design import COUNTER

GOOD = '''[[bug]]
name = "one-more"
breaks = "The counter counts to the wrong number."
changes = [
  { file = "rtl/small/counter.sv", at = "count_q >= 8'd200", old = "8'd200", new = "8'd201" },
  { file = "rtl/small/counter.sv", at = "state_q <= go_i ? StRun : StIdle;", new = "" },
]

[[bug]]
name = "other-state"
breaks = "The counter runs when it must not."
changes = [{ file = "rtl/small/counter.sv", at = "state_q <= go_i ? StRun : StIdle;", new = "state_q <= StRun;" }]
'''


class Bugs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        small_design.write(self.root)

    def read(self, content):
        path = self.root / "bugs.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return bugs.read(path, self.root)

    def test_a_bug_lives_alone_and_the_text_folds_back_without_any(self):
        found = self.read(GOOD)
        numbers = bugs.write_tree(self.root, self.root / "out", found)
        text = (self.root / "out/small/counter.sv").read_text()
        for bug in found:
            self.assertEqual(text.count(f"32'd{numbers[bug.id]})"), len([c for c in bug.changes if c.is_statement]))
        self.assertIn(f"({schemata.ACTIVE} == 32'd{numbers['one-more']} ? (8'd201) : (8'd200))", text)
        self.assertIn("begin state_q <= StRun; end else", text)
        self.assertNotEqual(text, COUNTER)
        schemata.write_tree(self.root, self.root / "out", [])
        self.assertEqual((self.root / "out/small/counter.sv").read_text(), COUNTER)

    def test_a_bug_that_no_longer_applies_is_refused(self):
        for old, new in (("8'd200\"", "8'd199\""), ("rtl/small/counter.sv", "rtl/small/none.sv"), ("count_q >= ", "count_q"),
                         ("rtl/small/counter.sv", "rtl/../generated/weft_pkg.sv"), ('old = "8\'d200"', 'old = "zz"'),
                         ('at = "count_q >= 8\'d200"', 'at = ""')):
            with self.subTest(new), self.assertRaises(bugs.BugError):
                self.read(GOOD.replace(old, new, 1))

    def test_each_wrong_field_is_refused(self):
        wrong = {"no name": GOOD.replace('"one-more"', '""'), "twice": GOOD + GOOD, "no sentence": GOOD.replace("The counter counts to the wrong number.", "x"),
                 "another field": GOOD.replace('name = "one', 'kind = "a"\nname = "one'), "nothing": "", "no table": "bug = 3\n",
                 "another table": GOOD + "[other]\n", "no changes": '[[bug]]\nname = "a"\nbreaks = "The counter counts wrong."\nchanges = []\n',
                 "a statement for an expression": GOOD.replace('"8\'d201"', '"a <= b;"'), "the right half of an expression": GOOD.replace('"8\'d201"', '"&& a"'),
                 "an expression for a statement": GOOD.replace('"state_q <= StRun;"', '"StRun"')}
        for name, content in wrong.items():
            with self.subTest(name), self.assertRaises(bugs.BugError):
                self.read(content)

    def test_garbage_is_refused_and_nothing_else_happens(self):
        generator = random.Random(11)
        for round_number in range(300):
            damaged = bytearray(GOOD.encode())
            for _ in range(generator.randrange(1, 30)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            with self.subTest(round_number):
                try:
                    self.read(bytes(damaged))
                except bugs.BugError:
                    pass

    def test_a_bug_that_nobody_knows_is_refused(self):
        found = self.read(GOOD)
        self.assertEqual([bug.id for bug in bugs.choose(found, ["other-state"])], ["other-state"])
        with self.assertRaises(bugs.BugError):
            bugs.choose(found, ["none"])

    def test_the_bugs_of_this_repository_fit_its_rtl_and_lie_in_every_block(self):
        found = bugs.read(Path(mutate.__file__).parent / "bugs.toml", mutate.ROOT)
        self.assertGreaterEqual(len(found), 40)
        blocks = {folder.name for folder in (mutate.ROOT / "rtl").iterdir() if folder.is_dir()}
        self.assertEqual({bug.block for bug in found}, blocks)

    def test_38_of_40_must_be_killed(self):
        self.assertEqual([bugs.needed(count) for count in (40, 20, 1, 0)], [38, 19, 1, 0])


if __name__ == "__main__":
    unittest.main()
