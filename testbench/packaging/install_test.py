#!/usr/bin/env python3
"""Installs the build into an empty folder and uses it as a stranger would: projects in C and C++ by CMake and by pkg-config, the
folder moved elsewhere, and the Debian packages. What libweft.so exports is what weft.h declares. Exit 1 names what is wrong.

usage: install_test.py SOURCE BUILD"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
CONSUMER = SOURCE / "testbench/packaging/consumer"
COMPONENTS = ("library", "development", "tools", "rtl")
LIMIT_S = 200


def run(*command, **more):
    """The program's output; fails with all of it."""
    words = [str(word) for word in command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")} | more.pop("env", {})
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, env=environment, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)} ended with {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def library_of(prefix):
    """The folder of the library under a prefix."""
    found = list(prefix.rglob("libweft.so.0"))
    assert len(found) == 1, found
    return found[0].parent


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="weft-install-"))
        cls.prefix = cls.folder / "prefix"
        for component in COMPONENTS:
            run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", component, "--strip")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def files(self):
        return sorted(str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if not path.is_dir())

    def copies(self, program, prefix):
        """The simulator is found beside the library, with nothing set."""
        text = run(program, env={"LD_LIBRARY_PATH": str(library_of(prefix)), "PATH": "/usr/bin:/bin"})
        self.assertIn("0 of 1024 words differ" if "C," in text else "0 words differ", text)

    def test_nothing_of_the_tree_remains_in_what_is_read(self):
        texts = [path for path in self.prefix.rglob("*") if path.suffix in (".cmake", ".pc", ".h")]
        self.assertGreater(len(texts), 4)
        for path in texts:
            for tree in (SOURCE, BUILD):
                self.assertNotIn(str(tree), path.read_text(), path)

    def test_each_component_has_its_files(self):
        names = "\n".join(self.files())
        for wanted in ("bin/weft$", "bin/weft-sim$", r"libweft\.so$", r"libweft\.so\.0$", "include/weft/weft.h$", "include/weft/spec/spec.h$",
                       "cmake/weft/weft-config.cmake$", "pkgconfig/weft.pc$", "licenses/weft-library/LICENSE$",
                       r"man/man1/weft\.1\.gz$", r"man/man1/weft-gemm\.1\.gz$", r"man/man1/weft-sim\.1\.gz$"):
            self.assertRegex(names, re.compile(wanted, re.MULTILINE))

    def test_the_library_exports_what_weft_h_declares(self):
        header = re.sub(r"/\*.*?\*/", "", (self.prefix / "include/weft/weft.h").read_text(), flags=re.DOTALL)
        declared = set(re.findall(r"\b(weft_\w+)\s*\([^;{}]*\)\s*;", re.sub(r"typedef[^;]*;", "", header)))
        symbols = run("nm", "--dynamic", "--defined-only", library_of(self.prefix) / "libweft.so.0").splitlines()
        exported = {line.split()[-1].split("@")[0] for line in symbols if " A " not in line}
        self.assertGreater(len(declared), 60)
        self.assertEqual(exported, declared)

    def test_projects_by_cmake(self):
        build = self.folder / "cmake"
        run("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        for program in ("copy_c", "copy_cpp"):
            self.copies(build / program, self.prefix)

    def test_another_version_is_refused(self):
        project = self.folder / "newer"
        shutil.copytree(CONSUMER, project)
        lists = project / "CMakeLists.txt"
        lists.write_text(lists.read_text().replace("weft 0.1", "weft 0.99"))
        with self.assertRaisesRegex(AssertionError, "0.99"):
            run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_a_program_by_pkg_config_also_when_the_folder_has_moved(self):
        moved = self.folder / "moved"
        shutil.copytree(self.prefix, moved, symlinks=True)
        for prefix in (self.prefix, moved):
            where = {"PKG_CONFIG_PATH": str(library_of(prefix) / "pkgconfig")}
            flags = run("pkg-config", "--cflags", "--libs", "weft", env=where).split()
            self.assertIn(str(prefix), " ".join(str(Path(word[2:]).resolve()) for word in flags if word[:2] in ("-I", "-L")))
            program = self.folder / f"copy_{prefix.name}"
            run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", CONSUMER / "copy.c", "-o", program, *flags)
            self.copies(program, prefix)

    def test_the_command_finds_its_simulator(self):
        text = run(self.prefix / "bin/weft", "gemm", "--shape", "8x8x8", "--chip", "nano", "--verify", env={"PATH": "/usr/bin:/bin"})
        self.assertIn("0 of 64", text)

    def test_the_command_finds_the_sources_of_rtl_cores(self):
        sources = self.prefix / "share/weft/core"
        keys = [run(sys.executable, "-B", root / "cmake/core_key.py", root, shutil.which("verilator")) for root in (SOURCE, sources)]
        self.assertEqual(keys[0], keys[1])
        # all that CMake needs to configure a core is there
        run("cmake", "-S", sources, "-B", self.folder / "core", "-DCMAKE_BUILD_TYPE=Release", "-DWEFT_LOADABLE_CORE=nano-pe2",
            "-DCMAKE_CXX_COMPILER=c++")
        run("cmake", "--build", self.folder / "core", "--target", "weft_spec_generate")
        # the command takes these sources: with another key it says whose they are
        with open(sources / "rtl/mxu/mxu.sv", "a") as file:
            file.write("// another version\n")
        with self.assertRaisesRegex(AssertionError, f"the sources in {sources} and this Verilator have key"):
            run(self.prefix / "bin/weft", "build-chip", "nano-pe2", env={"XDG_CACHE_HOME": str(self.folder / "caches")})

    @unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"), "no Debian tools")
    def test_debian_packages(self):
        out, root = self.folder / "packages", self.folder / "root"
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", out, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=zstd")
        packages = {path.name.split("_")[0]: path for path in out.glob("*.deb")}
        mpi = {"weft-mpi"} if (BUILD / "bin/weft-mpi.so").exists() else set()
        self.assertEqual(set(packages), {"libweft0", "libweft-dev", "weft", "weft-rtl", *mpi})
        needs = {name: run("dpkg-deb", "--field", path, "Depends") for name, path in packages.items()}
        self.assertIn("libsystemc", needs["weft"])
        self.assertNotIn("mpi", needs["weft"])
        self.assertTrue(all("libopenmpi" in needs[name] for name in mpi))
        self.assertIn("libweft0", needs["libweft-dev"])
        self.assertNotIn("libsystemc", needs["libweft0"])
        for path in packages.values():
            run("dpkg-deb", "--extract", path, root)
        self.assertIn("share/man/man1/weft-gemm.1.gz", run("dpkg-deb", "--contents", packages["weft"]))
        program = self.folder / "copy_package"
        run("cc", CONSUMER / "copy.c", "-o", program, "-I", root / "usr/include", "-L", library_of(root), "-lweft")
        self.copies(program, root)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])
