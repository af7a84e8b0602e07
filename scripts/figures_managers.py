"""The system tests with each manager of the chip in turn: how each ends, and the processor time that it takes with all
of its simulators. Turns, because other work on the machine then falls on all managers alike."""
import ctypes
import json
import os
import re
import resource
import subprocess
import sys

from figures_tools import folder

# All of testbench/system but what it runs a second time for one manager, and what takes hours.
SELECTION = ["--test-dir", "testbench/system", "-L", "^system$", "-LE", "nightly", "-E", "with the firmware's image"]
PR_SET_CHILD_SUBREAPER = 36
LIMIT_S = 1800
SLOWER = {"native": 5, "rv32": 5, "ibex": 60}   # times a test's own limit, which is for a machine with nothing else to do
CASES = re.compile(r"assertions? in (\d+) test cases?|^Ran (\d+) tests?", re.MULTILINE)


def system_tests(tools, only=None):
    """Name -> {command, environment, folder, limit} of the system tests, as ctest would run them."""
    listed = json.loads(tools.run(["ctest", "--show-only=json-v1", *SELECTION], cwd=tools.build))
    found = {}
    for test in listed["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if "command" not in test or (only and only not in test["name"]):
            continue
        found[test["name"]] = {"command": test["command"], "environment": dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
                               "folder": properties.get("WORKING_DIRECTORY", str(tools.build)), "limit": float(properties.get("TIMEOUT", LIMIT_S))}
    return found


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reap():
    """Takes what a test has left behind, so that its time counts for the test."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def run_test(test, manager):
    """{passed, cases, seconds}: cases are those that the test says it ran, seconds are of processors."""
    before = processor_seconds()
    environment = {**os.environ, **test["environment"], "WEFT_MANAGER": manager}
    try:
        done = subprocess.run(test["command"], cwd=test["folder"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=test["limit"] * SLOWER[manager])
        passed, text = done.returncode == 0, done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        passed, text = False, f"still ran after {error.timeout:.0f} s"
    reap()
    cases = sum(int(a or b) for a, b in CASES.findall(text))
    return {"passed": passed, "cases": cases, "seconds": processor_seconds() - before, "said": "" if passed else text[-2000:]}


def run_in_turns(tools, managers, only=None):
    """Name -> manager -> what run_test() says. All of it is kept in figures/managers.json of the build."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)   # simulators that outlive their test come back to us
    tests = system_tests(tools, only)
    if not tests:
        raise tools.Failed("ctest lists no system tests: run scripts/build")
    results = {}
    for index, (name, test) in enumerate(tests.items()):
        order = managers if index % 2 == 0 else tuple(reversed(managers))
        results[name] = {manager: run_test(test, manager) for manager in order}
        line = ", ".join(f"{m} {results[name][m]['seconds']:.1f} s{'' if results[name][m]['passed'] else ' FAILED'}" for m in managers)
        print(f"  {index + 1}/{len(tests)} {name}: {line}", file=sys.stderr, flush=True)
        (folder(tools) / "managers.json").write_text(json.dumps(results, indent=1))
    return results
