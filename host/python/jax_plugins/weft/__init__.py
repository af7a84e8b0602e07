"""Weft's chips as devices of JAX: registers the platform 'weft'.

JAX calls initialize() when it looks for devices. WEFT_CHIPS names the chip (v5e-1mxu by default), WEFT_CORE the core
(fast by default, rtl, lockstep), WEFT_PJRT_LIBRARY the plugin's library if it does not lie beside this file or in the
build tree, WEFT_SIM the simulator.
"""

import os
import pathlib

from jax._src import xla_bridge

_NAME = "libweft_pjrt.so"
_PRIORITY = 500  # above the CPU's, so that Weft is the default where it is installed


def library() -> pathlib.Path:
    """The plugin's library. FileNotFoundError tells where it was looked for."""
    if named := os.environ.get("WEFT_PJRT_LIBRARY"):
        places = [pathlib.Path(named)]
    else:
        here = pathlib.Path(__file__).resolve()
        places = [here.with_name(_NAME), here.parents[4] / "build" / "lib" / _NAME]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"Weft's PJRT plugin was not found: looked for {', '.join(map(str, places))}")


def initialize() -> None:
    """Called by JAX. The simulator starts when JAX asks for devices for the first time."""
    xla_bridge.register_plugin("weft", priority=_PRIORITY, library_path=str(library()))
