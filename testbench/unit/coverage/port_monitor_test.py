"""port_monitor.py: monitors of ports; those of the whole RTL pass through Verilator with the bins when a coverage build is made."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import port_monitor
import sv_module
import sv_struct

CLOCKED = """module foo #(parameter int unsigned Width = 4, parameter type ctl_t = logic) (
  input wire logic clk_i, input logic [Width-1:0] a_i, output ctl_t c_o, input x_pkg::t u_i [3]);
endmodule"""
PACKAGE = "package x_pkg;\n  typedef struct packed {\n    logic a;\n    logic [7:0] b;\n  } s_t;\n  typedef struct packed {\n    logic [1:0][31:0] d;\n  } w_t;\nendpackage\n"

DRIVEN = """module m (input logic clk_i, input x_pkg::s_t one_i, input x_pkg::s_t [1:0] two_i, input x_pkg::s_t list_i [3],
          input x_pkg::w_t wide_i);
endmodule
"""
MAIN = """#include <cstdio>
#include "Vm.h"
#include "Vm__Dpi.h"
void weft_coverage_port(const char*, const char* port, unsigned width, unsigned low, unsigned rose, unsigned fell) {
  std::printf("%s+%u %u %x %x\\n", port, low, width, rose, fell);
}
int main() {
  Vm top;
  const unsigned one[] = {0, 0x5a, 0x18}, two[] = {0, 0, 0x181 << 9}, list[] = {0, 1, 2};
  for (int i = 0; i < 4; i++) {
    const int at = i < 3 ? i : 2;
    top.one_i = one[at];
    top.two_i = two[at];
    top.list_i[2] = list[at];
    top.wide_i = at == 1 ? 0x00000a00'00000001ull : 0x00000c00'00000000ull;
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
  }
  top.final();
}
"""


def monitor(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x_pkg.sv"
        path.write_text(PACKAGE)
        return port_monitor.monitor(sv_module.parse(text), sv_struct.Structs([path]))


class PortMonitorTest(unittest.TestCase):
    def test_every_port_but_the_clock_is_watched(self):
        text = monitor(CLOCKED)
        for port in ("a_i", "c_o", "u_i"):
            self.assertIn(f'weft_coverage_port("foo", "{port}", {port}_bits', text)
        self.assertNotIn('"clk_i"', text)

    def test_parameters_and_types_are_passed_on(self):
        text = monitor(CLOCKED)
        self.assertIn("bind foo foo_port_monitor #(.Width(Width), .ctl_t_bits($bits(c_o))) u_port_monitor (.*);", text)
        self.assertIn("input wire logic [ctl_t_bits-1:0] c_o", text)

    def test_outputs_become_inputs(self):
        self.assertNotIn("output", monitor(CLOCKED))

    def test_a_module_without_a_clock_is_watched_when_its_ports_change(self):
        text = monitor("module bar (input logic a_i, output logic b_o);\nendmodule")
        self.assertIn("always @(a_i_now)", text)
        self.assertNotIn("posedge", text)

    def test_a_struct_is_handed_over_field_by_field(self):
        text = monitor("module m (input x_pkg::s_t s_i, output logic b_o);\nendmodule")
        for field in ("a", "b"):
            self.assertIn(f'weft_coverage_port("m", "s_i.{field}", $bits(s_i_rose_{field}), i,', text)
        self.assertNotIn('"s_i"', text)
        self.assertIn('weft_coverage_port("m", "b_o", b_o_bits', text)

    def test_each_element_of_an_array_of_structs_has_its_fields(self):
        for port in ("x_pkg::s_t s_i [3]", "x_pkg::s_t [2:0] s_i"):
            text = monitor(f"module m (input {port});\nendmodule")
            self.assertIn('$sformatf("s_i[%0d].b", e)', text)
            self.assertIn("e < s_i_bits / s_i_struct", text)

    @unittest.skipUnless(shutil.which(os.environ.get("VERILATOR", "verilator")), "no Verilator")
    def test_each_field_gets_its_own_bits(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "x_pkg.sv").write_text(PACKAGE)
            (folder / "m.sv").write_text(DRIVEN)
            (folder / "main.cpp").write_text(MAIN)
            port_monitor.main([name, str(folder / "x_pkg.sv"), str(folder / "m.sv")])
            sources = ["x_pkg.sv", "m.sv", "port_monitor_pkg.sv", "m_port_monitor.sv", "main.cpp"]
            command = [os.environ.get("VERILATOR", "verilator"), "--cc", "--exe", "--build", "-Wno-lint", "-Wno-style", "--top-module", "m",
                       "-CFLAGS", "-O0", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0", *sources]
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            lines = subprocess.run([folder / "obj_dir/Vm"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
        self.assertIn("one_i.a+0 1 0 0", lines)
        self.assertIn("one_i.b+0 8 5a 42", lines)
        self.assertIn("two_i[0].b+0 8 0 0", lines)
        self.assertIn("two_i[1].a+0 1 1 0", lines)
        self.assertIn("two_i[1].b+0 8 81 0", lines)
        self.assertIn("list_i[2].b+0 8 3 1", lines)
        self.assertIn("list_i[0].a+0 1 0 0", lines)
        self.assertIn("wide_i.d+0 64 1 1", lines)
        self.assertIn("wide_i.d+32 64 600 600", lines)


if __name__ == "__main__":
    unittest.main()
