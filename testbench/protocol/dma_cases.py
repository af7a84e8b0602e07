"""DMA_MAP and DMA_UNMAP: descriptors, overlaps, ranges, rights, and what is refused."""
import errno
import fcntl
import mmap
import os
import tempfile

import vfio_user as vu
from client_memory import PAGE
from simulator import SimulatorCase
from vfio_user import errno_of
from wire import Refused

AT = 0x100000


class Dma(SimulatorCase):
    def setUp(self):
        self.device = self.client()
        self.fd = os.memfd_create("guest")
        os.ftruncate(self.fd, 64 * PAGE)
        self.addCleanup(os.close, self.fd)

    def refused(self, call, *arguments, **options):
        number = errno_of(call, *arguments, **options)
        self.assertIn(number, errno.errorcode, f"{arguments} {options}")
        return number

    def test_a_map_over_a_map_is_eexist_with_and_without_descriptor(self):
        self.device.map(AT, 4 * PAGE, self.fd)
        self.device.map(AT + 8 * PAGE, 4 * PAGE)
        for base in (AT, AT + 8 * PAGE):
            for address, size in ((base, 4 * PAGE), (base, PAGE), (base + 3 * PAGE, PAGE), (base - PAGE, 2 * PAGE), (base - PAGE, 8 * PAGE)):
                for fd in (self.fd, -1):
                    self.assertEqual(self.refused(self.device.map, address, size, fd), errno.EEXIST)
        self.device.map(AT + 4 * PAGE, 4 * PAGE, self.fd, 4 * PAGE)

    def test_the_reply_to_an_unmap_is_the_entry_of_the_request(self):
        self.device.map(AT, 4 * PAGE, self.fd)
        self.device.unmap(AT, 4 * PAGE)  # the client compares
        self.device.map(AT, 4 * PAGE, self.fd)

    def test_parts_of_a_map_can_go_and_come_back(self):
        self.device.map(AT, 8 * PAGE, self.fd)
        self.device.unmap(AT + 2 * PAGE, 2 * PAGE)
        self.assertEqual(self.refused(self.device.map, AT, PAGE, self.fd), errno.EEXIST)
        self.device.map(AT + 2 * PAGE, 2 * PAGE)
        self.device.unmap(AT, 8 * PAGE)
        self.device.map(AT, 8 * PAGE)

    def test_one_unmap_takes_many_maps_and_all_of_them_by_flag(self):
        for index in range(16):
            self.device.map(AT + 2 * index * PAGE, PAGE, self.fd if index % 2 else -1)
        self.device.unmap(AT, 8 * PAGE)
        self.assertEqual(self.refused(self.device.map, AT + 8 * PAGE, PAGE), errno.EEXIST)
        self.device.unmap(0, 0, vu.UNMAP_ALL)
        self.device.map(AT, 64 * PAGE, self.fd)
        self.refused(self.device.unmap, AT, PAGE, vu.UNMAP_ALL)
        self.assertEqual(self.refused(self.device.map, AT, PAGE), errno.EEXIST)

    def test_everything_unmapped_twice_is_no_error_of_the_server(self):
        self.device.map(AT, PAGE, self.fd)
        self.device.unmap(AT, PAGE)
        self.assertIn(errno_of(self.device.unmap, AT, PAGE), (0, errno.ENOENT, errno.EINVAL))
        self.device.unmap(0, 0, vu.UNMAP_ALL)

    def test_addresses_and_sizes_that_cannot_be_are_refused(self):
        for address, size in ((AT, 0), ((1 << 64) - PAGE, 2 * PAGE), (PAGE, (1 << 64) - PAGE),
                              (AT, 1 << 63), ((1 << 63) - PAGE, 2 * PAGE)):
            for fd in (self.fd, -1):
                self.refused(self.device.map, address, size, fd)
            if size:
                self.assertIn(errno_of(self.device.unmap, address, size), (0, *errno.errorcode))
        self.device.map(AT, PAGE, self.fd)

    def test_a_file_that_is_too_short_or_without_the_rights_is_refused(self):
        self.refused(self.device.map, AT, 65 * PAGE, self.fd)
        self.refused(self.device.map, AT, PAGE, self.fd, offset=64 * PAGE)
        self.refused(self.device.map, AT, PAGE, self.fd, offset=63 * PAGE + 1)
        self.refused(self.device.map, AT, PAGE, self.fd, offset=(1 << 64) - PAGE)
        read_only = os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY)
        self.addCleanup(os.close, read_only)
        self.refused(self.device.map, AT, PAGE, read_only)
        self.device.map(AT, PAGE, read_only, flags=vu.DMA_READABLE)

    def test_what_is_no_memory_is_refused(self):
        pipe = os.pipe()
        with tempfile.TemporaryFile() as file:
            event, folder = os.eventfd(0), os.open("/", os.O_RDONLY)
            for fd in (*pipe, event, folder):
                self.addCleanup(os.close, fd)
            for fd in (*pipe, event, folder, self.device.wire.socket.fileno()):
                self.refused(self.device.map, AT, PAGE, fd)
            file.truncate(PAGE)
            # a file on a disk may be refused or not; the answer must come
            self.assertIn(errno_of(self.device.map, AT, PAGE, file.fileno()), (0, *errno.errorcode))

    def test_flags_sizes_and_descriptors_that_do_not_fit_are_refused(self):
        for flags in (0, 4, 7, 1 << 31):
            self.refused(self.device.map, AT, PAGE, self.fd, flags=flags)
            if flags:
                self.refused(self.device.unmap, AT, PAGE, flags | 1 << 30)
        self.refused(self.device.map, AT, PAGE, offset=PAGE)  # an offset, and no file that it is of
        body = vu.MAP_BODY.pack(32, 3, 0, AT, PAGE)
        for payload, fds in ((body, [self.fd, self.fd]), (body[:-1], [self.fd]), (body + b"\0", [self.fd]), (b"", [self.fd]),
                             (vu.MAP_BODY.pack(31, 3, 0, AT, PAGE), [self.fd]), (body, [self.fd] * 9)):
            with self.subTest(size=len(payload), fds=len(fds)), self.assertRaises(Refused):
                self.device.wire.call(vu.DMA_MAP, payload, fds)
        for payload in (b"", vu.UNMAP_BODY.pack(24, 0, AT, PAGE)[:-1], vu.UNMAP_BODY.pack(23, 0, AT, PAGE)):
            with self.subTest(size=len(payload)), self.assertRaises(Refused):
                self.device.wire.call(vu.DMA_UNMAP, payload)
        self.device.map(AT, PAGE, self.fd)

    def test_less_than_a_page_is_mapped_and_unmapped_to_the_byte(self):
        for fd in (self.fd, -1):
            with self.subTest(fd=fd):
                self.device.map(AT + 100, 50, fd, 7 if fd >= 0 else 0)
                self.device.map(AT + 150, PAGE + 1, fd, 0)
                self.assertEqual(self.refused(self.device.map, AT + 149, 1, fd), errno.EEXIST)
                self.assertEqual(self.refused(self.device.map, AT + PAGE + 150, 1, fd), errno.EEXIST)
                self.device.map(AT + PAGE + 151, 1, fd)
                self.device.unmap(AT + 120, 10)
                self.device.map(AT + 125, 5, fd)
                self.device.unmap(0, 0, vu.UNMAP_ALL)

    def test_a_gib_and_more_in_one_map(self):
        gib = 1 << 30
        fd = os.memfd_create("large")
        self.addCleanup(os.close, fd)
        os.ftruncate(fd, 5 * gib)
        self.device.map(gib, gib, fd)
        self.device.map(4 * gib, 4 * gib, fd, gib)
        self.assertEqual(self.refused(self.device.map, 2 * gib - PAGE, PAGE, fd), errno.EEXIST)
        self.assertEqual(self.refused(self.device.map, 8 * gib - PAGE, PAGE, fd), errno.EEXIST)
        self.device.map(2 * gib, gib)  # without a descriptor
        self.device.unmap(gib, 7 * gib)
        self.device.map(gib, gib, fd, 3 * gib)

    def test_a_memfd_without_seals_and_one_with_seals_are_mapped(self):
        sealed = os.memfd_create("sealed", os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, sealed)
        os.ftruncate(sealed, PAGE)
        fcntl.fcntl(sealed, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.device.map(AT, PAGE, sealed)
        self.device.map(AT + PAGE, PAGE, self.fd)

    def test_maps_go_with_their_client(self):
        self.device.map(AT, PAGE, self.fd)
        self.device.close()
        second = self.client()
        second.map(AT, PAGE, self.fd)

    def test_thousands_of_maps_of_one_file_are_a_guests_right(self):
        """As many as the server says, up to 5,000 here, none adjoining another in its file."""
        count = min(5000, self.device.server.get("max_dma_maps", 65535))
        fd = os.memfd_create("many")
        self.addCleanup(os.close, fd)
        os.ftruncate(fd, 2 * count * PAGE)
        for index in range(count):
            self.device.map(AT + 2 * index * PAGE, PAGE, fd, 2 * index * PAGE)
        self.device.unmap(0, 0, vu.UNMAP_ALL)

    def test_the_clients_own_view_of_the_file_is_the_same_memory(self):
        with mmap.mmap(self.fd, PAGE) as view:
            view[:4] = b"mine"
            self.device.map(AT, PAGE, self.fd)
            self.assertEqual(view[:4], b"mine")
