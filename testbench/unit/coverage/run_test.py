"""run.py: the cases that a level leaves out are left out, and no others."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import run

CATCH = pathlib.Path(os.environ["CATCH_PROGRAM"])


def cases(*arguments):
    """Names that the filters take, of a program that has many."""
    return subprocess.run([str(CATCH), "--list-test-names-only", *arguments], stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()


class WithoutTest(unittest.TestCase):
    def test_each_case_is_left_out_alone_whatever_is_in_its_name(self):
        every = cases()
        commas = [name for name in every if "," in name]
        self.assertTrue(commas, "no case of the program has a comma in its name")
        for name in every:
            self.assertEqual(cases(*run.without(CATCH, [name])), [other for other in every if other != name])
        self.assertEqual(cases(*run.without(CATCH, [*commas, every[0]])), [name for name in every if name not in commas and name != every[0]])
        self.assertEqual(cases(*run.without(CATCH, [])), every)
        self.assertEqual(cases(*run.without(CATCH, ["*"])), [])

    def test_a_case_that_is_not_there_is_told(self):
        with self.assertRaisesRegex(run.RunError, f'^levels.toml leaves out "its old name", and {CATCH.name} has no such case$'):
            run.without(CATCH, [cases()[0], "its old name"])


class ProgramsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / run.BUILD / "bin").mkdir(parents=True)
        (self.root / run.BUILD / "bin" / "catch_test").symlink_to(CATCH)

    def listed(self, text):
        (self.root / run.BUILD / "rtl_coverage_tests.txt").write_text(text)

    def test_what_every_level_and_what_this_one_leaves_out_are_left_out(self):
        self.listed("catch_test\nother_test\n")
        first, second = cases()[:2]
        level = {"leave_out": {"catch_test": [second]}, "programs": [["random_programs", "--count", "3"]]}
        made = run.programs(self.root, level, {"catch_test": [first], "other_test": ["*"]})
        self.assertEqual(made, [["random_programs", "--count", "3"], ["other_test", "~*"], ["catch_test", *run.without(CATCH, [first, second])]])

    def test_a_program_that_is_not_there_is_told(self):
        self.listed("catch_test\n")
        with self.assertRaisesRegex(run.RunError, "gone_test, which is no test program"):
            run.programs(self.root, {"programs": []}, {"gone_test": ["*"]})
        self.assertEqual(run.programs(self.root, {"programs": [], "without": ["gone_test"]}, {"gone_test": ["*"]}), [["catch_test"]])
        self.listed("")
        with self.assertRaisesRegex(run.RunError, "no test program has label rtl"):
            run.programs(self.root, {"programs": []}, {})


if __name__ == "__main__":
    unittest.main()
