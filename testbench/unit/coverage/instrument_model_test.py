"""instrument_model.py: hooks in a generated model."""
import pathlib
import tempfile
import unittest

import instrument_model
from package_points import Insert

SYMS = """// FUNCTIONS
Va__Syms::~Va__Syms()
{
}
Va__Syms::Va__Syms(VerilatedContext* contextp)
{
    // Configure time unit / time precision
    TOP.__Vconfigure(true);
}
"""


class InstrumentTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.points = [Insert(5, "/r/p_pkg.sv", '4, 7, "", "v_line/p_pkg", "block", "4-5"')]
        (self.folder / "Va__Syms.cpp").write_text(SYMS)
        (self.folder / "Va__Syms.h").write_text("std::atomic<uint32_t> __Vcoverage[62];\n")
        (self.folder / "Va.cpp").write_text("vlSymsp->__Vcoverage[8].fetch_add(1, std::memory_order_relaxed);\n")

    def test_constructor_destructor_and_counters(self):
        instrument_model.instrument(self.folder, "Va", self.points)
        text = (self.folder / "Va__Syms.cpp").read_text()
        self.assertLess(text.index("model_ends(this)"), text.index("model_begins(this"))
        self.assertLess(text.index("model_begins(this"), text.index("Configure time unit"))
        self.assertIn('add_point(&__Vcoverage[5], "/r/p_pkg.sv", 4, 7, "v_line/p_pkg", "block", "4-5");', text)
        self.assertEqual((self.folder / "Va__Syms.h").read_text(), "uint32_t __Vcoverage[62];\n")
        self.assertEqual((self.folder / "Va.cpp").read_text(), "vlSymsp->__Vcoverage[8]++;\n")

    def test_another_form_of_model_is_an_error(self):
        for name, text in (("Va__Syms.cpp", SYMS.replace("~Va", "~Vb")), ("Va__Syms.cpp", SYMS + "// FUNCTIONS\n"), ("Va__Syms.h", "")):
            with self.subTest(name=name):
                self.setUp()
                (self.folder / name).write_text(text)
                with self.assertRaises(SystemExit):
                    instrument_model.instrument(self.folder, "Va", self.points)


if __name__ == "__main__":
    unittest.main()
