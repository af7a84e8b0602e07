"""metrics.py: from merged data to what is covered, waived and missed."""
import os
import pathlib
import tempfile
import tomllib
import unittest

import data
import metrics
import waivers

SOURCE = """module a (
  input  logic       clk_i,
  input  logic [3:0] x_i
);
  always_ff @(posedge clk_i) begin
    if (x_i[0]) y <= 1;
    else z <= 1;
  end
endmodule
"""
PACKAGE = """package b_pkg;
  typedef struct packed {
    logic       valid;
    logic [7:0] code;
  } answer_t;
endpackage
"""
STRUCTS = """module b import b_pkg::*; (
  input  logic    x_i,
  output answer_t one_o,
  output b_pkg::answer_t all_o [2]
);
endmodule
"""


class MetricsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        (self.root / "rtl/blk").mkdir(parents=True)
        self.file = self.root / "rtl/blk/a.sv"
        self.file.write_text(SOURCE)
        self.coverage = data.Coverage(hits={
            self.point(5, 3, "line", "block", (5,)): 9,
            self.point(6, 5, "branch", "if", (6,)): 4,
            self.point(6, 6, "branch", "else", (7,)): 0,
        }, ports={("a", "x_i"): data.PortBits(4, 0b0111, 0b0101, 0b0001)})

    def point(self, line, column, kind, comment, lines=()):
        return data.Point(str(self.file), line, column, kind, comment, lines)

    def measure(self, text="", bins=None):
        listed = waivers.parse(tomllib.loads(text))
        items, problems = metrics.measure(self.coverage, metrics.Sources(self.root), listed, bins or {})
        return items, problems + waivers.problems(listed)

    def waiver(self, **keys):
        keys = {"owner": "blk", "reason": "a reason of some words"} | keys
        return "[[waiver]]\n" + "".join(f'{k} = "{v}"\n' for k, v in keys.items())

    def test_the_figures(self):
        items, problems = self.measure()
        sums = metrics.totals(items)
        self.assertEqual(problems, [])
        self.assertEqual((sums["line"].covered, sums["line"].missed), (2, 1))
        self.assertEqual((sums["branch"].covered, sums["branch"].missed), (1, 1))
        self.assertEqual((sums["toggle"].covered, sums["toggle"].missed), (1, 3))
        self.assertEqual([i.note for i in items if i.metric == "toggle"],
                         ["", "rose only", "rose and fell in different instances", "still"])
        self.assertAlmostEqual(sums["line"].percent, 200 / 3)

    def test_what_is_not_rtl_does_not_count(self):
        self.coverage.hits[data.Point(str(self.root / "testbench/b.sv"), 1, 1, "line", "block", (1,))] = 0
        self.coverage.hits[data.Point("/elsewhere/rtl/b.sv", 1, 1, "line", "block", (1,))] = 0
        self.assertEqual(metrics.totals(self.measure()[0])["line"].missed, 1)

    def test_a_waived_branch_is_not_in_the_total(self):
        items, problems = self.measure(self.waiver(kind="branch", file="rtl/blk/a.sv", text="if (x_i[0])", branch="else"))
        sums = metrics.totals(items)["branch"]
        self.assertEqual((sums.covered, sums.waived, sums.missed, problems), (1, 1, 0, []))

    def test_a_waiver_whose_text_is_gone_is_a_problem(self):
        for text in (self.waiver(kind="line", file="rtl/blk/a.sv", text="else q <= 1"),
                     self.waiver(kind="line", file="rtl/blk/gone.sv", text="else z <= 1"),
                     self.waiver(kind="toggle", port="a.x_i", bits="3", text="[7:0]")):
            with self.subTest(text=text):
                self.assertIn("stale waiver", self.measure(text)[1][0])

    def test_a_waiver_of_what_is_covered_is_a_problem(self):
        for text in (self.waiver(kind="toggle", port="a.x_i", bits="0", text="[3:0]"),
                     self.waiver(kind="branch", file="rtl/blk/a.sv", text="if (x_i[0])", branch="if")):
            self.assertIn("all it names is covered", self.measure(text)[1][0])

    def test_a_port_waiver_by_pattern(self):
        items, problems = self.measure(self.waiver(kind="toggle", port="*.x_i", bits="1+", text="[3:0]"))
        sums = metrics.totals(items)["toggle"]
        self.assertEqual((sums.covered, sums.waived, sums.missed, problems), (1, 3, 0, []))

    def structs(self):
        (self.root / "rtl/blk/b_pkg.sv").write_text(PACKAGE)
        (self.root / "rtl/blk/b.sv").write_text(STRUCTS)
        self.coverage.ports |= {("b", "one_o.valid"): data.PortBits(1, 1, 1, 1), ("b", "one_o.code"): data.PortBits(8, 15, 15, 15)}
        self.coverage.ports |= {("b", f"all_o[{i}].code"): data.PortBits(8, 15, 15, 15 - i) for i in range(2)}

    def test_a_waiver_of_a_field(self):
        self.structs()
        items, problems = self.measure(self.waiver(kind="toggle", port="b.one_o.code", bits="7:4", text="[7:0]"))
        self.assertEqual(problems, [])
        self.assertEqual([i.name for i in items if i.state == "waived"], [f"b.one_o.code[{bit}]" for bit in range(4, 8)])

    def test_a_waiver_of_a_field_holds_for_every_element(self):
        self.structs()
        items, problems = self.measure(self.waiver(kind="toggle", port="b.all_o.code", bits="4+", text="[7:0] code"))
        self.assertEqual(problems, [])
        self.assertEqual([i.name for i in items if i.state == "waived"], [f"b.all_o[{e}].code[{bit}]" for e in (0, 1) for bit in range(4, 8)])
        self.assertIn("b.all_o[1].code[0]", [i.name for i in items if i.state == "missed"])

    def test_a_field_that_is_not_there_is_a_problem(self):
        self.structs()
        for port, said in (("b.one_o.cause", "b.one_o is a struct, and the waiver names none of its fields"),
                           ("b.one_o", "b.one_o is a struct, and the waiver names none of its fields"),
                           ("b.x_i.code", "waiver of no port"), ("b.two_o.code", "waiver of no port")):
            with self.subTest(port=port):
                self.assertIn(said, self.measure(self.waiver(kind="toggle", port=port, bits="all", text=""))[1][0])

    def test_a_field_whose_declaration_changed_is_a_problem(self):
        self.structs()
        problems = self.measure(self.waiver(kind="toggle", port="b.one_o.code", bits="7:4", text="[15:0]"))[1]
        self.assertIn("its text is not in the declaration of b.one_o.code", problems[0])

    def test_data_of_a_field_that_is_not_in_the_source_are_a_problem(self):
        self.structs()
        self.coverage.ports = {("b", "one_o.cause"): data.PortBits(1, 1, 1, 1), ("b", "one_o"): data.PortBits(1, 1, 1, 1)}
        problems = self.measure()[1]
        self.assertIn("b.one_o;", problems[0])
        self.assertIn("b.one_o.cause", problems[1])

    def test_the_waivers_of_this_repository_name_ports_and_fields_that_are_there(self):
        root = pathlib.Path(os.environ["WEFT_SOURCE"])
        listed = [w for w in waivers.read(root / "testbench/coverage/waivers.toml") if w.kind == "toggle"]
        self.assertGreater(len(listed), 30)
        self.assertEqual(metrics.toggle_waiver_problems(listed, metrics.Sources(root)), [])

    def test_data_of_a_port_that_is_not_in_the_source_are_a_problem(self):
        self.coverage.ports["a", "gone_i"] = data.PortBits(1, 1, 1, 1)
        self.assertIn("a.gone_i", self.measure()[1][0])

    def test_bins_declared_and_counted_have_to_agree(self):
        self.coverage.hits[self.point(6, 1, "user", "Seen_C")] = 3
        items, problems = self.measure(bins={"Seen_C": "Group"})
        self.assertEqual((problems, metrics.totals(items)["bin"].covered), ([], 1))
        self.assertIn("Seen_C was counted but is not declared", self.measure()[1][0])
        self.assertIn("Never_C is declared but in no model", self.measure(bins={"Seen_C": "G", "Never_C": "G"})[1][0])


if __name__ == "__main__":
    unittest.main()
