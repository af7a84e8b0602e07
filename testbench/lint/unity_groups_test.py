#!/usr/bin/env python3
"""cmake/unity_groups.py puts no two sources together whose names meet unless a macro parts them. Exit 1 names the first case that it gets wrong."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cmake"))
import unity_groups

PLAIN = "namespace weft {\nint shown(int x) { return x; }\n}\n"
UNNAMED = "namespace weft {\nnamespace {\n%s\n}\n}\n"


def written(sources, root):
    """A folder of sources s0.cpp, ..: their paths."""
    for index, text in enumerate(sources):
        (Path(root) / f"s{index}.cpp").write_text(text, encoding="utf-8")
    return [str(Path(root) / f"s{index}.cpp") for index in range(len(sources))]


class Groups(unittest.TestCase):
    def groups(self, texts, size=6, folders=None):
        with tempfile.TemporaryDirectory() as root:
            sources = []
            for index, text in enumerate(texts):
                path = Path(root) / (folders[index] if folders else "room") / f"s{index}.cpp"
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
                sources.append(str(path))
            return [[int(Path(source).stem[1:]) for source in group] for group in unity_groups.groups_of(sources, size, {})]

    def renamed(self, texts):
        """[(source, name that a macro changes)] of the unit of all texts."""
        with tempfile.TemporaryDirectory() as root:
            sources, scanned = written(texts, root), {}
            self.assertEqual(unity_groups.groups_of(sources, len(sources), scanned), [sources], texts)
            lines, found, names = unity_groups.unit(sources, scanned).splitlines(), [], set()
            for line in lines:
                word, name, *_ = line.split()
                if word == "#define":
                    names.add(name)
                elif word == "#undef":
                    names.remove(name)
                elif name.strip('"') in sources:
                    found += [(sources.index(name.strip('"')), changed) for changed in sorted(names)]
            self.assertEqual(names, set())
            return found

    def apart(self, one, other):
        self.assertEqual(self.groups([one, other]), [], f"together:\n{one}\n{other}")

    def test_sources_whose_names_do_not_meet_are_together(self):
        self.assertEqual(self.renamed([PLAIN, UNNAMED % "int rows() { return 1; }", UNNAMED % "int columns() { return 2; }"]), [])

    def test_a_group_is_full(self):
        self.assertEqual(self.groups([PLAIN.replace("shown", f"shown{n}") for n in range(5)], size=2), [[0, 1], [2, 3]])

    def test_names_that_two_declare(self):
        for text in ("int rows() { return 1; }", "constexpr int rows = 3;", "struct rows { int x; };", "enum class rows : int { kOne };", "using rows = int;", "template <class T> T rows(T x) { return x; }",
                     "const char* const rows[] = {\"a\", \"b\"};", "int first() { return '{'; }\nint rows(int x) { return x; }", "struct first { int a; };\nint rows() { return 1; }",
                     "constexpr int first = 1, rows = 2;", "constexpr std::pair<int, int> first = {}, *rows = nullptr;",
                     "enum First : int { one = 1, rows = 2 };", "enum { rows };", "enum : uint32_t { rows };", "uint32_t (*first)(int) = nullptr;\nuint32_t rows = 1;"):
            self.assertEqual(self.renamed([UNNAMED % text, UNNAMED % "void rows(double) {}"]), [(0, "rows"), (1, "rows")], text)
        for text in ("static int rows() { return 1; }\n", "constexpr int rows = 3;\n", "using rows = int;\n"):
            self.assertEqual(self.renamed([text, UNNAMED % "void rows(double) {}"]), [(0, "rows"), (1, "rows")], text)
        self.apart("namespace rows = weft;\n", UNNAMED % "void rows(double) {}")

    def test_a_name_of_one_that_another_writes(self):
        writes = "namespace weft {\nint shown() { return rows(1); }\n}\n"
        has = UNNAMED % "int rows(long x) { return 1; }"
        self.assertEqual(self.renamed([writes, has]), [(1, "rows")])
        self.assertEqual(self.renamed([has, writes]), [(0, "rows")])
        qualified = writes.replace("rows(1)", "weft::rows(1) + it->rows(1) + it.rows(1)")  # as members of other names
        self.assertEqual(self.renamed([qualified, has]), [])

    def test_a_name_that_is_a_member_or_a_namespace_too_keeps_it(self):
        writes = "namespace weft {\nint shown() { return rows(1); }\n}\n"
        for use in ("it.rows", "it->rows", "weft::rows", "Shape{.rows = 1}"):
            self.apart(UNNAMED % f"int rows(long x) {{ return {use}; }}", writes)
        self.apart(UNNAMED % "int rows(long x) { return rows::kOne; }", writes)
        self.assertEqual(self.renamed([UNNAMED % "struct Rows { int x; };\nint one = Rows::kOne;", "Rows rows();"]), [(0, "Rows")])

    def test_a_name_that_a_header_has_keeps_it_where_it_may_mean_the_headers(self):
        root = unity_groups.ROOT
        writes = "namespace weft {\nint shown() { return rows + kRows + Rows(1); }\n}\n"
        try:
            with tempfile.TemporaryDirectory() as folder:
                unity_groups.ROOT = Path(folder)
                for header, own, apart in (("int rows();", "int rows(long x);", True), ("int shown(int rows);", "int rows(long x);", False), ("#define SHOWN rows(1)", "int rows(long x);", True),
                                           ("extern const int kRows;", "constexpr int kRows = 1;", False), ("extern const int kRows;", "constexpr int kRows = 1;\nstruct Own : Base {};", True),
                                           ("struct Base { static const int kRows; };", "constexpr int kRows = 1;\nint Base::shown() { return kRows; }", True), ("enum class Base { kRows };", "constexpr int kRows = 1;\nstruct Own : Base {};", False), ("class Rows;", "struct Rows { int x; };", False), ("class Rows;", "int Rows(int x);", True)):
                    unity_groups.header.cache_clear()
                    (Path(folder) / "rows.hpp").write_text(f"namespace weft {{\n{header}\n}}\n", encoding="utf-8")
                    groups = self.groups(["#include \"rows.hpp\"\n" + UNNAMED % own, writes])
                    self.assertEqual(groups, [] if apart else [[0, 1]], (header, own))
        finally:
            unity_groups.ROOT = root
            unity_groups.header.cache_clear()

    def test_the_same_alias_may_stand_in_both(self):
        one = "namespace weft {\nusing Rows = base::Rows;\nRows shown(const Rows& rows);\n}\n"
        self.apart(one, one.replace("base::Rows;", "other::Rows;"))  # both are written behind :: too
        self.assertEqual(self.renamed([one, one.replace("shown", "drawn")]), [])
        one = one.replace("base::Rows;", "base::Lines;")
        self.assertEqual(self.renamed([one, one.replace("shown", "drawn").replace("base::", "other::")]), [(0, "Rows"), (1, "Rows")])
        self.apart("namespace r = weft::rows;\nint x = r::kOne;\n", "namespace r = weft::other;\nint y = r::kOne;\n")

    def test_using_declarations_meet_each_other_and_what_they_stand_for(self):
        one = UNNAMED % "using base::Rows;\nRows shown(const Rows& rows);"
        self.assertEqual(self.renamed([one, one.replace("shown", "drawn"), PLAIN.replace("int x", "Rows x").replace("return x", "return 1").replace("shown", "third")]), [])
        self.apart(one, UNNAMED % "struct Rows { int x; };")

    def test_words_in_comments_and_literals_do_not_count(self):
        self.assertEqual(self.renamed([UNNAMED % "int rows() { return 1; }", "// rows\n" + PLAIN + "const char* text() { return \"rows(\"; }\n"]), [])

    def test_macros_conditions_and_using_namespace(self):
        for line in ("#define ROWS 1\n", "#if 1\n#endif\n", "#ifdef ROWS\n#endif\n"):
            self.apart(line + PLAIN, UNNAMED % "int columns() { return 2; }")
        self.apart("using namespace weft;\n", PLAIN)
        case = "TEST_CASE(\"%s\") {}"
        self.assertEqual(self.renamed([UNNAMED % case % "one", UNNAMED % case % "two"]), [])

    def test_folders_first(self):
        texts = [PLAIN.replace("shown", f"shown{n}") for n in range(4)]
        self.assertEqual(self.groups(texts, size=2, folders=["a", "b", "a", "b"]), [[0, 2], [1, 3]])
        self.assertEqual(self.groups(texts, size=4, folders=["a", "b", "a", "b"]), [[0, 2, 1, 3]])

    def test_a_unit_includes_all_headers_first(self):
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "near.hpp").write_text("")
            sources, scanned = written(["#include <array>\n#include \"near.hpp\"\n#include \"base/status.hpp\"\n" + PLAIN,
                                        "#include <vector>\n#include <array>\n" + UNNAMED % "#include \"table.inc\"\nint rows;"], root), {}
            unity_groups.groups_of(sources, 2, scanned)
            self.assertEqual(unity_groups.unit(sources, scanned),
                             f'#include <array>\n#include "{root}/near.hpp"\n#include "base/status.hpp"\n#include <vector>\n#include "{sources[0]}"\n#include "{sources[1]}"\n')


if __name__ == "__main__":
    unittest.main()
