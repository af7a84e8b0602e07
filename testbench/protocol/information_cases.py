"""What the device, its regions and its interrupts are said to be, and their agreement with each other."""
import errno

import vfio_user as vu
from simulator import SimulatorCase
from vfio_user import errno_of
from wire import Deviation, Refused


class Information(SimulatorCase):
    def test_it_is_a_pci_device_with_all_of_vfios_regions_and_interrupts(self):
        flags, regions, interrupts = self.client().device_info()
        self.assertEqual(flags & (vu.FLAG_PCI | vu.FLAG_RESET), vu.FLAG_PCI | vu.FLAG_RESET)
        self.assertGreaterEqual(regions, 9)
        self.assertGreaterEqual(interrupts, 5)

    def test_every_region_has_an_info_and_no_more(self):
        client = self.client()
        _, regions, _ = client.device_info()
        for index in range(regions):
            info = client.region_info(index)
            self.assertEqual(info.size > 0, bool(info.flags & (vu.REGION_READABLE | vu.REGION_WRITABLE)), f"region {index}")
            if vu.BAR0 <= index <= vu.BAR5 and info.size:
                self.assertEqual(info.size & (info.size - 1), 0, f"BAR {index} of {info.size} bytes")
            for offset, size in info.sparse or ():
                self.assertLessEqual(offset + size, info.size)
        self.assertIn(client.region_info(vu.CONFIG).size, (256, 4096))
        for index in (regions, regions + 1, 0xFFFFFFFF):
            self.assertEqual(errno_of(client.region_info, index), errno.EINVAL)

    def test_a_region_without_mmap_is_read_by_messages(self):
        client = self.client()
        for index in (vu.BAR0, vu.BAR2, vu.BAR4, vu.CONFIG):
            info = client.region_info(index)
            self.assertEqual(len(client.read(index, 0, 4)), 4)
            self.assertEqual(len(client.read(index, info.size - 4, 4)), 4)

    def test_a_region_of_no_size_cannot_be_accessed(self):
        client = self.client()
        _, regions, _ = client.device_info()
        empty = [index for index in range(regions) if client.region_info(index).size == 0]
        for index in empty + [regions, 0xFFFFFFFF]:
            self.assertTrue(errno_of(client.read, index, 0, 4), f"region {index}")
            self.assertTrue(errno_of(client.write, index, 0, bytes(4)), f"region {index}")

    def test_msix_has_eventfds(self):
        client = self.client()
        _, _, interrupts = client.device_info()
        flags, count = client.irq_info(vu.MSIX)
        self.assertEqual(flags & vu.IRQ_EVENTFD, vu.IRQ_EVENTFD)
        self.assertGreater(count, 0)
        for index in range(interrupts):
            client.irq_info(index)
        for index in (interrupts, 0xFFFFFFFF):
            self.assertEqual(errno_of(client.irq_info, index), errno.EINVAL)

    def test_argsz_may_be_larger_than_the_reply_and_not_smaller_than_its_fixed_part(self):
        client = self.client()
        for call, size in ((client.device_info, 16), (lambda argsz: client.region_info(vu.BAR0, argsz), 32),
                           (lambda argsz: client.irq_info(vu.MSIX, argsz), 16)):
            call(argsz=4096)
            self.assertTrue(errno_of(call, argsz=size - 1))
            self.assertTrue(errno_of(call, argsz=0))

    def test_requests_of_another_size_are_refused(self):
        client = self.client()
        for command, body in ((vu.DEVICE_GET_INFO, vu.DEVICE_BODY.pack(16, 0, 0, 0)), (vu.GET_REGION_INFO, vu.REGION_BODY.pack(32, 0, 0, 0, 0, 0)),
                              (vu.GET_IRQ_INFO, vu.IRQ_BODY.pack(16, 0, 2, 0)), (vu.REGION_READ, vu.ACCESS_BODY.pack(0, 0, 4))):
            for payload in (b"", body[:-1], body[:4]):
                with self.subTest(command=command, size=len(payload)), self.assertRaises(Refused):
                    client.wire.call(command, payload)

    def test_descriptors_for_regions_are_an_optional_feature(self):
        client = self.client()
        number = errno_of(client.io_fds, vu.BAR2)
        self.assertIn(number, (0, errno.ENOTSUP, errno.EINVAL))
        client.device_info()

    def test_this_clients_own_reader_of_capabilities_sees_what_is_wrong_with_a_list(self):
        """No region has capabilities today; what reads them is tried on replies made up here."""
        def reply(first, tail, size=None):
            body = vu.REGION_BODY.size + len(tail)
            return vu.REGION_BODY.pack(body if size is None else size, vu.REGION_CAPS if first else 0, 3, first, 4096, 0) + tail
        areas = vu.SPARSE_BODY.pack(2, 0) + vu.SPARSE_AREA.pack(0, 4096) + vu.SPARSE_AREA.pack(8192, 4096)
        other = vu.CAP_HEADER.pack(vu.CAP_TYPE, 1, 48) + bytes(8)
        good = reply(32, other + vu.CAP_HEADER.pack(vu.CAP_SPARSE_MMAP, 1, 0) + areas)
        self.assertEqual(vu.read_region_info(good, 3).sparse, [(0, 4096), (8192, 4096)])
        self.assertIsNone(vu.read_region_info(reply(0, b""), 3).sparse)
        ring = vu.CAP_HEADER.pack(vu.CAP_SPARSE_MMAP, 1, 32) + areas
        for bad in (reply(31, other), reply(44, other), reply(32, ring), reply(0, other, 32), good[:-8], reply(0, b"", 33),
                    reply(32, vu.CAP_HEADER.pack(vu.CAP_SPARSE_MMAP, 2, 0) + areas)):
            with self.assertRaises(Deviation):
                vu.read_region_info(bad, 3)
