"""Callbacks of JAX: jax.pure_callback, jax.experimental.io_callback, jax.debug.print and jax.debug.callback.

A program names a Python function by a number; the plugin's library calls it through C when the program comes to it, in
the thread of a chip. A function is kept while a program that has been lowered or compiled names it.
"""

import atexit
import contextlib
import ctypes
import dataclasses
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import callback as jax_callback
from jax._src import core, debugging, dtypes
from jax._src.interpreters import mlir

_CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_size_t)
_HOLD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_int)


class _Functions(ctypes.Structure):
    """weft_pjrt_callbacks of host/pjrt/callbacks.hpp."""

    _fields_ = (("call", _CALL), ("hold", _HOLD))


@dataclasses.dataclass
class _Entry:
    function: Callable[..., Sequence[Any]]
    operands: list[tuple[tuple[int, ...], np.dtype]]
    results: list[tuple[tuple[int, ...], np.dtype]]
    held: int = 0


class _Held:
    """Keeps a function as long as it lives."""


_entries: dict[int, _Entry] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()


def _hold(number: int, change: int) -> int:
    with _lock:
        entry = _entries.get(number)
        if entry is None:
            return 1
        entry.held += change
        if entry.held == 0:
            del _entries[number]
    return 0


def _array(place: int | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(ctypes.string_at(place, size) if size else b"", np.uint8).view(dtype).reshape(shape)


def _compute(entry: _Entry, operands: Any, results: Any) -> None:
    values = entry.function(*(_array(operands[i], *entry.operands[i]) for i in range(len(entry.operands))))
    if len(values) != len(entry.results):
        raise RuntimeError(f"it returns {len(values)} arrays; {len(entry.results)} are expected")
    for i, (value, (shape, dtype)) in enumerate(zip(values, entry.results, strict=True)):
        made = np.asarray(dtypes.canonicalize_value(np.asarray(value)))
        if made.shape != shape or made.dtype != dtype:
            raise RuntimeError(f"its result {i} is {made.dtype}{list(made.shape)}; {dtype}{list(shape)} is expected")
        if made.size:
            ctypes.memmove(results[i], made.tobytes(), made.nbytes)


def _call(number: int, operands: Any, results: Any, message: int, size: int) -> int:
    try:
        _compute(_entries[number], operands, results)
    except BaseException as error:  # nothing may go up into the library
        text = f"{type(error).__name__}: {error}".encode()[: size - 1].decode(errors="ignore").encode()
        ctypes.memmove(message, text + b"\0", len(text) + 1)
        return 1
    return 0


_FUNCTIONS = _Functions(_CALL(_call), _HOLD(_hold))


def _types(avals: Sequence[Any]) -> list[tuple[tuple[int, ...], np.dtype]]:
    physical = [core.physical_aval(aval) for aval in avals]
    return [(tuple(aval.shape), np.dtype(bool if aval.dtype == dtypes.float0 else aval.dtype)) for aval in physical]


def _emit(context, function, token, operands, operand_avals, result_avals, *, has_side_effect, partitioned) -> tuple[Any, Any, Any]:
    """The call of a function as an operator of the program: its results, and the token behind it."""
    if partitioned:
        raise NotImplementedError("weft has no callbacks on the parts of an array (partitioned=True)")
    number, held = next(_numbers), _Held()
    _entries[number] = _Entry(function, _types(operand_avals), _types(result_avals), 1)
    weakref.finalize(held, _hold, number, -1).atexit = False
    context.module_context.add_keepalive(held)
    if token is not None:
        operands = [token, *operands]
        context = dataclasses.replace(context, avals_in=[core.abstract_token, *context.avals_in], avals_out=[core.abstract_token, *context.avals_out])
    rule = jax.ffi.ffi_lowering("weft.callback", has_side_effect=has_side_effect, api_version=2, backend_config=str(number))
    results = list(rule(context, *operands))
    if token is not None:
        token = results.pop(0)
    return results, token, None


def _end(library: ctypes.CDLL) -> None:
    """Calls that are under way end, and those of programs that come later fail: Python is going to be gone."""
    with contextlib.suppress(Exception):  # what has failed is told by JAX, which waits behind this
        jax.effects_barrier()
    library.weft_pjrt_set_callbacks(None)


def register() -> None:
    """Lowers callbacks for the platform 'weft'."""
    others = jax_callback.emit_python_callback

    def emit_python_callback(context, callback, token, operands, operand_avals, result_avals, *, has_side_effect, returns_token=True, partitioned=False, sharding=None):
        if tuple(context.module_context.platforms) == ("weft",):
            return _emit(context, callback, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect, partitioned=partitioned)
        return others(context, callback, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect, returns_token=returns_token,
                      partitioned=partitioned, sharding=sharding)

    jax_callback.emit_python_callback = emit_python_callback
    mlir.register_lowering(debugging.debug_callback_p, debugging.debug_callback_lowering, platform="weft", cacheable=False)
    mlir.register_lowering(debugging.debug_print_p, debugging.debug_print_lowering_rule, platform="weft", cacheable=False)


def connect(library: ctypes.CDLL) -> None:
    """Tells the plugin's library how to call them, until Python ends. ImportError: it is of another version."""
    if not hasattr(library, "weft_pjrt_set_callbacks"):
        raise ImportError(f"{library._name} has no callbacks: it is of another version than this package")
    library.weft_pjrt_set_callbacks.argtypes, library.weft_pjrt_set_callbacks.restype = [ctypes.POINTER(_Functions)], None
    library.weft_pjrt_set_callbacks(ctypes.byref(_FUNCTIONS))
    atexit.register(_end, library)
