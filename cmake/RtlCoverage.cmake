# Coverage of the RTL, option WEFT_RTL_COVERAGE (preset rtl-coverage): what weft_verilate() adds to a model, and the list of
# the tests that count. scripts/coverage builds and runs them; testbench/coverage/README.md tells what is measured.
option(WEFT_RTL_COVERAGE "count lines, branches, port toggles and functional bins in every Verilated model" OFF)
set(WEFT_COVERAGE_OPTIMISATION "-O1" CACHE STRING "C++ optimisation of models with coverage: they are compiled once and run for seconds")
set(WEFT_COVERAGE_WITHOUT "" CACHE STRING "test programs that do not count, and are not built: what scripts/coverage's level leaves to others")
set(WEFT_COVERAGE_FOLDER ${CMAKE_SOURCE_DIR}/testbench/coverage)
set(WEFT_COVERAGE_MONITORS ${CMAKE_BINARY_DIR}/generated/coverage)

if(WEFT_RTL_COVERAGE)
  # the preset release's build: scripts/coverage lists what this build has in common with it, and it is taken from there
  set(WEFT_COVERAGE_SAME ${CMAKE_SOURCE_DIR}/build)
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${Python3_EXECUTABLE} -I -S ${WEFT_COVERAGE_FOLDER}/reused_objects.py ${CMAKE_BINARY_DIR}/reused_objects.json)
  set(WEFT_COVERAGE_RUNTIME ${WEFT_COVERAGE_FOLDER}/collector.cpp)
  # Lint is the lint tests' business: the monitors are not written to be clean.
  set(WEFT_COVERAGE_FLAGS --coverage-line --coverage-user -Wno-lint -Wno-style)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${WEFT_COVERAGE_FOLDER}/bins.py ${WEFT_COVERAGE_FOLDER}/bins.toml
                          ${CMAKE_SOURCE_DIR} ${WEFT_COVERAGE_MONITORS}
                  COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB WEFT_COVERAGE_MODULES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/rtl/*/*.sv)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${WEFT_COVERAGE_FOLDER}/port_monitor.py ${WEFT_COVERAGE_MONITORS} ${WEFT_COVERAGE_MODULES}
                  COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${WEFT_COVERAGE_MODULES} ${WEFT_COVERAGE_FOLDER}/bins.toml
               ${WEFT_COVERAGE_FOLDER}/bins.py ${WEFT_COVERAGE_FOLDER}/port_monitor.py ${WEFT_COVERAGE_FOLDER}/sv_module.py
               ${WEFT_COVERAGE_FOLDER}/sv_struct.py)
else()
  set(WEFT_COVERAGE_RUNTIME ${VERILATOR_ROOT}/include/verilated_cov.cpp)
endif()

# weft_coverage_sources(RESULT SOURCES): the monitors of the RTL modules among SOURCES, generated when CMake configures. A
# monitor binds itself to its module. <module>_port_monitor.sv: toggles of ports. <module>_bins.sv: functional bins.
function(weft_coverage_sources result sources)
  set(found ${WEFT_COVERAGE_MONITORS}/port_monitor_pkg.sv)
  foreach(file ${sources})
    get_filename_component(module ${file} NAME_WE)
    if(file MATCHES "^${CMAKE_SOURCE_DIR}/rtl/" AND NOT module MATCHES "_pkg$")
      set(monitor ${WEFT_COVERAGE_MONITORS}/${module}_port_monitor.sv)
      list(APPEND found ${monitor})
      if(EXISTS ${WEFT_COVERAGE_MONITORS}/${module}_bins.sv)
        list(APPEND found ${WEFT_COVERAGE_MONITORS}/${module}_bins.sv)
      endif()
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# weft_coverage_test(NAME LIBS LABELS): remembers a test program that counts: one with label rtl, that the level does not leave out,
# without models of the large chips, whose C++ alone would take longer than all the rest and whose lines are those of the small ones.
function(weft_coverage_test name libs labels)
  if(NOT WEFT_RTL_COVERAGE OR NOT "rtl" IN_LIST labels)
    return()
  endif()
  if(name IN_LIST WEFT_COVERAGE_WITHOUT)
    set_property(GLOBAL APPEND PROPERTY WEFT_COVERAGE_LEFT_OUT ${name})
    return()
  endif()
  foreach(lib ${libs})
    if(TARGET ${lib})
      get_target_property(chip ${lib} WEFT_CHIP)
      if(chip MATCHES "^v5e")
        return()
      endif()
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WEFT_COVERAGE_TESTS ${name})
endfunction()

# weft_coverage_finish(): target rtl_coverage_tests builds the programs; rtl_coverage_tests.txt names them.
function(weft_coverage_finish)
  if(WEFT_RTL_COVERAGE AND WEFT_TESTS)
    get_property(tests GLOBAL PROPERTY WEFT_COVERAGE_TESTS)
    get_property(left_out GLOBAL PROPERTY WEFT_COVERAGE_LEFT_OUT)
    foreach(name ${WEFT_COVERAGE_WITHOUT})
      if(NOT name IN_LIST left_out)
        message(FATAL_ERROR "WEFT_COVERAGE_WITHOUT: ${name} is no test program with label rtl")
      endif()
    endforeach()
    add_custom_target(rtl_coverage_tests DEPENDS ${tests} random_programs)
    list(JOIN tests "\n" lines)
    file(WRITE ${CMAKE_BINARY_DIR}/rtl_coverage_tests.txt "${lines}\n")
  endif()
endfunction()
