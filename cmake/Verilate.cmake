# weft_verilate(TARGET TOP <module> CHIP <preset> SOURCES <files> [TRACE] [COVERAGE] [ARGS <verilator arguments>])
#
# A static library TARGET with a Verilated model of class V<TARGET>, made when its sources change (at build time, not at
# configure time: a lint error is a build error that names its file). OPT_FAST is set because Verilator's makefile compiles
# with -Os otherwise; --unroll-count and -fno-merge-cond keep the lanes' loops vectorisable (rtl/README.md).
find_program(VERILATOR verilator REQUIRED)
execute_process(COMMAND ${VERILATOR} --getenv VERILATOR_ROOT OUTPUT_VARIABLE VERILATOR_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)

# Verilator's runtime, once for all models.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
add_library(weft_verilated STATIC ${VERILATOR_ROOT}/include/verilated.cpp ${VERILATOR_ROOT}/include/verilated_fst_c.cpp
                                  ${VERILATOR_ROOT}/include/verilated_cov.cpp ${VERILATOR_ROOT}/include/verilated_threads.cpp)
target_include_directories(weft_verilated SYSTEM PUBLIC ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
target_compile_options(weft_verilated PRIVATE -w)
target_compile_definitions(weft_verilated PUBLIC VM_COVERAGE=0 VM_SC=0 VM_TRACE=1 VM_TRACE_FST=1 VM_TRACE_VCD=0)
target_link_libraries(weft_verilated PUBLIC Threads::Threads ZLIB::ZLIB)

# A copy of rtl/ with mutants in it (testbench/mutation): all models are made of that copy.
set(WEFT_MUTATED_RTL "" CACHE PATH "folder with a mutated copy of rtl/; empty: rtl/ itself")
if(WEFT_MUTATED_RTL)
  target_sources(weft_verilated PRIVATE ${CMAKE_SOURCE_DIR}/testbench/mutation/active_mutant.cpp)
endif()

function(weft_verilate target)
  cmake_parse_arguments(V "TRACE;COVERAGE" "TOP;CHIP" "SOURCES;ARGS" ${ARGN})
  set(generated ${CMAKE_BINARY_DIR}/generated/rtl)
  set(dir ${CMAKE_BINARY_DIR}/verilated/${target})
  set(prefix V${target})
  set(sources ${generated}/weft_pkg.sv ${generated}/${V_CHIP}/chip_pkg.sv ${CMAKE_SOURCE_DIR}/rtl/common/core_pkg.sv)
  foreach(file ${V_SOURCES})
    get_filename_component(file ${file} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND sources ${file})
  endforeach()
  set(flags --cc -O3 -Wall --top-module ${V_TOP} --prefix ${prefix} --Mdir ${dir} --unroll-count 8 -fno-merge-cond
            --x-assign fast --x-initial fast --timescale 1ns/1ps ${V_ARGS})
  if(WEFT_MUTATED_RTL)
    list(TRANSFORM sources REPLACE "^${CMAKE_SOURCE_DIR}/rtl/" "${WEFT_MUTATED_RTL}/")
    list(PREPEND sources ${CMAKE_SOURCE_DIR}/testbench/mutation/weft_mutation_pkg.sv)
    list(APPEND flags -Wno-lint -Wno-style -Wno-fatal)   # the mutants' lint is not the RTL's
  endif()
  if(V_TRACE)
    list(APPEND flags --trace-fst --trace-structs)
  endif()
  if(V_COVERAGE)
    list(APPEND flags --coverage)
  endif()
  list(JOIN WEFT_FAST_FLAGS " " fast)
  set(library ${dir}/${prefix}__ALL.a)
  add_custom_command(
    OUTPUT ${library}
    BYPRODUCTS ${dir}/${prefix}.h ${dir}/${prefix}___024root.h
    COMMAND ${VERILATOR} ${flags} ${sources}
    COMMAND ${CMAKE_COMMAND} -E env OBJCACHE=${CCACHE} make -s -C ${dir} -f ${prefix}.mk ${prefix}__ALL.a CXX=${CMAKE_CXX_COMPILER}
            "OPT_FAST=${fast}" "OPT_SLOW=-O1" "OPT_GLOBAL=-O2" "CFG_CXXFLAGS_NO_UNUSED=-w -fPIC"
    DEPENDS ${sources} weft_spec_generate
    COMMENT "Verilating ${V_TOP} for ${V_CHIP} (${target})"
    VERBATIM)
  add_custom_target(${target}_verilate DEPENDS ${library})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_verilate)
  set_target_properties(${target} ${target}_verilate PROPERTIES FOLDER rtl/${V_CHIP})
  target_link_libraries(${target} INTERFACE ${library} weft_verilated)
  target_include_directories(${target} SYSTEM INTERFACE ${dir})
endfunction()
