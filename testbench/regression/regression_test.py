"""Tests of the regression runner: what it reads may be garbage, and nothing that failed may look passed."""
import os
import random
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from buckets import alike, buckets  # noqa: E402
from cycles import CyclesError, compare, make_networks, measure, read_baselines, read_compiler, read_programs, write_baselines  # noqa: E402
from page import page  # noqa: E402
from plan import LEVELS, Job, PlanError, read_plan  # noqa: E402
from results import FAILED, PASSED, SKIPPED, Case, ResultsError, read_junit, write_junit  # noqa: E402
from runner import Runner  # noqa: E402

HERE = Path(__file__).resolve().parent
SEED = int(os.environ.get("WEFT_SEED", "7"))
ABOUT = {"level": "ci", "seed": 7, "commit": "abc", "date": "today", "cpu": "a <cpu>", "seconds": 1.0}


def job(name="job", **options):
    return Job(name, "it is broken", **options)


class InFolder(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = Path(self.holder.name)

    def tearDown(self):
        self.holder.cleanup()

    def file(self, content, name="file"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


class Plan(InFolder):
    def test_every_level_of_the_committed_plan_has_jobs(self):
        for level in LEVELS:
            self.assertTrue(read_plan(HERE / "levels.toml", level))

    def test_only_and_skip_choose_jobs_by_their_names(self):
        everything = [job.name for job in read_plan(HERE / "levels.toml", "ci")]
        self.assertEqual([job.name for job in read_plan(HERE / "levels.toml", "ci", "cycles")], ["cycles"])
        self.assertEqual([job.name for job in read_plan(HERE / "levels.toml", "ci", "", "tests")], [name for name in everything if name != "tests"])
        with self.assertRaisesRegex(PlanError, "contains tests without tests"):
            read_plan(HERE / "levels.toml", "ci", "tests", "tests")

    def test_a_wrong_entry_is_named_with_its_reason(self):
        wrong = {'[[job]]\nlevels=["ci"]\n': "name", '[[job]]\nname="a"\nlevels=["ci"]\nwhy=""\n': "ctest or command",
                 '[[job]]\nname="a"\nlevels=["cy"]\nctest=[]\nwhy=""\n': "unknown level cy", '[[job]]\nname="a"\nlevels=["ci"]\nctest=[]\nwhy=""\nfoo=1\n': "foo",
                 '[[job]]\nname="a"\nlevels=["ci"]\nctest=[1]\nwhy=""\n': "strings", '[[job]]\nname="a"\nlevels=["ci"]\nctest=[]\nwhy=""\nlimit_s=0\n': "limit_s",
                 '[[job]]\nname="a"\nlevels=["ci"]\nctest=[]\nwhy=""\n' * 2: "twice", "": "no job", "[[": "file"}
        for text, reason in wrong.items():
            with self.assertRaisesRegex(PlanError, reason):
                read_plan(self.file(text), "ci")

    def test_garbage_is_refused(self):
        draw = random.Random(SEED)
        good = (HERE / "levels.toml").read_bytes()
        for _ in range(300):
            bytes_ = bytearray(good)
            for _ in range(draw.randrange(1, 8)):
                bytes_[draw.randrange(len(bytes_))] = draw.randrange(256)
            try:
                read_plan(self.file(bytes(bytes_[:draw.randrange(len(bytes_) + 1)])), "ci")
            except PlanError:
                pass


class Results(InFolder):
    def test_what_ctest_writes_is_read(self):
        path = self.file('<testsuite><testcase name="a" time="1.5" status="run"/><testcase name="b" status="fail"><failure message=""/><system-out>x differs'
                         '</system-out></testcase><testcase name="c" status="notrun"><skipped message="gone"/></testcase>'
                         '<testcase name="d" status="disabled"><skipped/></testcase></testsuite>')
        cases = read_junit("job", path)
        self.assertEqual([case.status for case in cases], [PASSED, FAILED, FAILED, SKIPPED])
        self.assertEqual(cases[0].seconds, 1.5)
        self.assertIn("x differs", cases[1].output)

    def test_written_and_read_again_it_is_the_same(self):
        cases = [Case("j", "a <&>", PASSED, 1.0), Case("j", "b", FAILED, 2.0, "why \x00", "out\x1b[1m"), Case("k", "c", SKIPPED)]
        write_junit(self.folder / "out.xml", "all", cases)
        self.assertEqual([(case.name, case.status) for case in read_junit("j", self.folder / "out.xml")], [(case.name, case.status) for case in cases])

    def test_garbage_is_refused(self):
        for content in (b"", b"\xff\xfe\x00", b"<a", b"<html/>"):
            with self.assertRaises(ResultsError):
                read_junit("job", self.file(content))
        with self.assertRaises(ResultsError):
            read_junit("job", self.folder / "none.xml")


class Buckets(unittest.TestCase):
    def test_failures_that_differ_in_numbers_are_one_bucket(self):
        cases = [Case("j", f"t{i}", FAILED, output=f"start\n/a/b{i}/c.cpp:{i}: row {i} differs: 0x{i:08x}\nend") for i in range(3)]
        cases += [Case("j", "u", FAILED, output="NoUnderflow_A violated at 12"), Case("j", "v", PASSED)]
        found = buckets(cases)
        self.assertEqual([len(bucket.cases) for bucket in found], [3, 1])
        self.assertIn("NoUnderflow_A", found[1].reason)

    def test_a_failure_without_output_has_a_bucket(self):
        self.assertEqual(len(buckets([Case("j", "t", FAILED)])), 1)
        self.assertEqual(alike(""), "")


class Cycles(InFolder):
    def test_the_committed_files_belong_together(self):
        programs = {(program.name, program.core) for program in read_programs(HERE / "cycle_programs.toml")}
        self.assertEqual(programs, set(read_baselines(HERE / "cycle_baselines.json")))

    def test_written_and_read_again_they_are_the_same(self):
        measured = {("p", "rtl"): {"device": 1, "launch": 2}, ("p", "fast"): {"device": 1, "launch": 3}, ("of a slice", "fast"): {"device": 1}}
        write_baselines(self.folder / "b.json", measured)
        self.assertEqual((read_baselines(self.folder / "b.json"), read_compiler(self.folder / "b.json")), (measured, ""))
        write_baselines(self.folder / "b.json", measured, "g++ 12.2.0")
        self.assertEqual((read_baselines(self.folder / "b.json"), read_compiler(self.folder / "b.json")), (measured, "g++ 12.2.0"))

    def test_the_committed_baselines_name_the_compiler_of_the_image(self):
        self.assertIn("g++", read_compiler(HERE / "cycle_baselines.json"))

    def test_one_cycle_more_a_new_and_a_gone_program_are_seen(self):
        rows = compare({("p", "rtl"): {"device": 1, "launch": 2}, ("gone", "rtl"): {"device": 1, "launch": 1}},
                       {("p", "rtl"): {"device": 2, "launch": 2}, ("new", "rtl"): {"device": 1, "launch": 1}})
        self.assertEqual(sum(row["baseline"] != row["cycles"] for row in rows), 5)
        rows = compare({("p", "fast"): {"device": 1}}, {("p", "fast"): {"device": 2}})
        self.assertEqual([(row["measure"], row["baseline"], row["cycles"]) for row in rows], [("device", 1, 2)])

    def test_a_program_runs_once_for_each_line_of_arguments_on_a_chip_or_a_slice(self):
        text = '[[program]]\ncommand = ["a", "b"]\nslice = "s-2x2"\ncores = ["fast"]\narguments = ["--n 1", "--n 2 --m"]\n'
        self.assertEqual([program.command for program in read_programs(self.file(text))],
                         [("a", "b", "--n", "1", "--slice", "s-2x2", "--core", "fast", "--json"), ("a", "b", "--n", "2", "--m", "--slice", "s-2x2", "--core", "fast", "--json")])
        with self.assertRaises(CyclesError):
            read_programs(self.file(text + 'chip = "nano"\n'))

    def test_a_program_runs_once_for_each_network_whose_model_and_inputs_it_is_given(self):
        text = '[[program]]\ncommand = ["weft", "run", "--sharding", "batch=x"]\nslice = "s-2x2"\ncores = ["fast"]\nnetworks = ["mlp batch=8 layers=1 width=8", "none"]\n'
        programs = read_programs(self.file(text))
        self.assertEqual([(program.name, program.network) for program in programs],
                         [(f"weft run {network} --sharding batch=x --slice s-2x2", network) for network in ("mlp batch=8 layers=1 width=8", "none")])
        with ThreadPoolExecutor(2) as pool:
            networks = make_networks(programs, self.folder, pool)
        model, option, array = networks[programs[0].network]
        self.assertEqual((Path(model).name, option, array), ("mlp.onnx", "--input", f"x={Path(model).parent / 'mlp_x.npy'}"))
        self.assertTrue(Path(model).is_file() and Path(array.partition("=")[2]).is_file())
        with self.assertRaisesRegex(CyclesError, "none: make.py: exit code 1"):
            measure(programs[1], self.folder, networks["none"])

    def test_garbage_is_refused(self):
        for text in ("{", "[1]", '[{"program": "p"}]', '{"a": 1}', '[{"program":"p","core":"c","device":"x","launch":1}]'):
            with self.assertRaises(CyclesError):
                read_baselines(self.file(text))
        for text in ("[[program]]", "x=", '[[program]]\ncommand=["a"]\nchip="b"\ncores=["c","c"]', ""):
            with self.assertRaises(CyclesError):
                read_programs(self.file(text))


class Running(InFolder):
    def run_jobs(self, *jobs, processors=2):
        runner = Runner(self.folder, self.folder, self.folder / "out", "ci", 7, processors, lambda line: None)
        return runner.run_all(jobs)

    def test_a_program_passes_fails_hangs_or_is_missing(self):
        outcomes = self.run_jobs(job("pass", command=("true",)), job("fail", command=("sh", "-c", "echo it broke; exit 3")),
                                 job("hang", command=("sleep", "60"), limit_s=1), job("gone", command=("/no/such/program",)))
        self.assertEqual([outcome.passed for outcome in outcomes], [True, False, False, False])
        self.assertIn("it broke", outcomes[1].cases[0].output)
        self.assertIn("still ran after 1 s", outcomes[2].cases[0].message)

    def test_a_program_that_promised_results_and_wrote_none_has_failed(self):
        written = "<testsuite><testcase name='a'/></testsuite>"
        outcomes = self.run_jobs(job("none", command=("true",), junit="{out}/r.xml"),
                                 job("some", command=("sh", "-c", f"echo \"{written}\" > {{out}}/r.xml"), junit="{out}/r.xml"),
                                 job("late", command=("sh", "-c", f"echo \"{written}\" > {{out}}/r.xml; exit 1"), junit="{out}/r.xml"),
                                 job("empty", command=("sh", "-c", "echo '<testsuite/>' > {out}/r.xml"), junit="{out}/r.xml"))
        self.assertEqual([outcome.passed for outcome in outcomes], [False, True, False, False])

    def test_the_seed_and_the_folders_reach_the_command(self):
        outcome, = self.run_jobs(job("echo", command=("sh", "-c", "echo {seed} {level} {jobs}")))
        self.assertEqual(outcome.log.read_text(), "7 ci 2\n")

    def test_a_job_of_all_processors_runs_alone(self):
        mark = "test ! -e {build}/busy && touch {build}/busy && sleep 0.2 && rm {build}/busy"
        outcomes = self.run_jobs(*(job(f"all{i}", command=("sh", "-c", mark), all_processors=True) for i in range(3)))
        self.assertTrue(all(outcome.passed for outcome in outcomes))


class Page(InFolder):
    def test_a_failure_stands_on_the_page_and_markup_in_it_is_text(self):
        runner = Runner(self.folder, self.folder, self.folder / "out", "ci", 7, 1, lambda line: None)
        outcomes = runner.run_all([job("bad", command=("sh", "-c", "echo '<script>x differs</script>'; exit 1"))])
        figures = {"covered": 975, "total": 1000, "waived": 0, "percent": 97.5}
        coverage = {"totals": dict.fromkeys(("line", "branch", "toggle", "bin"), figures), "thresholds": {"line": 98, "branch": 95, "toggle": 95, "bin": 98}}
        rows = [{"program": "p", "core": "rtl", "measure": "device", "baseline": 100, "cycles": 101}]
        made = page(ABOUT, outcomes, rows, coverage, "coverage/index.html")
        self.assertIn("1 of 1 tests failed", made)
        self.assertIn("+1 (+1.00 %)", made)
        self.assertIn("97.50 %", made)
        self.assertNotIn("<script>", made)

    def test_without_cycles_and_coverage_it_says_so(self):
        made = page(ABOUT, [], None, None, "")
        self.assertIn("Not compared", made)
        self.assertIn("Not collected", made)


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()
