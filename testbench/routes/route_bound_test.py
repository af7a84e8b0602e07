"""The routes that chips' DMA takes load no link more than the best shortest ways would, by a linear program (route_bound)."""
import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import route_bound  # noqa: E402


class RouteBoundTest(unittest.TestCase):
    def test_a_ring_of_four_is_bound_by_two_units(self):
        route_bound.SLICES["ring"] = ((4, 1, 1), (True, False, False), False)
        self.addCleanup(route_bound.SLICES.pop, "ring")
        self.assertAlmostEqual(route_bound.largest_load("ring"), 2.0)  # (1 + 2 + 1) hops of each of 4 chips over 8 links

    def test_a_line_is_bound_by_its_middle(self):
        route_bound.SLICES["line"] = ((4, 1, 1), (False, False, False), False)
        self.addCleanup(route_bound.SLICES.pop, "line")
        self.assertAlmostEqual(route_bound.largest_load("line"), 4.0)  # 2 chips to 2

    def test_balanced_routes_load_the_busiest_link_as_the_linear_program_does(self):
        for name in list(route_bound.SLICES):
            with self.subTest(slice=name):
                done = subprocess.run([os.environ["ICI_SATURATION"], "load", "--slice", name, "--json"], check=True, capture_output=True, text=True)
                load = json.loads(done.stdout)["largest_load"]
                self.assertAlmostEqual(load, route_bound.largest_load(name), delta=1e-6 * load)


if __name__ == "__main__":
    unittest.main()
