"""sv_struct.py: structs of packages, and which of them a port is of."""
import os
import pathlib
import tempfile
import unittest

import sv_module
import sv_struct

TEXT = """package a_pkg;
  typedef logic [3:0] row_t;
  // typedef struct packed { logic x; } gone_t;
  typedef struct packed {
    row_t            row;       // a; b
    logic [3:0][7:0] code;
    b_pkg::x_t       x;
  } one_t;
  typedef struct packed {
    logic y;
  } two_t;
endpackage
"""


class StructTest(unittest.TestCase):
    def test_fields_and_their_lines(self):
        one, two = sv_struct.parse(TEXT, pathlib.Path("a_pkg.sv"))
        self.assertEqual((one.name, [(f.name, f.line) for f in one.fields]), ("a_pkg::one_t", [("row", 5), ("code", 6), ("x", 7)]))
        self.assertEqual((two.name, [(f.name, f.line) for f in two.fields]), ("a_pkg::two_t", [("y", 10)]))
        self.assertIsNone(one.field("y"))

    def test_what_is_not_understood_is_an_error(self):
        for text in ("module m; endmodule", "package p; typedef struct { logic a; } t; endpackage", "package p; typedef union packed { logic a; } t; endpackage",
                     "package p; typedef struct packed { logic a, b; } t; endpackage",
                     "package p; typedef struct packed { struct packed { logic a; } b; } t; endpackage"):
            with self.subTest(text=text), self.assertRaises(sv_module.HeaderError):
                sv_struct.parse(text, pathlib.Path("p.sv"))

    def test_the_struct_of_a_port(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a_pkg.sv"
            path.write_text(TEXT)
            structs = sv_struct.Structs([path])
        for head, expected in (("m (input a_pkg::one_t p_i", "a_pkg::one_t"), ("m import a_pkg::*; (input two_t p_i", "a_pkg::two_t"),
                               ("m import b_pkg::*, a_pkg::two_t; (input two_t p_i", "a_pkg::two_t"),
                               ("m import a_pkg::two_t; (input one_t p_i", None), ("m (input one_t p_i", None), ("m (input logic p_i", None),
                               ("m import a_pkg::*; (input row_t p_i", None), ("m (input b_pkg::one_t p_i", None),
                               ("m import a_pkg::*; #(parameter type one_t = logic) (input one_t p_i", None)):
            with self.subTest(head=head):
                module = sv_module.parse(f"module {head});\nendmodule")
                struct = structs.of_port(module, module.ports[0])
                self.assertEqual(struct.name if struct else None, expected)

    def test_every_package_of_the_rtl_is_understood(self):
        structs = sv_struct.Structs(sorted(pathlib.Path(os.environ["WEFT_SOURCE"]).glob("rtl/*/*_pkg.sv")))
        module = sv_module.parse("module m (input port_pkg::acc_answer_t a_i);\nendmodule")
        self.assertEqual([f.name for f in structs.of_port(module, module.ports[0]).fields], ["poison", "data"])


if __name__ == "__main__":
    unittest.main()
