"""What gates.py finds and changes in small modules: the same modules are one, levels are counted, a gate's output can be inverted."""
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import gates  # noqa: E402
import synthesis  # noqa: E402

CHAIN = """`default_nettype none
// Three links: y is the parity of d and of the register, which holds what it was.
module chain (
  input  wire logic       clk_i,
  input  wire logic [7:0] d_i,
  output logic            y_o,
  output logic            z_o
);
  logic a, b;
  link #(.Width(8)) u_first (.clk_i, .d_i(d_i), .y_o(a));
  link #(.Width(8)) u_second (.clk_i, .d_i(~d_i), .y_o(b));
  link #(.Width(4)) u_third (.clk_i, .d_i(d_i[3:0]), .y_o(z_o));
  assign y_o = a ^ b;
endmodule
module link #(parameter int unsigned Width = 8) (
  input  wire logic             clk_i,
  input  wire logic [Width-1:0] d_i,
  output logic                  y_o
);
  logic q;
  always_ff @(posedge clk_i) q <= ^d_i ^ q;
  assign y_o = q;
endmodule
`default_nettype wire
"""


def read(folder):
    path = folder / "chain_source.sv"
    path.write_text(CHAIN)
    problems = synthesis.read([path], "chain", folder)
    assert not problems, problems
    return gates.modules((folder / "plain.il").read_text())


class Gates(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        gates.TOP, top = "chain", gates.TOP
        self.addCleanup(setattr, gates, "TOP", top)
        self.blocks, self.number = read(self.folder)

    def test_modules_of_the_same_contents_are_one_and_their_instances_are_counted(self):
        self.assertEqual(len(self.blocks), 4)
        blocks, instances = gates.merged(self.blocks)
        self.assertEqual(sorted(instances.values()), [1, 1, 2])
        self.assertEqual(set(blocks), set(instances))
        twice = [name for name, count in instances.items() if count == 2]
        self.assertEqual(len(re.findall(rf"(?m)^  cell \\{re.escape(twice[0])} ", blocks["chain"])), 2)

    def test_levels_are_those_of_a_balanced_tree_and_its_ends_have_names(self):
        mapper = gates.Mapper(self.folder / "kept")
        blocks, instances = gates.merged(self.blocks)
        mapped = {name: mapper.map(text, self.number) for name, text in blocks.items()}
        depth = {count: mapped[name][1]["levels"] for name, count in instances.items() if name != "chain"}
        self.assertEqual(depth, {2: 4, 1: 3})              # nine inputs and five, by gates of two
        rows = gates.level_rows(mapped, instances)
        self.assertRegex(rows, r"\| link \| 3 \| \d+ \| 4 \| `(d_i\[\d\]|q)` \| `q` \|")
        self.assertIn("| chain | 1 | ", rows)

    def test_what_was_mapped_is_kept_and_another_module_is_mapped_anew(self):
        mapper = gates.Mapper(self.folder / "kept")
        blocks, _ = gates.merged(self.blocks)
        first = [mapper.map(text, self.number) for text in blocks.values()]
        kept = sorted((self.folder / "kept").glob("*.net"))
        self.assertEqual(len(kept), 3)
        stamps = [path.stat().st_mtime_ns for path in kept]
        self.assertEqual([mapper.map(text, self.number) for text in blocks.values()], first)
        self.assertEqual([path.stat().st_mtime_ns for path in kept], stamps)
        mapper.map(blocks["chain"].replace("\\d_i [3:0]", "\\d_i [4:1]"), self.number)
        self.assertEqual(len(list((self.folder / "kept").glob("*.net"))), 4)

    def test_a_netlist_has_the_gates_of_each_block_and_its_instances_with_all_pins(self):
        mapper = gates.Mapper(self.folder / "kept")
        blocks, _ = gates.merged(self.blocks)
        mapped = {name: mapper.map(text, self.number) for name, text in blocks.items()}
        target = self.folder / "core.net"
        gates.write_netlist(target, mapped)
        lines = target.read_text().splitlines()
        self.assertTrue(lines[0].startswith("module chain "))
        self.assertEqual(sum(line.startswith("module ") for line in lines), 3)
        self.assertEqual(sum(line.startswith("flop ") for line in lines), 2)
        self.assertEqual([line.split()[2] for line in lines if line.startswith("instance ")], ["u_first", "u_second", "u_third"])
        self.assertEqual([len(line.split()) - 2 for line in lines if line.startswith("pin d_i ")], [8, 8, 4])
        self.assertEqual(sum(line.startswith("gate ") for line in lines), sum(gates.gates_in(text) for text, _ in mapped.values()))

    def test_signals_are_read_from_bit_0_up_and_a_cell_that_is_no_gate_is_refused(self):
        text = ("module \\top\n  wire width 4 input 1 \\a\n  wire width 4 output 2 \\y\n"
                "  cell $_AND_ \\g\n    connect \\A \\a [1]\n    connect \\B 1'1\n    connect \\Y \\y [0]\n  end\n"
                "  connect \\y [3:1] { \\a [2] 2'01 }\nend\n")
        self.assertEqual(gates.plain_netlist(text)[0].splitlines(),
                         ["module top 10", "in a 2 3 4 5", "out y 6 7 8 9", "gate AND 3 1 6", "same 7 1", "same 8 0", "same 9 4"])
        self.assertIn("pin n 1 0 1" + 29 * " 0" + "\n", gates.plain_netlist(text.replace("  connect \\y [3", "  cell \\i \\u\n    connect \\n 5\n  end\n  connect \\y [3"))[0])
        self.assertIn("same 7 0\nsame 8 0\nsame 9 4\n", gates.plain_netlist(text.replace("2'01", "2'x"))[0])
        with self.assertRaisesRegex(synthesis.CannotRun, "a cell .add is left"):
            gates.plain_netlist(text.replace("$_AND_", "$add"))
        with self.assertRaisesRegex(synthesis.CannotRun, "3 and 4 bits"):
            gates.plain_netlist(text.replace("2'01", "3'001"))


if __name__ == "__main__":
    unittest.main()
