"""A standing weft-sim for the cases, and what must still hold of it after each of them."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from vfio_user import FLAG_PCI, Client

ROOT = Path(__file__).resolve().parents[2]
WEFT_SIM = os.environ.get("WEFT_SIM", str(ROOT / "build/bin/weft-sim"))
FUNCTIONS = 2
START_S = 60


def wait_until(condition, what, seconds=START_S):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"no {what} after {seconds} s")
        time.sleep(0.005)


class SimulatorCase(unittest.TestCase):
    """One server for the cases of a class, on the fast core. Each case must leave a server that a new client can use."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="weft-protocol-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.simulator = subprocess.Popen([WEFT_SIM, "--chip", "nano", "--core", "fast", "--functions", str(FUNCTIONS), "--listen",
                                          f"{cls.folder}/chip"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end)
        wait_until(lambda: os.path.exists(cls.socket_path(FUNCTIONS - 1)) or cls.simulator.poll() is not None, "sockets")

    @classmethod
    def end(cls):
        cls.simulator.terminate()
        _, words = cls.simulator.communicate(timeout=START_S)
        if cls.simulator.returncode != 0 or words:
            raise AssertionError(f"weft-sim ended with {cls.simulator.returncode}: {words}")

    @classmethod
    def socket_path(cls, function=0):
        return f"{cls.folder}/chip/function{function}.sock"

    def client(self, function=0, **options):
        """A new client, closed with the case."""
        client = Client(self.socket_path(function), **options)
        self.addCleanup(client.close)
        return client

    def tearDown(self):
        self.doCleanups()
        self.assertIsNone(self.simulator.poll(), "weft-sim has ended")
        with Client(self.socket_path()) as second:
            flags, regions, _ = second.device_info()
            self.assertEqual((flags & FLAG_PCI, regions >= 9), (FLAG_PCI, True))
