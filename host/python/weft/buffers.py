"""Buffers: memory of a device, or of this process and mapped for the device."""

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft import _abi
from weft._abi import Error as Status
from weft._abi import Memory
from weft._handles import Handle
from weft._library import call, library
from weft.errors import Error, fresh

if TYPE_CHECKING:
    from weft.device import Device


class _Mapped:
    """What NumPy arrays on a HOST buffer refer to: the memory stays as long as one of them does."""

    def __init__(self, handle: Handle, pointer: int, size: int) -> None:
        self._handle = handle
        self.__array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (pointer, False)}


class Buffer:
    """`size` bytes in `memory`; made by `Device.buffer` and `Device.put`.

    The memory is freed when no reference to the buffer, no view of it and no command in flight that uses it is left.
    """

    def __init__(self, device: "Device", owner: Handle, size: int, memory: Memory) -> None:
        if not 0 < size < 1 << 64:
            raise Error(Status.INVALID_ARGUMENT, f"a buffer of {size} bytes: it has one at least")
        value = ctypes.c_void_p()
        with owner as opened:
            call("weft_buffer_create", opened, memory, size, ctypes.byref(value))
        assert value.value is not None
        self.device, self.size, self.memory = device, size, Memory(memory)
        self._handle: Handle | None = Handle(value.value, "buffer", library().weft_buffer_release)

    def __repr__(self) -> str:
        return f"<weft.Buffer of {self.size} bytes, {self.memory.name}{', released' if self._handle is None else ''}>"

    def release(self) -> None:
        """Gives the memory back, as soon as no view and no command in flight uses it. A second call does nothing."""
        self._handle = None  # views hold it as well

    def _held(self) -> Handle:
        if self._handle is None:
            raise Error(Status.INVALID_STATE, "the buffer has been released")
        return self._handle

    def view(self, dtype: DTypeLike = np.uint8, shape: tuple[int, ...] | None = None, offset: int = 0) -> NDArray[Any]:
        """A HOST buffer's memory as an array of `shape` (None: one dimension, as long as it goes) from byte `offset` on; writes go to
        the memory itself. What a command reads or writes must not be touched between its submission and its end.
        ValueError: the buffer is shorter. Error INVALID_ARGUMENT: it is in HBM."""
        handle = self._held()
        pointer = ctypes.c_void_p()
        with handle as buffer:
            call("weft_buffer_map", buffer, ctypes.byref(pointer))
        assert pointer.value is not None
        kind = np.dtype(dtype)
        if not 0 <= offset <= self.size:
            raise ValueError(f"offset {offset} in a buffer of {self.size} bytes")
        whole = np.asarray(_Mapped(handle, pointer.value, self.size))[offset:]
        count = len(whole) // kind.itemsize if shape is None else int(np.prod(shape, dtype=np.int64))
        if count * kind.itemsize > len(whole):
            raise ValueError(f"{count} elements of {kind} from byte {offset} on: the buffer has {self.size} bytes")
        flat = whole[: count * kind.itemsize].view(kind)
        return flat if shape is None else flat.reshape(shape)

    def write(self, array: NDArray[Any], offset: int = 0) -> None:
        """Copies the array's elements, dense and in C order, to byte `offset` on. Blocks. ValueError: they do not fit."""
        dense = np.ascontiguousarray(array)
        self._check(dense.nbytes, offset)
        if dense.nbytes == 0:
            return
        if self.memory == Memory.HOST:
            self.view(np.uint8, (dense.nbytes,), offset)[:] = dense.reshape(-1).view(np.uint8)
            return
        staging = self.device.buffer(dense.nbytes, Memory.HOST)
        staging.view()[:] = dense.reshape(-1).view(np.uint8)
        self.device._transfer_queue().copy(self, staging, dense.nbytes, destination_offset=offset).wait()

    def read(self, dtype: DTypeLike, shape: tuple[int, ...], offset: int = 0) -> NDArray[Any]:
        """A new array with what lies from byte `offset` on. Blocks. ValueError: the buffer is shorter."""
        array = np.empty(shape, dtype)
        self._check(array.nbytes, offset)
        if array.nbytes == 0:
            return array
        source = self
        if self.memory == Memory.HBM:
            source = self.device.buffer(array.nbytes, Memory.HOST)
            self.device._transfer_queue().copy(source, self, array.nbytes, source_offset=offset).wait()
            offset = 0
        array.reshape(-1).view(np.uint8)[:] = source.view(np.uint8, (array.nbytes,), offset)
        return array

    def _check(self, count: int, offset: int) -> None:
        self._held()
        if offset < 0 or offset + count > self.size:
            raise ValueError(f"{count} bytes from byte {offset} on: the buffer has {self.size} bytes")

    @property
    def device_address(self) -> int:
        """In HBM, or what the device sees of HOST memory."""
        info = fresh(_abi.weft_buffer_info)
        with self._held() as buffer:
            call("weft_buffer_get_info", buffer, ctypes.byref(info))
        return int(info.device_address)
