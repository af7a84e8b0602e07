#!/usr/bin/python3
"""A cube of a slice that is replaced by a spare: the slice works on with the same coordinates and in the same cycles, by one process and by several."""
import json
import os
import socket
import unittest

from weft_command import WEFT_SIM, WeftTest, wait_for

WRONG_INPUT = 2


class Cubes(WeftTest):
    def setUp(self):
        super().setUp()
        self.simulators = []

    def serve(self, name, folder, processes=1, options=()):
        simulator = self.start("--slice", name, "--processes", processes, "--listen", self.path(folder), *options, program=WEFT_SIM)
        self.addCleanup(simulator.communicate)
        self.addCleanup(simulator.kill)
        self.simulators.append(simulator)
        wait_for(lambda: os.path.exists(self.path(f"{folder}/chip3-function0.sock")), "sockets of the slice", 60)

    def end_simulators(self):
        for simulator in self.simulators:
            simulator.terminate()
            self.assertEqual(simulator.wait(60), 0)

    def ask(self, request, folder):
        with socket.socket(socket.AF_UNIX) as observer:
            observer.settimeout(60)
            observer.connect(self.path(f"{folder}/management.sock"))
            observer.sendall((json.dumps({"weft_management": 1, **request}) + "\n").encode())
            with observer.makefile() as lines:
                return json.loads(lines.readline())

    def test_a_spare_takes_the_place_of_a_cube(self):
        told = []
        for processes in (1, 2):
            folder = f"slice-{processes}"
            self.serve("v4-4x4x4", folder, processes)
            wait_for(lambda folder=folder: os.path.exists(self.path(f"{folder}/chip63-function0.sock")), "sockets of the slice", 60)
            collective = ("collective", "all-reduce", "--listen", folder, "--axis", "xyz", "--bytes", 16384, "--json")
            before = self.weft_json(*collective[:-1])
            self.ask({"request": "inject", "chip": 21, "kind": "chip_cut", "port": 0, "nth": 1, "count": 1, "value": 0}, folder)
            code, _, err = self.run_weft(*collective)
            self.assertNotEqual(code, 0)
            self.assertRegex(err, "ICI_FAULT|WATCHDOG")  # of the chip itself, or of one that waits for it
            down = {link["chip"] for link in self.ask({"request": "links"}, folder)["links"] if link["state"] == "down"}
            self.assertIn(21, down)
            self.assertEqual(len(down), 7)  # and its neighbours
            links = self.weft_json("links", folder, "--replace-cube", 0)
            self.assertEqual({link["state"] for link in links["links"]}, {"up"})
            after = self.weft_json(*collective[:-1])
            self.assertEqual((after["device_cycles"], after["differing"]), (before["device_cycles"], 0))
            told.append((before["device_cycles"], code, [link["downs"] for link in links["links"]]))
        self.assertEqual(told[1], told[0])

    def test_optical_links_take_their_time_by_any_number_of_processes(self):
        collective = ("all-reduce", "--axis", "z", "--bytes", 8192)
        cycles = {}
        for us, processes in ((1, 1), (6, 1), (6, 2), (6, 3)):
            folder = f"slice-{us}-{processes}"
            self.serve("v4-4x4x8", folder, processes, ("--optical-us", us))
            wait_for(lambda folder=folder: os.path.exists(self.path(f"{folder}/chip127-function0.sock")), "sockets of the slice", 60)
            found = self.weft_json("collective", *collective, "--listen", folder)
            self.assertEqual(found["differing"], 0)
            cycles.setdefault(us, set()).add(found["device_cycles"])
        self.assertEqual([len(found) for found in cycles.values()], [1, 1], cycles)
        self.assertGreater(min(cycles[6]), min(cycles[1]) + 2 * 5 * 1050)  # a hop each way of 5 us more, at 1.05 GHz

    def test_slices_and_latencies_of_which_there_are_no_optical_links(self):
        for arguments, words in ((("--slice", "v5e-4x4", "--optical-us", 3), "slice v5e-4x4 is not made of cubes of 4x4x4 chips"),
                                 (("--slice", "v4-4x4x4", "--optical-us", 0.5), "0.5 not in range 1"), (("--slice", "v4-4x4x4", "--optical-us", 1001), "1001 not in range"),
                                 (("--chip", "nano", "--optical-us", 3), "--slice"), (("--replay", self.path("r"), "--optical-us", 3), "--optical-us requires --slice")):
            code, _, err = self.run_weft(*arguments, "--listen", self.path("none"), program=WEFT_SIM)
            self.assertNotEqual(code, 0)
            self.assertIn(words, err)

    def test_a_simulator_of_its_own_is_told_what_optical_links_take(self):
        collective = ("collective", "all-reduce", "--slice", "v4-4x4x8", "--axis", "z", "--bytes", 4096)
        near, far = (self.weft_json(*collective, "--optical-us", us) for us in (1, 6))
        self.assertEqual((near["differing"], far["differing"]), (0, 0))
        self.assertGreater(far["device_cycles"], near["device_cycles"] + 2 * 5 * 1050)  # as above
        for us, slice_, words in ((3, "v5e-4x4", "slice v5e-4x4 is not made of cubes of 4x4x4 chips"), ("0.5", "v4-4x4x8", "0.5 not in range 1"), ("x", "v4-4x4x8", "--optical-us")):
            code, out, err = self.run_weft("collective", "all-reduce", "--slice", slice_, "--optical-us", us)
            self.assertEqual((code, out), (WRONG_INPUT, ""), err)
            self.assertIn(words, err)

    def test_a_recording_is_replayed_with_its_optical_links(self):
        self.serve("v4-4x4x8", "served", options=("--optical-us", 6.5, "--record", self.path("far")))
        wait_for(lambda: os.path.exists(self.path("served/chip127-function0.sock")), "sockets of the slice", 60)
        found = self.weft_json("collective", "all-reduce", "--axis", "z", "--bytes", 4096, "--listen", "served")
        self.assertEqual(found["differing"], 0)
        self.end_simulators()
        report = self.weft_json("replay", "far")
        self.assertTrue(report["identical"] and report["cycles_compared"])

    def test_a_recorded_slice_keeps_its_cubes(self):
        self.serve("v4-4x4x4", "recorded", options=("--record", self.path("r")))
        code, out, err = self.run_weft("links", "recorded", "--replace-cube", 0)
        self.assertEqual((code, out), (WRONG_INPUT, ""), err)
        self.assertIn("the slice is being recorded", err)

    def test_what_has_no_such_cube_is_refused(self):
        self.serve("v4-4x4x4", "cube")
        code, out, err = self.run_weft("links", "cube", "--replace-cube", 1)
        self.assertEqual((code, out), (WRONG_INPUT, ""), err)
        self.assertIn("slice v4-4x4x4 has cubes 0 to 0: there is no cube 1", err)
        self.serve("nano-2x2", "mesh")
        code, out, err = self.run_weft("links", "mesh", "--replace-cube", 0)
        self.assertEqual((code, out), (WRONG_INPUT, ""), err)
        self.assertIn("no slice of cubes", err)
        for request in ({"request": "replace"}, {"request": "replace", "cube": -1}, {"request": "replace", "cube": 0, "chip": 0}):
            self.assertEqual(self.ask(request, "cube")["error"], "INVALID_ARGUMENT", request)


if __name__ == "__main__":
    unittest.main()
