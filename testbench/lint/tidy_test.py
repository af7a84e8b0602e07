#!/usr/bin/env python3
"""What tidy.py finds in a small tree, and what it does not look at twice."""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
TOOL = HERE.parents[1] / ".venv" / "bin" / "clang-tidy"
sys.path.insert(0, str(HERE))
from tidy import digest_of, flags, sources  # noqa: E402

ASSIGNS = "int zero(int a) {\n  if (a = 0) return 1;\n  return a;\n}\n"  # bugprone-assignment-in-selection-statement
GOOD = '#include "shared.hpp"\nint doubled(int a) { return 2 * shared(a); }\n'
SHARED = "#pragma once\n#include <stdint.h>\ninline int shared(int a) { return a; }\n"
NULL = "#pragma once\ninline int* nothing() { return 0; }\n"  # modernize-use-nullptr


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-tidy-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        (self.root / "build").mkdir()
        shutil.copy(HERE.parents[1] / ".clang-tidy", self.root)
        self.tree(**{"good.cpp": GOOD, "shared.hpp": SHARED})

    def tree(self, **files):
        for name, text in files.items():
            (self.root / name).write_text(text)
        entries = [self.entry(path) for path in sorted(self.root.glob("*.cpp"))]
        (self.root / "build" / "compile_commands.json").write_text(json.dumps(entries))

    def entry(self, path):
        return {"directory": str(self.root / "build"), "file": str(path),
                "command": f"clang++ -I{self.root} -std=c++20 -Werror -Winvalid-pch -Xclang -include-pch -Xclang none.pch -Xclang -include -Xclang none.hxx -o x.o -c {path}"}

    def run_it(self, *names):
        """(Exit code, findings, last line)."""
        done = subprocess.run([sys.executable, "-B", HERE / "tidy.py", self.root, "--tool", TOOL, *names], capture_output=True, text=True)
        return done.returncode, done.stderr.splitlines(), done.stdout.strip()

    def test_a_file_without_a_finding_is_read_once(self):
        self.assertEqual(self.run_it(), (0, [], "1 files looked at, 1 of them anew, 0 findings"))
        self.assertEqual(self.run_it(), (0, [], "1 files looked at, 0 of them anew, 0 findings"))

    def test_a_finding_is_a_line_and_is_there_in_the_next_run_too(self):
        self.tree(**{"assigns.cpp": ASSIGNS})
        for anew in (2, 0):
            code, found, last = self.run_it()
            self.assertEqual((code, last), (1, f"2 files looked at, {anew} of them anew, 1 findings"))
            self.assertEqual(len(found), 1)
            self.assertRegex(found[0], r"^assigns\.cpp:2:\d+: .*bugprone-assignment-in-")

    def test_a_finding_in_a_header_that_two_files_include_is_one(self):
        self.tree(**{"null.hpp": NULL, "a.cpp": '#include "null.hpp"\n', "b.cpp": '#include "null.hpp"\n'})
        code, found, last = self.run_it()
        self.assertEqual((code, last, len(found)), (1, "3 files looked at, 3 of them anew, 1 findings", 1))
        self.assertRegex(found[0], r"^null\.hpp:2:\d+: .*modernize-use-nullptr")

    def test_a_file_that_cannot_be_parsed_is_a_finding(self):
        self.tree(**{"broken.cpp": "int f( {\n"})
        code, found, _ = self.run_it()
        self.assertEqual(code, 1)
        self.assertTrue(any(line.startswith("broken.cpp:1:") for line in found), found)

    def test_only_what_is_named_is_read(self):
        self.tree(**{"assigns.cpp": ASSIGNS, "assigns.hpp": "#pragma once\n", "alone.hpp": NULL})
        self.assertEqual(self.run_it("good.cpp")[0], 0)
        self.assertEqual(self.run_it("assigns.hpp")[0], 1)  # with the source of its name
        self.assertEqual(self.run_it("alone.hpp")[2], "0 files looked at, 0 of them anew, 0 findings")

    def test_what_is_missing_is_told(self):
        (self.root / "build" / "compile_commands.json").unlink()
        code, found, _ = self.run_it()
        self.assertEqual(code, 2)
        self.assertIn("compile_commands.json is missing", found[0])
        done = subprocess.run([sys.executable, "-B", HERE / "tidy.py", self.root], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("clang-tidy is missing", done.stderr)


class Digest(unittest.TestCase):
    setUp, tree, entry = Tidy.setUp, Tidy.tree, Tidy.entry

    def digest(self, first=("tool", "checks"), **files):
        import tidy
        self.tree(**files)
        tidy.content.cache_clear()
        _, given = sources(self.root, self.root / "build")[self.root / "good.cpp"]
        return digest_of(self.root / "good.cpp", given, list(first))

    def test_it_changes_with_all_that_was_read(self):
        before = self.digest()
        self.assertEqual(self.digest(), before)
        self.assertEqual(self.digest(**{"other.hpp": NULL}), before)
        seen = {before, self.digest(first=("tool", "other checks")), self.digest(first=("other tool", "checks")), self.digest(**{"shared.hpp": SHARED + "\n"}),
                self.digest(**{"shared.hpp": '#include "other.hpp"\n' + SHARED}), self.digest(**{"other.hpp": ""}), self.digest(**{"good.cpp": GOOD + "\n"})}
        self.assertEqual(len(seen), 7)

    def test_flags_are_those_of_the_compiler_without_its_precompiled_header(self):
        command = self.entry(self.root / "good.cpp")["command"]
        self.assertEqual(flags(command), [f"-I{self.root}", "-std=c++20"])

    def test_sources_that_are_compiled_as_one_are_each_looked_at(self):
        one = self.root / "build" / "Unity" / "unity_0_cxx.cxx"
        one.parent.mkdir()
        one.write_text(f'#include "{self.root}/good.cpp"\n#include "{self.root}/assigns.cpp"\n')
        (self.root / "build" / "compile_commands.json").write_text(json.dumps([self.entry(one)]))
        self.assertEqual(sorted(path.name for path in sources(self.root, self.root / "build")), ["assigns.cpp", "good.cpp"])


if __name__ == "__main__":
    unittest.main()
