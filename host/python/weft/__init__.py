"""Weft's chips from Python: devices, slices, buffers, queues, products and networks, over the C API.

>>> import numpy, weft
>>> weft.gemm(numpy.ones((2, 3), numpy.float32), numpy.ones((3, 2), numpy.float32))  # on the default device
array([[3., 3.],
       [3., 3.]], dtype=float32)

`devices` lists what could be opened, `open` opens it, `open_slice` chips that are joined by links; `gemm` and `compile` compute; `profile` notes what launches took.
docs/python.md has the walk. Times are cycles of the device's clock unless a name says seconds, sizes are bytes.

Threads: every call may come from any thread, and lets the others run while it waits. Objects may be released in any order;
what the device still uses lives on until the device is done with it. Fork: a child has none of its parent's devices, and
calls on them raise `Error` with INVALID_STATE; views of its parent's HOST buffers must not be touched there. Start
children that need a device with multiprocessing's "spawn", or open a device in the child.
"""

import pathlib as _pathlib

_here = _pathlib.Path(__file__).resolve().parent
if not (_here / "_abi.py").is_file():  # in the source tree: the build has written it
    __path__.append(str(_here.parents[2] / "build" / "python" / "weft"))

try:
    from weft._abi import ArgumentDtype, CollectiveAlgorithm, CollectiveKind, CoreKind, Counter, DeviceState, LinkState, Memory
except ModuleNotFoundError as error:
    raise ImportError("build/python/weft/_abi.py is not there: scripts/build writes it") from error
from weft._abi import Error as Status  # noqa: E402
from weft._library import call  # noqa: E402
from weft.buffers import Buffer  # noqa: E402
from weft.collectives import Collective  # noqa: E402
from weft.command_buffers import CommandBuffer  # noqa: E402
from weft.commands import Batch, CommandOptions  # noqa: E402
from weft.device import Device, DeviceEntry, DeviceInfo, default_device, devices, open  # noqa: E402, A004
from weft.errors import Error  # noqa: E402
from weft.events import Event  # noqa: E402
from weft.models import Model, TensorSpec, compile  # noqa: E402, A004
from weft.products import gemm  # noqa: E402
from weft.profiles import Launch, Operator, Profile, ProgramProfile, profile  # noqa: E402
from weft.programs import Argument, Kernel, Program  # noqa: E402
from weft.queues import Queue  # noqa: E402
from weft.runs import RunReport  # noqa: E402
from weft.semaphores import Semaphore  # noqa: E402
from weft.slices import ChipPlace, LinkInfo, Slice, SliceInfo, open_slice  # noqa: E402

__all__ = [
    "Argument", "ArgumentDtype", "Batch", "Buffer", "ChipPlace", "Collective", "CollectiveAlgorithm", "CollectiveKind", "CommandBuffer", "CommandOptions", "CoreKind", "Counter", "Device", "DeviceEntry", "DeviceInfo",
    "DeviceState", "Error", "Event", "Kernel", "Launch", "LinkInfo", "LinkState", "Memory", "Model", "Operator", "Profile", "Program", "ProgramProfile", "Queue",
    "RunReport", "Semaphore", "Slice", "SliceInfo", "Status", "TensorSpec", "call", "compile", "default_device", "devices", "gemm", "open", "open_slice", "profile",
]  # fmt: skip
