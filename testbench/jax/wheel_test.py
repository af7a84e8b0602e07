"""The wheel in a bare virtual environment, whose PATH has no compiler.

usage: wheel_test.py      environment: WEFT_WHEEL_BUILD, the build folder
JAX is not fetched again: the environment sees the one that runs this test.
"""

import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("WEFT_WHEEL_BUILD", str(ROOT / "build"))


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weft-wheel-")
        cls.addClassCleanup(cls.folder.cleanup)
        there = pathlib.Path(cls.folder.name)
        cls.wheel = cls.run_in(None, sys.executable, ROOT / "scripts/wheel", "--build", BUILD, "--out", there).stdout.strip()
        cls.venv = there / "venv"
        cls.run_in(None, sys.executable, "-m", "venv", "--without-pip", cls.venv)
        packages = next((cls.venv / "lib").glob("python3*/site-packages"))
        (packages / "jax_of_the_test.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        # by the pip of the environment that runs this test: one of its own takes seconds to unpack
        cls.run_in(cls.venv, sys.executable, "-m", "pip", "--python", cls.venv / "bin/python", "install", "--quiet", "--no-deps", "--no-index", cls.wheel)

    @staticmethod
    def run_in(venv, *command, expected=0):
        """venv: nothing but its programs and a shell's is in PATH, and nothing of Weft in the environment."""
        environment = dict(os.environ)
        if venv is not None:
            clean = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "PYTHON", "JAX_", "LD_"))}
            tools = venv / "shell"
            tools.mkdir(exist_ok=True)
            for name in ("sh", "dirname", "readlink"):
                if not (tools / name).exists():
                    (tools / name).symlink_to(f"/usr/bin/{name}")
            environment = clean | {"PATH": f"{venv / 'bin'}:{tools}"}
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, env=environment, cwd="/")
        assert done.returncode == expected, f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def python(self, code, **options):
        return self.run_in(self.venv, self.venv / "bin/python", "-c", code, **options).stdout

    def test_jax_finds_a_chip_and_computes_on_it(self):
        out = self.python("import os; os.environ['WEFT_CHIPS'] = 'nano'\n"
                          "import jax; print(jax.devices(), jax.jit(lambda x: x + 1)(jax.numpy.arange(3)), jax.__file__)")
        self.assertIn("WeftDevice(id=0)", out)
        self.assertIn("[1 2 3]", out)

    def test_its_simulator_and_plugin_are_the_ones_that_run(self):
        out = self.python("import os; os.environ['WEFT_CHIPS'] = 'nano'\n"
                          "import jax; jax.devices()\n"
                          "print(os.environ['WEFT_SIM'])\n"
                          "print(*{l.split()[-1] for l in open('/proc/self/maps') if 'weft_pjrt' in l or 'libprotobuf' in l}, sep='\\n')")
        paths = out.split()
        self.assertGreaterEqual(len(paths), 3)
        for path in paths:
            self.assertTrue(path.startswith(str(self.venv)), path)

    def test_the_package_opens_a_chip_and_multiplies(self):
        out = self.python("import sys, numpy, weft\n"
                          "with weft.open('nano') as chip: print(chip.gemm(numpy.eye(3, dtype=numpy.float32), numpy.full((3, 2), 2, numpy.float32)).tolist())\n"
                          "print(weft.__file__, 'jax' in sys.modules)")
        self.assertIn("[[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]", out)
        self.assertIn(str(self.venv), out)
        self.assertIn("False", out)
        self.assertTrue(next(self.venv.glob("lib/python3*/site-packages/weft/py.typed")).is_file())

    def test_its_metadata_name_the_releases_of_jax_that_are_listed(self):
        listed = [line for line in (ROOT / "host/python/jax_versions.txt").read_text().splitlines() if line and not line.startswith("#")]
        required = self.python("import importlib.metadata as m; print(*m.requires('weft-jax'), sep='\\n')").split("\n")
        for name in ("jax", "jaxlib"):
            self.assertIn(f"{name}>={listed[0]},<={listed[-1]}", required)

    def test_the_command_comes_with_it(self):
        self.assertRegex(self.run_in(self.venv, self.venv / "bin/weft", "--version").stdout, r"\d+\.\d+\.\d+")
        out = self.run_in(self.venv, self.venv / "bin/weft", "gemm", "--shape", "16x16x16", "--chip", "nano", "--core", "fast").stdout
        self.assertRegex(out, "cycles")

    def test_what_a_build_lacks_is_told(self):
        done = self.run_in(None, sys.executable, ROOT / "scripts/wheel", "--build", "/nowhere", "--out", self.folder.name, expected=1)
        self.assertIn("/nowhere/lib/libweft_pjrt.so is not there", done.stderr)


if __name__ == "__main__":
    unittest.main()
