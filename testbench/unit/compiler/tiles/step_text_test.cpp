// How steps are called in messages.
#include "host/compiler/tiles/step_text.hpp"

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::compiler;
using tiles::text_of;

TEST_CASE("a step in a message has its number and what it computes and the name of its node if there is one") {
  Program program;
  DenseStep dense;
  dense.name = "fc1";
  VectorStep vector;
  vector.op = WEFT_VPU_OP_MUL;
  ReduceStep reduce;
  reduce.op = WEFT_VPU_OP_RMAX;
  PairProductStep pair;
  pair.name = "scores", pair.batch = 12;
  RearrangeStep movement;
  movement.name = "turn";
  ConvolutionStep convolution;
  WindowStep window;
  CollectiveStep collective;
  RowsStep rows;
  program.steps = {dense, vector, reduce, pair, movement, convolution, window, collective, rows};
  CHECK(text_of(program, 0) == "step 1 of 9, a product by constants ('fc1')");
  CHECK(text_of(program, 1) == "step 2 of 9, a vector operation mul");
  CHECK(text_of(program, 2) == "step 3 of 9, a reduction rmax");
  CHECK(text_of(program, 3) == "step 4 of 9, a batch of 12 products ('scores')");
  CHECK(text_of(program, 4) == "step 5 of 9, a movement of elements ('turn')");
  CHECK(text_of(program, 5) == "step 6 of 9, a convolution");
  CHECK(text_of(program, 6) == "step 7 of 9, a window operation");
  CHECK(text_of(program, 7) == "step 8 of 9, a collective");
  CHECK(text_of(program, 8) == "step 9 of 9, a gather of rows");
  pair.batch = 1;
  program.steps = {pair};
  program.nodes = {{"scores", {"scores", {}}}};
  CHECK(text_of(program, 0) == "step 1 of 1, a product ('scores')");
  program.nodes = {{"scores", {"scores of the whole name", {"MatMul"}}}};
  CHECK(text_of(program, 0) == "step 1 of 1, a product (MatMul 'scores of the whole name')");
}
