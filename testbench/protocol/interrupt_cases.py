"""SET_IRQS: eventfds in chunks, triggers, masks, pending bits, and what is refused."""
import errno
import os
import select
import socket

import pci
import vfio_user as vu
from pci import Function
from simulator import SimulatorCase
from vfio_user import errno_of
from wire import Refused

SIGNAL_S = 10


class Interrupts(SimulatorCase):
    def setUp(self):
        self.device = self.client()
        _, self.vectors = self.device.irq_info(vu.MSIX)
        self.events = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(self.vectors)]
        for event in self.events:
            self.addCleanup(os.close, event)

    def count(self, vector):
        """What the eventfd holds; waits for a first signal."""
        if not select.select([self.events[vector]], [], [], SIGNAL_S)[0]:
            return 0
        return os.eventfd_read(self.events[vector])

    def signalled(self, vectors):
        for vector in vectors:
            self.assertEqual(self.count(vector), 1, f"vector {vector}")

    def silent(self):
        self.device.device_info()  # what was sent before has been done
        return not select.select(self.events, [], [], 0.1)[0]

    def pending(self):
        _, _, _, (bar, offset) = Function(self.device).msix()
        return self.device.number(bar, offset, 8)

    def refused(self, *arguments, **options):
        self.assertTrue(errno_of(self.device.set_irqs, *arguments, **options), f"{arguments} {options}")

    def test_every_vector_signals_its_own_eventfd(self):
        self.device.set_eventfds(self.events)
        for vector in range(self.vectors):
            self.device.set_irqs(vu.DATA_NONE | vu.TRIGGER, vector, 1)
            self.assertEqual(self.count(vector), 1)
        self.assertTrue(self.silent())

    def test_eventfds_set_one_by_one_are_the_same(self):
        for vector, event in enumerate(self.events):
            self.device.set_irqs(vu.DATA_EVENTFD | vu.TRIGGER, vector, 1, fds=[event])
        self.device.set_irqs(vu.DATA_NONE | vu.TRIGGER, 0, self.vectors)
        self.signalled(range(self.vectors))

    def test_booleans_choose_the_vectors(self):
        self.device.set_eventfds(self.events)
        chosen = [i % 3 == 1 for i in range(self.vectors)]
        self.device.set_irqs(vu.DATA_BOOL | vu.TRIGGER, 0, self.vectors, booleans=bytes(chosen))
        self.signalled([vector for vector in range(self.vectors) if chosen[vector]])
        self.assertTrue(self.silent())

    def test_a_masked_vector_is_pending_until_it_is_unmasked(self):
        self.device.set_eventfds(self.events)
        self.device.set_irqs(vu.DATA_NONE | vu.MASK, 3, 1)
        self.device.set_irqs(vu.DATA_NONE | vu.TRIGGER, 3, 1)
        self.assertTrue(self.silent())
        self.assertEqual(self.pending(), 1 << 3)
        self.device.set_irqs(vu.DATA_NONE | vu.UNMASK, 3, 1)
        self.assertEqual(self.count(3), 1)
        self.assertEqual(self.pending(), 0)

    def test_the_mask_bit_of_the_table_does_the_same(self):
        self.device.set_eventfds(self.events)
        _, _, (bar, table), _ = Function(self.device).msix()
        control = table + 5 * pci.MSIX_ENTRY + 12
        self.device.put_number(bar, control, 4, pci.VECTOR_MASKED)
        self.device.set_irqs(vu.DATA_NONE | vu.TRIGGER, 5, 1)
        self.assertTrue(self.silent())
        self.assertEqual(self.pending(), 1 << 5)
        self.device.put_number(bar, control, 4, 0)
        self.assertEqual(self.count(5), 1)

    def test_function_mask_and_enable_hold_every_vector_back(self):
        self.device.set_eventfds(self.events)
        function = Function(self.device)
        at, *_ = function.msix()
        for held in (pci.MSIX_ENABLE | pci.MSIX_FUNCTION_MASK, 0):
            function.put(at + 2, 2, held)
            self.device.set_irqs(vu.DATA_NONE | vu.TRIGGER, 0, 2)
            self.assertTrue(self.silent())
            function.put(at + 2, 2, pci.MSIX_ENABLE)
            self.signalled((0, 1))

    def test_no_descriptors_take_the_eventfds_away(self):
        self.device.set_eventfds(self.events)
        self.device.set_irqs(vu.DATA_EVENTFD | vu.TRIGGER, 0, self.vectors)
        self.device.set_irqs(vu.DATA_NONE | vu.TRIGGER, 0, self.vectors)
        self.assertTrue(self.silent())

    def test_a_count_of_nothing_disables_all(self):
        self.device.set_eventfds(self.events)
        self.device.set_irqs(vu.DATA_NONE | vu.TRIGGER, 0, 0)
        self.device.set_irqs(vu.DATA_NONE | vu.TRIGGER, 0, self.vectors)
        self.assertTrue(self.silent())
        at, *_ = Function(self.device).msix()
        self.assertEqual(Function(self.device).get(at + 2, 2) & pci.MSIX_ENABLE, 0)

    def test_ranges_flags_and_descriptors_that_do_not_fit_are_refused_and_change_nothing(self):
        self.device.set_eventfds(self.events)
        none, event = vu.DATA_NONE | vu.TRIGGER, vu.DATA_EVENTFD | vu.TRIGGER
        for start, count in ((self.vectors, 1), (0, self.vectors + 1), (1, self.vectors), (0xFFFFFFFF, 1), (1, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF)):
            self.refused(none, start, count)
            self.refused(event, start, count)
        for flags in (0, vu.DATA_NONE, vu.TRIGGER, none | vu.DATA_BOOL, none | vu.MASK, vu.DATA_NONE | vu.MASK | vu.UNMASK, none | 1 << 6, none | 1 << 31):
            self.refused(flags, 0, 1)
        self.refused(vu.DATA_BOOL | vu.TRIGGER, 0, 4, booleans=bytes(3))
        self.refused(vu.DATA_BOOL | vu.TRIGGER, 0, 4, booleans=bytes(5))
        self.refused(none, 0, 1, fds=self.events[:1])
        self.refused(event, 0, 2, fds=self.events[:1])
        self.refused(event, 0, 1, fds=self.events[:2])
        for index in (vu.INTX, vu.MSI, 5, 0xFFFFFFFF):
            self.refused(none, 0, 1, index=index)
        self.device.set_irqs(none, 0, self.vectors)
        self.signalled(range(self.vectors))

    def test_what_is_no_eventfd_is_refused(self):
        pair = socket.socketpair()
        for end in pair:
            self.addCleanup(end.close)
        pipe = os.pipe()
        for end in pipe:
            self.addCleanup(os.close, end)
        memory = os.memfd_create("no event")
        self.addCleanup(os.close, memory)
        for fd in (pair[0].fileno(), pipe[1], memory):
            self.refused(vu.DATA_EVENTFD | vu.TRIGGER, 0, 1, fds=[fd])

    def test_more_descriptors_than_the_server_takes_are_refused(self):
        event = vu.IRQ_SET_BODY.pack(vu.IRQ_SET_BODY.size, vu.DATA_EVENTFD | vu.TRIGGER, vu.MSIX, 0, self.device.msg_fds + 1)
        with self.assertRaises(Refused) as refusal:
            self.device.wire.call(vu.SET_IRQS, event, self.events[:self.device.msg_fds + 1])
        self.assertIn(refusal.exception.number, errno.errorcode)
        self.device.device_info()

    def test_sizes_of_the_request_agree(self):
        for argsz, tail in ((19, b""), (0, b""), (20, b"\0"), (40, b"")):
            body = vu.IRQ_SET_BODY.pack(argsz, vu.DATA_NONE | vu.TRIGGER, vu.MSIX, 0, 1) + tail
            with self.subTest(argsz=argsz), self.assertRaises(Refused):
                self.device.wire.call(vu.SET_IRQS, body)

    def test_eventfds_go_with_their_client(self):
        self.device.set_eventfds(self.events)
        self.device.close()
        second = self.client()
        second.set_irqs(vu.DATA_NONE | vu.TRIGGER, 0, self.vectors)
        self.assertFalse(select.select(self.events, [], [], 0.1)[0])
