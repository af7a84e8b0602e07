"""Tests of design.py, operators.py, mutant.py, sampling.py and schemata.py."""
import random
import tempfile
import unittest
from pathlib import Path

import design
import mutate
import sampling
import schemata
import small_design
from mutant import KINDS, Change, living_numbers, number
from pyslang import syntax


class SmallDesign(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name).resolve()
        small_design.write(self.root)

    def text(self):
        return (self.root / "rtl/small/counter.sv").read_text(encoding=design.BYTES)

    def changes(self, line_part):
        found = small_design.population(self.root)
        return {(m.change.kind, m.what) for m in found if line_part in m.source}

    def test_every_kind_of_change_is_found_where_it_belongs(self):
        expected = {
            "if (go_i) count_q": {("condition", "go_i -> !(go_i)"), ("condition", "go_i -> 1'b0"),
                                  ("arithmetic", "count_q + 8'(Step) -> (count_q) - (8'(Step))"),
                                  ("shift", "value_i << 1 -> (value_i) >> (1)"),
                                  ("dropped", "count_q <= count_q + 8'(Step) - (value_i << 1); -> nothing")},
            "assign full_o": {("relational", "count_q >= 8'd200 -> (count_q) > (8'd200)"),
                              ("logical", "count_q >= 8'd200 && state_q != StDone -> "
                                          "(count_q >= 8'd200) || (state_q != StDone)"),
                              ("constant", "8'd200 -> 8'd201"), ("constant", "StDone -> StIdle")},
            "assign value_o": {("slice", "count_q[3:0] -> count_q[4:1]"),
                               ("swap", "{count_q[3:0], value_i[7:4]} -> {value_i[7:4], count_q[3:0]}")},
            "if (!rst_ni)": {("reset", "!rst_ni -> 1'b0")},
            "count_q <= '0": {("reset", "count_q <= '0; -> nothing"), ("reset", "'0 -> '1")},
            "state_q <= go_i": {("select", "go_i ? StRun : StIdle -> (go_i) ? (StIdle) : (StRun)")},
        }
        for line, changes in expected.items():
            with self.subTest(line):
                self.assertLessEqual(changes, self.changes(line))

    def test_assertions_parameters_and_types_are_left_alone(self):
        for line in ("_A: assert", "parameter", "typedef", "logic [7:0]"):
            self.assertEqual(self.changes(line), set(), line)

    def test_with_no_mutant_alive_the_text_is_the_original(self):
        mutants = small_design.population(self.root)
        rendered = schemata.render(self.text(), list(enumerate(mutants, 1)))
        self.assertNotEqual(rendered, self.text())
        self.assertEqual(small_design.resolve(rendered, 0), self.text())

    def test_each_mutant_changes_the_text_as_it_says(self):
        mutants = small_design.population(self.root)
        rendered = schemata.render(self.text(), list(enumerate(mutants, 1)))
        for active, mutant in enumerate(mutants, 1):
            change, text = mutant.change, self.text()
            self.assertEqual(small_design.resolve(rendered, active),
                             text[:change.start] + change.replacement + text[change.end:], mutant.id)

    def test_a_change_keeps_together_what_belongs_together(self):
        change = Change("f", 0, 6, "logical", "a && b", "(a) || (b)")
        self.assertEqual(change.apply("a && b && c"), "((a) || (b)) && c")
        self.assertEqual(Change("f", 0, 5, "constant", "8'd20", "8'd21").apply("8'd20;"), "8'd21;")

    def test_ids_are_unique_and_the_same_every_time(self):
        first, second = small_design.population(self.root), small_design.population(self.root)
        self.assertEqual([m.id for m in first], [m.id for m in second])
        self.assertEqual(len({m.id for m in first}), len(first))
        self.assertLessEqual({m.change.kind for m in first}, set(KINDS))

    def test_a_line_above_moves_the_line_number_and_nothing_else(self):
        before = small_design.population(self.root)
        small_design.write(self.root, small_design.COUNTER.replace("// Gr", "// one line more\n// Gr"))
        after = small_design.population(self.root)
        self.assertEqual([(m.line + 1, m.change.kind, m.ordinal, m.what) for m in before],
                         [(m.line, m.change.kind, m.ordinal, m.what) for m in after])

    def test_files_that_do_not_change_keep_their_time(self):
        mutants = small_design.population(self.root)
        schemata.write_tree(self.root, self.root / "out", mutants)
        written = self.root / "out/small/counter.sv"
        stamp = written.stat().st_mtime_ns
        schemata.write_tree(self.root, self.root / "out", mutants)
        self.assertEqual(written.stat().st_mtime_ns, stamp)
        (self.root / "out/small/gone.sv").write_text("")
        schemata.write_tree(self.root, self.root / "out", mutants)
        self.assertFalse((self.root / "out/small/gone.sv").exists())

    def test_a_mutant_lives_by_the_same_number_whatever_others_there_are(self):
        mutants = small_design.population(self.root)
        numbers = living_numbers(mutants)
        self.assertEqual(len(set(numbers.values())), len(mutants))
        self.assertTrue(all(0 < number < 1 << 31 for number in numbers.values()))
        self.assertEqual(living_numbers(mutants[::3]), {m.id: numbers[m.id] for m in mutants[::3]})

    def test_text_that_is_no_design_is_refused_with_file_and_line(self):
        generator = random.Random(1)
        text = small_design.COUNTER.encode()
        for round_number in range(60):
            damaged = bytearray(text)
            for _ in range(generator.randrange(1, 40)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            (self.root / "rtl/small/counter.sv").write_bytes(damaged)
            with self.subTest(round_number):
                try:
                    small_design.population(self.root)
                except design.DesignError as error:
                    self.assertRegex(str(error), r":\d+: slang cannot read")

    def test_missing_packages_are_named(self):
        (self.root / "generated/weft_pkg.sv").unlink()
        with self.assertRaisesRegex(design.DesignError, "weft_pkg.sv"):
            small_design.population(self.root)

    def test_changes_that_cross_each_other_are_refused(self):
        changes = [Change("f", 0, 4, "swap", "abcd", "x"), Change("f", 2, 6, "swap", "cdef", "y")]
        mutants = number(changes, {"f": "abcdef"})
        with self.assertRaises(schemata.SchemataError):
            schemata.render("abcdef", list(enumerate(mutants, 1)))


class WholeDesign(unittest.TestCase):
    """The RTL of this repository."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.population, cls.texts = design.population(mutate.ROOT, mutate.generated_packages(Path(cls.folder.name)))

    def test_every_file_that_holds_logic_has_mutants(self):
        files = {m.change.file for m in self.population}
        for path in (mutate.ROOT / "rtl").glob("*/*.sv"):
            if "always" in path.read_text() or "assign " in path.read_text():
                self.assertIn(str(path.relative_to(mutate.ROOT)), files)

    def test_with_all_mutants_in_it_every_file_is_still_systemverilog_and_with_none_alive_the_original(self):
        of_file = {}
        for index, mutant in enumerate(self.population, 1):
            of_file.setdefault(mutant.change.file, []).append((index, mutant))
        for file, numbered in of_file.items():
            with self.subTest(file):
                rendered = schemata.render(self.texts[file], numbered)
                errors = [d for d in syntax.SyntaxTree.fromText(rendered).diagnostics if d.isError()]
                self.assertEqual(errors, [])
                self.assertEqual(small_design.resolve(rendered, 0), self.texts[file])

    def test_a_draw_repeats_by_its_seed_and_reaches_every_block(self):
        first = sampling.sample(self.population, 300, 5)
        self.assertEqual([m.id for m in first], [m.id for m in sampling.sample(self.population, 300, 5)])
        self.assertNotEqual([m.id for m in first], [m.id for m in sampling.sample(self.population, 300, 6)])
        self.assertEqual(len(first), 300)
        self.assertEqual({m.block for m in first}, {m.block for m in self.population})

    def test_unknown_names_are_wrong_usage(self):
        for wrong in (["--only", "rtl/nothing.sv:1:swap:1"], ["--block", "nothing"]):
            with self.assertRaises(mutate.UsageError):
                mutate.choose(self.population, mutate.arguments_of(wrong))


class Shares(unittest.TestCase):
    def test_shares_add_up_and_exceed_nothing(self):
        generator = random.Random(3)
        for _ in range(200):
            sizes = {key: generator.randrange(0, 50) for key in range(generator.randrange(1, 12))}
            count = generator.randrange(0, 300)
            shares = sampling.shares(sizes, count)
            self.assertEqual(sum(shares.values()), min(count, sum(sizes.values())))
            self.assertTrue(all(0 <= shares[key] <= sizes[key] for key in sizes))


if __name__ == "__main__":
    unittest.main()
