# weft_verilate(TARGET TOP <module> CHIP <preset> SOURCES <files> [TRACE] [ASSERT <blocks>] [RANDOM_INITIAL] [BENCH]
#               [STRUCTURAL] [QUICK] [ARGS <verilator arguments>])
#
# ASSERT: the assertions in the sources are on, and testbench/rtl/assertions/bind_<block>.sv of each block is bound to them.
# RANDOM_INITIAL: what no reset sets starts, and X becomes, what VerilatedContext::randReset() and randSeed() say; 0 if they
# say nothing. BENCH: built for a short run soon after an edit: -O1. QUICK: its tests take less of a second than the optimiser
# would take seconds: -O0.
# STRUCTURAL: a model of thousands of instances, which becomes functions of thousands of statements without a loop. There the passes that put
# instructions into another order take most of the compilation, and inlining the instances doubles it: -O1 without these.
# A static library TARGET with a Verilated model of class V<TARGET>, made when its sources change (at build time, not at
# configure time: a lint error is a build error that names its file). The target TARGET_verilate makes the C++ alone. A model is
# two translation units (verilated_units.cmake), because Verilator's headers take longer than most of its files: what runs each
# cycle, and, at -O0, what runs once and what writes waves: the optimiser takes longest over those long straight lines. A QUICK model
# is one. Units at -O0 share a precompiled header (Precompiled.cmake).
# --unroll-count and -fno-merge-cond keep the lanes' loops vectorisable (rtl/README.md).
# With WEFT_RTL_COVERAGE every model counts its coverage (testbench/coverage/README.md).
find_program(VERILATOR verilator REQUIRED)
execute_process(COMMAND ${VERILATOR} --getenv VERILATOR_ROOT OUTPUT_VARIABLE VERILATOR_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)

# Verilator's runtime, once for all models.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
include(RtlCoverage)
add_library(weft_verilated STATIC ${VERILATOR_ROOT}/include/verilated.cpp ${VERILATOR_ROOT}/include/verilated_fst_c.cpp
                                  ${VERILATOR_ROOT}/include/verilated_threads.cpp ${WEFT_COVERAGE_RUNTIME}
                                  ${CMAKE_SOURCE_DIR}/model/verilated/model_failure.cpp)
weft_component(verilated model/verilated)
target_link_libraries(weft_verilated PUBLIC weft_view_verilated)
# A failed assertion is a ModelFailure and no abort().
target_compile_options(weft_verilated PRIVATE -include ${CMAKE_SOURCE_DIR}/model/verilated/runtime_hooks.hpp)
target_include_directories(weft_verilated SYSTEM PUBLIC ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
target_compile_options(weft_verilated PRIVATE -w)
set_source_files_properties(${VERILATOR_ROOT}/include/verilated.cpp ${VERILATOR_ROOT}/include/verilated_fst_c.cpp PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
# What a failed assertion runs once (std::regex), and what counts in a build with coverage alone.
set_source_files_properties(${CMAKE_SOURCE_DIR}/model/verilated/model_failure.cpp ${VERILATOR_ROOT}/include/verilated_cov.cpp PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O0>)
# VM_COVERAGE: none of Verilator's headers and sources reads it, so a build with coverage has the same objects around its models as one without.
target_compile_definitions(weft_verilated PUBLIC VM_COVERAGE=0 VM_SC=0 VM_TRACE=1 VM_TRACE_FST=1 VM_TRACE_VCD=0)
# Its assertions, which only Release leaves out, ask clang's atomics whether they are free of locks: a call into libatomic.
target_link_libraries(weft_verilated PUBLIC Threads::Threads ZLIB::ZLIB $<$<NOT:$<CONFIG:Release>>:atomic>)

# A copy of rtl/ with mutants in it (testbench/mutation): all models are made of that copy.
set(WEFT_MUTATED_RTL "" CACHE PATH "folder with a mutated copy of rtl/; empty: rtl/ itself")
if(WEFT_MUTATED_RTL)
  target_sources(weft_verilated PRIVATE ${CMAKE_SOURCE_DIR}/testbench/mutation/active_mutant.cpp)
endif()

# weft_verilated_options(TARGET): what the units of all models are compiled with, besides their level of optimisation.
function(weft_verilated_options target)
  # C++17 has quicker headers than C++20; C++14 would leave the alignment of a model to chance
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17)
  target_compile_options(${target} PRIVATE -w -g0 -fcf-protection=none)
  target_compile_definitions(${target} PRIVATE VERILATOR=1)
endfunction()

function(weft_verilate target)
  cmake_parse_arguments(V "TRACE;RANDOM_INITIAL;BENCH;STRUCTURAL;QUICK" "TOP;CHIP" "SOURCES;ASSERT;ARGS" ${ARGN})
  set(generated ${CMAKE_BINARY_DIR}/generated/rtl)
  set(dir ${CMAKE_BINARY_DIR}/verilated/${target})
  set(prefix V${target})
  set(sources ${generated}/weft_pkg.sv ${generated}/${V_CHIP}/chip_pkg.sv ${CMAKE_SOURCE_DIR}/rtl/common/core_pkg.sv
              ${CMAKE_SOURCE_DIR}/rtl/common/port_pkg.sv)
  foreach(file ${V_SOURCES})
    get_filename_component(file ${file} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND sources ${file})
  endforeach()
  # a loop of N lanes stays one: unrolled, nano's model with four MXUs has twice the lines and takes 1.4 times as long to compile
  set(unroll 8)
  file(STRINGS ${CMAKE_SOURCE_DIR}/spec/chips/${V_CHIP}.toml eight REGEX "^n = 8( |$)")
  if(eight)
    set(unroll 7)
  endif()
  set(flags --cc -O3 -Wall --top-module ${V_TOP} --prefix ${prefix} --Mdir ${dir} --unroll-count ${unroll} -fno-merge-cond
            --timescale 1ns/1ps ${V_ARGS})
  if(V_RANDOM_INITIAL)
    list(APPEND flags --x-assign unique --x-initial unique)
  else()
    list(APPEND flags --x-assign fast --x-initial fast)
  endif()
  if(V_ASSERT)
    list(APPEND flags --assert)
    file(GLOB checkers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/testbench/rtl/assertions/*_contract.sv
                                         ${CMAKE_SOURCE_DIR}/testbench/rtl/assertions/*_invariants.sv)
    list(APPEND sources ${checkers})
    foreach(block ${V_ASSERT})
      list(APPEND sources ${CMAKE_SOURCE_DIR}/testbench/rtl/assertions/bind_${block}.sv)
    endforeach()
  endif()
  if(WEFT_MUTATED_RTL)
    list(TRANSFORM sources REPLACE "^${CMAKE_SOURCE_DIR}/rtl/" "${WEFT_MUTATED_RTL}/")
    list(PREPEND sources ${CMAKE_SOURCE_DIR}/testbench/mutation/weft_mutation_pkg.sv)
    list(APPEND flags -Wno-lint -Wno-style -Wno-fatal)   # the mutants' lint is not the RTL's
  endif()
  if(V_TRACE AND NOT WEFT_RTL_COVERAGE)   # the code that writes waves takes a third of the compiler's time, and coverage needs no waves
    list(APPEND flags --trace-fst --trace-structs)
  endif()
  set(fast ${WEFT_MODEL_FLAGS})
  if(V_ASSERT AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # for tests: the optimiser looks for a load's store among near ones alone, and functions have thousands of statements (docs/decisions/unity-builds.md);
    # it combines instructions once, and leaves them in their order. A model of v5e-1mxu is a fifteenth slower that way, one of nano is not (docs/decisions/special-members-out-of-line.md).
    list(APPEND fast ${WEFT_ONCE} -mllvm -memdep-block-scan-limit=10 -mllvm -memdep-block-number-limit=10
                     -mllvm -post-RA-scheduler=false -mllvm -enable-misched=false)
    # several small arrays: as fast at -O1, in two thirds of the compiler's time
    file(STRINGS ${CMAKE_SOURCE_DIR}/spec/chips/${V_CHIP}.toml several REGEX "^num_mxu = [2-9]( |$)")
    if(eight AND several)
      list(APPEND fast -O1)
    endif()
  endif()
  if(V_BENCH)
    set(fast -O1 -march=${WEFT_MARCH})
  endif()
  if(V_STRUCTURAL)
    set(fast -O1 -march=${WEFT_MARCH})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      list(APPEND fast -mllvm -post-RA-scheduler=false -mllvm -enable-misched=false -mllvm -inline-threshold=20)
    endif()
  endif()
  if(V_QUICK)
    set(fast -O0)
  endif()
  if(WEFT_MUTATED_RTL AND NOT V_QUICK)
    set(fast -O1)   # built for one short run a mutant
  endif()
  set(prepare)
  set(instrument)
  set(watched)
  if(WEFT_RTL_COVERAGE)
    weft_coverage_sources(watched "${sources}")
    list(APPEND flags ${WEFT_COVERAGE_FLAGS})
    if(NOT V_QUICK)
      set(fast ${WEFT_COVERAGE_OPTIMISATION})
    endif()
    # instrument_model.py changes files that Verilator would take for its own
    set(prepare COMMAND ${CMAKE_COMMAND} -E rm -rf ${dir})
    set(instrument COMMAND ${WEFT_TOOL} ${Python3_EXECUTABLE} ${WEFT_COVERAGE_FOLDER}/instrument_model.py ${VERILATOR}
                           ${WEFT_COVERAGE_MONITORS}/packages ${dir} ${prefix} ${WEFT_COVERAGE_SAME}/verilated/${target}/ports/${prefix}.h ${sources})
  endif()
  set(units ${dir}/units/fast.cpp)
  if(NOT V_QUICK)
    list(APPEND units ${dir}/units/slow.cpp)
  endif()
  add_custom_command(
    OUTPUT ${units}
    BYPRODUCTS ${dir}/ports/${prefix}.h ${dir}/${prefix}___024root.h
    ${prepare}
    COMMAND ${WEFT_TOOL} ${VERILATOR} ${flags} ${sources} ${watched}
    ${instrument}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${dir} -DPREFIX=${prefix} -DWHOLE=${V_QUICK} -P ${CMAKE_SOURCE_DIR}/cmake/verilated_units.cmake
    # the ports alone, which most edits leave: what includes them is not compiled again
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${dir}/${prefix}.h ${dir}/ports/${prefix}.h
    DEPENDS ${sources} ${watched} ${CMAKE_SOURCE_DIR}/cmake/verilated_units.cmake weft_spec_generate
    COMMENT "Verilating ${V_TOP} for ${V_CHIP} (${target})"
    VERBATIM)
  add_custom_target(${target}_verilate DEPENDS ${units})
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${units})
  add_dependencies(${target} ${target}_verilate)
  set_source_files_properties(${dir}/units/fast.cpp PROPERTIES COMPILE_OPTIONS "${fast}")
  if(NOT V_QUICK)
    set_source_files_properties(${dir}/units/slow.cpp PROPERTIES COMPILE_OPTIONS -O0)
  endif()
  set_target_properties(${target} PROPERTIES WEFT_CHIP ${V_CHIP} WEFT_VERILATED ON)
  weft_verilated_options(${target})
  if(WEFT_RTL_COVERAGE)
    target_include_directories(${target} PRIVATE ${WEFT_COVERAGE_FOLDER})  # the collector's header
  endif()
  set_target_properties(${target}_verilate PROPERTIES FOLDER rtl/${V_CHIP})
  target_link_libraries(${target} PUBLIC weft_verilated)
  target_include_directories(${target} SYSTEM PUBLIC ${dir}/ports ${dir})
endfunction()
