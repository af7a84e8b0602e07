"""REGION_READ and REGION_WRITE: sizes, alignment, bounds and counts."""
import vfio_user as vu
from simulator import SimulatorCase
from vfio_user import errno_of
from wire import Refused

SIZES = (1, 2, 4, 8)


class Regions(SimulatorCase):
    def test_every_access_size_sees_the_same_bytes(self):
        client = self.client()
        client.write(vu.BAR4, 0, bytes(range(0x10, 0x14)))
        for region, length in ((vu.CONFIG, 64), (vu.BAR0, 16), (vu.BAR2, 16), (vu.BAR4, 32)):
            whole = client.read(region, 0, length)
            for size in SIZES:
                parts = b"".join(client.read(region, at, size) for at in range(0, length, size))
                self.assertEqual(parts, whole, f"region {region} by {size} bytes")

    def test_every_access_size_writes_its_bytes_and_no_other(self):
        client = self.client()
        for size in SIZES:
            for at in range(0, 8, size):
                before = bytearray(range(0x40, 0x48))
                client.write(vu.BAR4, 0, before)
                written = bytes(range(0x80, 0x80 + size))
                client.write(vu.BAR4, at, written)
                before[at:at + size] = written
                self.assertEqual(client.read(vu.BAR4, 0, 8), bytes(before), f"{size} bytes at {at}")

    def test_what_lies_outside_is_refused_and_changes_nothing(self):
        client = self.client()
        for region in (vu.BAR0, vu.BAR2, vu.BAR4, vu.CONFIG):
            size = client.region_info(region).size
            before = client.read(region, size - 8, 8)
            for at, count in ((size, 1), (size, 4), (size - 4, 8), (size + 4, 4), (1 << 32, 4), ((1 << 64) - 4, 4), ((1 << 64) - 4, 8)):
                self.assertTrue(errno_of(client.read, region, at, count), f"{count} bytes at {at:#x} of region {region}")
                self.assertTrue(errno_of(client.write, region, at, bytes([0xFF]) * count), f"{count} bytes at {at:#x} of region {region}")
            self.assertEqual(client.read(region, size - 8, 8), before)

    def test_an_access_that_pci_cannot_make_is_refused_or_right(self):
        client = self.client()
        whole = client.read(vu.BAR4, 0, 32)
        for at in range(9):
            for count in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16):
                try:
                    data = client.read(vu.BAR4, at, count)
                except Refused:
                    continue
                self.assertEqual(data, whole[at:at + count])

    def test_count_and_data_of_a_write_agree(self):
        client = self.client()
        for count, data in ((4, b""), (4, bytes(3)), (4, bytes(8)), (0, bytes(4)), (0xFFFFFFFF, bytes(4)), (0, b"")):
            with self.subTest(count=count, data=len(data)), self.assertRaises(Refused):
                client.wire.call(vu.REGION_WRITE, vu.ACCESS_BODY.pack(0, vu.BAR4, count) + data)
        client.device_info()

    def test_a_read_beyond_the_servers_transfer_size_is_refused(self):
        client = self.client()
        for count in (client.transfer + 4, 0x7FFFFFFC, 0xFFFFFFFC, 0xFFFFFFFF):
            self.assertTrue(errno_of(client.read, vu.BAR0, 0, count))
        size = min(client.transfer, client.region_info(vu.BAR0).size)
        self.assertEqual(len(client.read(vu.BAR0, 0, size)), size)

    def test_a_read_may_not_bring_data_or_descriptors(self):
        client = self.client()
        with self.assertRaises(Refused):
            client.wire.call(vu.REGION_READ, vu.ACCESS_BODY.pack(0, vu.BAR0, 4) + bytes(4))
        client.device_info()
