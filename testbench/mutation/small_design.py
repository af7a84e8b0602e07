"""A design of a few lines for the tests, and the inverse of schemata.render."""
from __future__ import annotations

import re
from pathlib import Path

import design
from mutant import Mutant

COUNTER = """\
`default_nettype none
// Grüße: more bytes than characters before the first change
module counter #(parameter int unsigned Step = 2) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       go_i,
  input  logic [7:0] value_i,
  output logic [7:0] value_o,
  output logic       full_o
);
  typedef enum logic [1:0] {StIdle, StRun, StDone} state_e;
  state_e state_q;
  logic [7:0] count_q;
  assign value_o = {count_q[3:0], value_i[7:4]};
  assign full_o = count_q >= 8'd200 && state_q != StDone;
  always_ff @(posedge clk_i) begin
    if (go_i) count_q <= count_q + 8'(Step) - (value_i << 1);
    state_q <= go_i ? StRun : StIdle;
    if (!rst_ni) begin
      count_q <= '0;
      state_q <= StIdle;
    end
  end
`ifndef SYNTHESIS
  Small_A: assert property (@(posedge clk_i) count_q < 8'd250);
`endif
  Zero_A: assert property (@(posedge clk_i) !rst_ni || count_q != 8'd251);
endmodule
`default_nettype wire
"""


def write(root: Path, text: str = COUNTER) -> None:
    """root/rtl with one module, and the generated packages beside it."""
    (root / "rtl/small").mkdir(parents=True, exist_ok=True)
    (root / "rtl/small/counter.sv").write_text(text)
    (root / "generated/nano").mkdir(parents=True, exist_ok=True)
    (root / "generated/weft_pkg.sv").write_text("package weft_pkg; localparam int CmdBits = 512; endpackage\n")
    (root / "generated/nano/chip_pkg.sv").write_text("package chip_pkg; localparam int N = 8; endpackage\n")


def population(root: Path) -> list[Mutant]:
    return design.population(root, root / "generated")[0]


def resolve(text: str, active: int) -> str:
    """What the simulator sees of a rendered text with that mutant alive; the original text with 0."""
    expression = re.compile(r"\(weft_mutation_pkg::active == 32'd(\d+) \? \(")
    statement = re.compile(r"begin if \(weft_mutation_pkg::active != 32'd(\d+)\) ")
    # The last one holds no other one in its first branch's condition: from the inside to the outside, which moves none of those before it.
    for last in sorted([*expression.finditer(text), *statement.finditer(text)], key=lambda match: match.start(), reverse=True):
        number = int(last.group(1))
        if last.re is expression:
            middle = closing(text, last.end() - 1)
            opening = middle + len(" : (")
            end = closing(text, opening)
            chosen = text[last.end():middle] if number == active else text[opening + 1:end]
            text = text[:last.start()] + chosen + text[end + 2:]
        else:
            end = text.index("; end", last.end())
            kept = "" if number == active else text[last.end():end + 1]
            text = text[:last.start()] + kept + text[end + 5:]
    return text


def closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise ValueError("no closing parenthesis")
