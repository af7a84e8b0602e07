#!/usr/bin/python3
"""Tests of prove.py: that a proof which says nothing, or something false, is told from one that holds."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import abc_session  # noqa: E402
import model  # noqa: E402
import yosys_slang  # noqa: E402

PROVE = Path(__file__).resolve().parent / "prove.py"
COUNTER = """module counter (input logic clk_i, input logic rst_ni, input logic up_i, output logic [3:0] count_o);
  always_ff @(posedge clk_i)
    if (!rst_ni) count_o <= 4'd0;
    else if (up_i && count_o != 4'd9) count_o <= count_o + 4'd1;
endmodule
"""
PROPERTIES = """
  logic started = 1'b0;
  always_ff @(posedge clk_i) started <= 1'b1;
  always_comb begin
    if (!started) assume (!rst_ni);
    if (started) AtMostNine_A: assert (count_o <= 4'd%d);
    Reached_C: cover (started && count_o == 4'd%d);
  end
"""
ENTRY = """[[proof]]
name = "counter"
statement = "A counter stops at nine"
sources = ["{folder}/counter.sv"]
bind = {{ counter = "{folder}/properties.sv" }}
reader = "{reader}"
solver = "{solver}"
top = "counter"
method = "induction"
depth = 2
cover_depth = 13
mutants = [{{ file = "{folder}/counter.sv", find = "{find}", replace = "{replace}", depth = 14{by} }}{others}]
"""
PROOF_ALONE = ("--mutants", "none")


class Runner(unittest.TestCase):
    def prove(self, limit=9, reached=9, reader="yosys", solver="abc", find="4'd9", replace="4'd10", table=None, path=None, extra="", more="", by="", survivor="", options=()):
        """Returns exit code, result and standard error."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "counter.sv").write_text(COUNTER)
            Path(folder, "properties.sv").write_text(PROPERTIES % (limit, reached) + more)
            proofs = Path(folder, "proofs.toml")
            proofs.write_text(table if table is not None else
                              ENTRY.format(folder=folder, reader=reader, solver=solver, find=find, replace=replace,
                                           by=f', by = "{by}"' if by else "",
                                           others=f', {{ file = "{folder}/counter.sv", find = "{find}", replace = "{survivor}", depth = 14 }}' if survivor else "") + extra)
            environment = dict(os.environ, PATH=path) if path is not None else None
            done = subprocess.run([sys.executable, PROVE, "--proofs", proofs, "--json", "-", *options], capture_output=True, text=True,
                                  env=environment)
            return done.returncode, (json.loads(done.stdout) or [None])[0] if done.stdout else None, done.stderr

    def test_a_proof_holds_with_every_reader_and_solver(self):
        for reader, solver in (("yosys", "abc"), ("slang", "abc"), ("yosys", "cvc5"), ("slang", "z3")):
            code, result, text = self.prove(reader=reader, solver=solver)
            self.assertEqual((code, result["good"]), (0, True), text)

    def test_a_false_assertion_fails_and_is_named(self):
        for solver in ("abc", "cvc5"):
            code, result, text = self.prove(limit=0, solver=solver, options=PROOF_ALONE)
            self.assertEqual((code, result["holds"]), (1, False), text)
            if solver == "abc":
                self.assertIn("AtMostNine_A in cycle", text)

    def test_of_several_assertions_the_false_one_is_named(self):
        for reader in ("yosys", "slang"):
            for false in range(3):
                names = [f"A{k}_A" for k in range(3)]
                checks = "".join(f"{name}: assert (a_i != 4'd{3 if k == false else 0} || a_i == 4'd0);" for k, name in enumerate(names))
                with tempfile.TemporaryDirectory() as folder:
                    Path(folder, "block.sv").write_text(f"module block (input logic [3:0] a_i); always_comb begin {checks} C: cover (a_i == 4'd1); end endmodule")
                    for sweep in ("false", "true"):
                        proofs = Path(folder, "proofs.toml")
                        proofs.write_text(f"""[[proof]]
name = "block"
statement = "Three assertions"
sources = ["{folder}/block.sv"]
reader = "{reader}"
top = "block"
method = "exhaustive"
depth = 1
sweep = {sweep}
mutants = [{{ file = "{folder}/block.sv", find = "4'd1", replace = "4'd1" }}]
""")
                        done = subprocess.run([sys.executable, PROVE, "--proofs", proofs, "--json", "-", *PROOF_ALONE], capture_output=True, text=True)
                        self.assertEqual(done.returncode, 1, done.stderr)
                        self.assertIn(names[false], json.loads(done.stdout)[0]["message"], f"{reader}, sweep {sweep}")

    def test_what_holds_from_reset_but_not_by_induction_fails(self):
        other = "always_comb if (started) Other_A: assert (count_o != 4'd15 || up_i || !up_i);\n"
        for extra in ("", 'step_solver = "sat"\n'):
            code, result, text = self.prove(limit=14, extra=extra, more=other, options=PROOF_ALONE)   # 10 to 14 are not reached, but 14 counts on to 15
            self.assertEqual((code, result["holds"]), (1, False), text)
            self.assertRegex(result["message"], r"^\S*AtMostNine_A: no induction over 2 cycles$")

    def test_a_step_asked_one_by_one_says_the_same(self):
        for reader, solver in (("yosys", ""), ("slang", ""), ("yosys", 'step_solver = "glucose"')):
            for limit, good in ((9, True), (14, False)):
                code, result, text = self.prove(limit=limit, reader=reader, extra=f"split = true\n{solver}\n", options=PROOF_ALONE)
                self.assertEqual((code, result["holds"]), (0 if good else 1, good), text)
        self.assertIn("AtMostNine_A is no induction over 2 cycles", text)
        code, result, text = self.prove(limit=14, extra='split = ["AtMostNine"]\n', options=PROOF_ALONE)
        self.assertEqual((code, result["holds"]), (1, False), text)
        code, result, text = self.prove(extra='split = ["AtMostNine", "Nobody"]\n', options=PROOF_ALONE)
        self.assertEqual((code, result["ran"]), (2, False), text)
        self.assertIn("split: no assertion begins with Nobody", text)
        code, result, text = self.prove(extra='split = true\nstep_solver = "nobody"\n', options=PROOF_ALONE)
        self.assertEqual((code, result["ran"]), (2, False), text)
        self.assertIn("step_solver nobody: one of sat, glucose", text)

    def test_a_mutant_that_survives_fails(self):
        code, result, text = self.prove(replace="4'd8", reached=3)
        self.assertEqual((code, result["holds"], result["mutants_killed"]), (1, True, 0), text)
        self.assertIn("mutant 0 survives", text)

    def test_the_first_mutant_can_be_asked_for_alone(self):
        for options, expected in (((), (1, 2, 1)), (("--mutants", "first"), (0, 1, 1))):
            code, result, text = self.prove(reached=3, survivor="4'd8", options=options)
            self.assertEqual((code, result["mutants"], result["mutants_killed"]), expected, text)

    def test_mutants_can_be_left_out_and_asked_for_alone(self):
        for reached, options, expected in ((3, PROOF_ALONE, (0, True, 0)), (10, PROOF_ALONE, (1, True, 0)),
                                           (10, ("--mutants", "first", "--no-proof"), (0, False, 1)), (10, ("--no-proof",), (1, False, 1))):
            code, result, text = self.prove(reached=reached, survivor="4'd8", options=options)
            self.assertEqual((code, result["holds"], result["mutants_killed"]), expected, text)
        code, _, text = self.prove(options=("--mutants", "none", "--no-proof"))
        self.assertNotEqual(code, 0, text)

    def test_a_mutant_is_refuted_by_the_assertion_that_the_table_names_or_not_at_all(self):
        for by, expected in (("AtMostNine", (0, True, 1)), ("Other", (1, True, 0)), ("Nobody", (2, False, 0)), ("", (0, True, 1))):
            code, result, text = self.prove(more="always_comb if (started) Other_A: assert (count_o != 4'd15);\n", by=by)
            self.assertEqual((code, result["ran"], result["mutants_killed"]), expected, text)
        for by in ("AtMostNine", ""):
            self.assertRegex(json.dumps(self.prove(by=by)[1]["notes"]), "AtMostNine_A in cycle 1[0-9]")
        self.assertIn("by: for abc alone", self.prove(solver="cvc5", by="AtMostNine")[2])

    def test_a_cover_that_is_not_reached_fails(self):
        for solver in ("abc", "cvc5"):
            code, result, text = self.prove(reached=10, solver=solver, options=PROOF_ALONE)
            self.assertEqual((code, result["holds"], result["covers_reached"]), (1, True, 0), text)

    def test_a_mutant_without_its_text_cannot_run(self):
        for options in ((), PROOF_ALONE):
            code, result, text = self.prove(find="4'd7", options=options)
            self.assertEqual((code, result["ran"]), (2, False), text)
            self.assertIn("occurs 0 times, not once", text)

    def test_a_missing_tool_is_an_error_that_names_it(self):
        code, _, text = self.prove(path="/nonexistent")
        self.assertEqual(code, 2, text)
        self.assertIn("no program yosys: scripts/packages installs it", text)

    def test_the_second_yosys_prints_errors_alone_and_ends_by_them(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "counter.sv").write_text(COUNTER)
            for script, code, said in (("read_slang --top counter counter.sv", 0, ""), ("frobnicate", 1, "No such command: frobnicate"),
                                       ("read_slang --top other counter.sv", 1, "ERROR"), (None, 1, "Can't open script file")):
                if script is None:
                    Path(folder, "run.ys").unlink()
                else:
                    Path(folder, "run.ys").write_text(script + "\n")
                done = subprocess.run(yosys_slang.command("run.ys"), cwd=folder, capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr == "", code == 0, done.stderr)

    def test_garbage_in_the_table_is_refused(self):
        for table in ("\x00", "[[proof]]", "[[proof]]\nname = 3", "[[proof", "proof = 1", "[[proof]]\nname = 'a'\nlike = 'b'", "[[proof]]\nname = []\nlike = []", "\n".join(["[[proof]]"] * 2)):
            code, _, text = self.prove(table=table)
            self.assertNotEqual(code, 0, table)
            self.assertIn("prove.py: ", text, table)
            self.assertNotIn("Traceback", text, table)


class Session(unittest.TestCase):
    def test_it_answers_one_question_after_another_and_says_when_it_has_ended(self):
        with tempfile.TemporaryDirectory() as folder, abc_session.Session(folder, model.Clock(60)) as session:
            for word in ("one", "two"):
                self.assertIn(f"\n{word}", session.ask(f"echo {word}"))
            self.assertIn("Cannot open input file", session.ask("read_aiger nothing.aig"))
            self.assertIn("\nthree", session.ask("echo three"))
            self.assertGreater(session.clock.seconds, 0)
            for _ in range(2):
                with self.assertRaisesRegex(model.CannotRun, "^abc ended with 0"):
                    session.ask("quit")

    def test_what_it_cannot_read_gets_no_answer_although_it_had_a_model_before(self):
        for solver in ("sat", "&get; &glucose2"):
            for unreadable in (None, b"", b"aig", b"\x00" * 40):
                with tempfile.TemporaryDirectory() as folder, abc_session.Session(folder, model.Clock(60)) as session:
                    ask = f"empty; read_aiger step.aig; fold; strash; {solver}"
                    step_aig = Path(folder, "step.aig")
                    step_aig.write_bytes(b"aig 3 2 0 1 1\n6\n\x02\x02")  # both inputs are 1
                    self.assertRegex(session.ask(ask), r"(?m)^SATISFIABLE")
                    step_aig.unlink()
                    if unreadable is not None:
                        step_aig.write_bytes(unreadable)
                    try:
                        answer = session.ask(ask)
                    except model.CannotRun:  # such a file may end it
                        continue
                    self.assertNotRegex(answer, r"(?m)^(UN)?SATISFIABLE", f"{solver}: {unreadable}")

    def test_the_limit_of_processor_time_is_named(self):
        with tempfile.TemporaryDirectory() as folder, abc_session.Session(folder, model.Clock(60)) as session:
            session.process.send_signal(signal.SIGXCPU)
            with self.assertRaisesRegex(model.CannotRun, "^berkeley-abc: the table's limit of 60 s of processor time is over$"):
                session.ask("echo one")


if __name__ == "__main__":
    unittest.main()
