"""reused_objects.py: an object of another build is taken only if the command and every file that went into it are the same."""
import json
import os
import pathlib
import tempfile
import unittest

import reused_objects

COMMAND = "/usr/bin/c++ -DA=1 -isystem {0}/view -isystem {0}/verilated/x/ports -O1 -MD -MF t.o.d -o t.o -c /s/t.cpp"
DEPS = """t.o: #deps 4, deps mtime 17 (VALID)
    {source}
    /usr/include/stdio.h
    {there}/generated/spec.h
    {there}/headers.pch

old.o: #deps 1, deps mtime 17 (STALE)
    {source}

"""


def entries(*commands):
    return [{"command": command} for command in commands]


class CommandsTest(unittest.TestCase):
    def same(self, ours, theirs):
        return reused_objects.same_commands(("/b/here", entries(ours)), ("/b/there", entries(theirs)))

    def test_commands_that_differ_in_the_build_folder_alone_are_the_same(self):
        self.assertEqual(self.same(COMMAND.format("/b/here"), COMMAND.format("/b/there")), {"t.o"})
        self.assertEqual(self.same(COMMAND.format("/b/here"), COMMAND.format("/b/there").replace("-O1", "-isystem /b/there/verilated/y -O1")), {"t.o"})

    def test_other_commands_are_not(self):
        for old, new in (("-O1", "-O2"), ("-DA=1", "-DA=0"), ("-o t.o", "-o u.o"), ("/view", "/views"), ("/s/t.cpp", "/s/u.cpp"), (" -o t.o", "")):
            with self.subTest(new=new):
                self.assertEqual(self.same(COMMAND.format("/b/here"), COMMAND.format("/b/there").replace(old, new)), set())
        self.assertEqual(self.same(COMMAND.format("/b/here"), COMMAND.format("/b/here2")), set())


class TakeTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()
        self.here, self.there = self.root / "here", self.root / "there"
        for folder in (self.here, self.there):
            (folder / "generated").mkdir(parents=True)
            (folder / "generated" / "spec.h").write_text("#define N 8\n")
        self.source = self.root / "a source.cpp"
        self.source.write_text("int n;\n")
        os.utime(self.source, (1000, 1000))
        (self.there / "t.o").write_bytes(b"object")
        reused_objects.write_plan(self.root / "plan.json", str(self.there), {"t.o", "old.o", "new.o"}, DEPS.format(there=self.there, source=self.source))
        self.plan = json.loads((self.root / "plan.json").read_text())
        before = os.getcwd()
        os.chdir(self.here)
        self.addCleanup(os.chdir, before)

    def take(self, *, name="t.o", plan=None):
        return reused_objects.take(plan or self.plan, ["c++", "-MD", "-MF", name + ".d", "-o", name, "-c", str(self.source)])

    def test_an_object_is_taken_and_depends_on_where_it_came_from_and_on_what_went_into_it(self):
        self.assertTrue(self.take())
        self.assertEqual((self.here / "t.o").read_bytes(), b"object")
        text = (self.here / "t.o.d").read_text()
        for file in (self.there / "t.o", self.here / "generated" / "spec.h", str(self.source).replace(" ", "\\ ")):
            self.assertIn(f" {file}", text)
        self.assertNotIn("/usr/include", text)
        self.assertNotIn(".pch", text)

    def test_another_generated_file_is_compiled_from(self):
        for folder in (self.here, self.there):
            with self.subTest(folder=folder.name):
                (folder / "generated" / "spec.h").write_text("#define N 16\n")
                self.assertFalse(self.take())
                (folder / "generated" / "spec.h").unlink()
                self.assertFalse(self.take())
                (folder / "generated" / "spec.h").write_text("#define N 8\n")

    def test_a_source_that_changed_behind_the_object_is_compiled(self):
        os.utime(self.source)
        os.utime(self.there / "t.o", (2000, 2000))
        self.assertFalse(self.take())
        self.source.unlink()
        self.assertFalse(self.take())

    def test_what_is_not_listed_not_there_or_no_object_is_compiled(self):
        for name in ("old.o", "new.o", "u.o"):
            (self.there / name).write_bytes(b"object")
            self.assertFalse(self.take(name=name))
        (self.there / "t.o").unlink()
        self.assertFalse(self.take())
        self.assertFalse(reused_objects.take(self.plan, ["c++", "-c", str(self.source), "-o"]))
        self.assertFalse((self.here / "t.o").exists())


if __name__ == "__main__":
    unittest.main()
