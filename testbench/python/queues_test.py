#!/usr/bin/env python3
"""Commands, events and waits."""
import ctypes
import threading
import unittest

import numpy as np
from weft_package import OnNano

import weft


class Queues(OnNano):
    def test_commands_end_in_their_order(self):
        events = [self.queue.timestamp() for _ in range(5)]
        events[-1].wait()
        cycles = [event.end_cycle for event in events]
        self.assertEqual(cycles, sorted(set(cycles)))
        self.assertEqual({event.status for event in events}, {weft.Status.OK})

    def test_a_fill_and_a_copy_move_bytes(self):
        a, b = self.device.buffer(64), self.device.buffer(64, weft.Memory.HOST)
        self.queue.fill(a, 0x01020304, 64)
        self.queue.copy(b, a, 10, destination_offset=3, source_offset=1).wait()
        expected = np.zeros(64, np.uint8)
        expected[3:13] = np.tile(np.array([4, 3, 2, 1], np.uint8), 16)[1:11]
        np.testing.assert_array_equal(b.view(), expected)

    def test_wrong_commands_name_what_is_wrong(self):
        a, b = self.device.buffer(64), self.device.buffer(64, weft.Memory.HOST)
        for call, status in ((lambda: self.queue.copy(a, b, 65), "INVALID_ARGUMENT"), (lambda: self.queue.copy(b, b, 4, source_offset=32), "UNSUPPORTED"),
                             (lambda: self.queue.copy(a, b, 0), "INVALID_ARGUMENT"), (lambda: self.queue.fill(a, 0, 3), "INVALID_ARGUMENT")):
            with self.assertRaises(weft.Error) as caught:
                call()
            self.assertEqual(caught.exception.status.name, status)
            self.assertTrue(str(caught.exception).startswith(f"{status}: "))
        for number in ("a lot", None, 1.5):
            self.assertRaises(TypeError, self.queue.copy, a, b, number)
        for number in (-1, 1 << 64):
            self.assertRaises(ValueError, self.queue.copy, a, b, number)

    def test_a_device_that_computes_nothing_ends_commands_too(self):
        with weft.open("mock:nano") as device:
            self.assertEqual(device.queue().nop().wait().status, weft.Status.OK)

    def test_a_full_queue_is_told_and_can_be_tried_again(self):
        small = self.device.queue(entries=2)
        a, b = self.device.buffer(1 << 20), self.device.buffer(1 << 20)
        events = []
        with self.assertRaises(weft.Error) as caught:
            for _ in range(64):
                events.append(small.copy(a, b, 1 << 20))
        self.assertEqual(caught.exception.status, weft.Status.QUEUE_FULL)
        for event in events:
            event.wait()
        small.nop().wait()
        small.release()
        with self.assertRaises(weft.Error) as caught:
            small.nop()
        self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)

    def test_a_wait_with_a_limit_ends_and_the_work_goes_on(self):
        semaphore = self.device.semaphore()
        held = self.queue.wait(semaphore, 1)
        behind = self.queue.nop()
        for limit in ({"deadline_cycles": 1000}, {"timeout_s": 0.01}):
            with self.assertRaises(weft.Error) as caught:
                behind.wait(**limit)
            self.assertEqual(caught.exception.status, weft.Status.TIMEOUT_WAIT)
        self.assertIsNone(behind.status)
        with self.assertRaises(weft.Error) as caught:
            _ = behind.end_cycle
        self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)
        semaphore.signal(1)
        self.assertTrue(held.wait().done and behind.wait().done)

    def test_a_batch_is_submitted_as_a_whole_or_not_at_all(self):
        a, b = self.device.buffer(64), self.device.buffer(64, weft.Memory.HOST)
        batch = weft.Batch()
        self.assertEqual([batch.fill(a, 7, 64), batch.copy(b, a, 64), batch.nop()], [0, 1, 2])
        events = self.queue.submit(batch)
        self.assertEqual(len(events), 3)
        events[2].wait()
        self.assertEqual({event.status for event in events}, {weft.Status.OK})
        self.assertTrue((b.view(np.uint32) == 7).all())
        batch.copy(b, a, 65)
        b.view()[:] = 0
        with self.assertRaisesRegex(weft.Error, "command 3"):
            self.queue.submit(batch)
        self.queue.nop().wait()
        self.assertFalse(b.view().any())
        with self.assertRaisesRegex(weft.Error, "QUEUE_FULL|INVALID_ARGUMENT"):
            self.device.queue(entries=2).submit(batch)
        with self.assertRaisesRegex(weft.Error, "INVALID_ARGUMENT: a batch of 0 commands"):
            self.queue.submit(weft.Batch())

    def test_threads_with_queues_of_their_own_do_not_mix(self):
        wrong = []

        def work(number):
            queue, host = self.device.queue(), self.device.buffer(4096, weft.Memory.HOST)
            hbm = self.device.buffer(4096)
            for turn in range(10):
                host.view(np.uint32)[:] = 100 * number + turn
                queue.copy(hbm, host, 4096)
                queue.copy(host, hbm, 4096).wait()
                if not (host.view(np.uint32) == 100 * number + turn).all():
                    wrong.append((number, turn))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_calls_without_a_python_form_are_reachable_and_checked(self):
        with self.device._handle as device:
            weft.call("weft_device_set_log_level", device, 0)
            with self.assertRaises(weft.Error) as caught:
                weft.call("weft_device_set_log_level", device, 9)
        self.assertEqual(caught.exception.status, weft.Status.INVALID_ARGUMENT)
        with self.assertRaises(weft.Error):
            weft.call("weft_device_cycle", None, ctypes.byref(ctypes.c_uint64()))


if __name__ == "__main__":
    unittest.main()
