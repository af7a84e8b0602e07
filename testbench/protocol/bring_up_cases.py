"""A third-party driver with docs/reference as its only source: boot, rings, copies, interrupts, reset."""
import errno
import random

import vfio_user as vu
import weft_device as weft
from client_memory import DMA_READ, DMA_WRITE, PAGE
from simulator import SimulatorCase
from weft_device import Vector, WeftDevice

SEED = 20261123


def content(size, seed=SEED):
    return random.Random(seed).randbytes(size)


class BringUp(SimulatorCase):
    def device(self, shared=True, size=1 << 20, **client_options):
        device = WeftDevice(self.client(**client_options), shared, size)
        self.addCleanup(device.close)
        return device.boot()

    def copy_there_and_back(self, device, queue, size):
        """Host to HBM to another place of the host; the bytes around the destination stay."""
        source, destination = device.take(size), device.take(size + 64)
        data = content(size)
        device.memory.put(source, data)
        device.memory.put(destination, b"\xA5" * (size + 64))
        for arguments in ((source, device.hbm(0), size), (device.hbm(0), destination + 32, size)):
            done = queue.run(weft.COPY, *arguments, tag=77)
            self.assertEqual((done.code, done.tag), (weft.OK, 77))
            self.assertLessEqual(done.start_cycle, done.end_cycle)
        back = device.memory.at(destination, size + 64)
        self.assertEqual(back, b"\xA5" * 32 + data + b"\xA5" * 32, f"{size} bytes of seed {SEED}")

    def test_a_copy_comes_back_byte_for_byte_in_shared_memory(self):
        device = self.device()
        queue = device.create_queue(1, 16)
        for size in (1, 3, 64, 4095, 4096, 65537):
            self.copy_there_and_back(device, queue, size)

    def test_a_copy_comes_back_byte_for_byte_by_messages(self):
        device = self.device(shared=False)
        queue = device.create_queue(1, 16)
        self.copy_there_and_back(device, queue, 30000)
        sizes = device.client.memory.sizes
        self.assertGreaterEqual(sum(sizes[DMA_READ]), 30000)
        self.assertGreaterEqual(sum(sizes[DMA_WRITE]), 30000)

    def test_messages_keep_to_the_clients_transfer_size(self):
        for most in (4096, 256):
            with self.subTest(most=most):
                device = self.device(shared=False, capabilities={**vu.OURS, "max_data_xfer_size": most})
                self.copy_there_and_back(device, device.create_queue(1, 4), 5000)  # MessageMemory checks each message
                self.assertLessEqual(max(device.client.memory.sizes[DMA_READ]), most)
                device.client.close()

    def test_rings_wrap_and_their_phase_changes(self):
        device = self.device()
        queue = device.create_queue(3, 4)
        for index in range(19):
            done = queue.run(weft.NOP, tag=index)
            self.assertEqual((done.code, done.tag, done.queue_head), (weft.OK, index, index + 1))

    def test_entries_in_one_doorbell_all_complete(self):
        device = self.device()
        queue = device.create_queue(2, 16)
        for index in range(16):
            queue.submit(weft.FILL, 0x01010101 * index, device.hbm(index * 256), 256, tag=index)
        self.assertEqual(sorted(queue.wait().tag for _ in range(16)), list(range(16)))
        target = device.take(16 * 256)
        self.assertEqual(queue.run(weft.COPY, device.hbm(0), target, 16 * 256).code, weft.OK)
        self.assertEqual(device.memory.at(target, 16 * 256), b"".join(bytes([i]) * 256 for i in range(16)))

    def test_a_completion_raises_the_vector_of_its_queue(self):
        device = self.device()
        vector = Vector(device.client, 1)
        self.addCleanup(vector.close)
        queue = device.create_queue(1, 4)
        queue.submit(weft.NOP, flags=weft.FLAG_INTERRUPT)
        self.assertEqual(vector.wait(), 1)
        self.assertEqual(queue.wait().code, weft.OK)

    def test_an_entry_with_a_wrong_check_is_refused_and_the_queue_goes_on_or_halts(self):
        device = self.device()
        queue = device.create_queue(1, 4)
        queue.submit(weft.NOP, tag=5)
        self.assertEqual(queue.wait().code, weft.OK)
        done = queue.run(200, tag=6)  # an opcode that does not exist
        self.assertNotEqual(done.code, weft.OK)
        self.assertEqual(done.tag, 6)
        self.assertEqual(queue.run(weft.NOP).code, weft.OK)

    def test_a_copy_beyond_what_is_mapped_fails_and_writes_nothing(self):
        device = self.device()
        queue = device.create_queue(1, 8)
        end = weft.BASE + device.memory.size
        for source, destination in ((end, device.hbm(0)), (device.hbm(0), end), (weft.BASE - PAGE, device.hbm(0)), (device.hbm(0), 0)):
            self.assertEqual(queue.run(weft.COPY, source, destination, 64).code, weft.DMA_FAULT)
        self.copy_there_and_back(device, queue, 4096)

    def test_what_is_unmapped_is_out_of_reach(self):
        device = self.device()
        queue = device.create_queue(1, 8)
        other = weft.Area(0x40000000, 4 * PAGE, shared=True)
        self.addCleanup(other.close)
        device.client.map_area(other)
        self.assertEqual(queue.run(weft.FILL, 0x11111111, other.address, 4 * PAGE).code, weft.OK)
        self.assertEqual(bytes(other.data), b"\x11" * 4 * PAGE)
        device.client.unmap(other.address + PAGE, PAGE)
        self.assertEqual(queue.run(weft.FILL, 0x22222222, other.address + PAGE, 64).code, weft.DMA_FAULT)
        self.assertEqual(queue.run(weft.FILL, 0x33333333, other.address, PAGE).code, weft.OK)
        self.assertEqual(queue.run(weft.FILL, 0x44444444, other.address + 2 * PAGE, 2 * PAGE).code, weft.OK)
        self.assertEqual(bytes(other.data), b"\x33" * PAGE + b"\x11" * PAGE + b"\x44" * 2 * PAGE)

    def test_the_device_writes_only_where_it_may_and_reads_only_where_it_may(self):
        for shared in (True, False):
            with self.subTest(shared=shared):
                device = self.device(shared=shared)
                queue = device.create_queue(1, 8)
                readable, writable = weft.Area(0x40000000, PAGE, shared), weft.Area(0x50000000, PAGE, shared)
                self.addCleanup(readable.close)
                self.addCleanup(writable.close)
                readable.put(readable.address, content(PAGE))
                device.client.map_area(readable, vu.DMA_READABLE)
                device.client.map_area(writable, vu.DMA_WRITABLE)
                self.assertEqual(queue.run(weft.FILL, 0, readable.address, PAGE).code, weft.DMA_FAULT)
                self.assertEqual(queue.run(weft.COPY, writable.address, device.hbm(0), PAGE).code, weft.DMA_FAULT)
                self.assertEqual(queue.run(weft.COPY, readable.address, device.hbm(0), PAGE).code, weft.OK)
                self.assertEqual(queue.run(weft.COPY, device.hbm(0), writable.address, PAGE).code, weft.OK)
                self.assertEqual(bytes(readable.data), content(PAGE))
                self.assertEqual(bytes(writable.data), content(PAGE))
                device.client.close()

    def test_memory_that_the_client_refuses_is_a_dma_fault(self):
        device = self.device()
        queue = device.create_queue(1, 8)
        unshared = weft.Area(0x40000000, PAGE, shared=False)
        device.client.map_area(unshared)
        device.client.memory.refuse = errno.EFAULT
        for arguments in ((unshared.address, device.hbm(0), PAGE), (device.hbm(0), unshared.address, PAGE)):
            queue.submit(weft.COPY, *arguments)
            device.client.wire.serve_for(0.5)
            self.assertEqual(queue.wait().code, weft.DMA_FAULT)
        device.client.memory.refuse = 0
        queue.submit(weft.FILL, 0x5A5A5A5A, unshared.address, PAGE)
        device.client.wire.serve_for(0.5)
        self.assertEqual(queue.wait().code, weft.OK)
        self.assertEqual(bytes(unshared.data), b"\x5A" * PAGE)

    def test_a_reset_ends_the_boot_and_the_next_boot_works(self):
        device = self.device()
        device.create_queue(1, 4)
        device.reset()
        device.boot_starts(nonce=0xABCDEF)
        self.assertTrue(device.boot_ends())
        self.copy_there_and_back(device, device.create_queue(1, 4), 4096)
        before = device.get(weft.R_RESET_GENERATION)
        device.client.reset()
        self.assertEqual(device.get(weft.R_RESET_GENERATION), before + 1)
        device.boot_starts()
        self.assertTrue(device.boot_ends())
        self.copy_there_and_back(device, device.create_queue(1, 4), 4096)

    def test_a_boot_with_a_parameter_page_that_is_none_fails_and_says_so(self):
        device = WeftDevice(self.client())
        self.addCleanup(device.close)
        device.put(weft.R_PARAMETER_PAGE, device.take(PAGE))
        device.put(weft.R_BOOT_CONTROL, 1)
        self.assertFalse(device.boot_ends())
        self.assertNotEqual(device.get(weft.R_BOOT_ERROR), 0)
        device.reset()
        device.boot()

    def test_bus_mastering_does_not_gate_dma_as_the_page_on_security_says(self):
        device = WeftDevice(self.client(), bus_master=False)
        self.addCleanup(device.close)
        device.boot()
        self.copy_there_and_back(device, device.create_queue(1, 4), 4096)

    def test_two_functions_boot_beside_each_other_and_see_their_own_memory(self):
        devices = [WeftDevice(self.client(function)).boot() for function in (0, 1)]
        for device in devices:
            self.addCleanup(device.close)
        for fill, device in enumerate(devices, 1):
            queue = device.create_queue(1, 4)
            self.assertEqual(queue.run(weft.FILL, 0x01010101 * fill, device.hbm(0), PAGE).code, weft.OK)
            device.queue = queue
        for fill, device in enumerate(devices, 1):
            target = device.take(PAGE)
            self.assertEqual(device.queue.run(weft.COPY, device.hbm(0), target, PAGE).code, weft.OK)
            self.assertEqual(device.memory.at(target, PAGE), bytes([fill]) * PAGE)
