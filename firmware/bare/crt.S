# Reset entry: stack pointer, global pointer, main loop, and once more after each device reset.
  .section .text.start
  .globl _start
_start:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, __stack_top
1:
  call weft_main
  j 1b
