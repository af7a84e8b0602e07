"""Runs test programs with one mutant alive, and says what killed it.

Limits are of CPU time, so that a busy machine kills nothing: a mutant that makes a bench wait for ever ends by SIGXCPU."""
from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import lint
from benches import Program, order
from mutant import Mutant

MEMORY_BYTES = 6 << 30
OUTPUT_BYTES = 16 << 20
SLOWER, SPARE_CPU_SECONDS = 8, 10        # a mutant may cost 8 times the run without one, and 10 s
TEST_NAME = re.compile(r"^-{20,}\n(.+)\n(?: .*\n)*-{20,}\n", re.M)   # Catch2 frames it; indented lines are sections
ASSERTION = re.compile(r"Assertion failed in (\S+)")


class BaselineError(Exception):
    """A bench fails without any mutant."""


@dataclass
class Run:
    passed: bool
    how: str              # "", "failed", "assertion", "hang", "crash"
    test: str             # the test case that failed, if the output tells
    cpu_seconds: float


@dataclass
class Verdict:
    mutant: Mutant
    number: int
    stage: str            # one of STAGES, "lint", or "survived"
    program: str = ""
    how: str = ""
    test: str = ""
    tried: list[str] = field(default_factory=list)
    cpu_seconds: float = 0.0

    @property
    def killed(self) -> bool:
        return self.stage != "survived"


def limit(cpu_seconds: int) -> Callable[[], None]:
    def set_limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return set_limits


def run(program: Program, number: int, cpu_limit: int) -> Run:
    """The program in a folder of its own, with mutant `number` alive."""
    environment = dict(os.environ, WEFT_MUTANT=str(number))
    with tempfile.TemporaryDirectory(prefix="weft-mutant-") as folder:
        log = Path(folder) / "output"
        with log.open("wb") as output:
            process = subprocess.Popen([str(program.path), *program.arguments], cwd=folder, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       preexec_fn=limit(cpu_limit))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        text = log.read_text(errors="replace")
    cpu = usage.ru_utime + usage.ru_stime
    if process.returncode == 0:
        return Run(True, "", "", cpu)
    names = TEST_NAME.findall(text)
    assertion = ASSERTION.search(text)
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        how = "hang"
    elif assertion:
        how = f"assertion {assertion.group(1).rstrip(':')}"
    else:
        how = "failed" if process.returncode > 0 else f"signal {-process.returncode}"
    return Run(False, how, names[-1].strip() if names else "", cpu)


def baseline(programs: list[Program], jobs: int) -> None:
    """Every program passes with no mutant alive; sets its CPU time."""
    def measure(program: Program) -> tuple[Program, Run]:
        return program, run(program, 0, 600)
    with ThreadPoolExecutor(jobs) as pool:
        for program, result in pool.map(measure, programs):
            if not result.passed:
                raise BaselineError(f"{program.label} fails without a mutant ({result.how}): {result.test}\n"
                                    f"rerun: WEFT_MUTANT=0 {program.path} {' '.join(program.arguments)}")
            program.cpu_seconds = result.cpu_seconds


def judge(mutant: Mutant, number: int, programs: list[Program], until: str, latch: Callable[[Mutant], bool]) -> Verdict:
    """Program after program until one fails; what survives all of them must at least be free of lint."""
    verdict = Verdict(mutant, number, "survived")
    for program in order(programs, mutant.change.file, until):
        result = run(program, number, int(SLOWER * program.cpu_seconds) + SPARE_CPU_SECONDS)
        verdict.tried.append(program.label)
        verdict.cpu_seconds += result.cpu_seconds
        if not result.passed:
            verdict.stage = program.stage(mutant.block)
            verdict.program, verdict.how, verdict.test = program.label, result.how, result.test
            return verdict
    if latch(mutant):
        verdict.stage, verdict.program, verdict.how = lint.STAGE, "verilator --lint-only", "a latch"
    return verdict


def judge_all(numbered: list[tuple[int, Mutant]], programs: list[Program], until: str,
              latch: Callable[[Mutant], bool], jobs: int,
              progress: Callable[[Verdict, int, float], None]) -> list[Verdict]:
    start, verdicts = time.monotonic(), []
    with ThreadPoolExecutor(jobs) as pool:
        for verdict in pool.map(lambda item: judge(item[1], item[0], programs, until, latch), numbered):
            verdicts.append(verdict)
            progress(verdict, len(verdicts), time.monotonic() - start)
    return verdicts
