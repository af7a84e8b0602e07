"""Runs jobs side by side, each with its folder: log, JUnit, files."""
import os
import shlex
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from results import FAILED, PASSED, KEPT_OUTPUT, Case, ResultsError, read_junit


@dataclass
class Outcome:
    job: object
    cases: list
    seconds: float
    command: str  # that runs it again
    log: object

    @property
    def passed(self):
        return all(case.status != FAILED for case in self.cases)


class Processors:
    """So many processors; a job takes one or all of them, in the order in which they ask."""

    def __init__(self, count):
        self.count, self.free = count, count
        self.turn, self.next_ticket = 0, 0
        self.changed = threading.Condition()

    def ticket(self):
        self.next_ticket += 1
        return self.next_ticket - 1

    def take(self, ticket, number):
        with self.changed:
            self.changed.wait_for(lambda: self.turn == ticket and self.free >= number)
            self.free -= number
            self.turn += 1
            self.changed.notify_all()

    def give(self, number):
        with self.changed:
            self.free += number
            self.changed.notify_all()


def run_limited(command, log, limit_s, root, environment):
    """Exit code, or None when the command ran into its limit; it and all it started is killed then."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=root, env=environment, start_new_session=True)
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def tail(path):
    return path.read_bytes()[-KEPT_OUTPUT:].decode("utf-8", "replace")


class Runner:
    def __init__(self, root, build, out, level, seed, jobs, say):
        self.root, self.build, self.out, self.jobs, self.say = root, build, out, jobs, say
        self.values = {"build": str(build), "seed": str(seed), "jobs": str(jobs), "level": level}
        self.environment = {**os.environ, "WEFT_SIM": str(build / "bin" / "weft-sim")}

    def fill(self, text, folder):
        for key, value in {**self.values, "out": str(folder)}.items():
            text = text.replace("{" + key + "}", value)
        return text

    def run(self, job):
        folder = self.out / job.name
        folder.mkdir(parents=True, exist_ok=True)
        junit = folder / "junit.xml"
        if job.ctest:
            # two tests more than processors, as scripts/test
            command = ["ctest", "--test-dir", str(self.build), "--output-on-failure", "-j", str(self.jobs + 2), "--output-junit", str(junit), *job.ctest]
        else:
            command = [self.fill(word, folder) for word in job.command]
            junit = folder / self.fill(job.junit, folder) if job.junit else None
        if junit:
            junit.unlink(missing_ok=True)
        log = folder / "log.txt"
        begin = time.monotonic()
        try:
            code = run_limited(command, log, job.limit_s, self.root, self.environment)
            problem = f"still ran after {job.limit_s} s" if code is None else f"exit code {code}" if code else ""
        except OSError as error:
            problem = str(error)
            log.write_text(problem + "\n")
        seconds = time.monotonic() - begin
        return Outcome(job, self.cases(job, junit, problem, seconds, log), seconds, shlex.join(command), log)

    def cases(self, job, junit, problem, seconds, log):
        whole = Case(job.name, job.name, FAILED if problem else PASSED, seconds, problem, tail(log) if problem else "")
        if not junit:
            return [whole]
        try:
            cases = read_junit(job.name, junit)
        except ResultsError as error:
            return [Case(job.name, job.name, FAILED, seconds, problem or "no results", f"{tail(log)}\n{error}")]
        if not cases:
            return [Case(job.name, job.name, FAILED, seconds, "no test ran", tail(log))]
        # a job that failed although each of its cases passed has failed
        return cases + [whole] if problem and all(case.status != FAILED for case in cases) else cases

    def run_all(self, jobs):
        """All outcomes, in the order of `jobs`; at most so many processors are in use at once."""
        processors, outcomes, threads = Processors(self.jobs), [None] * len(jobs), []

        def work(index, job, ticket):
            number = self.jobs if job.all_processors else 1
            processors.take(ticket, number)
            try:
                outcomes[index] = self.run(job)
            finally:
                processors.give(number)
            outcome = outcomes[index]
            failed = sum(case.status == FAILED for case in outcome.cases)
            self.say(f"{'FAILED' if failed else 'passed'}  {job.name:<24} {len(outcome.cases):5d} tests {outcome.seconds:7.1f} s"
                     + (f"  {failed} failed: {job.why}" if failed else ""))

        for index, job in enumerate(jobs):
            threads.append(threading.Thread(target=work, args=(index, job, processors.ticket())))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return outcomes
