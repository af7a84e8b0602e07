#!/usr/bin/python3
"""digits_train from outside: checkpoints in files, JSON, wrong input."""
import json
import subprocess
import unittest

from weft_command import BUILD, WeftTest

TRAIN = str(BUILD / "bin/digits_train")
WRONG_USAGE = 1
WRONG_INPUT = 2


class DigitsTrain(WeftTest):
    def train(self, *arguments, code=0):
        goal = [] if "--goal" in arguments else ["--goal", "0"]
        run = subprocess.run([TRAIN, *goal, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run

    def refused(self, words, *arguments):
        run = self.train(*arguments, code=WRONG_INPUT)
        self.assertEqual(run.stdout, "")
        for word in words:
            self.assertIn(word, run.stderr)

    def read(self, name):
        return (self.folder / name).read_bytes()

    def test_half_and_half_is_the_whole(self):
        for where in ([], ["--slice", "nano-2x2"]):
            with self.subTest(where=where):
                whole = json.loads(self.train(*where, "--steps", "6", "--save", "whole", "--json").stdout)
                first = json.loads(self.train(*where, "--steps", "3", "--save", "half", "--json").stdout)
                second = json.loads(self.train(*where, "--steps", "3", "--resume", "half", "--save", "resumed", "--json").stdout)
                self.assertEqual(self.read("resumed"), self.read("whole"))
                self.assertNotEqual(self.read("half"), self.read("whole"))
                self.assertEqual(first["losses"] + second["losses"], whole["losses"])
                self.assertEqual(second["step"], 6)

    def test_a_pulled_link_costs_cycles_and_no_bit(self):
        run = ["--slice", "nano-2x2", "--steps", "6", "--json"]
        whole = json.loads(self.train(*run, "--save", "whole").stdout)
        pulled = json.loads(self.train(*run, "--save", "pulled", "--pull-link", "0:+x", "--pull-at", "50").stdout)
        self.assertEqual(pulled["pulled_link"], "0 +x to 1 with packet 50: down; 3 links are up")
        self.assertEqual(self.read("pulled"), self.read("whole"))
        self.assertEqual(pulled["losses"], whole["losses"])
        self.assertGreater(pulled["device_cycles"], whole["device_cycles"])
        again = json.loads(self.train(*run, "--save", "again", "--pull-link", "0:+x", "--pull-at", "50").stdout)
        self.assertEqual(again["device_cycles"], pulled["device_cycles"])

    def test_a_link_that_is_not_there_or_never_reached_is_told(self):
        run = ["--slice", "nano-2x2", "--steps", "1"]
        self.refused(["0:-x", "no neighbour"], *run, "--pull-link", "0:-x")
        self.refused(["chip 9"], *run, "--pull-link", "9:+x")
        self.refused(["such as 0:+x"], *run, "--pull-link", "left")
        self.refused(["--slice"], "--steps", "1", "--pull-link", "0:+x")
        late = self.train(*run, "--pull-link", "0:+x", "--pull-at", "1000000", code=WRONG_INPUT)
        self.assertIn("was not pulled: it has carried", late.stderr)

    def test_four_cores_in_rtl_train_to_the_same_bytes_as_four_fast_ones(self):
        run = ["--slice", "nano-2x2", "--steps", "2"]
        for core in ("rtl", "fast"):
            self.train(*run, "--core", core, "--save", core)
        self.assertEqual(self.read("rtl"), self.read("fast"))

    def test_json_tells_the_run(self):
        run = json.loads(self.train("--steps", "20", "--seed", "3", "--batch", "96", "--verify", "--json").stdout)
        self.assertEqual((run["seed"], run["batch"], run["step"], run["differing"], run["widths"]), (3, 96, 20, 0, [64, 128, 10]))
        self.assertEqual([e["step"] for e in run["epochs"]], [12, 20])
        self.assertEqual(len(run["losses"]), 20)
        self.assertLess(run["losses"][-1], run["losses"][0])

    def test_help_is_no_error(self):
        self.assertIn("Exit code 1", self.train("--help").stdout)

    def test_a_goal_that_is_missed_is_exit_code_1(self):
        self.train("--steps", "1", "--goal", "99", code=1)

    def test_wrong_checkpoints(self):
        self.train("--steps", "1", "--save", "good")
        good = self.read("good")
        self.refused(["none", "No such file"], "--resume", "none")
        for name, data, words in (
                ("empty", b"", ["0 bytes"]),
                ("other", b"x" * 200, ["magic"]),
                ("short", good[:1000], ["CRC-32C", "damaged"]),
                ("flipped", good[:-1] + bytes([good[-1] ^ 1]), ["CRC-32C", "damaged"]),
                ("newer", good[:8] + b"\x07" + good[9:], ["version 7", "version 1"])):
            with self.subTest(name):
                (self.folder / name).write_bytes(data)
                self.refused([name, *words], "--resume", name, "--steps", "1")
        self.refused(["0 epochs"], "--resume", "good", "--epochs", "0")

    def test_wrong_arguments(self):
        self.refused(["batch of 30", "multiple of 4"], "--slice", "nano-2x2", "--batch", "30", "--steps", "1")
        self.refused(["batch of 5000", "1198 at most"], "--batch", "5000", "--steps", "1")
        self.refused(["nonsense"], "--chip", "nonsense", "--steps", "1")
        self.refused(["nowhere/optdigits.csv"], "--data", "nowhere")
        self.refused(["no/such"], "--save", "no/such/file", "--steps", "1")
        for arguments in (["--resume", "x", "--seed", "2"], ["--slice", "nano-2x2", "--listen", "."], ["--batch", "0"], ["--rate", "fast"],
                          ["--nonsense", "x"]):
            with self.subTest(arguments=arguments):
                run = subprocess.run([TRAIN, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)
                self.assertEqual(run.returncode, WRONG_USAGE)
                self.assertIn(arguments[-2], run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
