"""Matrix products."""

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weft._library import call_above

if TYPE_CHECKING:
    from weft.device import Device


def gemm(a: NDArray[Any], b: NDArray[Any], *, precision: str | None = None, device: "Device | None" = None) -> NDArray[Any]:
    """C = A B on a device: the bits of `weft gemm` and of the golden model.

    a: M x K, b: K x N, both float32 or both int8, of any strides. The result: M x N, float32 or int32.
    precision: "bf16" (operands rounded to bf16, sums in f32; the default of float32), "bf16x3" and "bf16x6" (operands as sums of
    2 and 3 numbers of bf16, docs/numerics.md), "int8" (exact; the default of int8). device: None: `default_device()`.
    An M, K or N of 0 gives what NumPy gives, and launches nothing. Blocks; calls on one device take turns.
    ValueError: shapes that do not fit, a precision that does not go with the dtype. TypeError: other dtypes.
    """
    for name, operand in (("a", a), ("b", b)):
        if not isinstance(operand, np.ndarray):
            raise TypeError(f"{name} is a {type(operand).__name__}: gemm takes NumPy arrays")
        if operand.dtype not in (np.float32, np.int8):
            raise TypeError(f"{name} is of {operand.dtype}: gemm takes float32 or int8")
        if operand.ndim != 2:
            raise ValueError(f"{name} has the shape {operand.shape}: gemm takes matrices")
    if a.dtype != b.dtype:
        raise TypeError(f"a is of {a.dtype} and b of {b.dtype}: both float32, or both int8")
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"a is {a.shape[0]} x {a.shape[1]} and b {b.shape[0]} x {b.shape[1]}: a's columns and b's rows must be equal")
    integers = a.dtype == np.int8
    if precision is None:
        precision = "int8" if integers else "bf16"
    if precision not in (("int8",) if integers else ("bf16", "bf16x3", "bf16x6")):
        raise ValueError(f"precision {precision!r} of {a.dtype}: int8 has int8, float32 has bf16, bf16x3 and bf16x6")
    (m, k), n = a.shape, b.shape[1]
    c = np.zeros((m, n), np.int32 if integers else np.float32)
    if 0 in (m, k, n):
        return c
    if device is None:
        from weft.device import default_device

        device = default_device()
    left, right = np.ascontiguousarray(a), np.ascontiguousarray(b)
    with device._runner_handle() as runner, device._handle:
        call_above("weft_runner_gemm", runner, precision.encode(), m, k, n, _pointer(left), _pointer(right), _pointer(c), None)
    return c


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
