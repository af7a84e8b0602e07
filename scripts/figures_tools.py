"""What scripts/figures measures with: programs of the build, their JSON, the memory of a simulator, tables."""
import glob
import json
import os
import re
import shlex
import subprocess
import time
import xml.etree.ElementTree
from pathlib import Path

WAIT_S = 900
SAMPLE_S = 0.02


def cpu_name():
    """Model and number of processors, with the vector instructions that decide the speed."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.*)$", text, re.MULTILINE)
    has = set(flags.group(1).split()) if flags else set()
    vector = "AVX-512" if "avx512f" in has else "AVX2" if "avx2" in has else "no AVX2"
    return f"{model.group(1) if model else os.uname().machine}, {os.cpu_count()} processors, {vector}"


def row(name, value, unit, goal, holds, **more):
    """One figure. holds None: it is not measured here; goal says where. `oracle`: whose arithmetic or text it was compared with."""
    return {"name": name, "value": value, "unit": unit, "goal": goal, "holds": holds, **more}


def peak_memory_bytes(pid):
    """VmHWM of a process, 0 if it is gone."""
    try:
        match = re.search(r"^VmHWM:\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(match.group(1)) * 1024 if match else 0


def children(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = Path(path).read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(int(text.split()[0]))
    return found


def folder(tools):
    """Where figures keep files of programs that they run."""
    path = tools.build / "figures"
    path.mkdir(parents=True, exist_ok=True)
    return path


def read(tools, path):
    """The JSON that a program wrote."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise tools.Failed(f"{path}: {error}") from None


def ctest(tools, arguments, name, **options):
    """Runs tests by ctest's arguments: name of each that there is -> (whether it ran and passed, seconds)."""
    out = folder(tools) / f"{name}.xml"
    out.unlink(missing_ok=True)
    subprocess.run(["ctest", *map(str, arguments), "--output-junit", str(out)], cwd=tools.build, capture_output=True, text=True, **options)
    try:
        cases = xml.etree.ElementTree.parse(out).getroot().findall(".//testcase")
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        raise tools.Failed(f"ctest wrote no results of {name}: {error}") from None
    return {case.get("name"): (case.get("status") == "run", float(case.get("time"))) for case in cases}


class Tools:
    class Failed(Exception):
        """A program is missing, failed or printed something else."""

    def __init__(self, root, build, repetitions, log):
        self.root, self.build, self.repetitions, self.log = root, build, repetitions, log
        self.kept = {}
        self.level = "ci"  # of figures that take long: ci, nightly or release
        self.resume = False

    def program(self, name):
        path = self.build / "bin" / name
        if not path.is_file():
            raise self.Failed(f"{path} is not there: run scripts/build")
        return str(path)

    def run(self, command, timeout=WAIT_S, **options):
        command = [str(word) for word in command]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
        except subprocess.TimeoutExpired:
            raise self.Failed(f"{shlex.join(command)} still ran after {timeout} s") from None
        if done.returncode != 0:
            raise self.Failed(f"{shlex.join(command)} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
        return done.stdout

    def run_json(self, name, *arguments, timeout=WAIT_S, **options):
        return json.loads(self.run([self.program(name), *arguments, "--json"], timeout, **options))

    def test_line(self, program, test, pattern):
        """Runs the cases with tag [test] of a system test; the groups of its summary lines as numbers. A test that fails still counts:
        its line tells by how much."""
        command = [self.program(program), f"[{test}]"]
        environment = {**os.environ, "WEFT_SIM": self.program("weft-sim")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, env=environment)
        lines = [tuple(float(g) for g in match.groups()) for match in re.finditer(pattern, done.stdout)]
        if not lines:
            raise self.Failed(f"{shlex.join(command)} printed no summary\n{done.stdout[-2000:]}")
        return lines, done.returncode == 0

    def gemm(self, shape, core):
        """JSON reports of `weft gemm` on v5e-1mxu, one a repetition, each with peak_bytes of its weft-sim. Run once, then kept."""
        if (shape, core) not in self.kept:
            self.kept[shape, core] = [self.gemm_once(shape, core) for _ in range(self.repetitions)]
        return self.kept[shape, core]

    def gemm_once(self, shape, core):
        return self.run_with_peak([self.program("weft"), "gemm", "--shape", shape, "--chip", "v5e-1mxu", "--core", core, "--json"])

    def run_with_peak(self, command, good=(0,), **options):
        """JSON report of a program, with peak_bytes of its weft-sim. `good`: its exit codes."""
        command = [str(word) for word in command]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        peak = 0
        while process.poll() is None:  # VmHWM never falls, so the last sample of a process is its peak but for the last moment
            for child in children(process.pid):
                peak = max(peak, peak_memory_bytes(child))
            time.sleep(SAMPLE_S)
        out, err = process.communicate()
        if process.returncode not in good:
            raise self.Failed(f"{shlex.join(command)} ended with {process.returncode}\n{err[-2000:]}")
        return {**json.loads(out), "peak_bytes": peak}


def shown(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def print_table(rows):
    head = ("figure", "value", "unit", "goal", "holds", "oracle")
    lines = [(r["name"], shown(r["value"]), r["unit"], r["goal"], {True: "yes", False: "no", None: "-"}[r["holds"]], r.get("oracle", "")) for r in rows]
    if not any(line[-1] for line in lines):
        head, lines = head[:-1], [line[:-1] for line in lines]
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    for line in [head, *lines]:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
