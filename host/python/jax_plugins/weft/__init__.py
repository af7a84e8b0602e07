"""Weft's chips as devices of JAX: registers the platform 'weft'.

JAX calls initialize() when it looks for devices. WEFT_CHIPS names the chip (v5e-1mxu by default) or a slice of several
(v5e-2x2), WEFT_CORE the core (fast by default, rtl, lockstep), WEFT_PJRT_LIBRARY the plugin's library if it does not
lie beside this file or in the build tree, WEFT_SIM the simulator if it is not the wheel's.
"""

import ctypes
import pathlib

import jax
from jax._src import compilation_cache, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lax import linalg

from jax_plugins.weft import callbacks
from weft._library import library_path, prepare

_PRIORITY = 500  # above the CPU's, so that Weft is the default where it is installed


def library() -> pathlib.Path:
    """The plugin's library. FileNotFoundError tells where it was looked for."""
    return library_path()


def _keep_compiled_programs() -> None:
    """JAX's compilation cache is for the platforms that JAX lists; Weft's programs can be serialized as well."""
    known = compilation_cache.is_cache_used

    def is_cache_used(backend) -> bool:
        return compilation_cache._is_cache_enabled() if backend.platform == "weft" else known(backend)

    compilation_cache.is_cache_used = is_cache_used


def _take_donated_arrays() -> None:
    """JAX tells a program which arguments are given away on the platforms that it lists."""
    if "weft" not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append("weft")


def _decompose() -> None:
    """JAX lowers eigh for the platforms that it lists, and writes lu as a loop for others; svd is made of eigh."""
    rules = {lower: jax.ffi.ffi_lowering(f"weft.eigh_{'lower' if lower else 'upper'}") for lower in (True, False)}

    def lowering(context, operand, *, lower, subset_by_index=None, **_):
        size = context.avals_in[0].shape[-1]
        if subset_by_index not in (None, (0, size)):
            raise NotImplementedError("eigh on weft computes all eigenvalues; subset_by_index is not supported")
        return rules[bool(lower)](context, operand)

    mlir.register_lowering(linalg.eigh_p, lowering, platform="weft")
    mlir.register_lowering(linalg.lu_p, jax.ffi.ffi_lowering("LuDecomposition"), platform="weft")


def initialize() -> None:
    """Called by JAX. The simulator starts when JAX asks for devices for the first time."""
    path = library()
    prepare(path)
    _keep_compiled_programs()
    _take_donated_arrays()
    xla_bridge.register_plugin("weft", priority=_PRIORITY, library_path=str(path))
    _decompose()
    callbacks.register()
    callbacks.connect(ctypes.CDLL(str(path)))
