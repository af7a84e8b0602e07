"""package_points.py: names for the counters of packages."""
import os
import pathlib
import shutil
import tempfile
import unittest

import package_points
from package_points import Insert, PackageError

PACKAGE = """package p_pkg;
  function automatic logic [7:0] f1(input logic [7:0] a);
    f1 = a + 1;
    if (a[0]) f1 = a + 3;
  endfunction
  function automatic logic [7:0] f2(input logic [7:0] a);
    return f1(a) + 1;
  endfunction
endpackage
"""


def insert(index, file, line, column, page="v_line/p_pkg"):
    return Insert(index, file, f'{line}, {column}, "", "{page}", "block", "{line}"')


class UnnamedTest(unittest.TestCase):
    def setUp(self):
        self.points = [insert(i, "p_pkg.sv", 4 + i, 5) for i in range(3)]
        self.model = [insert(0, "m.sv", 1, 1, "v_line/m"), insert(1, "m.sv", 2, 1, "v_line/m"), insert(4, "p_pkg.sv", 4, 5)]

    def test_the_first_point_has_the_last_number(self):
        found = package_points.unnamed(self.model, pathlib.Path("p_pkg.sv"), self.points)
        self.assertEqual([(p.index, p.arguments.split(",")[0]) for p in found], [(4, "4"), (2, "5"), (3, "6")])

    def test_a_model_without_the_package_has_none(self):
        self.assertEqual(package_points.unnamed(self.model[:2], pathlib.Path("p_pkg.sv"), self.points), [])

    def test_numbers_that_do_not_agree_are_an_error(self):
        for model, points in ((self.model, self.points[:2]), ([insert(3, "m.sv", 2, 1, "v_line/m"), self.model[2]], self.points),
                              ([*self.model[:2], insert(4, "p_pkg.sv", 9, 5)], self.points)):
            with self.assertRaises(PackageError):
                package_points.unnamed(model, pathlib.Path("p_pkg.sv"), points)


class AsModuleTest(unittest.TestCase):
    def test_lines_stay(self):
        text = package_points.as_module(PACKAGE, "p_pkg")
        self.assertTrue(text.startswith("module p_pkg ("))
        self.assertEqual(text.count("\n"), PACKAGE.count("\n"))

    def test_a_file_that_is_not_that_package_is_an_error(self):
        for text in ("", "module p_pkg;\nendmodule\n", PACKAGE.replace("p_pkg", "q_pkg"), PACKAGE + PACKAGE):
            with self.assertRaises(PackageError):
                package_points.as_module(text, "p_pkg")


@unittest.skipUnless(shutil.which(os.environ.get("VERILATOR", "verilator")), "no Verilator")
class VerilatorTest(unittest.TestCase):
    def test_the_points_of_a_package_with_functions(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            package = folder / "p_pkg.sv"
            package.write_text(PACKAGE)
            points = package_points.points_of(os.environ.get("VERILATOR", "verilator"), package, [package], folder)
            lines = [point.arguments.split(", ")[0] for point in points]
            self.assertEqual(sorted(lines), ["2", "4", "4", "6"])
            self.assertEqual({point.file for point in points}, {str(package)})


if __name__ == "__main__":
    unittest.main()
