#!/usr/bin/python3
"""Recorded runs of a slice: by any number of processes, replayed in one with the cycles of each chip; what differs, is missing or is damaged."""
import json
import os
import random
import shutil
import signal
import subprocess
import unittest

from weft_command import BUILD, SOURCE, WEFT_SIM, WeftTest, wait_for

USAGE, DIFFERS = 2, 6
CHIPS = 4  # of nano-2x2
TRAIN = BUILD / "bin/digits_train"
COLLECTIVE = ("collective", "all-reduce", "--slice", "nano-2x2", "--axis", "xy", "--bytes", 8192)


class SliceRecord(WeftTest):
    def record(self, to, *arguments, processes=1, program=None, codes=(0,)):
        options = {} if program is None else {"program": str(program)}
        process = self.start(*arguments, "--json", environment={"WEFT_PROCESSES": str(processes), "WEFT_RECORD": self.path(to)}, **options)
        out, err = process.communicate(timeout=300)
        self.assertIn(process.returncode, codes, out + err)
        return json.loads(out)

    def replay(self, name, *arguments):
        code, out, err = self.run_weft("replay", name, "--json", *arguments)
        self.assertEqual((code, err), (0, ""), out)
        report = json.loads(out)
        self.assertTrue(report["identical"] and report["cycles_compared"])
        self.assertEqual((report["chip"], report["slice"], report["chips"]), ("nano", "nano-2x2", CHIPS))
        return report

    def refused(self, name, *arguments, code=USAGE):
        found, out, err = self.run_weft("replay", name, *arguments)
        self.assertEqual(found, code, out + err)
        return out + err

    def test_every_number_of_processes_is_replayed_in_one_with_its_cycles(self):
        for collective in ("all-reduce", "all-to-all"):
            found = {}
            for processes in (1, 2, 3, 4):
                name = f"{collective}-{processes}"
                run = self.record(name, "collective", collective, "--slice", "nano-2x2", "--axis", "xy", "--bytes", 16384, processes=processes)
                self.assertEqual(run["differing"], 0)
                self.assertEqual(sorted(os.listdir(self.path(name))), [f"chip{chip}.weftrec" for chip in range(CHIPS)])
                report = self.replay(name)
                self.assertEqual(report["ending"], "complete")
                # How often a host's threads look is the wall clock's; what the device has done is not.
                found[processes] = [run["device_cycles"], *(report[key] for key in ("completions", "host_written_bytes", "host_read_bytes"))]
                self.assertGreater(report["completions"], CHIPS)
            self.assertEqual({tuple(one) for one in found.values()}, {tuple(found[1])}, collective)

    def test_cores_of_several_kinds_and_a_replay_on_others(self):
        self.record("mixed", *COLLECTIVE, "--core", "rtl,fast,lockstep,fast", processes=2)
        report = self.replay("mixed")
        self.assertEqual((report["recorded_core"], report["core"]), ("rtl,fast,lockstep,fast",) * 2)
        other = self.replay("mixed", "--core", "fast")
        for key in ("device_cycles", "completions", "host_writes", "interrupts", "stimuli"):
            self.assertEqual(other[key], report[key], key)

    def test_training_and_a_link_that_is_pulled_in_it(self):
        for processes, pulled in ((1, ()), (2, ("--pull-link", "1:-x", "--pull-at", 9)), (1, ("--pull-link", "0:+x", "--pull-at", 5))):
            name = f"train-{processes}-{len(pulled)}"
            self.record(name, "--data", SOURCE / "host/examples/digits", "--slice", "nano-2x2", "--steps", 2, "--goal", 0, *pulled, processes=processes, program=TRAIN)
            self.assertGreater(self.replay(name)["completions"], 20)

    def test_a_standing_simulator_with_one_client_after_the_other(self):
        for processes in (1, 2):
            folder, name = f"slice-{processes}", f"standing-{processes}"
            simulator = self.start("--slice", "nano-2x2", "--processes", processes, "--listen", self.path(folder), "--record", self.path(name), program=WEFT_SIM)
            self.addCleanup(simulator.communicate)
            self.addCleanup(simulator.kill)
            wait_for(lambda folder=folder: os.path.exists(self.path(f"{folder}/chip3-function0.sock")), "sockets of the slice")
            for seed in (1, 2):
                self.weft_json("collective", "all-gather", "--listen", folder, "--bytes", 4096, "--seed", seed)
            simulator.send_signal(signal.SIGTERM)
            self.assertEqual(simulator.wait(30), 0)
            self.assertEqual(self.replay(name)["ending"], "complete")

    def test_one_chip_of_another_run_differs_and_is_named(self):
        for seed in (1, 2):
            self.record(f"run{seed}", *COLLECTIVE, "--seed", seed)
        shutil.copy(self.path("run2/chip2.weftrec"), self.path("run1/chip2.weftrec"))
        self.assertRegex(self.refused("run1", code=DIFFERS), r"DIFFERENT at record \d+ \(block at byte \d+\): chip \d: ")

    def test_files_that_are_missing_damaged_or_of_another_slice(self):
        self.record("run", *COLLECTIVE)
        self.record("other", "collective", "all-reduce", "--slice", "nano-1x4", "--axis", "y", "--bytes", 8192)
        chip = self.path("run/chip1.weftrec")
        self.assertIn("chip 1 of slice 'nano-2x2', whose chips are replayed together: name the folder", self.refused("run/chip1.weftrec"))
        whole = (self.folder / "run/chip1.weftrec").read_bytes()
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        for _ in range(10):
            damaged = bytearray(whole)
            bit = draw.randrange(8 * len(whole))
            damaged[bit // 8] ^= 1 << bit % 8
            (self.folder / "run/chip1.weftrec").write_bytes(damaged)
            self.assertIn(": byte ", self.refused("run"), f"seed {seed}, bit {bit}")
        (self.folder / "run/chip1.weftrec").write_bytes(whole[:-5])
        self.assertIn("chip1.weftrec: byte ", self.refused("run"))
        code, out, err = self.run_weft("replay", "run", "--partial", "--json")
        self.assertEqual((code, json.loads(out)["ending"]), (0, "cut off"), err)
        shutil.copy(self.path("other/chip1.weftrec"), chip)
        self.assertIn("chip1.weftrec: it is of slice 'nano-1x4' with 4 chips, chip 0 of slice 'nano-2x2' with 4", self.refused("run"))
        shutil.copy(self.path("run/chip2.weftrec"), chip)
        self.assertIn("chip1.weftrec: it is of chip 2", self.refused("run"))
        os.unlink(chip)
        self.assertIn("run/chip1.weftrec: cannot be read", self.refused("run"))

    def test_what_does_not_go_together(self):
        (self.folder / "file").write_text("")
        for arguments, words in ((("--record", self.path("file")), "the recording of a slice is a folder"),
                                 (("--record", self.path("none/r")), "the recording of a slice is a folder"),
                                 (("--record", self.path("r"), "--timing-only"), "--timing-only")):
            found = subprocess.run([WEFT_SIM, "--slice", "nano-2x2", "--listen", self.path("s"), *map(str, arguments)], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(found.returncode, 0)
            self.assertIn(words, found.stderr)


if __name__ == "__main__":
    unittest.main()
