"""A vfio-user client, written from the text of the protocol alone (version 0.1; libvfio-user calls the text 0.9.2)."""
import json
import struct
from dataclasses import dataclass

from client_memory import MessageMemory
from wire import Refused, Wire, expect

VERSION, DMA_MAP, DMA_UNMAP, DEVICE_GET_INFO, GET_REGION_INFO, GET_REGION_IO_FDS, GET_IRQ_INFO, SET_IRQS = range(1, 9)
REGION_READ, REGION_WRITE, DEVICE_RESET = 9, 10, 13

# Regions and interrupts of a PCI device, by VFIO's numbers.
BAR0, BAR1, BAR2, BAR3, BAR4, BAR5, ROM, CONFIG, VGA = range(9)
INTX, MSI, MSIX, ERR, REQ = range(5)

FLAG_RESET, FLAG_PCI = 1, 2
REGION_READABLE, REGION_WRITABLE, REGION_MMAP, REGION_CAPS = 1, 2, 4, 8
IRQ_EVENTFD, IRQ_MASKABLE, IRQ_AUTOMASKED, IRQ_NORESIZE = 1, 2, 4, 8
DATA_NONE, DATA_BOOL, DATA_EVENTFD, MASK, UNMASK, TRIGGER = (1 << bit for bit in range(6))
DMA_READABLE, DMA_WRITABLE = 1, 2
UNMAP_ALL = 1 << 1  # VFIO's: address and size are 0
CAP_SPARSE_MMAP, CAP_TYPE = 1, 2

VERSION_BODY = struct.Struct("<HH")
MAP_BODY = struct.Struct("<IIQQQ")  # argsz, flags, offset, address, size
UNMAP_BODY = struct.Struct("<IIQQ")  # argsz, flags, address, size
DEVICE_BODY = struct.Struct("<IIII")  # argsz, flags, regions, interrupts
REGION_BODY = struct.Struct("<IIIIQQ")  # argsz, flags, index, first capability, size, offset
CAP_HEADER = struct.Struct("<HHI")  # id, version, next
SPARSE_BODY = struct.Struct("<II")  # areas, reserved
SPARSE_AREA = struct.Struct("<QQ")  # offset, size
IO_FDS_BODY = struct.Struct("<IIII")  # argsz, flags, index, count
IRQ_BODY = struct.Struct("<IIII")  # argsz, flags, index, count
IRQ_SET_BODY = struct.Struct("<IIIII")  # argsz, flags, index, start, count
ACCESS_BODY = struct.Struct("<QII")  # offset, region, count

# What a side that says nothing can do.
DEFAULT_MSG_FDS, DEFAULT_TRANSFER = 1, 1 << 20
OURS = {"max_msg_fds": 8, "max_data_xfer_size": 1 << 20, "max_dma_maps": 65535, "pgsizes": 4096,
        "twin_socket": {"supported": False}, "write_multiple": False}


def version_data(capabilities):
    return json.dumps({"capabilities": capabilities}).encode() + b"\0"


@dataclass
class RegionInfo:
    argsz: int
    flags: int
    index: int
    cap_offset: int
    size: int
    offset: int
    sparse: list  # (offset, size) that may be mapped; None: the region has no such capability


def region_capabilities(payload, first):
    """Walks the list of capabilities: id -> (version, bytes behind its header up to the reply's end)."""
    found, at = {}, first
    while at:
        expect(REGION_BODY.size <= at <= len(payload) - CAP_HEADER.size, f"capability at {at} of a reply of {len(payload)} bytes")
        identity, version, following = CAP_HEADER.unpack_from(payload, at)
        expect(identity not in found, f"capability {identity} twice, or a list that is a ring")
        found[identity] = (version, payload[at + CAP_HEADER.size:])
        at = following
    return found


def sparse_areas(capabilities):
    if CAP_SPARSE_MMAP not in capabilities:
        return None
    version, body = capabilities[CAP_SPARSE_MMAP]
    expect(version == 1, f"sparse mmap of version {version}")
    count, _ = SPARSE_BODY.unpack_from(body)
    expect(len(body) >= SPARSE_BODY.size + count * SPARSE_AREA.size, f"{count} areas do not fit into the reply")
    return [SPARSE_AREA.unpack_from(body, SPARSE_BODY.size + i * SPARSE_AREA.size) for i in range(count)]


def read_region_info(payload, index):
    expect(len(payload) >= REGION_BODY.size, f"region info of {len(payload)} bytes")
    argsz, flags, answered, first, size, offset = REGION_BODY.unpack_from(payload)
    expect(answered == index, f"info of region {answered}, not {index}")
    expect(argsz == len(payload), f"argsz {argsz} of a reply of {len(payload)} bytes")
    expect(bool(flags & REGION_CAPS) == (first != 0), f"flags {flags:#x} with the first capability at {first}")
    return RegionInfo(argsz, flags, index, first, size, offset, sparse_areas(region_capabilities(payload, first)))


class Client:
    """A connection with its agreed version and limits. Sizes in bytes, addresses are DMA addresses. Every call raises
    Refused for an error reply, Closed if the server has gone, Deviation for what the text does not allow."""

    def __init__(self, path, capabilities=None, version=(0, 1)):
        self.capabilities = OURS if capabilities is None else capabilities
        self.memory = MessageMemory(self.capabilities.get("max_data_xfer_size", DEFAULT_TRANSFER))
        self.wire = Wire(path, self.memory)
        try:
            self._negotiate(version)
        except BaseException:
            self.close()
            raise

    def close(self):
        self.wire.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _negotiate(self, version):
        reply = self.wire.call(VERSION, VERSION_BODY.pack(*version) + version_data(self.capabilities))
        expect(len(reply.payload) >= VERSION_BODY.size, f"VERSION reply of {len(reply.payload)} bytes")
        self.version = VERSION_BODY.unpack_from(reply.payload)
        expect(self.version[0] == version[0], f"major {self.version[0]} for {version[0]}")
        expect(self.version[1] <= version[1], f"minor {self.version[1]} for {version[1]}")
        data = reply.payload[VERSION_BODY.size:]
        expect(not data or data.endswith(b"\0"), "version data without its final zero")
        told = json.loads(data[:-1].decode()) if data else {}
        self.server = told.get("capabilities", {})
        expect(set(self.server) <= set(self.capabilities), f"capabilities {set(self.server) - set(self.capabilities)} were not proposed")
        self.msg_fds = self.server.get("max_msg_fds", DEFAULT_MSG_FDS)
        self.transfer = self.server.get("max_data_xfer_size", DEFAULT_TRANSFER)

    def device_info(self, argsz=DEVICE_BODY.size):
        reply = self.wire.call(DEVICE_GET_INFO, DEVICE_BODY.pack(argsz, 0, 0, 0))
        expect(len(reply.payload) == DEVICE_BODY.size, f"device info of {len(reply.payload)} bytes")
        told, flags, regions, interrupts = DEVICE_BODY.unpack(reply.payload)
        expect(told == DEVICE_BODY.size, f"argsz {told} of device info")
        return flags, regions, interrupts

    def region_info(self, index, argsz=REGION_BODY.size):
        """Asks again with room for the capabilities if the server has some."""
        reply = self.wire.call(GET_REGION_INFO, REGION_BODY.pack(argsz, 0, index, 0, 0, 0))
        needed, = struct.unpack_from("<I", reply.payload)
        if needed > argsz:
            expect(len(reply.payload) == REGION_BODY.size, "more bytes than argsz allows")
            return self.region_info(index, needed)
        info = read_region_info(reply.payload, index)
        expect(bool(info.flags & REGION_MMAP) == bool(reply.fds), f"flags {info.flags:#x} with {len(reply.fds)} descriptors")
        return info

    def io_fds(self, index):
        """Sub-regions with descriptors: how many. An optional feature."""
        reply = self.wire.call(GET_REGION_IO_FDS, IO_FDS_BODY.pack(4096, 0, index, 0))
        told, flags, answered, count = IO_FDS_BODY.unpack_from(reply.payload)
        expect((told, flags, answered) == (len(reply.payload), 0, index), "region IO descriptors of another size, flags or index")
        return count

    def irq_info(self, index, argsz=IRQ_BODY.size):
        reply = self.wire.call(GET_IRQ_INFO, IRQ_BODY.pack(argsz, 0, index, 0))
        expect(len(reply.payload) == IRQ_BODY.size, f"interrupt info of {len(reply.payload)} bytes")
        told, flags, answered, count = IRQ_BODY.unpack(reply.payload)
        expect((told, answered) == (IRQ_BODY.size, index), f"argsz {told}, index {answered} of interrupt info {index}")
        return flags, count

    def set_irqs(self, flags, start, count, booleans=b"", fds=(), index=MSIX):
        body = IRQ_SET_BODY.pack(IRQ_SET_BODY.size + len(booleans), flags, index, start, count) + bytes(booleans)
        expect(not self.wire.call(SET_IRQS, body, fds).payload, "reply to SET_IRQS with a payload")

    def set_eventfds(self, fds):
        """One eventfd for each vector from 0, in as many messages as the server's max_msg_fds makes necessary."""
        for start in range(0, len(fds), self.msg_fds):
            part = fds[start:start + self.msg_fds]
            self.set_irqs(DATA_EVENTFD | TRIGGER, start, len(part), fds=part)

    def read(self, region, offset, count):
        reply = self.wire.call(REGION_READ, ACCESS_BODY.pack(offset, region, count))
        expect(reply.payload[:ACCESS_BODY.size] == ACCESS_BODY.pack(offset, region, count), "another access than was asked for")
        data = reply.payload[ACCESS_BODY.size:]
        expect(len(data) == count, f"{len(data)} bytes for a read of {count}")
        return data

    def write(self, region, offset, data):
        body = ACCESS_BODY.pack(offset, region, len(data))
        reply = self.wire.call(REGION_WRITE, body + bytes(data))
        expect(reply.payload == body, f"reply {reply.payload.hex()} to the write {body.hex()}")

    def number(self, region, offset, size):
        return int.from_bytes(self.read(region, offset, size), "little")

    def put_number(self, region, offset, size, value):
        self.write(region, offset, value.to_bytes(size, "little"))

    def map(self, address, size, fd=-1, offset=0, flags=DMA_READABLE | DMA_WRITABLE):
        body = MAP_BODY.pack(MAP_BODY.size, flags, offset, address, size)
        expect(not self.wire.call(DMA_MAP, body, [fd] if fd >= 0 else []).payload, "reply to DMA_MAP with a payload")

    def map_area(self, area, flags=DMA_READABLE | DMA_WRITABLE):
        if area.fd < 0:
            self.memory.areas.append(area)
        self.map(area.address, area.size, area.fd, 0, flags)

    def unmap(self, address, size, flags=0):
        body = UNMAP_BODY.pack(UNMAP_BODY.size, flags, address, size)
        expect(self.wire.call(DMA_UNMAP, body).payload == body, "reply to DMA_UNMAP is not the entry of the request")

    def reset(self):
        expect(not self.wire.call(DEVICE_RESET).payload, "reply to DEVICE_RESET with a payload")


def errno_of(call, *arguments, **options):
    """The errno with which the server refuses the call; 0: it does not."""
    try:
        call(*arguments, **options)
    except Refused as refusal:
        return refusal.number
    return 0
