#!/usr/bin/env python3
"""A handle that several threads use and release."""
import threading
import unittest

from weft_package import ROOT  # noqa: F401

import weft
from weft._handles import Handle


class Handles(unittest.TestCase):
    def setUp(self):
        self.released = []
        self.handle = Handle(7, "thing", self.released.append)

    def test_a_use_behind_the_release_raises_and_does_not_get_the_value(self):
        with self.handle as value:
            self.assertEqual(value, 7)
        self.handle.release()
        with self.assertRaises(weft.Error) as caught, self.handle:
            self.fail("the value was given out")
        self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)
        self.assertIn("thing", str(caught.exception))

    def test_a_release_waits_for_the_uses_under_way_and_refuses_later_ones(self):
        with self.handle:
            thread = threading.Thread(target=self.handle.release)
            thread.start()
            while not self.handle.released:
                pass
            self.assertEqual(self.released, [])
            with self.assertRaises(weft.Error), self.handle:
                self.fail("a use has begun behind the release")
            self.assertEqual(self.released, [])
        thread.join()
        self.assertEqual(self.released, [7])

    def test_it_is_released_once_by_whoever_comes_first_or_with_the_last_reference(self):
        threads = [threading.Thread(target=self.handle.release) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        del self.handle
        self.assertEqual(self.released, [7])
        forgotten = Handle(8, "thing", self.released.append)
        del forgotten
        self.assertEqual(self.released, [7, 8])


if __name__ == "__main__":
    unittest.main()
