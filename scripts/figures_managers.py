"""The system tests with each manager of the chip in turn: how each ends, and the processor time that it takes with all
of its simulators. Turns, because other work on the machine then falls on all managers alike."""
import ctypes
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import time

from figures_tools import folder

# Every test with label system, but those here, each with its reason: the figure names both.
SELECTION = ["-L", "^system$", "-LE", "nightly"]
LEFT_OUT = (
    (re.compile(r"with the (native manager|firmware's image)|^lockstep: "), "names its manager itself: the run of the test that its name begins with"),
    (re.compile(r"on the mock|^guest: its parts|^onnx: (operators|ONNX's test sets|2000 mutants|the judge)"), "starts no simulator"),
)
PR_SET_CHILD_SUBREAPER = 36
LIMIT_S = 1800
PATIENCE_S = 120   # with simulators whose test has ended
SKIPPED = 77
SLOWER = {"native": 5, "rv32": 5, "ibex": 60}   # times a test's own limit, which is for a machine with nothing else to do
CASES = re.compile(r"assertions? in (\d+) test cases?|^Ran (\d+) tests?", re.MULTILINE)


def left_out(name):
    """Why a test is not run with each manager, or None."""
    return next((why for names, why in LEFT_OUT if names.search(name)), None)


def system_tests(tools):
    """Name -> {command, environment, folder, limit} of the system tests, as ctest would run them; name -> why of those that are left out."""
    listed = json.loads(tools.run(["ctest", "--show-only=json-v1", *SELECTION], cwd=tools.build))
    found, out = {}, {}
    makes_files = {test["name"] for test in listed["tests"] if any(p["name"] == "FIXTURES_SETUP" for p in test.get("properties", []))}
    for test in sorted(listed["tests"], key=lambda test: test["name"] not in makes_files):   # those that others need come first
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        name, why = test["name"], left_out(test["name"])
        if why or "command" not in test:
            out[name] = why or "is not built"
            continue
        found[name] = {"command": test["command"], "environment": dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
                       "folder": properties.get("WORKING_DIRECTORY", str(tools.build)), "limit": float(properties.get("TIMEOUT", LIMIT_S))}
    return found, out


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reap():
    """Waits for what a test has left behind, so that its time counts for this test and not for the next. False: something does not end."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
        except ChildProcessError:
            return True
    return False


def run_test(test, manager):
    """{passed, cases, seconds}: cases are those that the test says it ran, seconds are of processors."""
    before = processor_seconds()
    environment = {**os.environ, **test["environment"], "WEFT_MANAGER": manager}
    skipped = False
    try:
        done = subprocess.run(test["command"], cwd=test["folder"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=test["limit"] * SLOWER[manager])
        skipped = done.returncode == SKIPPED
        passed, text = done.returncode == 0 or skipped, done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        passed, text = False, f"still ran after {error.timeout:.0f} s"
    if not reap():
        passed, text = False, f"left a process behind\n{text}"
    cases = sum(int(a or b) for a, b in CASES.findall(text))
    return {"passed": passed, "skipped": skipped, "cases": cases, "seconds": processor_seconds() - before, "said": "" if passed else text if len(text) < 8000 else text[:4000] + "\n...\n" + text[-4000:]}


def digest(tools):
    """Of the programs whose results are kept: those of another build are measured again."""
    both = hashlib.sha256()
    for name in ("weft-sim", "weft"):
        with open(tools.program(name), "rb") as file:
            both.update(hashlib.file_digest(file, "sha256").digest())
    return both.hexdigest()


def run_in_turns(tools, managers):
    """Name -> manager -> what run_test() says, and name -> why of the tests that are left out. What has ended is kept in figures/managers.json
    of the build: with tools.resume a run that was broken off goes on from there."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)   # simulators that outlive their test come back to us
    tests, out = system_tests(tools)
    if not tests:
        raise tools.Failed("ctest lists no system tests: run scripts/build")
    path, programs = folder(tools) / "managers.json", digest(tools)
    results = {}
    if tools.resume and path.is_file():
        kept = json.loads(path.read_text())
        if kept.get("programs") == programs and kept.get("managers") == list(managers):
            results = {name: ends for name, ends in kept["tests"].items() if name in tests}
    for index, (name, test) in enumerate(tests.items()):
        if name in results:
            continue
        order = managers if index % 2 == 0 else tuple(reversed(managers))
        results[name] = {manager: run_test(test, manager) for manager in order}
        line = ", ".join(f"{m} {results[name][m]['seconds']:.1f} s{'' if results[name][m]['passed'] else ' FAILED'}" for m in managers)
        print(f"  {index + 1}/{len(tests)} {name}: {line}", file=sys.stderr, flush=True)
        path.write_text(json.dumps({"programs": programs, "managers": list(managers), "tests": results}, indent=1))
    return results, out
