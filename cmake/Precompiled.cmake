# Precompiled headers (docs/decisions/precompiled-headers.md): most of a small file's compilation is the parsing of the standard library, fmt,
# Catch2 and JSON. A compiler reads a precompiled header only with the flags that it was made with, hence one for each of
#
#   libraries        -fPIC
#   chip_libraries   the same, and SystemC: the chip around the core, and what serves it
#   programs         -fPIE
#   commands         -fPIC, not optimised, CLI11: see weft_command_line(). Its inline functions are compiled once, into weft_commands_code
#   c_tests          -fPIE, not optimised, the standard library alone: weft_c_test()
#   tests            -fPIE, not optimised, Catch2: weft_test()
#   chips            the same, and SystemC: tests of the chip around the core
#   optimised_tests  -fPIE, -O1, Catch2: weft_test(OPTIMISED)
#   benches          the same, and Verilator's headers: tests that drive a Verilated model
#   verilated        -fPIC, not optimised, C++17, Verilator's headers alone: what Verilator made, where its speed does not count
#   verilated_fast   the same, optimised, with the vector instructions of WEFT_MARCH: the rest of what Verilator made
#
# No header of this project is in them, so that no edit makes them anew. Files include what they use all the same: the presets asan and
# coverage build without.
option(WEFT_PRECOMPILED "compile the headers of the standard library, fmt, JSON and Catch2 once" ON)

set(WEFT_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <deque> <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional>
  <random> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)

# weft_command_line(TARGET ..): programs of a file or two that read their arguments, call what does the work in a library, and print. Most of such a
# file is CLI11's templates, and the optimiser, which takes two thirds of the time, has nothing to gain there.
function(weft_command_line)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    set_target_properties(${target} PROPERTIES WEFT_COMMAND_LINE ON)
  endforeach()
endfunction()

# weft_command_line_source(FILE ..): the same for such files among others.
function(weft_command_line_source)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O0> WEFT_COMMAND_LINE ON)
endfunction()

# weft_commands_code(TARGET): the target has files that use the header `commands`: CLI11 is inline functions, which each such file would compile anew.
# Clang leaves those of a header made with -fpch-codegen to one object, made of the header itself: all of them, also one of <filesystem> that calls
# what no library has. The linker asks for it no more where it drops what is not used and not shown to others.
function(weft_commands_code target)
  weft_precompiled_header(commands)
  if(NOT TARGET weft_commands_code)
    set(header ${CMAKE_BINARY_DIR}/CMakeFiles/weft_headers_commands.dir/cmake_pch.hxx.pch)
    set(object ${CMAKE_BINARY_DIR}/headers_commands.o)
    add_custom_command(OUTPUT ${object} COMMAND ${CMAKE_CXX_COMPILER} $<$<CONFIG:Release>:-O0> -fPIC -ffunction-sections -c ${header} -o ${object}
                       DEPENDS ${header} COMMENT "Building CXX object headers_commands.o" VERBATIM COMMAND_EXPAND_LISTS)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    add_library(weft_commands_code STATIC ${object})
    set_target_properties(weft_commands_code PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(weft_commands_code PUBLIC fmt::fmt)
    target_link_options(weft_commands_code PUBLIC -Wl,--gc-sections)
  endif()
  target_link_libraries(${target} PRIVATE weft_commands_code)
endfunction()

# weft_precompile_source(SOURCE TARGET HEADERS): one source reuses the precompiled header of the target HEADERS, where its own target reuses that
# of another one, or none.
function(weft_precompile_source source target headers)
  get_source_file_property(options ${source} TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
  set(header ${CMAKE_BINARY_DIR}/CMakeFiles/${headers}.dir/cmake_pch.hxx)
  if(headers STREQUAL "weft_headers_commands")
    list(APPEND options -fPIC -fvisibility-inlines-hidden)
    weft_commands_code(${target})
  endif()
  set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON OBJECT_DEPENDS ${header}.pch
    COMPILE_OPTIONS "${options};-Xclang;-include-pch;-Xclang;${header}.pch;-Xclang;-include;-Xclang;${header}")
endfunction()

# weft_precompiled_header(KIND): target weft_headers_<KIND>, whose precompiled header others reuse; made for the first that does.
function(weft_precompiled_header kind)
  if(TARGET weft_headers_${kind})
    return()
  endif()
  set(headers ${WEFT_PRECOMPILED_HEADERS})
  set(libraries fmt::fmt nlohmann_json::nlohmann_json)
  set(options -fPIE)
  if(kind MATCHES "^(commands|c_tests|tests|chips)$")
    list(APPEND options $<$<CONFIG:Release>:-O0>)
  endif()
  if(kind MATCHES "^(tests|benches|chips|optimised_tests)$")
    list(APPEND headers <catch2/catch.hpp>)
    list(APPEND libraries Catch2::Catch2)
  endif()
  if(kind MATCHES "libraries$")
    set(options)
  elseif(kind STREQUAL "c_tests")  # GCC wants the same macros too, and these have none
    list(REMOVE_ITEM headers <fmt/format.h> <nlohmann/json.hpp>)
    set(libraries)
  elseif(kind STREQUAL "commands")
    list(APPEND headers <CLI/CLI.hpp>)
    list(APPEND libraries CLI11::CLI11)
    list(REMOVE_ITEM options -fPIE)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      list(APPEND options -fpch-codegen -fvisibility-inlines-hidden)
    endif()
  elseif(kind STREQUAL "benches")
    list(APPEND options $<$<CONFIG:Release>:-O1>)
    list(APPEND headers <verilated.h> <verilated_fst_c.h>)
    list(APPEND libraries weft_verilated)
  elseif(kind MATCHES "^(chips|chip_libraries)$")
    list(APPEND headers <systemc>)
    list(APPEND libraries weft_chip)
  elseif(kind STREQUAL "optimised_tests")
    list(APPEND options $<$<CONFIG:Release>:-O1>)
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/headers_${kind}.cpp "")
  add_library(weft_headers_${kind} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/headers_${kind}.cpp)
  target_link_libraries(weft_headers_${kind} PRIVATE weft_options)
  foreach(library ${libraries})  # what its users are told, and not the library itself
    target_compile_definitions(weft_headers_${kind} PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
    target_include_directories(weft_headers_${kind} SYSTEM PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  target_compile_options(weft_headers_${kind} PRIVATE ${options})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(weft_headers_${kind} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # ccache: the same bytes from the same headers
  endif()
  target_precompile_headers(weft_headers_${kind} PRIVATE ${headers})
endfunction()

# weft_verilated_header(NAME <options>): target NAME, whose precompiled header holds Verilator's.
function(weft_verilated_header name)
  if(TARGET ${name})
    return()
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cpp "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${name}.cpp)
  weft_verilated_options(${name})
  target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:weft_verilated,INTERFACE_COMPILE_DEFINITIONS>)
  target_include_directories(${name} SYSTEM PRIVATE $<TARGET_PROPERTY:weft_verilated,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_options(${name} PRIVATE ${ARGN} "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${name} PRIVATE <verilated.h> <verilated_dpi.h> <verilated_fst_c.h>)
endfunction()

# weft_precompile_verilated(TARGET): the units of a Verilated model reuse Verilator's headers, those at -O0 one and those at other levels another:
# all of a unit of a small block takes 0.25 s of CPU with it, and 0.8 s without.
function(weft_precompile_verilated target)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  weft_verilated_header(weft_headers_verilated -O0)
  weft_verilated_header(weft_headers_verilated_fast ${WEFT_FAST_FLAGS})
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_source_file_property(options ${source} TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    if("-march=${WEFT_MARCH}" IN_LIST options)
      weft_precompile_source(${source} ${target} weft_headers_verilated_fast)
    elseif(NOT options STREQUAL "-O0")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  target_precompile_headers(${target} REUSE_FROM weft_headers_verilated)
endfunction()

# weft_precompile_all(): to be called last. Each C++ target that links weft_options reuses the header of its kind.
function(weft_precompile_all)
  if(NOT WEFT_PRECOMPILED)
    return()
  endif()
  weft_targets(targets ${CMAKE_SOURCE_DIR})
  foreach(target ${targets})
    weft_precompile(${target})
  endforeach()
endfunction()

# weft_targets(RESULT FOLDER): all targets of a folder and below it.
function(weft_targets result folder)
  get_property(found DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    weft_targets(more ${below})
    list(APPEND found ${more})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# weft_uses(RESULT TARGET LIBRARY): does the target see the headers of the library, itself or by what it links?
function(weft_uses result target library)
  set(${result} FALSE PARENT_SCOPE)
  get_target_property(next ${target} LINK_LIBRARIES)
  set(seen)
  while(next)
    list(POP_FRONT next one)
    if(one STREQUAL library)
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    if(TARGET ${one} AND NOT one IN_LIST seen)
      list(APPEND seen ${one})
      get_target_property(more ${one} INTERFACE_LINK_LIBRARIES)
      if(more)
        list(APPEND next ${more})
      endif()
    endif()
  endwhile()
endfunction()

function(weft_precompile target)
  get_target_property(type ${target} TYPE)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  get_target_property(without ${target} DISABLE_PRECOMPILE_HEADERS)
  get_target_property(verilated ${target} WEFT_VERILATED)
  if(verilated)
    weft_precompile_verilated(${target})
    return()
  endif()
  if(NOT type MATCHES "EXECUTABLE|STATIC_LIBRARY|OBJECT_LIBRARY" OR NOT "weft_options" IN_LIST libraries OR without OR target MATCHES "^weft_headers_")
    return()
  endif()
  set(kind libraries)
  weft_uses(serves_chip ${target} weft_chip)
  if(serves_chip OR target STREQUAL "weft_chip")
    set(kind chip_libraries)
  endif()
  get_target_property(command_line ${target} WEFT_COMMAND_LINE)
  if(type STREQUAL "EXECUTABLE")
    set(kind programs)
  endif()
  if(command_line)
    set(kind commands)
  endif()
  if(type STREQUAL "EXECUTABLE")
    get_target_property(test_kind ${target} WEFT_TEST_KIND)
    if(test_kind)
      set(kind ${test_kind})
    endif()
  endif()
  # A file with options has other vector instructions or another level of optimisation than the header, or is C.
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(some FALSE)
  list(FILTER sources EXCLUDE REGEX "^[$]<")  # objects of other targets
  foreach(source ${sources})
    get_filename_component(source ${source} ABSOLUTE BASE_DIR ${folder})
    get_source_file_property(options ${source} TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    get_source_file_property(command_line_source ${source} TARGET_DIRECTORY ${target} WEFT_COMMAND_LINE)
    if(command_line_source AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      weft_precompiled_header(commands)
      weft_precompile_source(${source} ${target} weft_headers_commands)
    elseif(options OR source MATCHES "\\.c$")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    else()
      set(some TRUE)
    endif()
  endforeach()
  if(some AND (kind STREQUAL "c_tests" OR CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    weft_precompiled_header(${kind})
    target_precompile_headers(${target} REUSE_FROM weft_headers_${kind})
    if(kind STREQUAL "commands")
      target_compile_options(${target} PRIVATE -fPIC -fvisibility-inlines-hidden)
      weft_commands_code(${target})
    endif()
  endif()
endfunction()
