# What compilers, linker and Verilator are started by: ccache, if it is there, and another malloc, if it is there.
# clang and Verilator take 6 to 25 % less processor time with tcmalloc (docs/decisions/tools-with-tcmalloc.md). Tools alone: what is built runs with glibc's malloc.
find_library(WEFT_TCMALLOC NAMES libtcmalloc_minimal.so.4 DOC "malloc of the programs that build; OFF: glibc's")
set(WEFT_TOOL)       # stands before the command of a tool that allocates much
if(WEFT_TCMALLOC)
  set(WEFT_TOOL env LD_PRELOAD=${WEFT_TCMALLOC})
endif()
find_program(CCACHE ccache)
set(launcher ${WEFT_TOOL})
if(CCACHE)
  # Without these ccache passes over every file that uses a precompiled header (cmake/Precompiled.cmake).
  list(APPEND launcher env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
set(CMAKE_C_LINKER_LAUNCHER ${WEFT_TOOL})
set(CMAKE_CXX_LINKER_LAUNCHER ${WEFT_TOOL})
