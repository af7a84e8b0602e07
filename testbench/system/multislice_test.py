#!/usr/bin/python3
"""Collectives of programs over several slices whose hosts a simulated network joins: bits, the network's time, errors, a slice that dies."""
import contextlib
import json
import os
import random
import signal
import time
import unittest

from weft_command import WeftTest, children, cpu_seconds, wait_for

WRONG_INPUT, DEVICE_LOST_TEXT = 2, "DEVICE_LOST"
KINDS = ("all-reduce", "reduce-scatter", "all-gather")
SEED = int(os.environ.get("WEFT_SEED", "20261127"))
# axes of a slice that a case may reduce along
SHAPES = {"nano-2x2": ("x", "y", "xy"), "nano-2x4": ("x", "y", "xy"), "nano-2x1": ("x",), "nano-3x2": ("x", "xy")}


class Multislice(WeftTest):
    def reduce(self, name, slices, axis, size, dtype="f32", options=(), kind="all-reduce"):
        return self.weft_json("collective", kind, "--slice", name, "--slices", slices, "--axis", axis, "--bytes", size, "--dtype", dtype, *options)

    def test_two_slices_give_the_documented_bits_in_the_time_that_the_hosts_network_takes(self):
        found = self.reduce("nano-2x2", 2, "xy", 65536)
        self.assertEqual(found["differing"], 0)
        self.assertEqual(found["elements"], 2 * 4 * 65536 // 4)
        self.assertAlmostEqual(found["network_us"] / found["network_exact_us"], 1, delta=0.02)
        self.assertEqual(found["hosts"], 2)
        steps = sum(found[step] for step in ("parts_us", "sums_us")) + sum(found[step] for step in ("reduce_cycles", "add_cycles", "gather_cycles")) / 1000  # nano: 1 GHz
        self.assertAlmostEqual(steps, found["microseconds"], delta=0.01)
        again = self.reduce("nano-2x2", 2, "xy", 65536)
        self.assertEqual({**again, "wall_seconds": 0}, {**found, "wall_seconds": 0})

    def test_a_reduce_scatter_and_an_all_gather_are_the_halves_of_an_all_reduce(self):
        whole, scatter, gather = (self.reduce("nano-2x2", 3, "xy", 98304, kind=kind) for kind in KINDS)
        for found, elements in ((whole, 3 * 4 * 98304 // 4), (scatter, 98304 // 4), (gather, 3 * 4 * 98304 // 4)):
            self.assertEqual((found["differing"], found["elements"]), (0, elements), found["collective"])
            self.assertAlmostEqual(found["network_us"] / found["network_exact_us"], 1, delta=0.02)
        self.assertEqual((scatter["reduce_cycles"], scatter["parts_us"]), (whole["reduce_cycles"], whole["parts_us"]))
        self.assertLess(scatter["add_cycles"], whole["add_cycles"])  # the sums stay on the chips
        self.assertEqual((scatter["sums_us"], scatter["gather_cycles"]), (0, 0))
        self.assertEqual((gather["sums_us"], gather["gather_cycles"]), (whole["sums_us"], whole["gather_cycles"]))
        self.assertEqual((gather["reduce_cycles"], gather["parts_us"]), (0, 0))
        for half in (scatter, gather):
            self.assertAlmostEqual(half["network_exact_us"], whole["network_exact_us"] / 2)
            self.assertEqual(2 * half["network_bytes"], whole["network_bytes"])

    def test_bytes_of_any_type_are_gathered(self):
        for dtype in ("i8", "i32", "bf16"):
            found = self.reduce("nano-2x2", 3, "x", 16 * 77, dtype, kind="all-gather")
            self.assertEqual((found["differing"], found["elements"]), (0, 3 * 4 * 16 * 77 // {"i8": 1, "i32": 4, "bf16": 2}[dtype]))

    def test_without_data_all_takes_the_same_time(self):
        for kind in KINDS:
            found = self.reduce("nano-2x2", 2, "xy", 8192, kind=kind)
            timed = self.reduce("nano-2x2", 2, "xy", 8192, options=("--timing-only",), kind=kind)
            self.assertEqual((timed["timing_only"], timed["differing"], timed["elements"]), (True, None, 0))
            for key in ("microseconds", "reduce_cycles", "add_cycles", "gather_cycles", "network_us", "network_bytes"):
                self.assertEqual(timed[key], found[key], (kind, key))

    def test_simulators_that_are_stopped_for_milliseconds_take_the_same_time(self):
        draw = random.Random(SEED)
        words = ("collective", "reduce-scatter", "--slice", "nano-2x2", "--slices", 2, "--axis", "xy", "--bytes", 8192, "--json")
        keys = ("microseconds", "reduce_cycles", "add_cycles")
        calm = self.weft_json(*words[:-1])
        for i in range(25):
            process = self.start(*words)
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            while process.poll() is None:
                stopped = [pid for pid in children(process.pid, "weft-sim") if draw.random() < 0.5]
                for number, pause in ((signal.SIGSTOP, 0.004), (signal.SIGCONT, 0.002)):
                    for pid in stopped:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, number)
                    time.sleep(draw.random() * pause)
            found = json.loads(process.communicate()[0])
            self.assertEqual([found[key] for key in keys], [calm[key] for key in keys], f"run {i}, seed {SEED}")

    def test_rtl_takes_the_cycles_of_fast_cores(self):
        fast, rtl = (self.reduce("nano-2x2", 2, "xy", 4096, options=("--core", core)) for core in ("fast", "rtl"))
        self.assertEqual(rtl["differing"], 0)
        self.assertEqual(rtl["microseconds"], fast["microseconds"])

    def test_random_shapes(self):
        draw = random.Random(SEED)
        for _ in range(9):
            kind = draw.choice(KINDS)
            name = draw.choice(sorted(SHAPES))
            case = (name, draw.randint(2, 4), draw.choice(SHAPES[name]), 16 * draw.choice((draw.randint(1, 40), draw.randint(41, 9000))), draw.choice(("f32", "bf16", "i32")))
            options = ("--chips-per-host", draw.randint(1, 5), "--host-gbps", draw.choice((1, 8, 100)), "--dcn-us", draw.choice((0, 3, 50)), "--seed", draw.randint(1, 1000))
            with self.subTest(seed=SEED, kind=kind, case=case, options=options):
                found = self.reduce(*case, options, kind)
                self.assertEqual(found["differing"], 0)
                self.assertGreater(found["elements"], 0)

    def test_a_slower_network_takes_what_its_closed_form_says(self):
        for options in (("--host-gbps", 1), ("--host-gbps", 4, "--dcn-us", 500), ("--chips-per-host", 2, "--host-gbps", 2)):
            for slices in (2, 4):
                found = self.reduce("nano-2x2", slices, "xy", 262144, options=options)
                with self.subTest(options=options, slices=slices):
                    self.assertEqual(found["differing"], 0)
                    self.assertAlmostEqual(found["network_us"] / found["network_exact_us"], 1, delta=0.02)

    def test_what_cannot_be_is_refused(self):
        for words, text in ((("all-to-all", "--slice", "nano-2x2", "--slices", 2), "all-to-all --slices: over several slices there are all-reduce, reduce-scatter and all-gather only"),
                            (("all-reduce", "--slice", "nano-2x2", "--slices", 2, "--trace", "t.json"), "--trace --slices: each slice has a clock of its own"),
                            (("all-reduce", "--listen", "none", "--slices", 2), "--listen --slices: a folder is of one slice"),
                            (("all-reduce", "--slice", "nano-2x2", "--slices", 2, "--timing-only", "--core", "rtl"), "fast cores only"),
                            (("all-reduce", "--slice", "v4-2x2x1", "--slices", 2), "v4: the bandwidth of its hosts is not published, give --host-gbps"),
                            (("all-reduce", "--slice", "nano-2x2", "--slices", 2, "--axis", "xy", "--dtype", "i8"), "the VPU adds f32, bf16 and i32"),
                            (("all-reduce", "--slice", "nano-2x2", "--slices", 2, "--bytes", 24), "24 bytes: a multiple of 16")):
            code, _, err = self.run_weft("collective", *words)
            self.assertEqual(code, WRONG_INPUT, err)
            self.assertIn(text, err)
        for words, text in ((("--slices", 0), "--slices: Value 0 not in range 1 to 28"), (("--dcn-us", 3), "--dcn-us requires --slices"), (("--slices", 1, "--host-gbps", 5), "--host-gbps: it is of several slices: give --slices 2 or more")):
            code, _, err = self.run_weft("collective", "all-reduce", "--slice", "nano-2x2", *words)
            self.assertNotEqual(code, 0)
            self.assertIn(text, err)

    def test_a_slice_that_dies_is_named_and_nothing_stays(self):
        process = self.start("collective", "all-reduce", "--slice", "nano-2x2", "--slices", 3, "--axis", "xy", "--bytes", 4 << 20, "--core", "rtl")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        simulators = wait_for(lambda: (found := sorted(children(process.pid, "weft-sim"))) and len(found) == 3 and found, "three simulators", 60)
        wait_for(lambda: cpu_seconds(simulators[1]) > 1, "work of the second slice", 120)
        os.kill(simulators[1], signal.SIGKILL)
        _, err = process.communicate(timeout=300)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(DEVICE_LOST_TEXT, str(err))
        self.assertIn("slice 1: ", str(err))
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in simulators), "end of the other simulators", 60)


if __name__ == "__main__":
    unittest.main()
