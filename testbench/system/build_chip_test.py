"""weft build-chip: the module it builds computes, and no other file is loaded in its place."""
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import zlib
from pathlib import Path

from weft_command import BUILD, SOURCE, WEFT, WeftTest

WRONG_INPUT, BUSY = 2, 3
# Two presets that no build of the tests has: one is built here, the other never.
CHIP, NAME, OTHER, OTHER_NAME = "nano-pe2", "weft_core_nano_pe2", "v4", "weft_core_v4"
KEY = re.search(r'"([0-9a-f]{16})"', (BUILD / "generated/include/weft/core_key.hpp").read_text()).group(1)
BUILD_LIMIT_S = 800
NO_PROGRAMS = {"PATH": "/nowhere"}


class BuildChip(WeftTest):
    def setUp(self):
        super().setUp()
        self.cores = self.folder / "cores"

    def run_in(self, environment, *arguments, limit=120):
        process = self.start(*arguments, environment={"WEFT_CORES": str(self.cores), **environment})
        out, err = process.communicate(timeout=limit)
        return process.returncode, out, err

    def refuses(self, words, *arguments, code=WRONG_INPUT, **environment):
        """The exit code, and one line with all words as the last one on stderr."""
        ended, out, err = self.run_in(environment, *arguments)
        self.assertEqual((ended, out), (code, ""), err)
        last = err.splitlines()[-1]
        for word in words:
            self.assertIn(word, last)
        return last


class BadInput(BuildChip):
    def test_a_preset_that_does_not_exist(self):
        self.refuses(["v9", "nano", "v5e"], "build-chip", "v9")
        self.assertFalse(self.cores.exists())

    def test_an_array_that_does_not_exist(self):
        code, out, err = self.run_in({}, "build-chip", CHIP, "--array", "round")
        self.assertEqual((code, out), (1, ""), err)
        self.assertIn("structural", err)

    def test_no_tools(self):
        self.refuses(["there is no cmake, no verilator, no python3, no C++ compiler"], "build-chip", CHIP, CXX="", **NO_PROGRAMS)
        self.assertFalse(self.cores.exists())
        only_cmake = self.folder / "bin"
        only_cmake.mkdir()
        (only_cmake / "cmake").symlink_to(shutil.which("cmake"))
        self.refuses(["there is no verilator, no python3"], "build-chip", CHIP, PATH=str(only_cmake), CXX="/usr/bin/c++")

    def test_no_sources(self):
        self.refuses([f"'{self.folder}' has no sources of an RTL core"], "build-chip", CHIP, "--source", self.folder)

    def test_a_relative_folder_of_cores(self):
        self.refuses(["WEFT_CORES is 'cores'", "absolute"], "build-chip", CHIP, WEFT_CORES="cores")
        self.assertFalse(self.cores.exists())
        self.refuses(["WEFT_CORES is 'cores'"], "gemm", "--shape", "8x8x8", "--chip", OTHER, "--core", "rtl", WEFT_CORES="cores")

    def test_a_folder_of_cores_that_cannot_be_made(self):
        self.cores.write_text("a file")
        self.refuses([str(self.cores), "cannot be made"], "build-chip", CHIP)
        self.assertEqual(self.cores.read_text(), "a file")

    def test_sources_that_this_program_was_not_built_from(self):
        changed = self.folder / "tree"
        for part in ("cmake", "rtl", "spec", "scripts/spec", "model/core", "model/golden", "model/verilated"):
            shutil.copytree(SOURCE / part, changed / part)
        with open(changed / "rtl/mxu/mxu.sv", "a") as file:
            file.write("// another tree\n")
        self.refuses([str(changed), "have key", "this program was built from key"], "build-chip", CHIP, "--source", changed)
        self.assertEqual([path.name for path in self.cores.rglob("*.so")], [])

    def test_a_build_that_fails(self):
        programs = self.folder / "bin"
        programs.mkdir()
        real = shutil.which("verilator")
        script = programs / "verilator"
        script.write_text(f"#!/bin/sh\ncase $1 in --version|--getenv) exec {real} \"$@\";; esac\necho '%Error: no room at all' >&2\nexit 1\n")
        script.chmod(0o755)
        told = self.refuses([f"{NAME} was not built", "the build failed", "%Error: no room at all", "the log is "], "build-chip", CHIP,
                            PATH=f"{programs}:{os.environ['PATH']}")
        self.assertIn("no room at all", Path(told.rsplit("the log is ", 1)[1]).read_text())
        self.assertEqual([path.name for path in self.cores.rglob("*.so*")], [])

    def test_two_at_once(self):
        folder = self.cores / KEY
        folder.mkdir(parents=True)
        with open(folder / f"{NAME}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refuses(["another process builds", NAME], "build-chip", CHIP, code=BUSY)


class Built(BuildChip):
    """One module, built once."""
    @classmethod
    def setUpClass(cls):
        cls.built = Path(tempfile.mkdtemp(prefix="weft-cores-"))
        cls.addClassCleanup(shutil.rmtree, cls.built)
        done = subprocess.run([WEFT, "build-chip", CHIP, "--array", "structural"], capture_output=True, text=True, timeout=BUILD_LIMIT_S,
                              env={**os.environ, "WEFT_CORES": str(cls.built)})
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.said = done.stdout

    def setUp(self):
        super().setUp()
        shutil.copytree(self.built, self.cores)
        self.module = self.cores / KEY / f"{NAME}_structural.so"

    def gemm(self, chip=CHIP, code=0, array="structural"):
        """What a product on the RTL of the preset prints on stderr if `code` is no success, else on stdout."""
        ended, out, err = self.run_in({"WEFT_ARRAY": array}, "gemm", "--shape", "12x20x9", "--chip", chip, "--core", "rtl", "--verify")
        self.assertEqual(ended, code, out + err)
        return err if code else out

    def not_loaded(self, *words, chip=CHIP):
        err = self.gemm(chip=chip, code=WRONG_INPUT)
        self.assertEqual(len(err.splitlines()), 1, err)
        for word in ("is not loaded", f"'weft build-chip {chip} --array structural' builds it again", *words):
            self.assertIn(word, err)
        # and build-chip does not take it for built
        self.refuses(["there is no cmake"], "build-chip", chip, "--array", "structural", **NO_PROGRAMS)

    def test_the_module_computes_and_a_second_build_takes_no_time(self):
        self.assertRegex(self.said, f"{NAME}_structural.so built in [0-9]+ s")
        self.assertEqual(sorted(path.name for path in self.module.parent.iterdir()),
                         [f"{NAME}_structural.{end}" for end in ("lock", "log", "so")])
        self.assertIn("0 of 108 elements", self.gemm())
        code, out, err = self.run_in(NO_PROGRAMS, "build-chip", CHIP, "--array", "structural")
        self.assertEqual((code, out, err), (0, f"{self.module} is there\n", ""))

    def test_a_module_of_the_other_array_is_not_taken(self):
        told = self.gemm(code=WRONG_INPUT, array="fast")
        self.assertIn(f"the RTL core of chip '{CHIP}' is not in this build", told)
        self.assertIn(f"build it: weft build-chip {CHIP}\n", told)

    def test_a_module_of_other_sources_is_named(self):
        self.module.parent.rename(self.cores / "0123456789abcdef")
        told = self.gemm(code=WRONG_INPUT)
        self.assertIn(f"{self.cores} has it only of other sources (key 0123456789abcdef, and this program needs {KEY})", told)
        shutil.move(self.cores / "0123456789abcdef", self.module.parent)
        text = self.module.read_bytes()
        self.module.write_bytes(text.replace(f"weft-core-1 {KEY}".encode(), b"weft-core-1 0123456789abcdef"))
        self.not_loaded("it was built for key 0123456789abcdef")

    def test_half_a_module(self):
        whole = self.module.read_bytes()
        self.module.write_bytes(whole[:len(whole) // 2])
        self.not_loaded("no seal")
        self.module.write_bytes(b"")
        self.not_loaded("no seal")
        self.module.write_bytes(whole[:5000] + b"x" + whole[5001:])
        self.not_loaded("CRC-32")

    def test_the_module_of_another_preset(self):
        other = self.module.with_name(f"{OTHER_NAME}_structural.so")
        self.module.rename(other)
        self.not_loaded(f"it holds {NAME}_structural, not {OTHER_NAME}_structural", chip=OTHER)

    def test_a_module_that_others_may_write(self):
        self.module.chmod(0o666)
        self.not_loaded("others may write it (mode 0666)")

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_a_module_of_another_user(self):
        os.chown(self.module, 65534, 65534)
        self.not_loaded("it belongs to user 65534")

    def test_what_is_no_file(self):
        self.module.unlink()
        os.mkfifo(self.module)
        self.not_loaded("it is no regular file")
        self.module.unlink()
        self.module.mkdir()
        self.not_loaded("it is no regular file")

    def test_no_code_of_a_foreign_module_runs(self):
        trap, ran = self.folder / "trap.c", self.folder / "ran"
        trap.write_text('#include <fcntl.h>\n__attribute__((constructor)) static void run(void) {'
                        f' creat("{ran}", 0600); }}\n')
        subprocess.run(["cc", "-shared", "-fPIC", trap, "-o", self.module], check=True)
        self.module.chmod(0o755)
        self.not_loaded("no seal")
        self.assertFalse(ran.exists())
        # the trap is one: with the seal of its own bytes it is loaded, and then found to be no core
        code = self.module.read_bytes()
        fields = f"weft-core-1 {KEY} {NAME}_structural {len(code)} {zlib.crc32(code):08x}"
        self.module.write_bytes(code + f"{fields:<127}\n".encode())
        self.assertIn("weft_loadable_core_maker", self.gemm(code=WRONG_INPUT))
        self.assertTrue(ran.exists())


if __name__ == "__main__":
    unittest.main()
