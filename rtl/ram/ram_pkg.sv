`default_nettype none
// What the RAMs of this folder share.
package ram_pkg;
  // An access of one column in a cycle. 32 bits, so that a loop over columns becomes vector
  // instructions.
  typedef struct packed {
    logic        enable;
    logic [30:0] address;
  } access_t;

  // The noise that a read beside a write of the same granule shows, another one after each.
  function automatic logic [31:0] next_noise(input logic [31:0] noise);
    next_noise = noise * 32'd1664525 + 32'd1013904223;
  endfunction
endpackage
`default_nettype wire
