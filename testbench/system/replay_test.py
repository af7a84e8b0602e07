#!/usr/bin/python3
"""Recorded runs and their replay: with the same firmware identical with cycles, with another but for them; damaged files; the cost."""
import json
import os
import random
import resource
import signal
import subprocess
import unittest
from unittest import mock

from weft_command import BUILD, WEFT, WEFT_SIM, WeftTest, wait_for

FAULT = """
[[fault]]
kind = "{kind}"
{fields}
"""


class ReplayTest(WeftTest):
    def record(self, program, *arguments, to="run.weftrec", expect=0):
        """Runs a program with WEFT_RECORD; returns its output."""
        environment = {**os.environ, "WEFT_SIM": WEFT_SIM, "TMPDIR": str(self.folder), "WEFT_REPORT_DIR": str(self.folder),
                       "WEFT_RECORD": to}
        run = subprocess.run([program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=300,
                             stdin=subprocess.DEVNULL, env=environment)
        self.assertEqual(run.returncode, expect, run.stdout + run.stderr)
        return run.stdout

    def replay(self, *arguments, to="run.weftrec"):
        report = json.loads(self.weft("replay", to, "--json", *arguments))
        self.assertTrue(report["identical"])
        self.assertNotIn("difference", report)
        return report


class Refusals(ReplayTest):
    def test_a_core_that_this_build_does_not_have(self):
        self.record(WEFT, "gemm", "--shape", "8x8x8", "--chip", "v4", "--core", "fast")
        code, out, err = self.run_weft("replay", "run.weftrec", "--core", "rtl")
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("the RTL core of chip 'v4' is not in this build", err)


class SameBits(ReplayTest):
    def test_a_product_on_the_rtl_is_identical_on_every_core_cycles_included(self):
        said = json.loads(self.record(WEFT, "gemm", "--shape", "24x20x16", "--chip", "nano", "--core", "rtl", "--json"))
        report = self.replay()
        self.assertEqual((report["recorded_core"], report["core"], report["cycles_compared"]), ("rtl", "rtl", True))
        self.assertEqual((report["chip"], report["functions"], report["ending"]), ("nano", 1, "complete"))
        self.assertGreater(report["device_cycles"], said["device_cycles"])
        for key in ("completions", "host_writes", "host_reads", "interrupts", "register_reads", "stimuli"):
            self.assertGreater(report[key], 0, key)
        for core in ("lockstep", "fast"):
            other = self.replay("--core", core)
            self.assertEqual((other["core"], other["cycles_compared"]), (core, True))
            for key in ("completions", "host_writes", "host_reads", "host_read_bytes", "interrupts", "stimuli", "device_cycles"):
                self.assertEqual(other[key], report[key], f"{core}: {key}")
            self.assertIn("identical, cycles included", self.weft("replay", "run.weftrec", "--core", core))

    def test_a_product_of_the_native_firmware_is_identical_but_for_cycles_on_its_image(self):
        with mock.patch.dict(os.environ, WEFT_MANAGER="native"):
            self.record(WEFT, "gemm", "--shape", "24x20x16", "--chip", "nano", "--core", "fast")
            report = self.replay()
        with mock.patch.dict(os.environ, WEFT_MANAGER="rv32"):
            image = self.replay()
            words = self.weft("replay", "run.weftrec")
        self.assertEqual((report["cycles_compared"], image["cycles_compared"]), (True, False))
        for key in ("completions", "host_read_bytes", "stimuli"):
            self.assertEqual(image[key], report[key], key)
        self.assertIn("identical but for start and end cycles", words)

    def test_a_product_on_the_fast_core_is_the_same_on_the_rtl(self):
        self.record(WEFT, "gemm", "--shape", "40x30x20", "--chip", "nano", "--core", "fast", "--precision", "int8")
        self.replay()
        self.replay("--core", "rtl")

    def test_two_queues_semaphores_and_the_drivers_threads(self):
        self.record(str(BUILD / "bin/queues_sim_test"), to="%p.weftrec")
        files = [name for name in self.files() if name.endswith(".weftrec")]
        self.assertGreater(len(files), 3)
        for name in files:
            with self.subTest(name=name):
                self.replay(to=name)

    def test_control_lists_that_end_by_themselves_and_by_their_budget(self):
        self.record(str(BUILD / "bin/control_test"), "[replay]")
        self.assertGreater(self.replay()["completions"], 10)
        self.replay("--core", "rtl")

    def test_injected_faults_on_two_queues(self):
        self.record(WEFT, "inject", "--count", 4, "--seed", 5, "--core", "fast")
        self.assertGreater(self.replay()["completions"], 20)

    def test_one_fault_on_either_core(self):
        for kind, fields in (("completion_lost", "queue = 1\nnth = 2"), ("host_read_flip", "nth = 9\nvalue = 3"),
                             ("core_raise", 'launch = 1\nqueue = "mxu"\ncommand = 2\ncode = "ALIGNMENT"')):
            with self.subTest(kind=kind):
                (self.folder / "f.toml").write_text(FAULT.format(kind=kind, fields=fields))
                self.record(WEFT, "inject", "f.toml", "--core", "rtl")
                self.replay()

    def start_recorded_simulator(self):
        """Of nano, with two functions, in the folder d."""
        simulator = subprocess.Popen([WEFT_SIM, "--chip", "nano", "--core", "fast", "--functions", "2", "--listen", self.path("d"),
                                      "--record", self.path("run.weftrec")], stdin=subprocess.DEVNULL)
        self.addCleanup(simulator.wait)
        self.addCleanup(simulator.kill)
        wait_for(lambda: (self.folder / "d/function1.sock").exists(), "sockets")
        return simulator

    def test_two_processes_on_a_standing_simulator(self):
        server = self.start_recorded_simulator()
        for round in range(2):
            clients = [self.start("gemm", "--shape", "60x50x40", "--seed", 10 * round + i, "--socket", f"d/function{i}.sock", "--verify")
                       for i in range(2)]
            for client in clients:
                out, err = client.communicate(timeout=120)
                self.assertEqual((client.returncode, err), (0, ""), out)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(timeout=30), 0)
        report = self.replay()
        self.assertEqual(report["functions"], 2)

    def test_a_reset_by_an_observer_in_the_middle_of_work(self):
        server = self.start_recorded_simulator()
        for _ in range(3):
            victim = self.start("gemm", "--shape", "768x768x768", "--socket", "d/function1.sock")
            wait_for(lambda: json.loads(self.weft("smi", "d", "--json", "--interval", 0.01))[0]["engines"]["core"]["command"], "launch")
            self.weft("reset", "d", "--function", 1, "--force")
            self.assertIn("ABORTED_BY_RESET", victim.communicate(timeout=120)[1])
            self.weft("gemm", "--shape", "60x50x40", "--socket", "d/function0.sock", "--verify")
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(timeout=30), 0)
        self.replay()


class Files(ReplayTest):
    def refused(self, *words):
        code, out, err = self.run_weft("replay", "run.weftrec")
        self.assertEqual((code, out), (2, ""), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        for word in words:
            self.assertIn(word, err)

    def test_a_simulator_that_is_killed_leaves_what_it_has_written(self):
        server = subprocess.Popen([WEFT_SIM, "--chip", "nano", "--socket", self.path("s.sock"), "--record", self.path("run.weftrec")],
                                  stdin=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_for(lambda: "s.sock" in self.files(), "socket")
        self.weft("gemm", "--shape", "20x20x20", "--socket", "s.sock")
        size = self.folder / "run.weftrec"
        wait_for(lambda: size.stat().st_size > 1000, "block of an idle simulator")
        server.kill()
        server.wait()
        self.refused("byte", "has no end", "--partial")
        report = self.replay("--partial")
        self.assertEqual(report["ending"], "cut off")
        self.assertGreater(report["completions"], 0)

    def test_damaged_files_are_refused_with_the_byte(self):
        self.record(WEFT, "gemm", "--shape", "16x16x16", "--chip", "nano", "--core", "fast")
        path = self.folder / "run.weftrec"
        whole = path.read_bytes()
        seed = int(os.environ.get("WEFT_SEED", "20261122"))
        print("seed", seed)
        dice = random.Random(seed)
        for size in (0, 10, 64, 70, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            self.refused("byte")
        for _ in range(10):
            damaged = bytearray(whole)
            damaged[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
            path.write_bytes(damaged)
            self.refused("byte")
        path.unlink()
        self.refused("run.weftrec: cannot be read")

    def test_a_file_that_another_simulator_writes_is_refused(self):
        server = subprocess.Popen([WEFT_SIM, "--chip", "nano", "--socket", self.path("s.sock"), "--record", self.path("run.weftrec")],
                                  stdin=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_for(lambda: "s.sock" in self.files() and "run.weftrec" in self.files(), "recording")
        second = subprocess.run([WEFT_SIM, "--chip", "nano", "--socket", self.path("t.sock"), "--record", self.path("run.weftrec")],
                                capture_output=True, text=True, timeout=30)
        self.assertEqual(second.returncode, 3)
        self.assertIn("being written by another simulator", second.stderr)

    def test_a_report_of_a_hang_names_the_recording(self):
        self.record(str(BUILD / "bin/hang_test"), "[deadlock]", to="%p.weftrec")
        text = sorted(self.folder.glob("weft-hang-*.txt"))[0].read_text()
        line = next(line for line in text.splitlines() if line.startswith("recorded"))
        path = line.split()[-1]
        self.assertEqual(line, f"recorded  weft replay {path}")
        self.assertTrue(self.replay(to=path)["cycles_compared"])
        report = json.loads(sorted(self.folder.glob("weft-hang-*.json"))[0].read_text())
        self.assertEqual(report["recording"], path)

    def test_a_driver_is_not_opened_on_a_recording(self):
        self.assertIn("replay", self.weft("--help"))
        self.assertIn("--partial", self.weft("replay", "--help"))


class Cost(ReplayTest):
    FACTOR = 2.0

    def cpu_seconds(self, run):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_recording_costs_less_processor_time_than_the_run(self):
        product = ["gemm", "--shape", "256x256x256", "--chip", "nano", "--core", "fast"]
        plain = min(self.cpu_seconds(lambda: self.weft(*product)) for _ in range(2))
        recorded = min(self.cpu_seconds(lambda: self.record(WEFT, *product)) for _ in range(2))
        print(f"replay: {plain:.3f} s of processor time, recorded {recorded:.3f} s, file {os.path.getsize(self.path('run.weftrec'))} bytes")
        self.assertLess(recorded, self.FACTOR * plain + 0.1)


if __name__ == "__main__":
    unittest.main()
