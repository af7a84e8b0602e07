"""Weft's chips as devices of JAX: registers the platform 'weft'.

JAX calls initialize() when it looks for devices. WEFT_CHIPS names the chip (v5e-1mxu by default) or a slice of several
(v5e-2x2), WEFT_CORE the core (fast by default, rtl, lockstep), WEFT_PJRT_LIBRARY the plugin's library if it does not
lie beside this file or in the build tree, WEFT_SIM the simulator if it is not the wheel's.
"""

import ctypes
import os
import pathlib

from jax._src import compilation_cache, xla_bridge

_NAME = "libweft_pjrt.so"
_PRIORITY = 500  # above the CPU's, so that Weft is the default where it is installed
_HERE = pathlib.Path(__file__).resolve().parent


def library() -> pathlib.Path:
    """The plugin's library. FileNotFoundError tells where it was looked for."""
    if named := os.environ.get("WEFT_PJRT_LIBRARY"):
        places = [pathlib.Path(named)]
    else:
        places = [_HERE / _NAME, _HERE.parents[3] / "build" / "lib" / _NAME]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"Weft's PJRT plugin was not found: looked for {', '.join(map(str, places))}")


def _use_the_wheels_own() -> None:
    """The simulator of the wheel, and its shared libraries: one that is loaded is found by its name."""
    order = _HERE / "libs" / "order.txt"
    if not order.is_file():
        return
    os.environ.setdefault("WEFT_SIM", str(_HERE / "bin" / "weft-sim"))
    for name in order.read_text().split():
        ctypes.CDLL(str(order.with_name(name)))


def _keep_compiled_programs() -> None:
    """JAX's compilation cache is for the platforms that JAX lists; Weft's programs can be serialized as well."""
    known = compilation_cache.is_cache_used

    def is_cache_used(backend) -> bool:
        return compilation_cache._is_cache_enabled() if backend.platform == "weft" else known(backend)

    compilation_cache.is_cache_used = is_cache_used


def initialize() -> None:
    """Called by JAX. The simulator starts when JAX asks for devices for the first time."""
    path = library()
    if path.parent == _HERE:
        _use_the_wheels_own()
    _keep_compiled_programs()
    xla_bridge.register_plugin("weft", priority=_PRIORITY, library_path=str(path))
