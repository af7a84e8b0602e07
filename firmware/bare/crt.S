# Vectors and reset entry. The hart is vectored: an exception goes to the first word, an interrupt with cause n to word n.
# Interrupts stay disabled in mstatus; mie lets them end a wfi.
  .option arch, +zicsr
  .section .text.start, "ax"
  .globl _start
  .option norvc
vectors:
  .rept 32
  j trap
  .endr
  .option rvc
_start:                     # 0x80 from the ROM's start
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, __stack_top
  li t0, 0x800              # mie.MEIE
  csrw mie, t0
1:
  call weft_main
  j 1b

# weft_trap(cause, pc, value) tells the host, once. A second trap, from there, locks the hart up: its vector is nowhere.
trap:
  csrrwi t0, mscratch, 1
  bnez t0, 2f
  csrr a0, mcause
  csrr a1, mepc
  csrr a2, mtval
  la sp, __stack_top
  call weft_trap
1:
  wfi
  j 1b
2:
  li t0, 0xffffff00
  csrw mtvec, t0
  ecall
