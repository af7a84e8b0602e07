"""Memory of the client that a device reaches: as a file that both map, or by messages that the client answers."""
import errno
import mmap
import os
import struct

from wire import Refused, expect

DMA_READ, DMA_WRITE = 11, 12
DMA_ACCESS = struct.Struct("<QQ")  # address, count
PAGE = 4096


class Area:
    """`size` bytes at DMA address `address`. `data` is writable memory; `fd` is -1 for memory that is not shared."""

    def __init__(self, address, size, shared):
        self.address, self.size = address, size
        self.fd = -1
        if shared:
            self.fd = os.memfd_create("client memory")
            os.ftruncate(self.fd, size)
            self.data = mmap.mmap(self.fd, size)
        else:
            self.data = bytearray(size)

    def close(self):
        if self.fd >= 0:
            self.data.close()
            os.close(self.fd)
            self.fd = -1

    def at(self, address, size):
        start = address - self.address
        assert 0 <= start <= self.size - size, f"{size} bytes at {address:#x}"
        return bytes(self.data[start:start + size])

    def put(self, address, content):
        start = address - self.address
        assert 0 <= start <= self.size - len(content), f"{len(content)} bytes at {address:#x}"
        self.data[start:start + len(content)] = content


class MessageMemory:
    """Answers DMA_READ and DMA_WRITE from areas. `most`: bytes that one message may ask for. `refuse`: errno for every
    access, 0: none. `sizes` counts the bytes of each message."""

    def __init__(self, most):
        self.most = most
        self.areas = []
        self.refuse = 0
        self.sizes = {DMA_READ: [], DMA_WRITE: []}

    def __call__(self, message):
        expect(len(message.payload) >= DMA_ACCESS.size, f"DMA message with a payload of {len(message.payload)} bytes")
        address, count = DMA_ACCESS.unpack_from(message.payload)
        data = message.payload[DMA_ACCESS.size:]
        expect(count <= self.most, f"DMA of {count} bytes in one message, where {self.most} were agreed")
        expect(len(data) == (count if message.command == DMA_WRITE else 0), f"DMA of {count} bytes with {len(data)} bytes of data")
        self.sizes[message.command].append(count)
        if self.refuse:
            raise Refused(self.refuse)
        for area in self.areas:
            if area.address <= address and address + count <= area.address + area.size:
                if message.command == DMA_READ:
                    return DMA_ACCESS.pack(address, count) + area.at(address, count)
                area.put(address, data)
                return DMA_ACCESS.pack(address, count)
        raise Refused(errno.EFAULT)
