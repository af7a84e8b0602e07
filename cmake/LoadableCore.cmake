# The RTL core of one preset as a module that weft-sim loads, and nothing else of the tree: what `weft build-chip` configures.
#
#   WEFT_LOADABLE_CORE    the preset
#   WEFT_LOADABLE_ARRAY   fast or structural
#
# The target is loadable_core, its file loadable_core.so in the build folder: `weft build-chip` seals it and puts it into its place.
# The module has nothing of model/core but what is made from the preset: the rest, and Verilator's runtime, are weft-sim's.
set(WEFT_LOADABLE_ARRAY fast CACHE STRING "fast or structural")
set(WEFT_TESTS OFF)
set(chip ${WEFT_LOADABLE_CORE})
set(array ${WEFT_LOADABLE_ARRAY})
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/spec/chips/${chip}.toml)
  message(FATAL_ERROR "there is no preset ${chip}")
endif()
if(array STREQUAL structural)
  set(WEFT_RTL_CHIPS "")
  set(WEFT_RTL_STRUCTURAL_CHIPS ${chip})
  set(suffix _structural)
elseif(array STREQUAL fast)
  set(WEFT_RTL_CHIPS ${chip})
  set(WEFT_RTL_STRUCTURAL_CHIPS "")
  set(suffix)
else()
  message(FATAL_ERROR "there is no array ${array}")
endif()
add_subdirectory(spec)
add_subdirectory(rtl)
weft_component(core model/core)
weft_component(golden model/golden)

string(REPLACE - _ model weft_core_${chip}${suffix})
set_target_properties(${model} PROPERTIES OPTIMIZE_DEPENDENCIES ON)   # it waits for no library that it is linked with: the runtime is not built
configure_file(model/core/rtl/rtl_core_preset.cpp.in ${CMAKE_BINARY_DIR}/rtl_core_preset.cpp @ONLY)
configure_file(model/core/rtl/loadable_core.cpp.in ${CMAKE_BINARY_DIR}/loadable_core.cpp @ONLY)
add_library(loadable_core MODULE ${CMAKE_BINARY_DIR}/rtl_core_preset.cpp ${CMAKE_BINARY_DIR}/loadable_core.cpp $<TARGET_OBJECTS:${model}>)
target_link_libraries(loadable_core PRIVATE weft_options weft_spec weft_view_core weft_view_golden weft_view_verilated)
foreach(from weft_verilated ${model})   # their headers, and not the runtime itself, which weft-sim has
  target_include_directories(loadable_core SYSTEM PRIVATE $<TARGET_PROPERTY:${from},INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(loadable_core PRIVATE $<TARGET_PROPERTY:${from},INTERFACE_COMPILE_DEFINITIONS>)
endforeach()
set_target_properties(loadable_core PROPERTIES PREFIX "" OUTPUT_NAME loadable_core LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
