#!/usr/bin/env python3
"""cmake/unity_groups.py puts no two sources together whose names meet. Exit 1 names the first case that it gets wrong."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cmake"))
import unity_groups

PLAIN = "namespace weft {\nint shown(int x) { return x; }\n}\n"
UNNAMED = "namespace weft {\nnamespace {\n%s\n}\n}\n"


class Groups(unittest.TestCase):
    def groups(self, texts, size=6, folders=None):
        with tempfile.TemporaryDirectory() as root:
            sources = []
            for index, text in enumerate(texts):
                path = Path(root) / (folders[index] if folders else "room") / f"s{index}.cpp"
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
                sources.append(str(path))
            return [[int(Path(source).stem[1:]) for source in group] for group in unity_groups.groups_of(sources, size)]

    def apart(self, one, other):
        self.assertEqual(self.groups([one, other]), [], f"together:\n{one}\n{other}")

    def test_sources_whose_names_do_not_meet_are_together(self):
        self.assertEqual(self.groups([PLAIN, UNNAMED % "int rows() { return 1; }", UNNAMED % "int columns() { return 2; }"]), [[0, 1, 2]])

    def test_a_group_is_full(self):
        self.assertEqual(self.groups([PLAIN.replace("shown", f"shown{n}") for n in range(5)], size=2), [[0, 1], [2, 3]])

    def test_names_that_two_declare(self):
        for text in ("int rows() { return 1; }", "constexpr int rows = 3;", "struct rows { int x; };", "enum class rows : int { kOne };", "using rows = int;", "template <class T> T rows(T x) { return x; }",
                     "const char* const rows[] = {\"a\", \"b\"};", "int first() { return '{'; }\nint rows(int x) { return x; }", "struct first { int a; };\nint rows() { return 1; }"):
            self.apart(UNNAMED % text, UNNAMED % "void rows(double) {}")
        for text in ("static int rows() { return 1; }\n", "constexpr int rows = 3;\n", "using rows = int;\n", "namespace rows = weft;\n"):
            self.apart(text, UNNAMED % "void rows(double) {}")

    def test_a_name_of_one_that_another_writes(self):
        writes = "namespace weft {\nint shown() { return rows(1); }\n}\n"
        self.apart(writes, UNNAMED % "int rows(long x) { return 1; }")
        self.apart(UNNAMED % "int rows(long x) { return 1; }", writes)
        qualified = writes.replace("rows(1)", "weft::rows(1) + it->rows(1) + it.rows(1)")  # as members of other names
        self.assertEqual(self.groups([qualified, UNNAMED % "int rows(long x) { return 1; }"]), [[0, 1]])

    def test_a_variable_of_a_function_comes_before_a_name_of_another_source(self):
        writes = "namespace weft {\nint shown() {\n  int rows = 1;\n  return rows;\n}\n}\n"
        self.assertEqual(self.groups([writes, UNNAMED % "int rows(long x) { return 1; }"]), [[0, 1]])
        self.apart(writes.replace("return rows", "return rows(1)"), UNNAMED % "int rows(long x) { return 1; }")
        for name in ("Rows", "kRows"):  # a type or a constant may be a library's or generated
            self.apart(writes.replace("rows", name), UNNAMED % f"int {name}(long x) {{ return 1; }}")
        self.apart(UNNAMED % "int rows() { return 1; }", UNNAMED % "int rows = 2;")

    def test_a_name_that_a_header_has_is_no_variable_of_a_function(self):
        root = unity_groups.ROOT
        try:
            with tempfile.TemporaryDirectory() as folder:
                unity_groups.ROOT = Path(folder)
                unity_groups.header.cache_clear()
                (Path(folder) / "rows.hpp").write_text("namespace weft {\nextern int rows;\n}\n", encoding="utf-8")
                writes = "#include \"rows.hpp\"\nnamespace weft {\nint shown() { return rows; }\n}\n"
                self.apart(writes, UNNAMED % "int rows(long x) { return 1; }")
        finally:
            unity_groups.ROOT = root
            unity_groups.header.cache_clear()

    def test_the_same_alias_may_stand_in_both(self):
        one = "namespace weft {\nusing Rows = base::Rows;\nRows shown(const Rows& rows);\n}\n"
        self.assertEqual(self.groups([one, one.replace("shown", "drawn")]), [[0, 1]])
        self.apart(one, one.replace("base::Rows;", "other::Rows;"))
        self.apart(one, UNNAMED % "using Rows = base::Rows;\nint drawn(const Rows& rows);")  # -Wshadow: one is in an unnamed namespace
        self.apart("namespace r = weft::rows;\nint x = r::kOne;\n", "namespace r = weft::other;\nint y = r::kOne;\n")

    def test_words_in_comments_and_literals_do_not_count(self):
        self.assertEqual(self.groups([UNNAMED % "int rows() { return 1; }", "// rows\n" + PLAIN + "const char* text() { return \"rows(\"; }\n"]), [[0, 1]])

    def test_macros_and_using_namespace(self):
        self.apart("#define ROWS 1\n" + PLAIN, UNNAMED % "int columns() { return 2; }")
        self.apart("using namespace weft;\n", PLAIN)

    def test_folders_first(self):
        texts = [PLAIN.replace("shown", f"shown{n}") for n in range(4)]
        self.assertEqual(self.groups(texts, size=2, folders=["a", "b", "a", "b"]), [[0, 2], [1, 3]])


if __name__ == "__main__":
    unittest.main()
