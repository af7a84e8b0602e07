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

    def header(self, *instances, includes=""):
        classes = "".join(f"class Va_{name};\n" for name in instances)
        cells = "".join(f"    Va_{name}* const __PVT__{name};\n" for name in instances)
        return f'#include "verilated.h"\n{includes}\nclass Va__Syms;\n{classes}class Va {{\n    VL_IN8(&clk_i,0,0);\n\n    // CELLS\n{cells}}};\n'

    def take(self, ours, theirs):
        (self.folder / "Va.h").write_text(ours)
        (self.folder / "Va__Syms.h").write_text('#include "verilated.h"\n#include "Va.h"\n')
        (self.folder / "Va.cpp").write_text("    : VerilatedModel{c}\n    , clk_i{vlSymsp->TOP.clk_i}\n    , __PVT__p_pkg{vlSymsp->TOP.__PVT__p_pkg}\n"
                                            "    , __PVT__q{\n          vlSymsp->TOP.__PVT__q}\n    , rootp{&(vlSymsp->TOP)}\n")
        (self.folder / "other.h").write_text(theirs)
        return instrument_model.take_header(self.folder, "Va", self.folder / "other.h")

    def test_the_header_of_the_model_without_coverage_is_taken_if_only_instances_differ(self):
        theirs = self.header("q")
        self.assertTrue(self.take(self.header("p_pkg", "q", includes='#include "verilated_cov.h"\n#include "svdpi.h"\n'), theirs))
        self.assertEqual((self.folder / "Va.h").read_text(), theirs)
        self.assertEqual((self.folder / "Va.cpp").read_text(),
                         "    : VerilatedModel{c}\n    , clk_i{vlSymsp->TOP.clk_i}\n    , __PVT__q{nullptr}\n    , rootp{&(vlSymsp->TOP)}\n")
        self.assertIn('"verilated_cov.h"\n#include "svdpi.h"\n#include "Va.h"', (self.folder / "Va__Syms.h").read_text())

    def test_a_header_with_other_ports_is_not(self):
        ours = self.header("p_pkg", "q")
        for theirs in (ours.replace("clk_i,0,0", "clk_i,1,0"), ours.replace("class Va {", "class Va {\n    VL_IN8(&rst_ni,0,0);"), "garbage", ""):
            with self.subTest(theirs=theirs):
                self.assertFalse(self.take(ours, theirs))
                self.assertEqual((self.folder / "Va.h").read_text(), ours)
        self.assertFalse(instrument_model.take_header(self.folder, "Va", self.folder / "none.h"))

    def test_another_form_of_model_is_an_error(self):
        for name, text in (("Va__Syms.cpp", SYMS.replace("~Va", "~Vb")), ("Va__Syms.cpp", SYMS + "// FUNCTIONS\n"), ("Va__Syms.h", "")):
            with self.subTest(name=name):
                self.setUp()
                (self.folder / name).write_text(text)
                with self.assertRaises(SystemExit):
                    instrument_model.instrument(self.folder, "Va", self.points)


if __name__ == "__main__":
    unittest.main()
