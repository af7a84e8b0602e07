"""Runs the weft command for the tests beside this file: paths from the environment that ctest sets, a fresh folder a test."""
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("WEFT_SOURCE", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("WEFT_BUILD", SOURCE / "build"))
WEFT = os.environ.get("WEFT", str(BUILD / "bin/weft"))
WEFT_SIM = os.environ.get("WEFT_SIM", str(BUILD / "bin/weft-sim"))
DIGITS = SOURCE / "host/examples/digits/digits.onnx"
PATIENCE_S = 120


def wait_for(condition, what, seconds=30):
    """The first true value of condition(); an error that names `what` after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"no {what} after {seconds} s")


def children(pid, name):
    """Process ids of the living children of `pid` whose command is `name`."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = Path(path).read_text()
        except OSError:  # ended meanwhile
            continue
        command = text[text.index("(") + 1:text.rindex(")")]
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        if command == name and int(parent) == pid and state != "Z":
            found.append(int(text.split()[0]))
    return found


def cpu_seconds(pid):
    """Processor time that a process has used; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class WeftTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="weft-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return str(self.folder / name)

    def start(self, *arguments, program=WEFT, environment=(), **options):
        """Modules with RTL cores (weft build-chip) are none but the test's."""
        return subprocess.Popen([program, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL, **options,
                                env={**os.environ, "WEFT_SIM": WEFT_SIM, "TMPDIR": str(self.folder),
                                     "WEFT_CORES": str(self.folder / "cores"), **dict(environment)})

    def run_weft(self, *arguments, program=WEFT):
        process = self.start(*arguments, program=program)
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            out, err = process.communicate()
            self.fail(f"{program} {' '.join(map(str, arguments))} still ran after {PATIENCE_S} s\n{out}\n{err}")
        return process.returncode, out, err

    def weft(self, *arguments):
        """Output of a run that must go well, and so says nothing on stderr."""
        code, out, err = self.run_weft(*arguments)
        self.assertEqual((code, err), (0, ""), f"weft {' '.join(map(str, arguments))}: exit code {code}\n{err}")
        return out

    def weft_json(self, *arguments):
        return json.loads(self.weft(*arguments, "--json"))

    def files(self):
        return sorted(p.name for p in self.folder.iterdir())
