"""Tests of execution.py, benches.py and report.py, with shell scripts as benches."""
import dataclasses
import json
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import benches
import execution
import report
from mutant import Change, number
from waivers import Waiver

FAILING = r"""printf -- '-------------------------------------------------------------------------------\nthe name of a test\n'
printf -- '-------------------------------------------------------------------------------\nx_test.cpp:7\nx_test.cpp:9: FAILED:\n'
exit 1"""


def never(_mutant):
    return False


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def program(self, name, body, folder="testbench/rtl/small"):
        path = Path(self.folder.name) / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
        return benches.Program(name, path, [], folder, {"rtl/small/a.sv"})

    def mutants(self, count=3):
        changes = [Change("rtl/small/a.sv", i, i + 1, "swap", "abc"[i], "x") for i in range(count)]
        return list(enumerate(number(changes, {"rtl/small/a.sv": "abc"}), 1))

    def test_each_way_to_die_has_its_name(self):
        cases = {"exit 0": (True, "", ""), FAILING: (False, "failed", "the name of a test"),
                 "echo '%Error: a.sv:3: Assertion failed in TOP.a.Name_A: x'; kill -ABRT $$": (False, "assertion TOP.a.Name_A", ""),
                 "kill -SEGV $$": (False, "signal 11", ""), "while :; do :; done": (False, "hang", "")}
        for index, (body, (passed, how, test)) in enumerate(cases.items()):
            with self.subTest(how):
                result = execution.run(self.program(f"p{index}", body), 1, 1)
                self.assertEqual((result.passed, result.how, result.test), (passed, how, test))

    def test_the_number_of_the_mutant_reaches_the_program(self):
        picky = self.program("picky", 'test "$WEFT_MUTANT" != 2')
        verdicts = execution.judge_all(self.mutants(), [picky], "system", never, 2, lambda *_: None)
        self.assertEqual([v.stage for v in verdicts], ["survived", "own", "survived"])

    def test_the_own_bench_comes_first_and_the_system_last(self):
        programs = [self.program("system", "exit 1", "testbench/random"), self.program("other", "exit 1", "testbench/rtl/big"),
                    self.program("own", "exit 0")]
        programs[2].cpu_seconds = 5
        self.assertEqual([p.name for p in benches.order(programs, "rtl/small/a.sv")], ["own", "other", "system"])
        self.assertEqual(benches.order(programs, "rtl/small/b.sv"), [])
        verdict = execution.judge(self.mutants()[0][1], 1, programs, "system", never)
        self.assertEqual((verdict.stage, verdict.program, verdict.tried), ("bench", "other", ["own", "other"]))
        verdict = execution.judge(self.mutants()[0][1], 1, programs, "own", never)
        self.assertEqual((verdict.stage, verdict.tried), ("survived", ["own"]))

    def test_a_survivor_that_makes_a_latch_is_killed_by_lint(self):
        verdict = execution.judge(self.mutants()[0][1], 1, [self.program("own", "exit 0")], "system", lambda mutant: True)
        self.assertEqual((verdict.stage, verdict.how), ("lint", "a latch"))

    def test_a_bench_that_fails_without_a_mutant_is_an_error(self):
        with self.assertRaisesRegex(execution.BaselineError, "broken fails without a mutant"):
            execution.baseline([self.program("broken", "exit 1")], 1)

    def test_reports_count_survivors_and_waivers(self):
        picky = self.program("picky", 'test "$WEFT_MUTANT" != 2')
        verdicts = execution.judge_all(self.mutants(), [picky], "system", never, 1, lambda *_: None)
        first = verdicts[0].mutant
        waiver = Waiver(first.change.file, first.source, "swap", first.what, "me", "equivalent", "both are the same here")
        result = report.Result(9, 1, verdicts, {first.id: waiver})
        self.assertEqual((result.killed, len(result.unexplained), len(result.unproven), round(result.score, 1)), (1, 1, 0, 33.3))
        unproven = dataclasses.replace(waiver, category="unproven")
        self.assertEqual(len(report.Result(9, 1, verdicts, {first.id: unproven}).unproven), 1)
        self.assertEqual(report.text_table(result).splitlines()[-1].split()[:8], "all 3 1 0 0 0 1 2".split())
        out = Path(self.folder.name)
        self.write_source("abc")
        report.write_json(result, out / "r.json", out)
        report.write_junit(result, out / "r.xml")
        report.write_markdown(result, out / "r.md")
        self.assertEqual(json.loads((out / "r.json").read_text())["killed"], 1)
        suite = ElementTree.parse(out / "r.xml").getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures"), len(suite.findall("testcase/skipped"))), ("3", "1", 1))
        self.assertIn(f"scripts/mutate --only {first.id}", (out / "r.md").read_text())

    def write_source(self, text):
        """The file that the mutants break."""
        source = Path(self.folder.name) / "rtl/small/a.sv"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)

    def test_a_run_goes_on_with_what_was_killed_of_files_that_are_the_same(self):
        out, mutants = Path(self.folder.name), [mutant for _, mutant in self.mutants()]
        picky = self.program("picky", 'test "$WEFT_MUTANT" != 2')
        verdicts = execution.judge_all(self.mutants(), [picky], "system", never, 1, lambda *_: None)
        self.write_source("abc")
        report.write_json(report.Result(3, 1, verdicts, {}), out / "r.json", out)
        kept = report.read_killed(out / "r.json", out, mutants)
        self.assertEqual([(v.mutant.id, v.stage, v.program) for v in kept], [(mutants[1].id, "own", "picky")])
        self.assertEqual(report.read_killed(out / "r.json", out, mutants[:1]), [])
        self.assertEqual(report.read_killed(out / "none.json", out, mutants), [])
        self.write_source("abc ")
        self.assertEqual(report.read_killed(out / "r.json", out, mutants), [])

    def test_a_damaged_result_is_not_gone_on_with(self):
        out, mutants = Path(self.folder.name), [mutant for _, mutant in self.mutants()]
        self.write_source("abc")
        entry = {"id": mutants[0].id, "change": mutants[0].what, "stage": "own", "digest": report.digest(out, "rtl/small/a.sv"),
                 "killed_by": "p", "how": "failed", "test": "t", "tried": ["p"], "cpu_seconds": 1.0}
        whole = json.dumps({"verdicts": [entry]})
        (out / "r.json").write_text(whole)
        self.assertEqual(len(report.read_killed(out / "r.json", out, mutants)), 1)
        wrong = {"cut": whole[:-9], "no verdicts": "{}", "a list": "[1]", "a number": "7", "no id": whole.replace('"id"', '"di"'),
                 "no digest": whole.replace('"digest"', '"x"'), "no stage": whole.replace('"own"', '"won"'),
                 "another change": whole.replace("-> x", "-> y"), "no text": whole.replace('"stage": "own"', '"stage": []')}
        for name, text in wrong.items():
            with self.subTest(name), self.assertRaises(report.ResumeError):
                (out / "r.json").write_text(text)
                report.read_killed(out / "r.json", out, mutants)


if __name__ == "__main__":
    unittest.main()
