/// Seen by the units of a Verilated model that run each cycle, after Verilator's own headers (cmake/verilated_units.cmake):
/// its arithmetic shift of 32 bits as the shift of a signed number.
///
/// Verilator shifts unsigned numbers and puts the sign in with a mask, because C++ before C++20 leaves the other to the
/// compiler. Both compilers that this project supports shift arithmetically, and then a loop over lanes has one vector
/// instruction where the mask takes five or six: the multiply-adds of an array have two such shifts each.
#pragma once
#include <verilated.h>

#include <cstdint>

static_assert((int32_t{-2} >> 1) == -1, "the compiler shifts signed numbers arithmetically");

/// `lhs` of `lbits` bits, shifted right by `rhs`, 0 to 31, with its sign, as a number of `obits` bits. What Verilator's
/// VL_SHIFTRS_III gives, whose place it takes in generated code. No effects; safe from any thread.
static inline IData weft_shift_right_signed(int obits, int lbits, int rbits, IData lhs, IData rhs) {
  if (obits == 32 && lbits == 32) return static_cast<IData>(static_cast<int32_t>(lhs) >> rhs);
  return VL_SHIFTRS_III(obits, lbits, rbits, lhs, rhs);
}

#define VL_SHIFTRS_III(obits, lbits, rbits, lhs, rhs) weft_shift_right_signed(obits, lbits, rbits, lhs, rhs)
