#!/usr/bin/env python3
"""Options of commands, and numbers that C would cut off."""
import unittest

import numpy as np
from weft_package import OnNano

import weft
from weft.commands import Command


class Commands(OnNano):
    def test_every_option_of_the_library_has_a_name(self):
        self.assertEqual(len(weft.CommandOptions.__annotations__), 7)
        everything = Command(weft._abi.QueueOpcode.NOP, {"tag": 1, "budget_kcycles": 2, "fence": True, "chain": True, "profile": True,
                                                        "after": (self.device.semaphore(), 3), "signals": (self.device.semaphore(), 4)})
        options = everything._options
        unset = [name for name, *_ in options._fields_ if not getattr(options, name)]
        self.assertEqual(unset, [])

    def test_options_that_do_not_exist_or_fit_are_refused(self):
        self.assertRaisesRegex(TypeError, "no option tga: it has tag, ", self.queue.nop, tga=1)
        for options in ({"tag": 1 << 32}, {"tag": -1}, {"budget_kcycles": 1 << 32}, {"after": (self.device.semaphore(), -1)}, {"signals": (self.device.semaphore(), 1 << 64)}):
            self.assertRaises(ValueError, self.queue.nop, **options)
        for options in ({"tag": "a"}, {"budget_kcycles": 0.5}, {"after": self.device.semaphore()}):
            self.assertRaises(TypeError, self.queue.nop, **options)
        for pair in (3, self.device.semaphore(), (3, self.device.semaphore()), (self.device.semaphore(), 1, 2)):
            self.assertRaisesRegex(TypeError, r"option signals is a semaphore and a value, as in signals=\(semaphore, 1\), not", self.queue.nop, signals=pair)
        self.assertRaisesRegex(TypeError, "option after is a semaphore", self.queue.wait, 3, 1)
        a = self.device.buffer(64)
        for call in (lambda: self.queue.fill(a, 1 << 32, 64), lambda: self.queue.fill(a, -1, 64), lambda: self.queue.fill(a, 0, 64, offset=-4), lambda: self.queue.fill(a, 0, 1 << 64)):
            self.assertRaises(ValueError, call)

    def test_a_budget_ends_a_command(self):
        with self.assertRaises(weft.Error) as caught:
            self.queue.wait(self.device.semaphore(), 1, budget_kcycles=5, tag=7).wait()
        self.assertEqual((caught.exception.status, caught.exception.tag), (weft.Status.BUDGET_EXCEEDED, 7))

    def test_a_chain_ends_behind_a_command_that_fails(self):
        semaphore = self.device.semaphore()
        batch = weft.Batch()
        batch.wait(semaphore, 1, budget_kcycles=5, chain=True)
        batch.nop(chain=True)
        batch.nop()
        batch.nop()
        events = self.queue.submit(batch)
        events[3].wait()
        self.assertEqual([event.status.name for event in events], ["BUDGET_EXCEEDED", "DEPENDENCY_FAILED", "DEPENDENCY_FAILED", "OK"])

    def test_queues_order_their_work_by_semaphores(self):
        other, semaphore = self.device.queue(), self.device.semaphore()
        a, b = self.device.buffer(1 << 16), self.device.buffer(1 << 16, weft.Memory.HOST)
        for turn in range(1, 11):
            second = other.copy(b, a, 1 << 16, after=(semaphore, turn))
            self.queue.fill(a, turn, 1 << 16, signals=(semaphore, turn))
            second.wait()
            self.assertTrue((b.view(np.uint32) == turn).all())

    def test_what_a_batch_uses_is_refused_once_it_is_released(self):
        semaphore, batch = self.device.semaphore(), weft.Batch()
        batch.nop(after=(semaphore, 0))
        semaphore.release()
        with self.assertRaises(weft.Error) as caught:
            self.queue.submit(batch)
        self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)

    def test_what_a_batch_uses_lives_as_long_as_it_does(self):
        batch = weft.Batch()
        source = self.device.put(np.full(16, 5, np.uint32))
        host = self.device.buffer(64, weft.Memory.HOST)
        batch.copy(host, source, 64)
        view = host.view(np.uint32)
        source.release()
        del source, host
        self.device.put(np.zeros(16, np.uint32))
        for event in self.queue.submit(batch):
            event.wait()
        self.assertTrue((view == 5).all())


if __name__ == "__main__":
    unittest.main()
