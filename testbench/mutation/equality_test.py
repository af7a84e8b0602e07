"""Tests of equality.py and netlist.py: equal mutants are proved, others are not."""
import tempfile
import unittest
from pathlib import Path

import equality
import small_design
from equality import Proof
from mutant import Change, number

LEVEL = """\
`default_nettype none
module level (
  input  wire logic       clk_i,
  input  wire logic       rst_ni,
  input  wire logic       in_i,
  input  wire logic       out_i,
  input  wire logic [3:0] addr_i,
  input  wire logic [7:0] data_i,
  output logic [2:0]      level_o,
  output logic            pick_o,
  output logic [7:0]      data_o
);
  logic [2:0] level_q;
  logic [7:0] mem_q [16];
  logic [7:0] spare_q;
  logic       live_q;
  wire [4:0] five = data_i[4:0];
  assign level_o = level_q;
  assign pick_o = addr_i < 4'd5 && five[addr_i];
  assign data_o = mem_q[addr_i] ^ (live_q ? spare_q : 8'd0);
  always_ff @(posedge clk_i) begin
    if (in_i && !out_i && level_q < 3'd4) level_q <= level_q + 3'd1;
    if (out_i && !in_i && level_q != 3'd0) level_q <= level_q - 3'd1;
    if (in_i) mem_q[addr_i] <= data_i;
    if (out_i) spare_q <= data_i;
    if (out_i) live_q <= 1'b1;
    if (!rst_ni) level_q <= 3'd0;
    if (!rst_ni) live_q <= 1'b0;
  end
endmodule
`default_nettype wire
"""
BOUND = ("level", "wire invariant_level = level_q <= 3'd4;")
ROOT = Path(__file__).resolve().parents[2]
ALIKE = ("level", "wire [7:0] alike_spare = live_q ? spare_q : 8'd0;")
LEVEL_PROOF = Proof("level")


class Equality(unittest.TestCase):
    def outcome(self, old: str, new: str, proof: Proof = LEVEL_PROOF):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            small_design.write(root)
            (root / "rtl/small/level.sv").write_text(LEVEL)
            (root / "generated/vpu_table_pkg.sv").write_text("package vpu_table_pkg; localparam int A = 1; endpackage\n")
            start = LEVEL.index(old)
            change = Change("rtl/small/level.sv", start, start + len(old), "constant", old, new)
            mutant, = number([change], {"rtl/small/level.sv": LEVEL})
            return equality.prove(root, root / "generated", mutant, proof, root / "work")

    def test_the_same_in_other_words_is_equal(self):
        self.assertTrue(self.outcome("in_i && !out_i", "!(out_i || !in_i)").equal)

    def test_another_next_state_is_found(self):
        self.assertFalse(self.outcome("level_q + 3'd1", "level_q + 3'd2").equal)

    def test_another_output_is_found(self):
        self.assertFalse(self.outcome("live_q ? spare_q : 8'd0", "spare_q").equal)

    def test_another_write_of_a_memory_is_found(self):
        for old, new in (("mem_q[addr_i] <= data_i;", "mem_q[addr_i] <= ~data_i;"), ("if (in_i) mem_q[addr_i] <= data_i;", "if (out_i) mem_q[addr_i] <= data_i;"),
                         ("mem_q[addr_i] <= data_i;", "mem_q[~addr_i] <= data_i;"), ("mem_q[addr_i] ^ (live_q ? spare_q : 8'd0)", "mem_q[~addr_i]")):
            for registers in (False, True):
                with self.subTest(new, registers=registers):
                    self.assertFalse(self.outcome(old, new, Proof("level", registers=registers)).equal)

    def test_an_index_beyond_the_vector_reads_anything(self):
        self.assertFalse(self.outcome("addr_i < 4'd5 && five[addr_i]", "five[addr_i]").equal)
        self.assertTrue(self.outcome("addr_i < 4'd5 && five[addr_i]", "addr_i <= 4'd4 && five[addr_i]").equal)

    def test_a_missing_reset_is_found(self):
        self.assertFalse(self.outcome("if (!rst_ni) level_q <= 3'd0;", ";").equal)

    def test_what_only_unreachable_states_tell_apart_needs_the_invariant(self):
        self.assertFalse(self.outcome("level_q < 3'd4", "level_q != 3'd4").equal)
        self.assertTrue(self.outcome("level_q < 3'd4", "level_q != 3'd4", Proof("level", bind=(BOUND,))).equal)

    def test_a_false_invariant_proves_nothing(self):
        for invariant in ("level_q <= 3'd3", "level_q <= 3'd5 && level_q != 3'd2"):
            with self.subTest(invariant):
                bound = ("level", f"wire invariant_level = {invariant};")
                self.assertFalse(self.outcome("level_q < 3'd4", "level_q != 3'd4", Proof("level", bind=(bound,))).equal)

    def test_a_register_that_nobody_reads_may_differ_if_what_is_read_is_alike(self):
        old, new = "if (out_i) spare_q <= data_i;", "if (out_i || !live_q) spare_q <= data_i;"
        self.assertFalse(self.outcome(old, new).equal)
        self.assertTrue(self.outcome(old, new, Proof("level", bind=(ALIKE,), loose=("spare_q",))).equal)
        self.assertFalse(self.outcome(old, "if (in_i) spare_q <= data_i;",
                                      Proof("level", bind=(ALIKE,), loose=("spare_q",))).equal)

    def test_a_contract_limits_the_inputs(self):
        contract = ("level", "wire contract_one = !(in_i && out_i);")
        self.assertFalse(self.outcome("in_i && !out_i", "in_i").equal)
        self.assertTrue(self.outcome("in_i && !out_i", "in_i", Proof("level", bind=(contract,))).equal)

    def test_a_proof_of_testbench_formal_is_asked_about_the_mutant(self):
        file = "rtl/common/fifo.sv"
        text = (ROOT / file).read_text(encoding=equality.design.BYTES)

        def outcome(old: str, new: str, name: str = "fifo_order"):
            start = text.index(old)
            mutant, = number([Change(file, start, start + len(old), "condition", old, new)], {file: text})
            with tempfile.TemporaryDirectory() as folder:
                return equality.prove(ROOT, ROOT / "build/generated/rtl", mutant, Proof(formal=(name,)), Path(folder))
        self.assertTrue(outcome("push && !pop", "!(pop || !push)").equal)
        self.assertFalse(outcome("push && !pop", "push").equal)
        with self.assertRaisesRegex(equality.EqualityError, "reads no rtl/common/fifo.sv"):
            outcome("push && !pop", "push", "secded_32")

    def test_what_cannot_be_made_is_an_error_and_no_proof(self):
        wrong = {"no module": Proof("nothing"), "no chip": Proof("level", chip="none"), "no register": Proof("level", loose=("a",)),
                 "no such wire": Proof("level", bind=(("level", "wire a = 1'b1;"),)),
                 "a contract that nothing keeps": Proof("level", bind=(("level", "wire contract_a = 1'b0;"),)),
                 "an invariant that no state has": Proof("level", bind=(("level", "wire invariant_a = 1'b0;"),)),
                 "no Verilog": Proof("level", bind=(("level", "wire invariant_a = (;"),))}
        for name, proof in wrong.items():
            with self.subTest(name), self.assertRaises((equality.EqualityError, equality.design.DesignError)):
                self.outcome("in_i && !out_i", "in_i", proof)

    def test_an_answer_that_is_none_is_an_error(self):
        for log in ("", "UNDECIDED", "Error: cannot open"):
            with self.subTest(log), self.assertRaises(equality.EqualityError):
                equality.answer(log)


if __name__ == "__main__":
    unittest.main()
