#!/usr/bin/env python3
"""Chips that are joined by links."""
import gc
import subprocess
import tempfile
import threading
import unittest

import numpy as np
from weft_package import BUILD, ROOT, python  # noqa: F401

import weft


class Slices(unittest.TestCase):
    def test_chips_know_where_they_are(self):
        with weft.open_slice("nano-3x2") as chips:
            info = chips.info
            self.assertEqual((info.chips, info.dimensions, info.twisted, len(chips.devices)), (6, (3, 2, 1), False, 6))
            self.assertGreater(info.link_bytes_per_second, 0)
            for number in range(6):
                place = chips.place(number)
                x, y, z = place.coordinates
                self.assertEqual(chips.chip_at(x, y, z), number)
                self.assertEqual(number, x + 3 * y)
                for port, neighbor in place.neighbors.items():
                    self.assertEqual(chips.link(number, port).neighbor, neighbor)
            self.assertIsNone(chips.link(0, "+z").neighbor)
            for call in (lambda: chips.place(6), lambda: chips.chip_at(3), lambda: chips.link(6, "+x")):
                with self.assertRaises(weft.Error) as caught:
                    call()
                self.assertEqual(caught.exception.status, weft.Status.INVALID_ARGUMENT)
            self.assertRaises(ValueError, chips.link, 0, "up")
            self.assertRaises(ValueError, chips.place, -1)

    def test_every_chip_is_a_device(self):
        a = (np.arange(64, dtype=np.float32).reshape(8, 8) % 5) - 2
        with weft.open_slice("nano-2x2", core="fast") as chips:
            for device in chips.devices:
                self.assertEqual(device.info.preset, "nano")
                np.testing.assert_array_equal(device.gemm(a, a), a @ a)
                with self.assertRaisesRegex(weft.Error, "INVALID_STATE: the device belongs to a slice: Slice.close closes it"):
                    device.close()
            chips.devices[1].reset()
            np.testing.assert_array_equal(chips.devices[1].gemm(a, a), a @ a)

    def test_after_its_close_all_of_it_is_refused(self):
        chips = weft.open_slice("nano-2x1")
        device, view = chips.devices[1], chips.devices[0].buffer(64, weft.Memory.HOST).view()
        queue, semaphore = device.queue(), device.semaphore()
        event = queue.wait(semaphore, 1)
        chips.close()
        chips.close()
        self.assertTrue(chips.closed and device.closed)
        for call in (lambda: device.queue(), lambda: chips.info, lambda: device.cycle, lambda: queue.nop(), lambda: semaphore.signal(1), lambda: chips.hold().__enter__(),
                     lambda: chips.collective(weft.CollectiveKind.BARRIER, weft.ArgumentDtype.F32, 0)):
            with self.assertRaises(weft.Error) as caught:
                call()
            self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)
        device.close()
        self.assertEqual(event.status, weft.Status.CANCELLED)
        view[:] = 1

    def test_a_device_keeps_its_slice(self):
        device = weft.open_slice("nano-2x1").devices[1]
        gc.collect()
        device.queue().nop().wait()

    def test_time_that_is_held_lets_all_chips_start_at_once(self):
        with weft.open_slice("nano-2x2") as chips:
            queues = [device.queue() for device in chips.devices]
            ends = set()
            for _ in range(3):
                with chips.hold():
                    events = [queue.timestamp() for queue in queues]
                    with self.assertRaises(weft.Error) as caught:
                        chips.hold().__enter__()
                    self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)
                ends.add(len({event.wait().end_cycle for event in events}))
            self.assertEqual(ends, {1})
            with self.assertRaises(KeyError):
                with chips.hold():
                    raise KeyError
            queues[0].nop().wait()

    def test_names_that_cannot_be_are_refused(self):
        for name in ("nano-0x2", "nano", "nano-2x2?core=fantasy", "v5e-17x17", "x\0y", "vfio-user:/nowhere"):
            with self.assertRaises(weft.Error, msg=name) as caught:
                weft.open_slice(name)
            self.assertIn(caught.exception.status.name, ("INVALID_ARGUMENT", "DEVICE_LOST"), name)

    def test_a_slice_of_another_process(self):
        with tempfile.TemporaryDirectory(prefix="weft-slice-") as folder:
            simulator = subprocess.Popen([BUILD / "bin" / "weft-sim", "--slice", "nano-2x1", "--listen", folder + "/chips"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            self.addCleanup(simulator.stdout.close)
            self.addCleanup(simulator.wait)
            self.addCleanup(simulator.kill)
            for _ in range(1000):
                try:
                    chips = weft.open_slice(f"vfio-user:{folder}/chips")
                    break
                except weft.Error:
                    threading.Event().wait(0.01)
            with chips:
                self.assertEqual(chips.info.chips, 2)
                chips.devices[1].queue().nop().wait()

    def test_a_process_may_end_without_a_close(self):
        python("import weft\nchips = weft.open_slice('nano-2x1')\nq = chips.devices[0].queue()\nq.nop().wait()\n")

    def test_a_callback_closes_no_slice(self):
        with weft.open_slice("nano-2x1") as chips:
            seen, ended = [], threading.Event()

            def harm(_):
                try:
                    chips.close()
                except weft.Error as error:
                    seen.append(error.status)
                ended.set()

            chips.devices[0].queue().nop().call_when_done(harm)
            self.assertTrue(ended.wait(30))
            self.assertEqual(seen, [weft.Status.INVALID_STATE])
            self.assertFalse(chips.closed)


if __name__ == "__main__":
    unittest.main()
