#!/usr/bin/python3
"""Tools for a live chip: weft smi, dump, reset, selftest and the log, beside a standing weft-sim and its clients."""
import json
import os
import re
import subprocess
import unittest

from weft_command import WEFT_SIM, WeftTest, wait_for

FUNCTIONS = 4
LINE = re.compile(r"^weft (\S+) +(~?)(\d+)  (error|warning|info|debug) +(\S+) +(.+)$")


class Live(WeftTest):
    """A weft-sim of four functions in the test's folder."""

    def setUp(self):
        super().setUp()
        self.simulator = subprocess.Popen([WEFT_SIM, "--chip", "nano", "--core", "fast", "--functions", str(FUNCTIONS), "--listen", self.path("chip")],
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.simulator.stdout.close)
        self.addCleanup(self.simulator.wait)
        self.addCleanup(self.simulator.kill)
        wait_for(lambda: os.path.exists(self.path("chip/management.sock")), "management socket")

    def smi(self, *arguments):
        return json.loads(self.weft("smi", "chip", "--json", *arguments))[0]

    def start_client(self, function=0, shape="768x768x768"):
        """A client with seconds of work, once it owns its function and works."""
        client = self.start("gemm", "--shape", shape, "--socket", f"chip/function{function}.sock", "--json")
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        wait_for(lambda: client.poll() is not None or self.smi("--interval", 0.01)["engines"]["core"]["command"], "launch of the client")
        self.assertIsNone(client.poll(), "the client has ended already")
        return client

    def finish(self, client):
        out, err = client.stdout.read(), client.stderr.read()
        self.assertEqual((client.wait(), err), (0, ""))
        return json.loads(out)

    def lives(self):
        self.assertIsNone(self.simulator.poll())
        self.weft("gemm", "--shape", "8x8x8", "--socket", "chip/function3.sock", "--verify")


class Smi(Live):
    def test_a_chip_that_nobody_uses(self):
        chip = self.smi()
        self.assertEqual((chip["chip"], chip["core"], chip["pid"]), ("nano", "fast", self.simulator.pid))
        self.assertEqual([f["state"] for f in chip["functions"]], ["present"] * FUNCTIONS)
        self.assertEqual([f["owner"] for f in chip["functions"]], [None] * FUNCTIONS)
        self.assertIsNone(chip["utilisation"])
        text = self.weft("smi", "chip")
        self.assertIn("time stands still", text)
        self.assertIn("largest free", text)

    def test_owner_queues_memory_and_utilisation_while_a_client_works(self):
        client = self.start_client(function=2)
        seen = wait_for(lambda: next((c for c in [self.smi()] if c["utilisation"] and c["utilisation"]["mxu"] > 0.01), None), "busy MXU")
        function = seen["functions"][2]
        self.assertEqual(function["owner"], {"pid": client.pid, "process": "weft"})
        self.assertEqual(function["state"], "ready")
        self.assertEqual([q["id"] for q in function["queues"]], [0, 1])
        self.assertGreater(function["hbm"]["used_bytes"], 768 * 768 * 2)
        self.assertLessEqual(function["hbm"]["largest_free_bytes"], function["hbm"]["bytes"] - function["hbm"]["used_bytes"])
        self.assertEqual(seen["engines"]["core"]["command"]["function"], 2)
        self.assertTrue(all(0 <= seen["utilisation"][k] <= 1 for k in ("mxu", "vpu", "dma_in", "dma_out", "copy", "firmware")), seen["utilisation"])
        text = self.weft("smi", "chip")
        self.assertIn(f"{client.pid} weft", text)
        self.finish(client)

    def test_the_list_of_devices_names_each_function_its_chip_and_its_owner(self):
        client = self.start_client(function=1)
        listed = json.loads(self.weft("list", "--listen", "chip", "--json"))
        functions = [entry for entry in listed if entry["name"].startswith("vfio-user:")]
        self.assertEqual([entry["name"] for entry in functions], [f"vfio-user:chip/function{i}.sock" for i in range(FUNCTIONS)])
        self.assertEqual([entry["busy"] for entry in functions], [False, True, False, False])
        self.assertEqual((functions[1]["owner"], functions[1]["preset"], functions[1]["core"], functions[1]["obstacle"]), (client.pid, "nano", "fast", ""))
        self.assertIn("sim:v5e", [entry["name"] for entry in listed])
        text = self.weft("list", "--listen", "chip")
        self.assertRegex(text, rf"vfio-user:chip/function1.sock +nano +fast +busy, process {client.pid}\n")
        self.assertRegex(text, r"sim:nano +nano +free\n")
        self.finish(client)
        report = json.loads(self.weft("gemm", "--shape", "8x8x8", "--open", functions[1]["name"], "--verify", "--json"))
        self.assertEqual((report["core"], report["differing"]), ("attached", 0))

    def test_looking_on_changes_no_cycle_of_a_launch(self):
        alone = self.weft_json("gemm", "--shape", "512x512x512", "--socket", "chip/function0.sock")["device_cycles"]
        watcher = self.start("smi", "chip", "--watch", "0.05", "--json")
        self.addCleanup(watcher.communicate)
        self.addCleanup(watcher.kill)
        for _ in range(3):
            self.assertEqual(self.weft_json("gemm", "--shape", "512x512x512", "--socket", "chip/function0.sock")["device_cycles"], alone)
        self.assertIsNone(watcher.poll())

    def test_watch_repeats(self):
        self.assertEqual(self.weft("smi", "chip", "--watch", "0.05", "--count", "3").count("device cycle "), 3)
        lines = self.weft("smi", "chip", "--watch", "0.05", "--count", "2", "--json").splitlines()
        self.assertEqual(len([json.loads(line) for line in lines]), 2)

    def test_a_folder_without_a_simulator_is_told(self):
        code, out, err = self.run_weft("smi", "nowhere")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("no weft-sim listens there", err)
        self.assertEqual(len(err.splitlines()), 1)
        self.simulator.kill()
        self.simulator.wait()
        self.assertEqual(self.run_weft("smi", "chip")[0], 2)


class Slice(WeftTest):
    """Observers of a slice: all its chips on one management socket."""

    def setUp(self):
        super().setUp()
        self.simulator = subprocess.Popen([WEFT_SIM, "--slice", "nano-2x2", "--functions", "2", "--listen", self.path("slice")],
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.simulator.stdout.close)
        self.addCleanup(self.simulator.wait)
        self.addCleanup(self.simulator.kill)
        wait_for(lambda: os.path.exists(self.path("slice/chip3-function1.sock")), "sockets of the slice")

    def smi(self):
        return json.loads(self.weft("smi", "slice", "--json", "--interval", 0.01))

    def test_every_chip_is_shown_with_its_functions_and_their_owners(self):
        chips = self.smi()
        self.assertEqual([(c["number"], c["chips"]) for c in chips], [(i, 4) for i in range(4)])
        client = self.start("gemm", "--shape", "768x768x768", "--socket", "slice/chip2-function1.sock", "--json")
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        chips = wait_for(lambda: next((c for c in [self.smi()] if c[2]["engines"]["core"]["command"]), None), "launch on chip 2")
        self.assertEqual([[f["owner"]["pid"] if f["owner"] else 0 for f in c["functions"]] for c in chips],
                         [[0, 0], [0, 0], [0, client.pid], [0, 0]])
        self.assertFalse(any(chips[i]["engines"]["core"]["busy"] for i in (0, 1, 3)))
        wait_for(lambda: (self.smi()[2]["utilisation"] or {"mxu": 0})["mxu"] > 0.5, "busy MXU of chip 2")
        self.assertIn("slice, chip 3 of 4: nano", self.weft("smi", "slice"))
        dump = json.loads(self.weft("dump", "slice", "--chip", 2, "--function", 1, "--json"))
        self.assertEqual((dump["number"], dump["function"], dump["device_state"]), (2, 1, "ready"))
        self.assertIn("function 1 of chip 2 of", self.weft("dump", "slice", "--chip", 2, "--function", 1))

    def test_looking_on_changes_no_cycle_of_a_collective(self):
        def cycles():
            return self.weft_json("collective", "all-reduce", "--listen", "slice", "--bytes", "65536")["device_cycles"]

        alone = [cycles() for _ in range(2)]
        watcher = self.start("smi", "slice", "--watch", "0.05", "--json")
        self.addCleanup(watcher.communicate)
        self.addCleanup(watcher.kill)
        self.assertEqual([cycles() for _ in range(3)] + alone, 5 * [alone[0]])

    def test_a_function_of_one_chip_is_reset(self):
        report = json.loads(self.weft("reset", "slice", "--chip", 3, "--function", 1, "--json"))
        self.assertEqual((report["level"], len(report["steps"])), ("device", 8))
        generations = [[f["reset_generation"] for f in c["functions"]] for c in self.smi()]
        self.assertGreater(generations[3][1], 0)
        self.assertEqual(generations[:3] + [generations[3][:1]], [[0, 0]] * 3 + [[0]])
        code, _, err = self.run_weft("reset", "slice", "--chip", 4)
        self.assertEqual(code, 2, err)
        self.assertIn("'chip' is a whole number from 0 to 3", err)


class Dump(Live):
    def test_rings_records_and_log_of_a_function_at_work(self):
        client = self.start_client()
        dump = json.loads(self.weft("dump", "chip", "--function", 0, "--json"))
        self.assertEqual(dump["owner"]["pid"], client.pid)
        rings = {r["queue"]: r for r in dump["rings"]}
        self.assertIn("CREATE_QUEUE", [s["opcode"] for s in rings[0]["submissions"]])
        launch = next(s for s in rings[1]["submissions"] if s["opcode"] == "LAUNCH")
        self.assertTrue(launch["crc_ok"])
        self.assertTrue(all(c["status"] == "OK" for c in rings[0]["completions"]))
        self.assertEqual(dump["state"]["engines"][0]["command"]["opcode"], "LAUNCH")
        cycles = [r["cycle"] for r in dump["log"]]
        self.assertEqual(cycles, sorted(cycles))
        text = self.weft("dump", "chip")
        for part in ("queue 1: last", "LAUNCH", "who waits for whom", "boot stage 5", "engines"):
            self.assertIn(part, text)
        log = self.weft("dump", "chip", "--log")
        self.assertEqual(len(log.splitlines()), len(dump["log"]))
        self.finish(client)

    def test_what_cannot_be_dumped_is_told(self):
        for arguments, part in ((("chip", "--function", "4"), "0 to 3"), (("nowhere",), "no weft-sim")):
            code, out, err = self.run_weft("dump", *arguments)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(part, err)
        (self.folder / "garbage").write_bytes(bytes(range(256)))
        code, _, err = self.run_weft("dump", "garbage")
        self.assertEqual(code, 2)
        self.assertIn("neither a hang report", err)


class Reset(Live):
    def test_a_free_function_tells_each_step_with_its_bound(self):
        for level in ("queue", "engine", "device"):
            report = json.loads(self.weft("reset", "chip", "--function", 1, "--level", level, "--json"))
            self.assertEqual((report["level"], report["guilty"], len(report["steps"])), (level, 0, 8))
            self.assertFalse(any(s["exceeded"] for s in report["steps"]))
        text = self.weft("reset", "chip", "--function", 1)
        self.assertIn("stop_engines", text)
        self.assertIn("20000000", text)
        self.lives()

    def test_a_level_that_does_not_exist_is_told_with_those_that_do(self):
        code, _, err = self.run_weft("reset", "chip", "--level", "core")
        self.assertEqual(code, 2, err)
        self.assertIn("no level 'core'; possible: device, engine, queue", err)

    def test_an_owned_function_is_reset_by_force_only(self):
        client = self.start_client(function=1)
        for arguments in ((), ("--level", "queue"), ("--level", "queue", "--force")):
            code, _, err = self.run_weft("reset", "chip", "--function", 1, *arguments)
            self.assertEqual(code, 3, err)
            self.assertIn(f"belongs to process {client.pid} (weft)", err)
        self.assertIsNone(client.poll())
        report = json.loads(self.weft("reset", "chip", "--function", 1, "--force", "--json"))
        self.assertGreaterEqual(report["generation"], 1)  # 2 if the owner has left meanwhile, which resets once more
        _, err = client.communicate(timeout=60)
        self.assertNotEqual(client.returncode, 0)
        self.assertIn("somebody else has reset the device", err)
        self.lives()


class Selftest(Live):
    def test_every_check_passes_on_both_cores_and_on_a_standing_simulator(self):
        for target in (("--core", "rtl"), ("--core", "fast"), ("--socket", "chip/function0.sock")):
            with self.subTest(target=target):
                report = self.weft_json("selftest", "--chip", "nano", *target)
                self.assertTrue(report["passed"])
                self.assertEqual([c["name"] for c in report["checks"]],
                                 ["registers", "HBM", "DMA loopback", "interrupts", "timelines", "product", "reset", "DMA after reset"])
        self.assertIn("8 checks passed", self.weft("selftest", "--core", "fast"))


class Log(WeftTest):
    def run_logged(self, levels):
        os.environ["WEFT_LOG"] = levels
        self.addCleanup(os.environ.pop, "WEFT_LOG", None)
        code, _, err = self.run_weft("gemm", "--shape", "30x30x30", "--chip", "nano", "--core", "fast")
        self.assertEqual(code, 0, err)
        return err

    def test_driver_and_firmware_are_merged_by_device_cycle(self):
        lines = [LINE.match(line) for line in self.run_logged("debug").splitlines()]
        self.assertTrue(all(lines))
        cycles = [int(m[3]) for m in lines]
        self.assertEqual(cycles, sorted(cycles))
        modules = [m[5] for m in lines]
        for module in ("driver.device", "driver.queue", "driver.memory", "driver.program", "firmware.boot", "firmware.queue", "firmware.core"):
            self.assertIn(module, modules)
        texts = [m[6] for m in lines]
        start = next(i for i, t in enumerate(texts) if re.fullmatch(r"program \d+, kernel 0 starts", t))
        end = next(i for i, t in enumerate(texts) if t.startswith("queue") and "LAUNCH" in t and t.endswith("OK"))
        self.assertLess(start, end)

    def test_each_module_has_its_level(self):
        modules = {LINE.match(line)[5] for line in self.run_logged("driver.queue=debug,firmware.boot=info").splitlines()}
        self.assertEqual(modules, {"driver.queue", "firmware.boot"})

    def test_a_bad_setting_is_told_with_the_good_form(self):
        err = self.run_logged("driver.queu=debug")
        self.assertIn("WEFT_LOG: 'driver.queu=debug': there is no module", err)
        self.assertIn("driver.queue=debug,firmware=info", err)


class Help(WeftTest):
    def test_help_is_a_command_too(self):
        self.assertIn("Exit codes", self.weft("help"))
        self.assertIn("--watch", self.weft("help", "smi"))
        self.assertEqual(self.weft("help", "dump"), self.weft("dump", "--help"))


if __name__ == "__main__":
    unittest.main()
