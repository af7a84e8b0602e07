# Precompiled headers (docs/decisions/precompiled-headers.md): most of a small file's compilation is the parsing of the standard library, fmt,
# Catch2 and JSON. Clang reads a precompiled header only with the flags that it was made with, hence one for each of
#
#   libraries   -fPIC
#   programs    -fPIE
#   tests       -fPIE, and Catch2
#   commands    -fPIE, CLI11, and not optimised: see weft_command_line()
#
# No header of this project is in them, so that no edit makes them anew. Files include what they use all the same: the presets asan and
# coverage build without.
option(WEFT_PRECOMPILED "compile the headers of the standard library, fmt, JSON and Catch2 once" ON)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(WEFT_PRECOMPILED OFF)
endif()

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
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O0>)
endfunction()

# weft_precompiled_header(KIND HEADERS ..): target weft_headers_<KIND>, whose precompiled header others reuse.
function(weft_precompiled_header kind)
  file(WRITE ${CMAKE_BINARY_DIR}/headers_${kind}.cpp "")
  add_library(weft_headers_${kind} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/headers_${kind}.cpp)
  target_link_libraries(weft_headers_${kind} PRIVATE weft_options fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_options(weft_headers_${kind} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # ccache: the same bytes from the same headers
  target_precompile_headers(weft_headers_${kind} PRIVATE ${ARGN})
endfunction()

# weft_precompile_all(): to be called last. Each C++ target that links weft_options reuses the header of its kind.
function(weft_precompile_all)
  if(NOT WEFT_PRECOMPILED)
    return()
  endif()
  weft_precompiled_header(libraries ${WEFT_PRECOMPILED_HEADERS})
  weft_precompiled_header(programs ${WEFT_PRECOMPILED_HEADERS})
  target_compile_options(weft_headers_programs PRIVATE -fPIE)
  if(WEFT_TESTS)
    weft_precompiled_header(tests ${WEFT_PRECOMPILED_HEADERS} <catch2/catch.hpp>)
    target_compile_options(weft_headers_tests PRIVATE -fPIE)
  endif()
  weft_precompiled_header(commands ${WEFT_PRECOMPILED_HEADERS} <CLI/CLI.hpp>)
  target_compile_options(weft_headers_commands PRIVATE -fPIE $<$<CONFIG:Release>:-O0> -fpch-instantiate-templates)
  target_link_libraries(weft_headers_commands PRIVATE CLI11::CLI11)
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

function(weft_precompile target)
  get_target_property(type ${target} TYPE)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  get_target_property(without ${target} DISABLE_PRECOMPILE_HEADERS)
  if(NOT type MATCHES "EXECUTABLE|STATIC_LIBRARY|OBJECT_LIBRARY" OR NOT "weft_options" IN_LIST libraries OR without OR target MATCHES "^weft_headers_")
    return()
  endif()
  set(kind libraries)
  if(type STREQUAL "EXECUTABLE")
    set(kind programs)
    get_target_property(command_line ${target} WEFT_COMMAND_LINE)
    if(command_line)
      set(kind commands)
    endif()
    if("weft_catch_main" IN_LIST libraries)
      set(kind tests)
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
    if(options OR source MATCHES "\\.c$")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    else()
      set(some TRUE)
    endif()
  endforeach()
  if(some)
    target_precompile_headers(${target} REUSE_FROM weft_headers_${kind})
  endif()
endfunction()
