#!/usr/bin/env python3
"""How a command's end is known: by looking, waiting, awaiting, callbacks."""
import asyncio
import contextlib
import gc
import os
import pathlib
import threading
import time
import unittest

from weft_package import OnNano, python

import weft


def children():
    """Processes that this one has: its simulators. Read from every process, because one listed by thread is missed while its thread ends."""
    found = set()
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(stat.parent.name)
    return found


class Events(OnNano):
    def test_a_command_that_fails_is_known_by_its_event(self):
        event = self.queue.wait(self.device.semaphore(), 1, tag=42)
        event.cancel()
        with self.assertRaises(weft.Error) as caught:
            event.wait()
        self.assertEqual(caught.exception.status, weft.Status.CANCELLED)
        self.assertEqual(event.status, weft.Status.CANCELLED)
        self.assertIsNotNone(event.error)
        self.assertEqual(event.error.tag, 42)

    def called(self, event, *callbacks):
        """Registers them and a last one, and waits for it."""
        ended = threading.Event()
        for callback in callbacks:
            event.call_when_done(callback)
        event.call_when_done(lambda _: ended.set())
        self.assertTrue(ended.wait(30))

    def test_callbacks_run_once_in_their_order_also_after_the_end(self):
        semaphore, seen = self.device.semaphore(), []
        event = self.queue.wait(semaphore, 1)
        event.call_when_done(lambda e: seen.append(("first", e.status)))
        event.call_when_done(lambda e: seen.append(("second", e is event)))
        self.assertEqual(seen, [])
        semaphore.signal(1)
        self.called(event)
        self.called(event, lambda _: seen.append("late"))
        self.called(self.queue.nop().wait(), lambda e: seen.append(e.done))
        self.assertEqual(seen, [("first", weft.Status.OK), ("second", True), "late", True])

    def test_a_callback_may_submit_and_wait_and_register_another(self):
        seen = []

        def again(event):
            seen.append(event.status)
            seen.append(self.queue.nop().wait().status)
            event.call_when_done(lambda _: seen.append("nested"))

        self.called(self.queue.nop(), again)
        self.called(self.queue.nop())
        self.assertEqual(sorted(map(str, seen)), sorted(map(str, [weft.Status.OK, weft.Status.OK, "nested"])))

    def test_a_callback_that_raises_is_logged_and_the_others_run(self):
        seen = []
        with self.assertLogs("weft", "ERROR") as logs:
            self.called(self.queue.nop(), lambda _: 1 / 0, lambda _: seen.append(1))
        self.assertEqual(seen, [1])
        self.assertIn("ZeroDivisionError", logs.output[0])

    def test_a_callback_closes_and_resets_nothing(self):
        seen = []

        def harm(_):
            for call in (self.device.close, self.device.reset):
                try:
                    call()
                except weft.Error as error:
                    seen.append(error.status)

        self.called(self.queue.nop(), harm)
        self.assertEqual(seen, [weft.Status.INVALID_STATE] * 2)
        self.assertFalse(self.device.closed)
        self.queue.nop().wait()

    def test_a_device_whose_last_reference_goes_in_a_callback_is_closed_all_the_same(self):
        before = children()
        kept = [weft.open("nano")]
        self.assertEqual(len(children() - before), 1)
        event = kept[0].queue().nop()

        def drop(_):
            kept.clear()
            gc.collect()

        self.called(event, drop)
        del event
        gc.collect()
        for _ in range(1000):
            if children() == before:
                break
            time.sleep(0.01)
        self.assertEqual(children(), before)

    def test_events_are_called_back_although_nobody_keeps_them(self):
        ended, semaphore = threading.Semaphore(0), self.device.semaphore()
        for value in range(1, 51):
            self.queue.wait(semaphore, value).call_when_done(lambda _: ended.release())
        gc.collect()
        semaphore.signal(50)
        for _ in range(50):
            self.assertTrue(ended.acquire(timeout=30))

    def test_a_close_calls_back_what_it_cancels(self):
        device = weft.open("nano")
        seen, semaphore = [], device.semaphore()
        event = device.queue().wait(semaphore, 1)
        event.call_when_done(lambda e: seen.append(e))
        device.close()
        self.assertEqual(seen, [event])
        with self.assertRaises(weft.Error):
            device.queue()

    def test_coroutines_await_events_beside_each_other(self):
        semaphore, order = self.device.semaphore(), []

        async def waits(number, queue):
            event = await queue.wait(semaphore, number)
            order.append(number)
            return event.status

        async def all_of_them():
            queues = [self.device.queue(entries=2) for _ in range(4)]
            tasks = [asyncio.ensure_future(waits(number, queue)) for number, queue in zip((3, 1, 4, 2), queues, strict=True)]
            for value in (1, 2, 3, 4):
                await asyncio.sleep(0.02)
                semaphore.signal(value)
                while len(order) < value:
                    await asyncio.sleep(0.001)
            return await asyncio.gather(*tasks)

        self.assertEqual(asyncio.run(asyncio.wait_for(all_of_them(), 60)), [weft.Status.OK] * 4)
        self.assertEqual(order, [1, 2, 3, 4])

    def test_an_await_raises_the_error_of_its_command_and_may_be_given_up(self):
        async def fails():
            event = self.queue.wait(self.device.semaphore(), 1, tag=9)
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(_awaited(event), 0.05)
            event.cancel()
            with self.assertRaises(weft.Error) as caught:
                await event
            self.assertEqual((caught.exception.status, caught.exception.tag), (weft.Status.CANCELLED, 9))

        asyncio.run(asyncio.wait_for(fails(), 60))

    def test_an_await_whose_loop_has_ended_disturbs_nobody(self):
        semaphore = self.device.semaphore()

        async def gives_up(event):
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(_awaited(event), 0.02)

        event = self.queue.wait(semaphore, 1)
        asyncio.run(gives_up(event))
        semaphore.signal(1)
        self.called(event)

    def test_waits_until_idle(self):
        semaphore = self.device.semaphore()
        event = self.queue.wait(semaphore, 1)
        start = time.monotonic()
        with self.assertRaises(weft.Error) as caught:
            event.wait(until_idle=True)
        self.assertEqual(caught.exception.status, weft.Status.TIMEOUT_WAIT)
        self.assertLess(time.monotonic() - start, 20)
        semaphore.signal(1)
        event.wait()

    def test_a_process_ends_whatever_its_callbacks_are_at(self):
        python("import weft\nd = weft.open('nano')\ns = d.semaphore()\ne = d.queue().wait(s, 1)\ne.call_when_done(lambda e: print('called'))\n")


async def _awaited(event):
    return await event


if __name__ == "__main__":
    unittest.main()
