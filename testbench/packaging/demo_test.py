#!/usr/bin/env python3
"""What scripts/demo and scripts/build ask of CMake: a demo in a fresh clone builds few RTL cores and no tests, one beside a whole build leaves it whole.

usage: demo_test.py SOURCE_FOLDER
The scripts run in a folder of their own, with a cmake that writes down its arguments."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
FEW, NO_TESTS = "-DWEFT_FEW_CORES=ON", "-DWEFT_TESTS=OFF"


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-demo-")
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        (self.tree / "scripts").mkdir()
        for name in ("demo", "build"):
            shutil.copy(SOURCE / "scripts" / name, self.tree / "scripts")
        self.program("scripts/packages", "")
        self.program("build/bin/digits", "")
        self.program("tools/cmake", f'echo "$@" >>{self.tree}/asked\n')

    def program(self, path, text):
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(0o755)

    def asked(self, *command):
        """Arguments of each cmake that the command runs."""
        subprocess.run([self.tree / command[0], *command[1:]], check=True, capture_output=True,
                       env={**os.environ, "PATH": f"{self.tree}/tools:{os.environ['PATH']}"})
        return [line.split() for line in (self.tree / "asked").read_text().splitlines()]

    def cache(self, value):
        (self.tree / "build" / "CMakeCache.txt").write_text(f"WEFT_TESTS:BOOL=ON\nWEFT_FEW_CORES:BOOL={value}\n")

    def test_a_fresh_clone_gets_few_cores(self):
        configure, build = self.asked("scripts/demo")
        self.assertEqual(configure, ["--preset", "release", FEW, NO_TESTS])
        self.assertEqual(build[-4:], ["--target", "weft", "weft-sim", "digits"])

    def test_so_does_a_demo_after_a_demo(self):
        self.cache("ON")
        self.assertEqual(self.asked("scripts/demo")[0][2:], [FEW, NO_TESTS])

    def test_a_whole_build_stays_whole(self):
        self.cache("OFF")
        self.assertEqual(self.asked("scripts/demo")[0], ["--preset", "release"])

    def test_scripts_build_makes_a_build_of_few_cores_whole(self):
        self.cache("ON")
        configure, build = self.asked("scripts/build")
        self.assertEqual(configure, ["--preset", "release"])
        self.assertNotIn("--target", build)
        presets = json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]
        release = next(p["cacheVariables"] for p in presets if p["name"] == "release")
        self.assertEqual((release["WEFT_FEW_CORES"], release["WEFT_TESTS"]), ("OFF", "ON"))


if __name__ == "__main__":
    unittest.main()
