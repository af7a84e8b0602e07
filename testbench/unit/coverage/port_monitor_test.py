"""port_monitor.py: monitors of ports; those of the whole RTL pass through Verilator with the bins when a coverage build is made."""
import unittest

import port_monitor
import sv_module

CLOCKED = """module foo #(parameter int unsigned Width = 4, parameter type ctl_t = logic) (
  input wire logic clk_i, input logic [Width-1:0] a_i, output ctl_t c_o, input x_pkg::t u_i [3]);
endmodule"""


class PortMonitorTest(unittest.TestCase):
    def test_every_port_but_the_clock_is_watched(self):
        text = port_monitor.monitor(sv_module.parse(CLOCKED))
        for port in ("a_i", "c_o", "u_i"):
            self.assertIn(f'weft_coverage_port("foo", "{port}", {port}_bits', text)
        self.assertNotIn('"clk_i"', text)

    def test_parameters_and_types_are_passed_on(self):
        text = port_monitor.monitor(sv_module.parse(CLOCKED))
        self.assertIn("bind foo foo_port_monitor #(.Width(Width), .ctl_t_bits($bits(c_o))) u_port_monitor (.*);", text)
        self.assertIn("input wire logic [ctl_t_bits-1:0] c_o", text)

    def test_outputs_become_inputs(self):
        self.assertNotIn("output", port_monitor.monitor(sv_module.parse(CLOCKED)))

    def test_a_module_without_a_clock_is_watched_when_its_ports_change(self):
        text = port_monitor.monitor(sv_module.parse("module bar (input logic a_i, output logic b_o);\nendmodule"))
        self.assertIn("always @(a_i_now)", text)
        self.assertNotIn("posedge", text)


if __name__ == "__main__":
    unittest.main()
