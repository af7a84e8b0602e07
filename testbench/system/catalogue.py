#!/usr/bin/env python3
"""Checks the catalogue of faults (catalogue.toml) against the tests, and makes docs/fault_catalogue.md from it.

usage: catalogue.py [--build FOLDER] [--json]     every test that an entry names is there and run by ctest; what has none says so
       catalogue.py --docs FILE [--check]         write the page, or exit 1 if it is not current"""
import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTBENCH, ROOT = HERE.parent, HERE.parent.parent
SCHEDULES = HERE / "fault_catalogue_test.cpp"
SCHEDULES_TEST = "system/fault_catalogue_test.cpp: every fault of the catalogue is answered as the catalogue says, on both cores alike"


def paragraphs():
    return tomllib.loads((HERE / "catalogue.toml").read_text())["paragraph"]


def case_in(source, case):
    """A Catch case by its sentence, a CMocka case by its function, which also stands in the list that main() runs."""
    text = re.sub(r'"\s*\n\s*"', "", source.read_text())
    if re.search(r'_CASE(_METHOD)?\([^"\n]*"' + re.escape(case) + '"', text):
        return True
    return len(re.findall(rf"\b{re.escape(case)}\b", text)) >= 2 and f"static void {case}(void**)" in text


def programs_of(build):
    """Source below testbench -> programs that are built from it, from ninja's file and from the units that hold several sources."""
    found = {}
    for match in re.finditer(r"^build (\S+)/CMakeFiles/(\w+)\.dir/(\S+)\.o:", (build / "build.ninja").read_text(), re.MULTILINE):
        folder, program, source = match.groups()
        units = (build / folder / source, build / folder / "CMakeFiles" / f"{program}.dir" / source)  # cmake/Unity.cmake's, and CMake's own
        if source.startswith("Unity/"):
            sources = [str(Path(path).relative_to(ROOT)) for path in re.findall(r'^#include "(/[^"]+)"$', next(unit for unit in units if unit.is_file()).read_text(), re.MULTILINE)]
        else:
            sources = [f"{folder}/{source}"]
        for source in sources:
            found.setdefault(source, set()).add(program)
    return found


def ctest_programs(build):
    """Names of the programs that ctest runs, built or not. ctest itself hides the command of what is not built."""
    found = set()
    for path in (build / "testbench").rglob("*.cmake"):
        text = path.read_text()
        if path.name == "CTestTestfile.cmake":
            found |= set(re.findall(r'"[^"\n]*/bin/([\w.-]+)"', text))
        else:  # cases that are discovered when the program is built
            found |= set(re.findall(r"add_test\((\w+)_NOT_BUILT", text))
    return found


def problems_of(entry, sources, run):
    tests = entry.get("tests", []) + ([SCHEDULES_TEST] if entry.get("schedules") else [])
    if bool(tests) == bool(entry.get("gap")):
        yield "tests, or a gap"
    for test in tests:
        path, case = test.split(": ", 1)
        source = TESTBENCH / path
        if not source.is_file():
            yield f"{path} is not there"
        elif not case_in(source, case):
            yield f"{path} has no case '{case}'"
        elif sources is not None and not sources.get(f"testbench/{path}", set()) & run:
            yield f"ctest runs no program with {path}"
    for kind in entry.get("schedules", []):
        if f'fault("{kind}"' not in SCHEDULES.read_text():
            yield f"fault_catalogue_test.cpp has no schedule with {kind}"
    for program in entry.get("programs", []):
        if run is not None and program not in run:
            yield f"ctest does not run {program}"
    for key in ("fault", "seen", "recovery"):
        if not entry.get(key):
            yield f"no {key}"


def page():
    lines = ["# The catalogue of faults", "",
             "Made from `testbench/system/catalogue.toml` by `testbench/system/catalogue.py --docs docs/fault_catalogue.md`. For each fault: what the caller sees, and what brings the system back. A kind of "
             "[injected fault](fault_injection.md) stands for a schedule that runs on the fast core and on the RTL with the same outcome and the four invariants.", ""]
    for paragraph in paragraphs():
        lines += [f"## {paragraph['name']}", "| fault | the caller sees | recovery | tests |", "|---|---|---|---|"]
        for entry in paragraph["entry"]:
            where = sorted({f"[{Path(t.split(': ')[0]).stem}](../testbench/{t.split(': ')[0]})" for t in entry.get("tests", [])})
            where += [f"`{kind}`" for kind in entry.get("schedules", [])] + [f"`{program}`" for program in entry.get("programs", [])]
            where += [f"none: {entry['gap']}"] if "gap" in entry else []
            lines.append(f"| {entry['fault']} | {entry['seen']} | {entry['recovery']} | {', '.join(where)} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.docs:
        if not arguments.check:
            arguments.docs.write_text(page())
        elif not arguments.docs.is_file() or arguments.docs.read_text() != page():
            print(f"{arguments.docs} is not current: run testbench/system/catalogue.py --docs docs/fault_catalogue.md", file=sys.stderr)
            return 1
        return 0
    sources, run = (programs_of(arguments.build), ctest_programs(arguments.build)) if arguments.build else (None, None)
    entries, tested, wrong, tests = 0, 0, 0, set()
    for paragraph in paragraphs():
        for entry in paragraph["entry"]:
            entries += 1
            problems = list(problems_of(entry, sources, run))
            for problem in problems:
                print(f"{paragraph['name']}: {entry.get('fault')}: {problem}", file=sys.stderr)
            wrong += bool(problems)
            tested += not problems and "gap" not in entry
            tests |= set(entry.get("tests", []))
    schedules = len(re.findall(r"WEFT_ERROR_\w+,\s*Recovery::", SCHEDULES.read_text()))
    if arguments.json:
        print(json.dumps({"entries": entries, "tested": tested, "tests": len(tests), "schedules": schedules}))
    else:
        print(f"{tested} of {entries} entries have their tests; {len(tests)} tests, {schedules} schedules")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
