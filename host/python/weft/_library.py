"""The shared library, found and loaded once a process, and its calls."""

import ctypes
import functools
import os
import pathlib
from typing import Any

from weft import _abi
from weft.errors import error_of, fresh

NAME = "libweft_pjrt.so"
_HERE = pathlib.Path(__file__).resolve().parent
_WHEEL = _HERE.parent / "jax_plugins" / "weft"  # the plugin's folder, which holds the library and what it needs


def library_path() -> pathlib.Path:
    """Where the library is: WEFT_PJRT_LIBRARY, the wheel, the build tree. FileNotFoundError tells where it was looked for."""
    if named := os.environ.get("WEFT_PJRT_LIBRARY"):
        places = [pathlib.Path(named)]
    else:
        places = [_WHEEL / NAME, _HERE.parents[2] / "build" / "lib" / NAME]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"Weft's PJRT plugin was not found: looked for {', '.join(map(str, places))}")


def prepare(path: pathlib.Path) -> None:
    """For the library of a wheel: its simulator, and its shared libraries, of which one that is loaded is found by its name."""
    order = path.parent / "libs" / "order.txt"
    if not order.is_file():
        return
    os.environ.setdefault("WEFT_SIM", str(path.parent / "bin" / "weft-sim"))
    for name in order.read_text().split():
        ctypes.CDLL(str(order.with_name(name)))


@functools.cache
def library() -> ctypes.CDLL:
    """The same instance as JAX's plugin, if that is loaded: one driver for a process. ImportError: it is of another version."""
    path = library_path()
    prepare(path)
    loaded = ctypes.CDLL(str(path))
    for name, (result, arguments) in _abi.CALLS.items():
        try:
            function = getattr(loaded, name)
        except AttributeError:
            raise ImportError(f"{path} has no call {name}: it is of another version than this package") from None
        function.restype, function.argtypes = result, arguments
    version = loaded.weft_version()
    if (version >> 16, version >> 8 & 0xFF) != (_abi.VERSION_MAJOR, _abi.VERSION_MINOR):
        raise ImportError(f"{path} is of version {version >> 16}.{version >> 8 & 0xFF}, this package of {_abi.VERSION_MAJOR}.{_abi.VERSION_MINOR}")
    return loaded


def call(name: str, *arguments: Any) -> None:
    """Calls a function of weft.h that returns a status, with ctypes arguments: for functions that have no Python form yet. Raises `weft.Error`."""
    loaded = library()
    code = getattr(loaded, name)(*arguments)
    if code != _abi.Error.OK:
        info = fresh(_abi.weft_error_info)
        if loaded.weft_last_error(ctypes.byref(info)) != _abi.Error.OK:
            info.code = _abi.Error.OK
        raise error_of(code, info)


def call_above(name: str, *arguments: Any) -> None:
    """The same of a call of weft/model.h or weft/collective.h, whose last argument, added here, tells what went wrong."""
    info = fresh(_abi.weft_error_info)
    code = getattr(library(), name)(*arguments, ctypes.byref(info))
    if code != _abi.Error.OK:
        raise error_of(code, info)
