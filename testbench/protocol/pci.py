"""A PCI function as configuration software finds it, by the PCI Local Bus and PCI Express texts. Offsets are theirs."""
from dataclasses import dataclass

import vfio_user as vu
from wire import expect

VENDOR, DEVICE, COMMAND, STATUS, REVISION, CLASS, HEADER_TYPE, BARS = 0x00, 0x02, 0x04, 0x06, 0x08, 0x09, 0x0E, 0x10
CAPABILITIES, INTERRUPT_PIN = 0x34, 0x3D
MEMORY_SPACE, BUS_MASTER, INTX_DISABLE = 1 << 1, 1 << 2, 1 << 10
STATUS_CAPABILITIES = 1 << 4
HEADER_BYTES, CONFIG_BYTES = 0x40, 0x100
CAP_MSI, CAP_PCIE, CAP_MSIX = 0x05, 0x10, 0x11
MSIX_ENABLE, MSIX_FUNCTION_MASK = 1 << 15, 1 << 14
MSIX_ENTRY, VECTOR_MASKED = 16, 1
DEVICE_CAPABILITIES, DEVICE_CONTROL, FLR_CAPABLE, FLR_START = 4, 8, 1 << 28, 1 << 15


@dataclass
class Bar:
    index: int
    size: int
    is_64: bool
    prefetchable: bool


class Function:
    def __init__(self, client):
        self.client = client

    def get(self, offset, size):
        return self.client.number(vu.CONFIG, offset, size)

    def put(self, offset, size, value):
        self.client.put_number(vu.CONFIG, offset, size, value)

    def capabilities(self):
        """Offset of each capability, by id."""
        expect(self.get(STATUS, 2) & STATUS_CAPABILITIES, "no list of capabilities")
        found, at = {}, self.get(CAPABILITIES, 1)
        while at:
            expect(HEADER_BYTES <= at < CONFIG_BYTES and at % 4 == 0, f"capability at {at:#x}")
            identity = self.get(at, 1)
            expect(identity not in found, f"capability {identity:#x} twice, or a list that is a ring")
            found[identity] = at
            at = self.get(at + 1, 1)
        return found

    def bars(self):
        """Sized by writing ones, as every bus driver does; what they held is put back."""
        found, index = [], 0
        while index < 6:
            at = BARS + 4 * index
            before = self.get(at, 4)
            self.put(at, 4, 0xFFFFFFFF)
            low = self.get(at, 4)
            self.put(at, 4, before)
            is_64 = low & 7 == 4
            if low:
                expect(low & 1 == 0, f"BAR {index} is of I/O space")
                expect(low & 6 in (0, 4), f"BAR {index} of type {low & 6}")
                mask = low & ~0xF
                if is_64:
                    expect(index < 5, "a BAR of 64 bits without its upper half")
                    upper = self.get(at + 4, 4)
                    self.put(at + 4, 4, 0xFFFFFFFF)
                    mask |= self.get(at + 4, 4) << 32
                    self.put(at + 4, 4, upper)
                else:
                    mask |= 0xFFFFFFFF << 32
                size = (~mask & ((1 << 64) - 1)) + 1
                expect(size & (size - 1) == 0 and size >= 16, f"BAR {index} of {size} bytes")
                expect(mask == ((1 << 64) - size), f"BAR {index} has holes in its mask {mask:#x}")
                found.append(Bar(index, size, is_64, bool(low & 8)))
            index += 2 if is_64 else 1
        return found

    def msix(self):
        """(offset of the capability, vectors, (region, offset) of the table, the same of the pending bits)."""
        at = self.capabilities()[CAP_MSIX]
        table, pending = self.get(at + 4, 4), self.get(at + 8, 4)
        return at, (self.get(at + 2, 2) & 0x7FF) + 1, (table & 7, table & ~7), (pending & 7, pending & ~7)

    def enable(self):
        """What a driver does first: BARs decode, and the device may access memory."""
        self.put(COMMAND, 2, self.get(COMMAND, 2) | MEMORY_SPACE | BUS_MASTER | INTX_DISABLE)
