# weft_component(NAME FOLDER): lets a target see one folder of the tree and nothing beside it.
#
# #include "model/golden/matmul.hpp" works only in targets that link the component `golden`, because the folder is reached
# through a view of its own (a symbolic link in the build tree). So a missing or forbidden dependency does not compile.
function(weft_component name folder)
  set(view ${CMAKE_BINARY_DIR}/view/${name})
  get_filename_component(parent ${folder} DIRECTORY)
  file(MAKE_DIRECTORY ${view}/${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${view}/${folder} SYMBOLIC)
  add_library(weft_view_${name} INTERFACE)
  target_include_directories(weft_view_${name} INTERFACE ${view})
endfunction()

# weft_strict(TARGET... ): sources of the target convert numbers where they say so, and no name hides another: every target
# outside of testbench/. clang's reading of -Wconversion: GCC's also reads `byte |= mask` as one.
function(weft_strict)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<OR:$<COMPILE_LANG_AND_ID:C,Clang>,$<COMPILE_LANG_AND_ID:CXX,Clang>>:-Wconversion -Wshadow>)
  endforeach()
endfunction()

# weft_library(NAME FOLDER SOURCES... ): static library weft_<NAME> with the component's view and the project's flags.
function(weft_library name folder)
  weft_component(${name} ${folder})
  add_library(weft_${name} STATIC ${ARGN})
  target_link_libraries(weft_${name} PUBLIC weft_view_${name} weft_spec PRIVATE weft_options)
endfunction()
