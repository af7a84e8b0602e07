
  // Properties of the VMEM arbiter. `watched` is any one bank; ends of the ranges are computed without masks.
  (* anyconst *) logic [BankBits-1:0] watched;
  logic reset_done = 1'b0;
  logic [7:0] dr_waited_q, dw_waited_q;             // cycles without a grant so far

  function automatic logic touches(input logic [BankBits-1:0] first, input logic [CountBits-1:0] words);
    logic [BankBits-1:0] distance;
    distance = watched - first;                     // banks are a ring
    touches = distance < words;
  endfunction

  logic [3:0] readers, writers;
  logic row_overtaken;                              // a row writes a bank that one before it asks for in vain
  always_comb begin
    readers = {3'd0, x_gnt_o && touches(x_bank_i, 1)} + {3'd0, w_gnt_o && touches(w_bank_i, 1)}
            + {3'd0, dr_gnt_o && touches(dr_bank_i, dr_words_i)};
    writers = {3'd0, dw_gnt_o && touches(dw_bank_i, dw_words_i)};
    row_overtaken = 1'b0;
    for (int i = 0; i < Sublanes; i++) begin
      readers = readers + {3'd0, va_gnt_o[i] && touches(va_bank_i[i*BankBits+:BankBits], va_pair_i ? 2 : 1)}
              + {3'd0, vb_gnt_o[i] && touches(vb_bank_i[i*BankBits+:BankBits], vb_pair_i ? 2 : 1)};
      writers = writers + {3'd0, vw_gnt_o[i] && touches(vw_bank_i[i*BankBits+:BankBits], vw_pair_i ? 2 : 1)};
      for (int k = 0; k < i; k++)
        row_overtaken = row_overtaken || (vw_gnt_o[i] && vw_req_i[k] && !vw_gnt_o[k]
            && vw_bank_i[i*BankBits+:BankBits] == vw_bank_i[k*BankBits+:BankBits]);
    end
  end

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    dr_waited_q <= rst_ni && dr_req_i && !dr_gnt_o ? dr_waited_q + 8'd1 : 8'd0;
    dw_waited_q <= rst_ni && dw_req_i && !dw_gnt_o ? dw_waited_q + 8'd1 : 8'd0;
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    if (dr_req_i) assume (dr_words_i >= 1 && dr_words_i <= DmaWords);
    if (dw_req_i) assume (dw_words_i >= 1 && dw_words_i <= DmaWords);
    if (reset_done) begin
      OneReader_A: assert (readers <= 1);
      OneWriter_A: assert (writers <= 1);
      OnlyRequests_A: assert ((!x_gnt_o || x_req_i) && (!w_gnt_o || w_req_i) && (va_gnt_o & ~va_req_i) == 0
                              && (vb_gnt_o & ~vb_req_i) == 0 && (!dr_gnt_o || dr_req_i)
                              && (vw_gnt_o & ~vw_req_i) == 0 && (!dw_gnt_o || dw_req_i));
      RowsInOrder_A: assert (!row_overtaken);               // so the last row that writes a word stays
      DmaReadServed_A: assert (dr_waited_q <= StarveLimit);   // never refused StarveLimit + 1 times in a row
      DmaWriteServed_A: assert (dw_waited_q <= StarveLimit);
      if (x_req_i && !x_gnt_o) XOnlyYieldsToStarved_A: assert (dr_gnt_o && dr_waited_q == StarveLimit);
      RefusalsCounted_A: assert (dr_refused_q == dr_waited_q && dw_refused_q == dw_waited_q);
    end
    AllReadersInOneCycle_C: cover (reset_done && x_gnt_o && w_gnt_o && &va_gnt_o && &vb_gnt_o && dr_gnt_o);
    ReadStarvedGoesFirst_C: cover (reset_done && dr_gnt_o && x_req_i && !x_gnt_o);
    WriteStarvedGoesFirst_C: cover (reset_done && dw_gnt_o && vw_req_i[0] && !vw_gnt_o[0]);
    BankWithReadAndWrite_C: cover (reset_done && readers == 1 && writers == 1);
  end
