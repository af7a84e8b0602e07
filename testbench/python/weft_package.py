"""Where the tests find the package and the programs: WEFT_SIM, WEFT_PJRT_LIBRARY and WEFT_COMMAND, else the build tree."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "host" / "python"))
os.environ.setdefault("WEFT_SIM", str(BUILD / "bin" / "weft-sim"))
os.environ.setdefault("WEFT_PJRT_LIBRARY", str(BUILD / "lib" / "libweft_pjrt.so"))
for name in ("WEFT_CHIPS", "WEFT_CORE"):
    os.environ.pop(name, None)
os.environ["WEFT_REPORT_DIR"] = "off"
COMMAND = os.environ.get("WEFT_COMMAND", str(BUILD / "bin" / "weft"))


def weft_command(*arguments: object) -> str:
    """What the command prints. It must succeed."""
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"weft {arguments} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def python(code: str, expected: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python of its own that has the package."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=dict(os.environ, PYTHONPATH=str(ROOT / "host" / "python"), **environment)
    )
    assert done.returncode == expected, f"ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done


class OnNano(unittest.TestCase):
    """`device`: a simulator of nano for all tests of the class; `queue`: one for each test."""

    @classmethod
    def setUpClass(cls):
        import weft

        cls.device = weft.open("nano")
        cls.addClassCleanup(cls.device.close)

    def setUp(self):
        self.queue = self.device.queue()
        self.addCleanup(self.queue.release)
