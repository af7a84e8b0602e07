"""Builds, runs, merges and reports: what scripts/coverage does."""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

import bins
import data
import metrics
import report_html
import report_text
import reused_objects
import waivers

BUILD = "build-rtl-coverage"
TIMEOUT_SECONDS = 1800


class RunError(RuntimeError):
    """The coverage cannot be measured."""


def build(root: pathlib.Path, cores: list[str], without: list[str], jobs: int) -> None:
    here, there = root / BUILD, root / "build"
    here.mkdir(exist_ok=True)
    with open(here / "coverage-build.log", "w") as log:
        def run(*command: str) -> str:
            done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            log.write(done.stdout)
            if done.returncode != 0:
                raise RunError(f"{' '.join(command[:8])} failed:\n" + "\n".join(done.stdout.splitlines()[-40:]))
            return done.stdout

        run("cmake", "--preset", "rtl-coverage", f"-DWEFT_RTL_CHIPS={';'.join(cores)}", f"-DWEFT_COVERAGE_WITHOUT={';'.join(without)}")
        if (there / "build.ninja").exists():  # the preset release: most objects of this build are the same, and are taken from there
            run("ninja", "-C", str(there), "build.ninja")  # its commands are those of the sources as they are now
            same = reused_objects.same_commands(*((str(folder), json.loads((folder / "compile_commands.json").read_text())) for folder in (here, there)))
            needed = same & set(subprocess.run(["ninja", "-C", str(here), "-t", "inputs", "rtl_coverage_tests"], check=True, stdout=subprocess.PIPE,
                                               text=True).stdout.split())
            if needed:
                run("cmake", "--build", str(there), "-j", str(jobs), "--target", *sorted(needed))
            done = subprocess.run(["ninja", "-C", str(there), "-t", "deps"], check=True, stdout=subprocess.PIPE, text=True).stdout
            reused_objects.write_plan(here / "reused_objects.json", str(there), needed, done)
        run("cmake", "--build", str(here), "-j", str(jobs), "--target", "rtl_coverage_tests")


def without(program: pathlib.Path, cases: list[str]) -> list[str]:
    """Arguments of a Catch2 program that leave these cases out; "*" alone is all of them. RunError: it has no such case."""
    if not cases or cases == ["*"]:
        return ["~" + case for case in cases]
    # hidden ones too, which run where others are left out; its exit code is the number of cases
    listed = subprocess.run([str(program), "--list-test-names-only", "[.],~[.]"], stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()
    for case in cases:
        if case not in listed:
            raise RunError(f"levels.toml leaves out \"{case}\", and {program.name} has no such case")
    return ["~" + re.sub(r"([\\,\[])", r"\\\1", case) for case in cases]  # else a comma begins another filter, which takes all other cases back in


def programs(root: pathlib.Path, level: dict, leave_out: dict[str, list[str]]) -> list[list[str]]:
    """Command lines to run, without the cases that `leave_out` and the level have for them. Those that take longest come first: the level's own,
    then the tests of the whole core, which CMake lists last."""
    more = level.get("leave_out", {})
    leave_out = {name: [*leave_out.get(name, []), *more.get(name, [])] for name in {**leave_out, **more}}
    listed = (root / BUILD / "rtl_coverage_tests.txt").read_text().split()
    if not listed:
        raise RunError("no test program has label rtl")
    unknown = set(leave_out) - set(listed) - set(level.get("without", []))
    if unknown:
        raise RunError(f"levels.toml leaves out cases of {sorted(unknown)[0]}, which is no test program")
    return level["programs"] + [[name, *without(root / BUILD / "bin" / name, leave_out.get(name, []))] for name in reversed(listed)]


def run_one(root: pathlib.Path, command: list[str], folder: pathlib.Path) -> tuple[list[str], float, str]:
    """Runs one program, its data into `folder`. The third value is empty, or says how it failed."""
    environment = dict(os.environ, WEFT_COVERAGE_DIR=str(folder))
    started = time.monotonic()
    try:
        done = subprocess.run([str(root / BUILD / "bin" / command[0]), *command[1:]], cwd=folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT_SECONDS)
        failure = "" if done.returncode == 0 else f"exit code {done.returncode}\n" + "\n".join(done.stdout.splitlines()[-30:])
    except subprocess.TimeoutExpired:
        failure = f"no end after {TIMEOUT_SECONDS} s"
    except OSError as error:
        failure = str(error)
    return command, time.monotonic() - started, failure


def run_all(root: pathlib.Path, commands: list[list[str]], folder: pathlib.Path, jobs: int) -> list[str]:
    """Runs the programs; the data replaces that of the last run. Returns the failures."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    problems = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for command, seconds, failure in pool.map(lambda c: run_one(root, c, folder), commands):
            print(f"  {seconds:6.1f} s  {' '.join(command)}{'  FAILED' if failure else ''}", flush=True)
            if failure:
                print(failure, file=sys.stderr)
                problems.append(f"{' '.join(command)} failed: {failure.splitlines()[0]}")
    return problems


def report(root: pathlib.Path, level: str, whole: bool, thresholds: dict[str, float], problems: list[str], want_json: bool) -> int:
    folder = root / BUILD / "coverage"
    here = root / "testbench" / "coverage"
    coverage = data.read_folder(folder / "data")
    listed = waivers.read(here / "waivers.toml")
    groups = bins.read(here / "bins.toml")
    sources = metrics.Sources(root)
    items, more = metrics.measure(coverage, sources, listed, bins.declared(groups, root))
    problems = problems + more + waivers.problems(listed, whole)
    revision = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, stdout=subprocess.PIPE, text=True).stdout.strip()
    about = {"level": level, "revision": revision or "unknown", "processes": str(coverage.files)}
    report_text.write(folder, items, thresholds, problems, about)
    report_html.write(folder, items, listed, sources, thresholds, problems, {g.name: g.doc for g in groups}, about)
    if want_json:
        print((folder / "coverage.json").read_text(), end="")
    else:
        print(report_text.table(items, thresholds))
    below = report_text.failures(metrics.totals(items), thresholds)
    for problem in problems + below:
        print(f"coverage: {problem}", file=sys.stderr)
    if not want_json:
        print(f"report: {(folder / 'index.html').relative_to(root)}")
    return 1 if problems or below else 0


def main(root: pathlib.Path, usage: str, arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/coverage", description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", choices=("ci", "nightly"), default="ci")
    parser.add_argument("--no-build", action="store_true", help="run what is built")
    parser.add_argument("--only-report", action="store_true", help="report on the data of the last run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true", help="print coverage.json instead of the table")
    options = parser.parse_args(arguments)
    levels = tomllib.loads((root / "testbench" / "coverage" / "levels.toml").read_text())
    try:
        started = time.monotonic()
        problems: list[str] = []
        if not (options.no_build or options.only_report):
            build(root, levels[options.level]["cores"], levels[options.level].get("without", []), options.jobs)
            print(f"built in {time.monotonic() - started:.0f} s", file=sys.stderr)
        if not options.only_report:
            problems = run_all(root, programs(root, levels[options.level], levels["leave_out"]), root / BUILD / "coverage" / "data", options.jobs)
        code = report(root, options.level, not levels[options.level].get("without"), levels["thresholds"], problems, options.json)
        print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
        return code
    except (RunError, data.DataError, waivers.WaiverError, bins.BinsError) as error:
        print(f"coverage: {error}", file=sys.stderr)
        return 1
