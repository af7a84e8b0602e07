"""The figures of the front door: what a build and the first commands of a newcomer cost, pages, lints."""
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from figures_tools import ctest, folder, row
from figures_trust import docs_outputs

DEMO = ("weft", "weft-sim", "digits")  # scripts/demo builds these, in a fresh clone with
DEMO_OPTIONS = ("-DWEFT_FEW_CORES=ON", "-DWEFT_TESTS=OFF")
STEP_LIMIT_S = 2 * 3600
GOAL_FULL_MIN, GOAL_DEMO_MIN = 16, 8  # of CPU
GOAL_DEMO_WALL_MIN, GOAL_TEST_WALL_MIN = 6, 16
GOAL_GUEST_S, GUESTS_KILLED = 120, 100
SKIPPED = 77


def steps_of(tools, targets):
    """Outputs that ninja makes for targets, and the commands for them."""
    inputs = tools.run(["ninja", "-C", tools.build, "-t", "inputs", *targets]).splitlines()
    commands = tools.run(["ninja", "-C", tools.build, "-t", "commands", *targets]).splitlines()
    # Paths of the build are relative to it, but for those that CMake writes with it.
    return {os.path.normpath(tools.build / path) for path in [*inputs, *targets]}, len(commands)


def log(tools):
    """Output -> (begin, end, command) of its last run, from .ninja_log: milliseconds since its ninja began, and the command's hash."""
    path = tools.build / ".ninja_log"
    if not path.is_file():
        raise tools.Failed(f"{path} is not there: run scripts/build")
    found = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            begin, end, _, output, command = line.split("\t")
            found[os.path.normpath(tools.build / output)] = (int(begin), int(end), command)
    return found


def build_at_hand(tools):
    """How much the build folder's build is, cheaply: its steps, and the time between begin and end of each, added up. That is CPU time if
    nothing ran beside the build and ccache held nothing: the sum says how the work is distributed, and no goal is judged by it."""
    times = log(tools)
    rows = []
    for name, targets, goal in (("full", ("all",), GOAL_FULL_MIN), ("demo with all RTL cores", DEMO, GOAL_DEMO_MIN)):
        outputs, count = steps_of(tools, targets)
        ran = {times[output] for output in outputs if output in times}  # several outputs of one step count once
        if not ran:
            raise tools.Failed(f"{tools.build}/.ninja_log holds no step of {' '.join(targets)}: run scripts/build")
        rows.append(row(f"steps, {name}", count, "commands of ninja", "", None))
        rows.append(row(f"steps' time, {name}", sum(end - begin for begin, end, _ in ran) / 60e3,
                        f"min, {len(ran)} steps that .ninja_log knows, ccache and other work included", f"<= {goal} of CPU: --level nightly", None))
    return rows


def timed(tools, folder, command):
    """Runs a command without ccache; minutes of wall clock and of CPU, of its children too."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    tools.run(command, timeout=STEP_LIMIT_S, cwd=folder, env={**os.environ, "CCACHE_DISABLE": "1"})
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    return (end - begin) / 60, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 60


def clean_clone(tools, name, script, options, targets, cpu_goal, wall_goal):
    """A clean clone of HEAD: packages, then the script's build, whose CPU counts, then the script, which finds both done."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="weft-front-") as folder:
        clone = Path(folder) / "weft"
        tools.run(["git", "clone", "--quiet", "--no-hardlinks", tools.root, clone])
        packages, _ = timed(tools, clone, ["scripts/packages", *(["build"] if targets else [])])
        build, cpu = timed(tools, clone, ["scripts/build", *options, *targets])
        rest, _ = timed(tools, clone, [script])
    beside = f"without ccache, load {load:.1f} before it"
    wall = packages + build + rest
    return [row(f"build, {name}", cpu, f"CPU minutes, {beside}", f"<= {cpu_goal} (AVX2)", cpu <= cpu_goal),
            row(f"wall, {script}", wall, f"min, clean clone, Debian's packages installed, {os.cpu_count()} processors, {beside}",
                f"<= {wall_goal} (2 processors)", wall <= wall_goal)]


def of_nightly(name, script, options, targets, cpu_goal, wall_goal):
    """A measurement of minutes to hours: not at level ci."""
    def measure(tools):
        return [] if tools.level == "ci" else clean_clone(tools, name, script, options, targets, cpu_goal, wall_goal)
    return measure


def counted(tools, *command):
    """What a check of the tree prints, and how many findings it has: lines on standard error."""
    done = subprocess.run([tools.root / command[0], *command[1:], tools.root], capture_output=True, text=True, timeout=STEP_LIMIT_S)
    if done.returncode not in (0, 1):
        raise tools.Failed(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout, sum(1 for line in done.stderr.splitlines() if line)


def dead_links(tools):
    text, wrong = counted(tools, "testbench/docs/pages.py", "links")
    pages, links = map(int, re.search(r"^(\d+) pages, (\d+) links", text).groups())
    return [row("docs, dead links", wrong, f"of {links} links on {pages} pages", "0", wrong == 0 and links > 0)]


def errors_with_an_example(tools):
    text, wrong = counted(tools, "testbench/docs/pages.py", "errors")
    codes, shown = map(int, re.search(r"^(\d+) status codes, (\d+) with", text).groups())
    return [row("docs, errors with an example", shown, f"of {codes} status codes; the others have their reason; {wrong} findings", f"{codes}, or a reason", wrong == 0 and codes > 0)]


def site(tools):
    with tempfile.TemporaryDirectory(prefix="weft-site-") as folder:
        done = subprocess.run([tools.root / "scripts" / "site", Path(folder) / "site"], capture_output=True, text=True, timeout=STEP_LIMIT_S)
        found = re.search(r"^(\d+) pages in \S+, (\d+) warnings", done.stdout, flags=re.M)
        if not found:
            raise tools.Failed(f"scripts/site ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return [row("docs, site", int(found[2]), f"warnings of mkdocs in {found[1]} pages", "0", done.returncode == 0 and int(found[1]) > 100)]


def abi(tools):
    """weft.h beside that of the last release."""
    done = subprocess.run([tools.root / "testbench" / "packaging" / "abi.py", tools.root], capture_output=True, text=True, timeout=STEP_LIMIT_S)
    found = re.search(r"^(.+): (\d+) calls, (\d+) structures, (\d+) constants; (\d+) of them", done.stdout, flags=re.M)
    if found:
        return [row("consumer, ABI", int(found[5]), f"of {found[2]} calls, {found[3]} structures, {found[4]} constants of {found[1]} break programs", "0, or announced", done.returncode == 0)]
    raise tools.Failed(f"abi.py ended with {done.returncode}: {done.stderr.strip()[-300:]}")


def guest(tools):
    """Linux in QEMU against the same commands outside; from nightly on guests that are killed too."""
    out = folder(tools) / "guest.json"

    def run(*arguments):
        out.unlink(missing_ok=True)
        done = subprocess.run([tools.root / "scripts/guest", "--build", tools.build, "--json", out, *arguments], capture_output=True, text=True, timeout=STEP_LIMIT_S)
        last = done.stdout.strip().splitlines()[-1:] or [done.stderr.strip()]
        if done.returncode not in (0, 1, SKIPPED) or (done.returncode != SKIPPED and not out.exists()):
            raise tools.Failed(f"scripts/guest ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return (None, last[0]) if done.returncode == SKIPPED else (json.loads(out.read_text()), last[0])

    report, last = run()
    if report is None:
        return [row("guest", None, last, "skipped where no QEMU can be had", None)]
    if "compared" not in report:
        raise tools.Failed(f"scripts/guest: {last}")
    equal = report["compared"] == report["of"] > 0
    rows = [row("guest, boot to last test", report["seconds"], f"s, QEMU {report['qemu']} {report['accel']}, {report['cases']} tests", f"<= {GOAL_GUEST_S}", report["seconds"] <= GOAL_GUEST_S),
            row("guest, as outside", report["compared"], f"of {report['of']} commands: bits, device cycles ({report['device_cycles']} together), statuses", "all", equal),
            row("guest, findings", report["findings"], "of all tests of the guest", "0", report["findings"] == 0)]
    if tools.level != "ci":
        killed, last = run("--kills", str(GUESTS_KILLED), "--core", "fast")
        killed = killed or {}
        rows.append(row("guests killed, the next is served", killed.get("killed", 0), f"guests, {killed.get('after_a_product', 0)} of them after a product; {last}", str(GUESTS_KILLED), killed.get("served", False)))
    return rows


def house(tools):
    """Sources without a mirrored test or a reason, files that are too long, and includes against the table of the architecture."""
    text, wrong = counted(tools, "testbench/lint/mirrors.py")
    sources, mirrored, files, long = map(int, re.search(r"^(\d+) sources, (\d+) with .*; (\d+) files, (\d+) with", text).groups())
    rules = subprocess.run(["python3", "-B", tools.root / "testbench" / "packaging" / "include_rules.py", tools.root], capture_output=True, text=True)
    upward = sum(1 for line in rules.stdout.splitlines() if line)
    return [row("house, tests", wrong, f"findings in {sources} sources, {mirrored} of which a unit test mirrors, and {files} files, {long} of more than 500 lines", "0", wrong == 0 and sources > 0),
            row("house, includes", upward, "includes against the table of docs/architecture.md", "0", rules.returncode == 0 and upward == 0)]


def lints(tools):
    """The ctests of label lint, which are the tools and the checks of sources and pages."""
    cases = ctest(tools, ["-L", "lint"], "lint")
    failed = sorted(name for name, (passed, _) in cases.items() if not passed)
    text, wrong = counted(tools, "testbench/lint/english.py")
    files = int(re.search(r"^(\d+) files", text)[1])
    return [row("lint", len(failed), f"of {len(cases)} lints and checks of sources fail{': ' if failed else ''}{', '.join(failed)}", "0", not failed and bool(cases)),
            row("lint, English", wrong, f"findings in {files} pages and sources", "0", wrong == 0 and files > 0)]


FIGURES = (("docs", docs_outputs), ("docs, dead links", dead_links), ("docs, errors", errors_with_an_example), ("docs, site", site), ("consumer, ABI", abi), ("guest", guest), ("house", house), ("lint", lints),
           ("build at hand", build_at_hand),
           ("demo", of_nightly("demo", "scripts/demo", DEMO_OPTIONS, DEMO, GOAL_DEMO_MIN, GOAL_DEMO_WALL_MIN)),
           ("test", of_nightly("full", "scripts/test", (), (), GOAL_FULL_MIN, GOAL_TEST_WALL_MIN)))
