# Compiler flags for all C and C++ of this project. Floating point is never contracted or reassociated: bits are the product.
add_library(weft_options INTERFACE)
target_compile_options(weft_options INTERFACE -Wall -Wextra -ffp-contract=off)
if(WEFT_WERROR)
  target_compile_options(weft_options INTERFACE -Werror)
endif()
if(WEFT_SANITIZE)
  target_compile_options(weft_options INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(weft_options INTERFACE -fsanitize=${WEFT_SANITIZE})
  target_compile_definitions(weft_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(WEFT_FUZZ)
  target_compile_options(weft_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(WEFT_COVERAGE)
  target_compile_options(weft_options INTERFACE --coverage)
  target_link_options(weft_options INTERFACE --coverage)
endif()

# Release is -O2; what makes the simulator fast has -O3 of its own (WEFT_FAST_FLAGS).
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# 204 programs are linked: by lld in half of the time that ld takes (docs/decisions/special-members-out-of-line.md).
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld WEFT_LLD)   # what the compiler itself finds, of whatever version
if(WEFT_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(-fuse-ld=lld -Wl,--threads=1 -Wl,-O0)
endif()

# clang 16 combines instructions until nothing changes any more; LLVM 18 and later do so once. Once takes 6 % off a file's compilation.
set(WEFT_ONCE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 14 AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 18)
  set(WEFT_ONCE -mllvm -instcombine-max-iterations=1)
endif()
if(WEFT_ONCE)
  list(JOIN WEFT_ONCE " " once)
  target_compile_options(weft_options INTERFACE "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:SHELL:${once}>")
endif()

# weft_optimise(TARGET LEVEL): code that takes little of a program's time is optimised at that level, and small functions alone are inlined: a fifth less to compile at
# -O1, an eighth at -O2.
function(weft_optimise target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:SHELL:-mllvm -inline-threshold=60>")
  endif()
endfunction()

# For code whose speed is the simulator's: vector instructions of the machine that builds.
set(WEFT_FAST_FLAGS -O3 -march=${WEFT_MARCH})
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND WEFT_FAST_FLAGS -mprefer-vector-width=512)
endif()
# A multiply-add of an array's loop takes all vector registers when four vectors of lanes are worked on side by side, and the rest goes to the stack.
set(WEFT_MODEL_FLAGS ${WEFT_FAST_FLAGS})
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND WEFT_MODEL_FLAGS -mllvm -force-vector-interleave=2)
endif()
