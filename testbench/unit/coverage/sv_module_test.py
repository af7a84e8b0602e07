"""sv_module.py: headers of modules."""
import os
import pathlib
import unittest

import sv_module

TEXT = """`default_nettype none
// module comment (with a parenthesis
module foo
  import a_pkg::*, b_pkg::*;
#(
  parameter bit Out = 1'b0,           // serves, out
  parameter type ctl_t = logic,
  localparam int unsigned Bits = $clog2(Out + 1)
) (
  input  wire logic       clk_i,
  output logic [3:0][7:0] a_o,        /* a, b */
  input  b_pkg::x_t       x_i [Bits],
  input  ctl_t            c_i
);
endmodule
"""


class HeaderTest(unittest.TestCase):
    def test_ports_parameters_and_lines(self):
        module = sv_module.parse(TEXT)
        self.assertEqual((module.name, module.imports), ("foo", "import a_pkg::*, b_pkg::*;"))
        self.assertEqual([(k, n) for k, n, _ in module.parameters], [("parameter", "Out"), ("type", "ctl_t"), ("localparam", "Bits")])
        self.assertEqual([(p.direction, p.type, p.packed, p.name, p.unpacked, p.line) for p in module.ports],
                         [("input", "logic", "", "clk_i", "", 10), ("output", "logic", "[3:0][7:0]", "a_o", "", 11),
                          ("input", "b_pkg::x_t", "", "x_i", "[Bits]", 12), ("input", "ctl_t", "", "c_i", "", 13)])

    def test_what_is_not_understood_is_an_error(self):
        for text in ("", "package a; endpackage", "module m;", "module m (a, b);", "module m (input logic a", "module m #(int A) (input logic a);",
                     "module m (inout wire a);", "module m (bus.master b);"):
            with self.subTest(text=text), self.assertRaises(sv_module.HeaderError):
                sv_module.parse(text)

    def test_every_module_of_the_rtl_is_understood(self):
        files = [p for p in pathlib.Path(os.environ["WEFT_SOURCE"]).glob("rtl/*/*.sv") if not p.name.endswith("_pkg.sv")]
        self.assertGreater(len(files), 30)
        for path in files:
            with self.subTest(path=path.name):
                module = sv_module.parse_file(path)
                self.assertEqual(module.name, path.stem)
                for port in module.ports:
                    self.assertRegex(port.name, r"_(i|o|ni)$")


if __name__ == "__main__":
    unittest.main()
