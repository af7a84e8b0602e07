"""The smallest driver of a Weft device: boot, admin queue, one I/O queue, copies. Written from docs/reference alone."""
import errno
import os
import select
import struct
import time
from dataclasses import dataclass

import vfio_user as vu
from client_memory import PAGE, Area
from crc32c import crc32c
from pci import Function
from wire import expect

VENDOR_AND_DEVICE = 0x7EF71AE1
MAGIC, ABI_MAJOR, ABI_MINOR = 0x54464557, 1, 0
# BAR0: (offset, bytes)
R_MAGIC, R_ABI_VERSION, R_CAPABILITIES, R_DEVICE_STATE = (0x00, 4), (0x04, 4), (0x10, 4), (0x14, 4)
R_BOOT_STAGE, R_BOOT_ERROR, R_RESET_CONTROL, R_RESET_GENERATION = (0x18, 4), (0x1C, 4), (0x38, 4), (0x3C, 4)
R_PARAMETER_PAGE, R_BOOT_CONTROL, R_BOOT_ANSWER_NONCE = (0x50, 8), (0x58, 4), (0x60, 8)
R_HBM_BYTES, R_HBM_RESERVED_BYTES = (0x68, 8), (0x70, 8)
STATE_PRESENT, STATE_READY, STATE_FAILED = 1, 3, 6
RESET_KEY = 0x52455345
ADMIN_RING_ENTRIES = 32

SUBMISSION = struct.Struct("<BBHHHHHIQQQQQI")  # up to the CRC
COMPLETION = struct.Struct("<QQIIHHI")
PARAMETERS = struct.Struct("<IIQQQQQQ")
ANSWER_VERSION, ANSWER_NONCE = 64, 80
ENTRY_BYTES, COMPLETION_BYTES = 64, 32
LOG_BYTES, FAULT_BYTES = 256 * 32, 64 * 256

CREATE_QUEUE, DELETE_QUEUE = 65, 66
COPY, FILL, TIMESTAMP, NOP = 2, 3, 7, 8
FLAG_INTERRUPT = 2
HBM = 1 << 63
OK, DMA_FAULT = 0, 17
BASE = 0x10000000
PATIENCE_S = 60


@dataclass
class Completion:
    start_cycle: int
    end_cycle: int
    tag: int
    queue_head: int
    command_id: int
    queue_id: int
    status: int

    @property
    def code(self):
        return self.status >> 5 & 0x7FFF


class Ring:
    """A submission ring and its completion ring. Free-running indices."""

    def __init__(self, device, queue, entries, submission, completion):
        self.device, self.queue, self.entries = device, queue, entries
        self.submission, self.completion = submission, completion
        self.tail = self.head = 0

    def submit(self, opcode, arg0=0, arg1=0, size=0, flags=0, tag=0):
        slot, lap = self.tail % self.entries, self.tail // self.entries
        body = SUBMISSION.pack(opcode, flags, slot | (lap & 0xF) << 12, 0, 0, 0, 0, 0, arg0, arg1, size, 0, 0, tag)
        self.device.memory.put(self.submission + slot * ENTRY_BYTES, body + struct.pack("<I", crc32c(body) ^ lap))
        self.tail += 1
        self.device.client.put_number(vu.BAR2, 8 * self.queue, 4, self.tail & 0xFFFFFFFF)

    def next_completion(self):
        """None: it has not come yet."""
        slot, lap = self.head % self.entries, self.head // self.entries
        data = self.device.memory.at(self.completion + slot * COMPLETION_BYTES, COMPLETION_BYTES)
        found = Completion(*COMPLETION.unpack(data))
        if found.status & 1 != 1 - lap % 2:
            return None
        unchecked = data[:28] + struct.pack("<I", found.status & 0xFFFFFF)
        expect(crc32c(unchecked) & 0xFF == found.status >> 24, f"completion {data.hex()} has a wrong check")
        expect(found.queue_id == self.queue, f"completion of queue {found.queue_id} in the ring of queue {self.queue}")
        self.head += 1
        self.device.client.put_number(vu.BAR2, 8 * self.queue + 4, 4, self.head & 0xFFFFFFFF)
        return found

    def wait(self):
        return self.device.until(self.next_completion, f"completion {self.head} of queue {self.queue}")

    def run(self, *arguments, **options):
        self.submit(*arguments, **options)
        return self.wait()


class WeftDevice:
    """Boots in `size` bytes of host memory, shared as a file or reached by messages."""

    def __init__(self, client, shared=True, size=1 << 20, bus_master=True):
        self.client = client
        self.memory = Area(BASE, size, shared)
        self.free = BASE
        self.function = Function(client)
        expect(client.number(vu.CONFIG, 0, 4) == VENDOR_AND_DEVICE, "another device")
        expect(self.get(R_MAGIC) == MAGIC, "no Weft device")
        expect(self.get(R_ABI_VERSION) >> 16 == ABI_MAJOR, "another ABI")
        if bus_master:
            self.function.enable()
        client.map_area(self.memory)

    def close(self):
        self.memory.close()

    def get(self, register):
        return self.client.number(vu.BAR0, *register)

    def put(self, register, value):
        self.client.put_number(vu.BAR0, *register, value)

    def take(self, size):
        """DMA address of fresh, zeroed memory, in whole pages."""
        at = self.free
        self.free += (size + PAGE - 1) // PAGE * PAGE
        self.memory.put(at, bytes(size))
        return at

    def until(self, value, what):
        """The first value that is not None. Answers the device's DMA messages meanwhile."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = value()
            if found is not None:
                return found
            if self.memory.fd < 0:
                self.client.wire.serve_for(0.02)
            else:
                time.sleep(0.0005)
        raise TimeoutError(f"no {what} after {PATIENCE_S} s: state {self.get(R_DEVICE_STATE)}, boot stage {self.get(R_BOOT_STAGE)}, "
                           f"boot error {self.get(R_BOOT_ERROR)}")

    def boot_starts(self, nonce=0x5EED):
        self.nonce = nonce
        submission, completion = self.take(ADMIN_RING_ENTRIES * ENTRY_BYTES), self.take(ADMIN_RING_ENTRIES * COMPLETION_BYTES)
        self.log, self.faults, self.page = self.take(LOG_BYTES), self.take(FAULT_BYTES), self.take(PAGE)
        self.memory.put(self.page, PARAMETERS.pack(MAGIC, ABI_MAJOR << 16 | ABI_MINOR, nonce, submission, completion, self.log, self.faults, 0))
        self.put(R_PARAMETER_PAGE, self.page)
        self.put(R_BOOT_CONTROL, 1)
        self.admin = Ring(self, 0, ADMIN_RING_ENTRIES, submission, completion)

    def boot_ends(self):
        state = self.until(lambda: (s := self.get(R_DEVICE_STATE)) in (STATE_READY, STATE_FAILED) and s or None, "end of the boot")
        return state == STATE_READY

    def boot(self):
        self.boot_starts()
        expect(self.boot_ends(), f"boot failed at stage {self.get(R_BOOT_STAGE)} with error {self.get(R_BOOT_ERROR)}")
        expect(self.get(R_BOOT_ANSWER_NONCE) == self.nonce, "READY of another boot")
        version, = struct.unpack("<I", self.memory.at(self.page + ANSWER_VERSION, 4))
        answered, = struct.unpack("<Q", self.memory.at(self.page + ANSWER_NONCE, 8))
        expect((version >> 16, answered) == (ABI_MAJOR, self.nonce), f"answer of version {version:#x} to nonce {answered:#x}")
        return self

    def reset(self):
        """By RESET_CONTROL; the device is as before boot, and its generation one higher."""
        before = self.get(R_RESET_GENERATION)
        self.put(R_RESET_CONTROL, RESET_KEY)
        self.until(lambda: self.get(R_DEVICE_STATE) == STATE_PRESENT or None, "end of the reset")
        expect(self.get(R_RESET_GENERATION) == before + 1, "another generation than the next")

    def create_queue(self, queue, entries):
        submission, completion = self.take(entries * ENTRY_BYTES), self.take(entries * COMPLETION_BYTES)
        done = self.admin.run(CREATE_QUEUE, submission, completion, entries | entries << 16 | queue << 32)
        expect(done.code == OK, f"CREATE_QUEUE ends with error {done.code}")
        return Ring(self, queue, entries, submission, completion)

    def hbm(self, offset):
        """Address, for COPY and FILL, of a byte of HBM behind what the firmware keeps."""
        return HBM | (self.get(R_HBM_RESERVED_BYTES) + offset)


class Vector:
    """An eventfd on one MSI-X vector."""

    def __init__(self, client, vector):
        self.event = os.eventfd(0, os.EFD_NONBLOCK)
        client.set_irqs(vu.DATA_EVENTFD | vu.TRIGGER, vector, 1, fds=[self.event])

    def close(self):
        os.close(self.event)

    def wait(self, seconds=PATIENCE_S):
        if not select.select([self.event], [], [], seconds)[0]:
            raise TimeoutError(errno.ETIMEDOUT, "no interrupt")
        return os.eventfd_read(self.event)
