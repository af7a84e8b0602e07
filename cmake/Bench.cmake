# Benches of RTL blocks.
option(WEFT_BENCH_WAVES "benches of blocks can write waves (scripts/bench --wave)" OFF)

# weft_bench_model(TARGET TOP .. CHIP .. [QUICK] SOURCES .. ASSERT <blocks> ..): as weft_verilate, starting from random values and quick to build.
function(weft_bench_model target)
  set(trace "")
  if(WEFT_BENCH_WAVES)
    set(trace TRACE)
  endif()
  weft_verilate(${target} ${ARGN} RANDOM_INITIAL BENCH ${trace})
endfunction()

# weft_bench(NAME SOURCES .. LIBS .. [XSAFETY <Catch filter>] [ECC_MEMORY] [GATE]): a test program of a block, label rtl. All of it (or what the
# filter names) runs again from other initial values, label xsafety: results must not depend on them. Seed 1 is enough for a developer;
# the others have label gate too (docs/decisions/tests-of-the-gate.md).
# GATE: as weft_test. ECC_MEMORY: not so for a block whose memory, unless written, holds no codeword; the whole core's test covers it.
function(weft_bench name)
  cmake_parse_arguments(B "ECC_MEMORY;GATE" "XSAFETY" "SOURCES;LIBS" ${ARGN})
  set(gate)
  if(B_GATE)
    set(gate GATE)
  endif()
  weft_test(${name} SOURCES ${B_SOURCES} LIBS weft_view_testbench_bench ${B_LIBS} fmt::fmt LABELS rtl ${gate})
  if(NOT WEFT_TESTS)
    return()
  endif()
  if(B_ECC_MEMORY)
    return()
  endif()
  foreach(seed 1 2 3)
    set(labels rtl xsafety)
    if(seed GREATER 1)
      list(APPEND labels gate)
    endif()
    add_test(NAME "${name}: the same results from initial values of seed ${seed}" COMMAND ${name} ${B_XSAFETY})
    set_tests_properties("${name}: the same results from initial values of seed ${seed}" PROPERTIES LABELS "${labels}"
      ENVIRONMENT "WEFT_INITIAL_SEED=${seed}" TIMEOUT 300)
  endforeach()
endfunction()
