"""Weft's chips as devices of JAX: registers the platform 'weft'.

JAX calls initialize() when it looks for devices. WEFT_CHIPS names the chip (v5e-1mxu by default) or a slice of several
(v5e-2x2), WEFT_CORE the core (fast by default, rtl, lockstep), WEFT_PJRT_LIBRARY the plugin's library if it does not
lie beside this file or in the build tree, WEFT_SIM the simulator if it is not the wheel's.
"""

import pathlib

from jax._src import compilation_cache, xla_bridge
from jax._src.interpreters import mlir

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


def initialize() -> None:
    """Called by JAX. The simulator starts when JAX asks for devices for the first time."""
    path = library()
    prepare(path)
    _keep_compiled_programs()
    _take_donated_arrays()
    xla_bridge.register_plugin("weft", priority=_PRIORITY, library_path=str(path))
