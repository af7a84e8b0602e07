"""What answers: ABC (SAT on gates) or yosys-smtbmc with z3 or cvc5 (words). An engine knows three questions about a model:
does the proof hold, are all covers reached, is there a counterexample within some cycles of reset."""
import re

import aiger
import step
from abc_session import Session
from model import CannotRun


def engine(entry):
    return Abc(entry) if entry.get("solver", "abc") == "abc" else Smt(entry)


EACH_SECONDS = 5  # of one assertion after the other
STEP_SOLVERS = {"sat": "sat", "glucose": "&get; &glucose2"}  # of the question of one step: ABC's commands


class Abc:
    """berkeley-abc, which Debian's yosys brings. One bad output for each assertion or cover."""

    def __init__(self, entry):
        self.entry = entry

    def ask(self, folder, model, commands, clock, may_fail=False):
        code, log = clock.run(["berkeley-abc", "-q", f"read_aiger {model}.aig; fold; strash; {commands}"], folder)
        if (code != 0 or "Error" in log) and not may_fail:
            raise CannotRun(f"abc: {log.strip().splitlines()[-1] if log.strip() else code}")
        return re.sub(r"\x1b\[[0-9;]*m", "", log)

    def refuted(self, folder, depth, clock, first=0, smaller=""):
        """Name of an assertion that fails within `depth` cycles of reset, or None; looks at the cycles from `first`. smaller: commands that make the model smaller."""
        log = self.ask(folder, "asserts", f"orpos; {smaller} bmc3 -g -S {first} -F {depth}", clock)
        failed = re.search(r"Output 0 of miter \S+ was asserted in frame (\d+)", log)
        if failed:
            return self._name(folder, int(failed[1]), clock)
        if not re.search(rf"No output (asserted|failed) in {depth} frames", log):
            raise CannotRun(f"abc bmc3: {log.strip().splitlines()[-1]}")
        return None

    def counterexample(self, folder, depth, clock, first=0, by=""):
        """The same for a model that is wrong. `by`: beginning of the name of the one assertion that is asked. Without it one after the other, because the
        first that fails is often found in a fraction of the time that all in one question take; that question follows after some seconds without an answer."""
        if by:
            found = [index for index, name in enumerate(self._names(folder)) if name.startswith(by)]
            if len(found) != 1:
                raise CannotRun(f"by: {len(found)} assertions begin with {by}")
            log = self.ask(folder, "asserts", f"cone -s -O {found[0]}; strash; bmc3 -S {first} -F {depth}", clock)
            failed = re.search(r"was asserted in frame (\d+)", log)
            return f"{self._names(folder)[found[0]]} in cycle {failed[1]}" if failed else None
        log = self.ask(folder, "asserts", f"bmc3 -S {first} -F {depth} -T {EACH_SECONDS}", clock, may_fail=True)
        failed = re.search(r"Output (\d+) of miter \S+ was asserted in frame (\d+)", log)
        if failed:
            return f"{self._names(folder)[int(failed[1])]} in cycle {failed[2]}"
        return self.refuted(folder, depth, clock, first)

    def _name(self, folder, frame, clock):
        """One by one instead of all in one question: which assertion fails in this cycle?"""
        log = self.ask(folder, "asserts", f"bmc3 -S {frame} -F {frame + 1} -T {EACH_SECONDS}", clock)
        failed = re.search(r"Output (\d+) of miter", log)
        return f"{self._names(folder)[int(failed[1])] if failed else 'an assertion'} in cycle {frame}"

    def _names(self, folder):
        """Of the assertions, in the order of the model's outputs."""
        return [line.partition("/")[2] for line in (folder / "asserts.names").read_text().splitlines()]

    def holds(self, folder, clock):
        """None, or why not."""
        method, depth = self.entry["method"], self.entry["depth"]
        if method == "exhaustive" and self.entry.get("sweep"):
            return self.swept(folder, clock)
        if method == "exhaustive":
            log = self.ask(folder, "asserts", "frames -F 1 -i; orpos; &get; &syn3; &glucose2", clock)
            if re.search(r"^UNSATISFIABLE", log, flags=re.M):
                return None
            return self.refuted(folder, 1, clock) or "an assertion"
        if method == "bounded":
            return self.refuted(folder, depth + 1, clock, smaller="&get; &syn3; &put;")
        return self.refuted(folder, depth + 1, clock) or self.stepped(folder, depth, clock)

    def stepped(self, folder, depth, clock):
        """None, or which assertion does not follow from `depth` cycles in which all hold: all in one question, or each by itself if the table says split."""
        split = self.entry.get("split")
        name = self.entry.get("step_solver", "sat" if split else "glucose")
        if name not in STEP_SOLVERS:
            raise CannotRun(f"step_solver {name}: one of {', '.join(STEP_SOLVERS)}")
        unrolled = step.Step(aiger.read((folder / "asserts.aig").read_bytes()), depth)
        with Session(folder, clock) as session:
            return self._step_fails(folder, unrolled, split, name, session)

    def _step_fails(self, folder, unrolled, split, name, session):
        """As stepped()."""
        depth = unrolled.depth

        def solve(made):
            (folder / "step.aig").write_bytes(made)
            log = session.ask(f"empty; read_aiger step.aig; fold; strash; {STEP_SOLVERS[name]}; write_cex step.cex")  # no answer about the model before, if this is unreadable
            answer = re.search(r"^(UN)?SATISFIABLE", log, flags=re.M)
            if not answer:
                raise CannotRun(f"abc {STEP_SOLVERS[name]}: {log.strip().splitlines()[-1] if log.strip() else 'no answer'}")
            return None if answer[1] else (folder / "step.cex").read_text().partition("#")[0].strip()  # glucose writes a mark behind it

        if not split:
            failed = [self._names(folder)[index] for index in step.failing(unrolled, solve)]
            return f"{', '.join(failed)}: no induction over {depth} cycles" if failed else None
        for failure, assertion in self._in_order(zip(unrolled.failures, self._names(folder), strict=True)):
            if not step.holds(unrolled, failure, solve):
                return f"{assertion} is no induction over {depth} cycles"
        return None

    def _in_order(self, assertions):
        """Those that the table wants shown first, then the others. A name in the table that begins no assertion's is a mistake."""
        first = self.entry["split"] if isinstance(self.entry["split"], list) else []
        assertions = list(assertions)
        unknown = [begin for begin in first if not any(name.startswith(begin) for _, name in assertions)]
        if unknown:
            raise CannotRun(f"split: no assertion begins with {', '.join(unknown)}")
        return sorted(assertions, key=lambda pair: not pair[1].startswith(tuple(first)))

    def swept(self, folder, clock):
        """None, or which assertion of a block without state fails: each by itself, merging what is equal inside. For those that
        compare two ways of computing."""
        for index, name in enumerate(self._names(folder)):
            log = self.ask(folder, "asserts", f"cone -s -O {index}; strash; frames -F 1 -i; iprove", clock)
            if not re.search(r"Networks are equivalent|UNSATISFIABLE", log):
                return f"{name} is not proved"
        return None

    def covers(self, folder, depth, clock):
        """(all, reached)"""
        total = len((folder / "covers.names").read_text().splitlines())
        if total == 0:
            return 0, 0
        # one by one: bmc3 -a ends with a crash on some models
        each = [f"cone -s -O {index}; strash; bmc3 -F {depth}" for index in range(total)]
        log = self.ask(folder, "covers", "; read_aiger covers.aig; fold; strash; ".join(each), clock)
        reached = len(re.findall("was asserted in frame", log))
        if reached + len(re.findall("No output asserted", log)) != total:
            raise CannotRun(f"abc bmc3: {log.strip().splitlines()[-1]}")
        return total, reached


class Smt:
    """yosys-smtbmc with the solver of the table."""

    def __init__(self, entry):
        self.entry = entry

    def ask(self, folder, arguments, clock):
        """(True: passed, log)"""
        code, log = clock.run(["yosys-smtbmc", "-s", self.entry["solver"], *arguments, "model.smt2"], folder)
        status = re.search(r"Status: (passed|failed)", log, flags=re.I)
        if not status:
            raise CannotRun(f"yosys-smtbmc {' '.join(arguments)}: {log.strip().splitlines()[-1] if log.strip() else code}")
        return status[1].lower() == "passed", log

    def refuted(self, folder, depth, clock, first=0):
        good, log = self.ask(folder, ["-t", f"{first}:{depth}" if first else str(depth)], clock)
        failed = re.search(r"Assert failed in .*: (\S+)", log)
        return None if good else failed[1] if failed else "an assertion"

    def counterexample(self, folder, depth, clock, first=0, by=""):
        if by:
            raise CannotRun("by: for abc alone")
        return self.refuted(folder, depth, clock, first)

    def holds(self, folder, clock):
        depth = self.entry["depth"]
        failed = self.refuted(folder, depth, clock)
        if failed or self.entry["method"] != "induction":
            return failed
        good, _ = self.ask(folder, ["-i", "-t", str(depth)], clock)
        return None if good else f"no induction over {depth} cycles"

    def covers(self, folder, depth, clock):
        total = len(re.findall(r"^; yosys-smt2-cover ", (folder / "model.smt2").read_text(), flags=re.M))
        if total == 0:
            return 0, 0
        good, log = self.ask(folder, ["-c", "-t", str(depth)], clock)
        return total, total if good else len(re.findall(r"Reached cover statement", log))
