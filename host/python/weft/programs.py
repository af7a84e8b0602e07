"""Executables that are loaded, and their kernels."""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft import _abi
from weft._abi import ArgumentDirection, ArgumentDtype, ArgumentLayout
from weft._handles import Handle
from weft._library import call, library
from weft.buffers import Buffer
from weft.errors import fresh

# NumPy has no bf16: its bits.
NUMPY: dict[ArgumentDtype, np.dtype[Any]] = {ArgumentDtype.F32: np.dtype(np.float32), ArgumentDtype.BF16: np.dtype(np.uint16), ArgumentDtype.I8: np.dtype(np.int8), ArgumentDtype.I32: np.dtype(np.int32)}


@dataclass(frozen=True)
class Argument:
    """What a kernel takes. shape: elements, rows and columns; pitch_bytes: from one row to the next; size_bytes: that its buffer
    must have."""

    name: str
    dtype: ArgumentDtype
    layout: ArgumentLayout
    direction: ArgumentDirection
    shape: tuple[int, ...]
    pitch_bytes: int
    size_bytes: int

    def rows(self, buffer: Buffer, offset: int = 0) -> NDArray[Any]:
        """The elements in a HOST buffer as an array of `shape`, without what pads the rows; bf16 as uint16, its bits.
        ValueError: the argument is not laid out in rows, or the buffer is shorter."""
        if self.layout != ArgumentLayout.ROWS:
            raise ValueError(f"argument {self.name} is laid out as {self.layout.name}, not in rows")
        kind = NUMPY[self.dtype]
        rows = self.shape[0] if len(self.shape) == 2 else 1
        padded = buffer.view(kind, (rows, self.pitch_bytes // kind.itemsize), offset)
        return padded[:, : self.shape[-1]].reshape(self.shape) if len(self.shape) == 1 else padded[:, : self.shape[1]]


class Kernel:
    """A kernel of a program; it belongs to the program, which it keeps."""

    def __init__(self, handle: Handle, value: int) -> None:
        self._handle, self._value = handle, value
        info = fresh(_abi.weft_kernel_info)
        call("weft_kernel_get_info", value, ctypes.byref(info))
        self.name: str = info.name.decode()
        self.cycle_estimate: int = info.cycle_estimate
        self.macs: int = info.macs
        self.vmem_bytes: int = info.vmem_bytes
        self.arguments: list[Argument] = []
        for index in range(info.argument_count):
            a = fresh(_abi.weft_argument_info)
            call("weft_kernel_get_argument", value, index, ctypes.byref(a))
            self.arguments.append(
                Argument(a.name.decode(), ArgumentDtype(a.dtype), ArgumentLayout(a.layout), ArgumentDirection(a.direction), tuple(a.shape[: a.rank]), a.pitch_bytes, a.size_bytes)
            )

    def __repr__(self) -> str:
        return f"<weft.Kernel {self.name}({', '.join(a.name for a in self.arguments)})>"


class Program:
    """An executable in a device's HBM; made by `Device.load`. kernels: in their order."""

    def __init__(self, owner: Handle, executable: bytes) -> None:
        value = ctypes.c_void_p()
        with owner as device:
            call("weft_program_load", device, executable, len(executable), ctypes.byref(value))
        assert value.value is not None
        self._handle = Handle(value.value, "program", library().weft_program_release)
        self.kernels: list[Kernel] = []
        count = ctypes.c_uint32()
        with self._handle as program:
            call("weft_program_kernel_count", program, ctypes.byref(count))
            for index in range(count.value):
                kernel = ctypes.c_void_p()
                call("weft_program_get_kernel", program, index, ctypes.byref(kernel))
                assert kernel.value is not None
                self.kernels.append(Kernel(self._handle, kernel.value))

    def release(self) -> None:
        """Launches in flight go on. Its kernels raise INVALID_STATE afterwards. A second call does nothing."""
        self._handle.release()
