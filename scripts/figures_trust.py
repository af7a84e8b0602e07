"""The figures of trust: each item with the tests that hold it, hostile tenants, lifetimes, both cores, the pages' outputs,
storms, ONNX models, the protocol's second reading. Every row names its oracle: whose arithmetic or text it was compared with."""
import json
import os
import re
import runpy
import subprocess

from figures_tools import ctest, folder, read, row
from figures_trust_items import ITEMS

LIMIT_S = 6 * 3600
SEQUENCES = {"ci": 300, "nightly": 10_000, "release": 10_000}
CALLS = {"ci": 20_000, "nightly": 1_000_000, "release": 1_000_000}
GOAL_CALLS = 1_000_000
PROGRAMS = 2000
MODELS = {"ci": 300, "nightly": 10_000, "release": 10_000}
STORMS = {"ci": 300, "nightly": 10_000, "release": 10_000}


def nightly(tools, goal):
    return goal + (" (nightly)" if tools.level == "ci" else "")


def environment(tools):
    return {**os.environ, "WEFT": tools.program("weft"), "WEFT_SIM": tools.program("weft-sim"), "WEFT_SOURCE": str(tools.root), "WEFT_BUILD": str(tools.build),
            "WEFT_CHECK_HAZARDS": "1"}


def judged(tools, command, more_environment=None, **options):
    """Runs what ends with 1 if a figure does not hold. What it printed."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, cwd=tools.root, env=environment(tools) | (more_environment or {}), **options)
    if done.returncode not in (0, 1):
        raise tools.Failed(f"{' '.join(command)} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return done


def printed(tools, done):
    """The object that a command printed."""
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise tools.Failed(f"{' '.join(map(str, done.args))} printed no JSON ({error})\n{(done.stdout + done.stderr)[-2000:]}") from None


# The items.
def names_of_tests(tools):
    if "ctest" not in tools.kept:
        found = json.loads(tools.run(["ctest", "--show-only=json-v1"], cwd=tools.build))["tests"]
        tools.kept["ctest"] = [test["name"] for test in found if not any(p["name"] == "LABELS" and "nightly" in p["value"] for p in test.get("properties", ()))]
    return tools.kept["ctest"]


def chosen(tools, item):
    """Names of ctest that the item's patterns stand for."""
    names, missing = [], []
    for pattern in item.tests:
        expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
        found = [name for name in names_of_tests(tools) if expression.fullmatch(name)]
        names += found
        if not found:
            missing.append(pattern)
    if missing:
        raise tools.Failed("no test is called " + ", nor ".join(f"'{name}'" for name in missing))
    return sorted(set(names))


def run_ctest(tools, names, number):
    """(tests that ran, those that failed). What did not run failed."""
    expression = "^(" + "|".join(re.sub(r"([][.^$*+?()|\\])", r"\\\1", name) for name in names) + ")$"
    found = ctest(tools, ["-R", expression, "-LE", "nightly", "-j", os.cpu_count()], f"item{number}", timeout=LIMIT_S)
    return len(found), [name for name in names if not found.get(name, (False,))[0]]


def run_cases(tools, case):
    """The same of cases of a program in testbench/system."""
    program, name = case.split()
    done = judged(tools, ["/usr/bin/python3", tools.root / "testbench/system" / f"{program}.py", name])
    ran = re.search(r"^Ran (\d+) tests?", done.stderr, re.MULTILINE)
    if ran is None or "has no attribute" in done.stderr:
        raise tools.Failed(f"no case is called '{case}'")
    return int(ran.group(1)), [] if done.returncode == 0 else [case]


def item_row(tools, item):
    names = chosen(tools, item)
    ran, failed = run_ctest(tools, names, item.number) if names else (0, [])
    for case in item.cases:
        more, wrong = run_cases(tools, case)
        ran, failed = ran + more, failed + wrong
    good = ran >= len(names) + len(item.cases) > 0 and not failed
    return row(f"item {item.number}, {item.what}", len(failed), f"of {ran} tests fail" + (f": {failed[0]}" if failed else ""), "0", good,
               oracle=item.oracle, before=item.before, tests=[*names, *item.cases])


def of_item(item):
    return f"item {item.number}", lambda tools: [item_row(tools, item)]


# The campaigns.
def hostile_tenant(tools):
    count = SEQUENCES[tools.level]
    found = printed(tools, judged(tools, [tools.program("hostile_tenant"), "--sequences", count, "--json"]))
    good = found["ok"] and found["harmed"] == 0 and found["sequences"] == count and found["elements"] > 0 and found["bytes"] > 0
    oracle = "the neighbours' own arithmetic on the host, their cycles alone, /proc"
    return [row("hostile tenant, neighbours harmed", found["harmed"], f"in {found['sequences']} sequences of {found['classes']} classes of attacks", nightly(tools, "0 in 10000"), good, oracle=oracle),
            row("hostile tenant, bits", found["differing"] + found["wrong_bytes"], f"of {found['elements']} elements and {found['bytes']} bytes of neighbours differ", "0",
                good and found["differing"] + found["wrong_bytes"] == 0, oracle=oracle)]


def sanitizer_environment(tools, build):
    """What scripts/sanitize sets, and the weft-sim of the sanitized build if it has one, which the address sanitizer's has."""
    options = runpy.run_path(str(tools.root / "scripts/sanitize"))["OPTIONS"]
    simulator = build / "bin/weft-sim"
    return options | ({"WEFT_SIM": str(simulator)} if simulator.is_file() else {})


def lifetimes_of(tools, build, transport, calls):
    program = build / "bin/lifetimes"
    if not program.is_file():
        raise tools.Failed(f"{program} is missing")
    out = folder(tools) / f"lifetimes_{build.name}_{transport}.json"
    out.unlink(missing_ok=True)
    done = judged(tools, [program, "--transport", transport, "--calls", calls, "--seed", 1, "--judge-lateness", "--json", out], sanitizer_environment(tools, build))
    out.with_suffix(".log").write_text(done.stdout + done.stderr)  # what was wrong, and the line that does it again
    return read(tools, out), len(re.findall(r"ERROR: AddressSanitizer|ERROR: LeakSanitizer|WARNING: ThreadSanitizer|runtime error:", done.stdout + done.stderr))


def lifetimes(tools):
    """The build's own; at nightly those of scripts/sanitize. Half of the calls on the mock, half on a weft-sim: the sanitized one, or the build's."""
    sanitized = (("address sanitizer", tools.root / "build-asan"), ("thread sanitizer", tools.root / "build-tsan"))
    rows = []
    for name, build in [("no sanitizer", tools.build)] if tools.level == "ci" else sanitized:
        runs = [lifetimes_of(tools, build, transport, CALLS[tools.level] // 2) for transport in ("mock", "sim")]
        calls, programs = sum(found["calls"] for found, _ in runs), sum(found["programs"] for found, _ in runs)
        wrong, reports = sum(found["wrong_outcomes"] for found, _ in runs), sum(count for _, count in runs)
        rows.append(row(f"lifetimes, {name}", wrong + reports, f"wrong outcomes and reports in {calls} calls of {programs} programs",
                        nightly(tools, f"0 in {GOAL_CALLS}, both sanitizers"), all(found["ok"] for found, _ in runs) and wrong + reports == 0 and calls >= CALLS[tools.level],
                        oracle="a reading of weft.h: which outcome of a call is allowed"))
    return rows


def both_cores(tools):
    level = "ci" if tools.level == "ci" else "nightly"
    judged(tools, ["scripts/regress", level, "--only", "both cores", "--build", tools.build])
    result = read(tools, tools.build / "regression" / level / "both cores" / "cores.json")
    return [row("fast core against RTL", result["failed"], f"of {result['programs']} programs differ in cycles, counters or bytes", f"0 of >= {PROGRAMS}",
                result["failed"] == 0 and result["programs"] >= PROGRAMS, oracle="the RTL, verilated")]


def docs_outputs(tools):
    printed = judged(tools, ["/usr/bin/python3", "testbench/system/docs_output_test.py", *(["--slow"] if tools.level != "ci" else [])]).stdout
    summary = re.search(r"^docs: (\d+) of (\d+) commands on (\d+) pages differ", printed, re.MULTILINE)
    if summary is None:
        raise tools.Failed(f"docs_output_test.py printed no summary\n{printed[-2000:]}")
    differ, commands, pages = map(int, summary.groups())
    return [row("pages' outputs", differ, f"of {commands} commands on {pages} pages differ", "0", differ == 0 and commands > 0, oracle="what each command prints now")]


def storms(tools):
    out = folder(tools) / "storms.json"
    out.unlink(missing_ok=True)
    judged(tools, [tools.program("ici_storms"), "--level", "ci" if tools.level == "ci" else "nightly", "--seed", 1, "--jobs", os.cpu_count(), "--json", out])
    found = read(tools, out)
    return [row("storms", found["failed"], f"of {found['storms']} storms stuck, or with messages lost, doubled, out of order or falsely reported", nightly(tools, "0 of 10000"),
                found["failed"] == 0 and found["storms"] >= STORMS[tools.level], oracle="the storm's own books")]


def onnx_models(tools):
    out = folder(tools) / "onnx.json"
    out.unlink(missing_ok=True)
    python = tools.root / ".venv/bin/python"
    if not python.is_file():
        raise tools.Failed(f"{python} is missing: scripts/packages makes it")
    judged(tools, [python, "-B", "testbench/onnx/random_models.py", "--count", MODELS[tools.level], "--seed", 1, "--jobs", os.cpu_count(), "--json", out])
    found = read(tools, out)
    return [row("ONNX models", found["wrong"], f"of {found['models']} random models are wrong, or taken though ONNX forbids them", nightly(tools, "0 of 10000"),
                found["wrong"] == 0 and found["models"] - found["not_judged"] >= 0.999 * MODELS[tools.level], oracle="onnxruntime's arithmetic and onnx.checker"),
            row("ONNX models, not judged", found["not_judged"], "models that ended the oracle's process", "<= 1 of 1,000", found["not_judged"] <= found["models"] / 1000)]


def protocol(tools):
    program = tools.root / "testbench/protocol/protocol_test.py"
    conversations = 300 if tools.level == "ci" else 10_000
    done = subprocess.run(["/usr/bin/python3", str(program)], capture_output=True, text=True, timeout=LIMIT_S,
                          env={**environment(tools), "WEFT_PROTOCOL_GARBAGE": str(conversations)})
    ran = re.search(r"^Ran (\d+) tests?", done.stderr, re.MULTILINE)
    if ran is None:
        raise tools.Failed(f"{program} ran nothing\n{done.stderr[-2000:]}")
    wrong = len(re.findall(r"^(?:FAIL|ERROR): ", done.stderr, re.MULTILINE))
    count = int(ran.group(1))
    return [row("protocol, a second reading", wrong, f"of {count} cases deviate; {conversations} conversations of garbage of each kind", "0", done.returncode == 0 and count > 0 and wrong == 0,
                oracle="the texts of vfio-user, PCI and docs/reference")]


FIGURES = (*map(of_item, ITEMS), ("hostile tenant", hostile_tenant), ("lifetimes", lifetimes), ("both cores", both_cores), ("pages", docs_outputs), ("storms", storms),
           ("ONNX models", onnx_models), ("protocol", protocol))
