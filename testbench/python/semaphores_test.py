#!/usr/bin/env python3
"""Timeline semaphores between queues, threads and the host."""
import threading
import unittest

from weft_package import ROOT  # noqa: F401

import weft


class Semaphores(unittest.TestCase):
    def setUp(self):
        self.device = weft.open("nano")
        self.addCleanup(self.device.close)
        self.queue = self.device.queue()

    def test_it_only_grows(self):
        semaphore = self.device.semaphore(3)
        self.assertEqual(semaphore.value, 3)
        semaphore.signal(5)
        self.queue.signal(semaphore, 7).wait()
        self.assertEqual(semaphore.value, 7)
        for call in (semaphore.signal, lambda value: self.queue.signal(semaphore, value)):
            with self.assertRaisesRegex(weft.Error, "INVALID_ARGUMENT: semaphore .* stands at 7 and only grows"):
                call(7)
        self.assertRaises(ValueError, semaphore.signal, -1)
        self.assertRaises(ValueError, self.device.semaphore, 1 << 64)
        self.assertRaises(TypeError, semaphore.wait, "1")

    def test_the_host_waits_for_a_command_and_for_another_thread(self):
        semaphore = self.device.semaphore()
        self.queue.nop(signals=(semaphore, 1))
        semaphore.wait(1)
        threading.Timer(0.05, semaphore.signal, (2,)).start()
        semaphore.wait(2)
        self.assertEqual(semaphore.value, 2)

    def test_a_wait_has_limits(self):
        semaphore = self.device.semaphore()
        for limit in ({"timeout_s": 0.01}, {"deadline_cycles": 1000}, {"until_idle": True}):
            with self.assertRaises(weft.Error) as caught:
                semaphore.wait(1, **limit)
            self.assertEqual(caught.exception.status, weft.Status.TIMEOUT_WAIT)

    def test_a_command_that_fails_fails_its_semaphore(self):
        never, semaphore = self.device.semaphore(), self.device.semaphore()
        self.queue.wait(never, 1, budget_kcycles=5, signals=(semaphore, 1))
        with self.assertRaises(weft.Error) as caught:
            semaphore.wait(1)
        self.assertEqual(caught.exception.status, weft.Status.DEPENDENCY_FAILED)
        with self.assertRaises(weft.Error) as caught:
            _ = semaphore.value
        self.assertEqual(caught.exception.status, weft.Status.DEPENDENCY_FAILED)

    def test_it_goes_with_its_release_its_device_and_a_reset(self):
        semaphore, released = self.device.semaphore(), self.device.semaphore()
        released.release()
        released.release()
        self.device.reset()
        for gone in (semaphore, released):
            with self.assertRaises(weft.Error) as caught:
                gone.signal(1)
            self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)
        kept = self.device.semaphore()
        self.device.close()
        with self.assertRaises(weft.Error):
            _ = kept.value

    def test_so_many_and_no_more(self):
        kept = []
        with self.assertRaises(weft.Error) as caught:
            for _ in range(100):
                kept.append(self.device.semaphore())
        self.assertEqual((caught.exception.status, len(kept)), (weft.Status.BUSY, 64))
        kept.pop()
        self.device.semaphore()


if __name__ == "__main__":
    unittest.main()
