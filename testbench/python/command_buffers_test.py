#!/usr/bin/env python3
"""Commands that are recorded once and replayed."""
import unittest

import numpy as np
from weft_package import ROOT  # noqa: F401

import weft


class CommandBuffers(unittest.TestCase):
    def setUp(self):
        self.device = weft.open("nano")
        self.addCleanup(self.device.close)
        self.queue = self.device.queue()
        self.hbm, self.host = self.device.buffer(64), self.device.buffer(64, weft.Memory.HOST)

    def recorded(self):
        batch = weft.Batch()
        batch.fill(self.hbm, 1, 64)
        batch.fill(self.hbm, 2, 32)
        batch.copy(self.host, self.hbm, 64)
        return self.device.record(batch)

    def words(self):
        return self.host.view(np.uint32).tolist()

    def test_replays_do_the_same_again_on_any_queue(self):
        buffer = self.recorded()
        self.assertEqual(len(buffer), 3)
        for queue in (self.queue, self.device.queue(entries=4), self.queue):
            self.host.view()[:] = 0
            self.assertEqual(queue.replay(buffer).wait().status, weft.Status.OK)
            self.assertEqual(self.words(), [2] * 8 + [1] * 8)
        events = [self.queue.replay(buffer) for _ in range(20)]
        self.assertEqual({event.wait().status for event in events}, {weft.Status.OK})

    def test_a_patch_counts_from_the_next_replay_on(self):
        buffer = self.recorded()
        buffer.patch(1).fill(self.hbm, 9, 4, offset=60)
        self.queue.replay(buffer).wait()
        self.assertEqual(self.words(), [1] * 15 + [9])
        with self.assertRaisesRegex(weft.Error, "INVALID_ARGUMENT: command 1 was recorded with opcode"):
            buffer.patch(1).nop()
        with self.assertRaisesRegex(weft.Error, "INVALID_ARGUMENT: command 3 of a command buffer of 3"):
            buffer.patch(3).nop()
        with self.assertRaises(weft.Error):
            buffer.patch(2).copy(self.host, self.hbm, 65)
        self.queue.replay(buffer).wait()
        self.assertEqual(self.words(), [1] * 15 + [9])

    def test_a_command_that_fails_ends_the_replay(self):
        semaphore, batch = self.device.semaphore(), weft.Batch()
        batch.wait(semaphore, 1, budget_kcycles=5)
        batch.fill(self.hbm, 3, 64)
        buffer = self.device.record(batch)
        with self.assertRaises(weft.Error) as caught:
            self.queue.replay(buffer).wait()
        self.assertEqual(caught.exception.status, weft.Status.DEPENDENCY_FAILED)
        semaphore.signal(1)
        self.queue.replay(buffer).wait()

    def test_what_cannot_be_recorded_is_refused_by_name(self):
        with self.assertRaisesRegex(weft.Error, "INVALID_ARGUMENT: a command buffer of 0 commands"):
            self.device.record(weft.Batch())
        batch = weft.Batch()
        batch.nop()
        batch.copy(self.host, self.hbm, 100)
        with self.assertRaisesRegex(weft.Error, "command 1"):
            self.device.record(batch)
        small = self.device.queue(entries=2)
        with self.assertRaises(weft.Error):
            small.replay(self.recorded())

    def test_it_goes_with_its_release_and_with_a_reset(self):
        buffer, released = self.recorded(), self.recorded()
        event = self.queue.replay(released)
        released.release()
        released.release()
        event.wait()
        self.device.reset()
        queue = self.device.queue()
        for gone in (buffer, released):
            with self.assertRaises(weft.Error) as caught:
                queue.replay(gone)
            self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)
        queue.replay(self.recorded()).wait()

    def test_it_keeps_what_it_uses(self):
        buffer, host = self.recorded(), self.host.view(np.uint32)
        self.hbm.release()
        self.host.release()
        self.queue.replay(buffer).wait()
        self.assertEqual(host.tolist(), [2] * 8 + [1] * 8)


if __name__ == "__main__":
    unittest.main()
