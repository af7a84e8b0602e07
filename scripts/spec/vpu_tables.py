"""The tables of the VPU's functions: for each segment six fp32 words, from the formula in docs/vpu_functions.md.

A segment has an origin x0 and an interval of t = x - x0. c0 to c4 interpolate f(x0 + t) at the five Chebyshev nodes of the
interval, each rounded to the nearest fp32. Where f(x0) = 0, c0 is 0 and c1 to c4 interpolate f(x0 + t) / t at four nodes
(tanh and erf, first segment: f(t) / t - 1).
For log2 the word `base` is log2(x0) rounded to 2^-14 and c0 is what is left of it; elsewhere base is 0."""
from decimal import Decimal, getcontext
from fractions import Fraction

DEPTH = 512  # words of each table: a power of two

# The first entry of each function.
EXP2, LOG2, RECIPROCAL, RSQRT, TANH, ERF = 0, 16, 49, 82, 148, 281
TANH_ENTRIES = 133   # [0, 2^-5), then sixteen a binade up to 10
ERF_ENTRIES = 113    # the same up to 4
SMALLEST = Fraction(1, 32)
WORDS = ("c0", "c1", "c2", "c3", "c4", "base")

getcontext().prec = 50


def pi():
    """Machin: 16 atan(1/5) - 4 atan(1/239)."""
    def atan_inverse(n):
        total, power, k = Decimal(0), Decimal(1) / n, 0
        while power > Decimal(10) ** -55:
            total += power / (2 * k + 1) * (-1) ** k
            power /= n * n
            k += 1
        return total
    return 16 * atan_inverse(5) - 4 * atan_inverse(239)


PI = pi()
LN2 = Decimal(2).ln()


def exp2(x):
    return (x * LN2).exp()


def log2(x):
    return x.ln() / LN2


def tanh(x):
    if abs(x) < Decimal("1e-3"):  # e^2x - 1 would cancel
        s = x * x
        return x * (1 - s / 3 + 2 * s * s / 15 - 17 * s ** 3 / 315 + 62 * s ** 4 / 2835)
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def erf(x):
    """2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!: all terms positive."""
    term, total, n = x, Decimal(0), 0
    while abs(term) > Decimal(10) ** -45 * abs(x):
        total += term
        n += 1
        term = term * 2 * x * x / (2 * n + 1)
    return 2 / PI.sqrt() * (-x * x).exp() * total


def to_decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def fp32(value):
    """Bits of the fp32 number nearest to a Decimal, ties to even, below 2^-126 zero."""
    exact = Fraction(value)
    if exact == 0:
        return 0
    sign, exact = (1 << 31, -exact) if exact < 0 else (0, exact)
    exponent = 0
    while exact >= 2:
        exact, exponent = exact / 2, exponent + 1
    while exact < 1:
        exact, exponent = exact * 2, exponent - 1
    significand = round(exact * (1 << 23))
    if significand == 1 << 24:
        significand, exponent = 1 << 23, exponent + 1
    return 0 if exponent < -126 else sign | (exponent + 127) << 23 | significand - (1 << 23)


def cosine(x):
    total, term, n = Decimal(0), Decimal(1), 0
    while abs(term) > Decimal(10) ** -48:
        total += term
        n += 2
        term = -term * x * x / (n * (n - 1))
    return total


NODES = {count: [cosine(PI * (2 * i + 1) / (2 * count)) for i in range(count)] for count in (4, 5)}


def polynomial(f, low, high, count):
    """The coefficients, lowest first, of the polynomial through f at the Chebyshev nodes of [low, high]: Newton's form, expanded."""
    nodes = [(low + high) / 2 + (high - low) / 2 * u for u in NODES[count]]
    divided = [f(t) for t in nodes]
    for order in range(1, count):
        for i in range(count - 1, order - 1, -1):
            divided[i] = (divided[i] - divided[i - 1]) / (nodes[i] - nodes[i - order])
    result = [divided[-1]]
    for i in range(count - 2, -1, -1):  # result = result * (t - nodes[i]) + divided[i]
        result = [Decimal(0)] + result
        for k in range(len(result) - 1):
            result[k] -= nodes[i] * result[k + 1]
        result[0] += divided[i]
    return result


def segment(f, origin, low, high, zero=False, slope=0, base=Decimal(0)):
    """One entry: f(origin + t) - base for t in [low, high]; zero: f(origin) is 0, and slope t is left out."""
    x0 = to_decimal(origin)
    low, high = to_decimal(low), to_decimal(high)
    if zero:
        c = [Decimal(0)] + polynomial(lambda t: f(x0 + t) / t - slope, low, high, 4)
    else:
        c = polynomial(lambda t: f(x0 + t) - base, low, high, 5)
    return [fp32(v) for v in c + [base]]


def around(i, parts):
    """Segment i of [1, 2] in `parts`, centred; the ends are halves."""
    half = Fraction(1, 2 * parts)
    return 1 + Fraction(i, parts), (-half if i > 0 else Fraction(0)), (half if i < parts else Fraction(0))


def odd_function(f, entries):
    """[0, 2^-5) around 0 without the t that the recipe adds, then sixteen segments a binade, t from 0 up."""
    out = [segment(f, Fraction(0), Fraction(0), SMALLEST, zero=True, slope=1)]
    for i in range(entries - 1):
        width = SMALLEST / 16 * 2 ** (i // 16)
        out.append(segment(f, SMALLEST * 2 ** (i // 16) + width * (i % 16), Fraction(0), width))
    return out


def entries():
    """All entries in order; each is the six words of WORDS."""
    out = [segment(exp2, Fraction(j, 16), Fraction(-1, 32), Fraction(1, 32)) for j in range(16)]
    for i in range(33):  # from 14 on the significand is halved, so that results around 0 come from one origin, 1
        scale = Fraction(1, 2) if i >= 14 else Fraction(1)
        origin, low, high = (v * scale for v in around(i, 32))
        logarithm = log2(to_decimal(origin))
        base = (logarithm * 2 ** 14).to_integral_value() / 2 ** 14
        if origin == 1:  # both sides of 1 are one entry's business, or half of it
            out.append(segment(log2, origin, low, high, zero=True))
        else:
            out.append(segment(log2, origin, low, high, base=base))
    out += [segment(lambda x: 1 / x, *around(i, 32)) for i in range(33)]
    for scale in (1, 2):
        out += [segment(lambda x: 1 / x.sqrt(), *(v * scale for v in around(i, 32))) for i in range(33)]
    out += odd_function(tanh, TANH_ENTRIES)
    out += odd_function(erf, ERF_ENTRIES)
    assert len(out) == ERF + ERF_ENTRIES
    return out


def tables():
    """For each of WORDS its column, DEPTH words long."""
    rows = entries()
    rows += [[0] * len(WORDS)] * (DEPTH - len(rows))
    return {word: [row[k] for row in rows] for k, word in enumerate(WORDS)}


BANNER = "// Generated by scripts/spec/vpu_tables.py. Do not edit.\n"
FIRST = (("exp2", EXP2), ("log2", LOG2), ("reciprocal", RECIPROCAL), ("rsqrt", RSQRT), ("tanh", TANH), ("erf", ERF))


def systemverilog():
    out = [BANNER, "`default_nettype none\n", "// Tables of the VPU's functions; docs/vpu_functions.md says what they hold.\n",
           "package vpu_table_pkg;\n", "  // verilator lint_off UNUSEDPARAM\n"]
    for name, first in FIRST:
        out.append(f"  localparam logic [31:0] First{name.capitalize()} = 32'd{first};\n")
    for word, column in tables().items():
        out.append(f"  localparam logic [31:0] {word.capitalize()} [{DEPTH}] = '{{\n")
        lines = [", ".join(f"32'h{v:08x}" for v in column[i:i + 6]) for i in range(0, DEPTH, 6)]
        out.append("    " + ",\n    ".join(lines) + "\n  };\n")
    out += ["  // verilator lint_on UNUSEDPARAM\n", "endpackage\n`default_nettype wire\n"]
    return "".join(out)


def cpp():
    out = [BANNER, "/// Tables of the VPU's functions; docs/vpu_functions.md says what they hold.\n", "#pragma once\n#include <cstdint>\n\n",
           "namespace weft::spec::vpu_table {\n\n"]
    for name, first in FIRST:
        out.append(f"inline constexpr uint32_t kFirst{name.capitalize()} = {first};\n")
    for word, column in tables().items():
        out.append(f"inline constexpr uint32_t k{word.capitalize()}[{DEPTH}] = {{\n")
        out += ["    " + ", ".join(f"0x{v:08x}" for v in column[i:i + 8]) + ",\n" for i in range(0, DEPTH, 8)]
        out.append("};\n")
    out.append("\n}  // namespace weft::spec::vpu_table\n")
    return "".join(out)

