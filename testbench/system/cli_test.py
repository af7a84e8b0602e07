#!/usr/bin/python3
"""The subcommands of weft as a user types them: results, JSON, waves, traces, and attaching to a weft-sim that runs."""
import json
import os
import resource
import signal
import stat
import subprocess
import unittest
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from weft_command import BUILD, DIGITS, WEFT_SIM, WeftTest, cpu_seconds, wait_for

REPORT_KEYS = {"device_cycles", "mxu_utilization", "macs", "bytes_hbm", "wall_seconds", "simulated_macs_per_second", "launch_latency"}
LATENCY_KEYS = {"doorbell_to_fetched", "fetched_to_validated", "validated_to_first_command", "first_command_to_last_write",
                "last_write_to_completion", "doorbell_to_completion"}
CHECK_KEYS = {"differing", "max_relative_error"}
NANO = ["--chip", "nano", "--core", "rtl"]


class Digits(WeftTest):
    def digits(self, *words):
        return subprocess.run([BUILD / "bin/digits", *words], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def test_wrong_words_are_wrong_usage_and_wrong_data_wrong_input(self):
        for words, code, said in ((["--nothing"], 1, "--nothing"), (["--data", "none"], 2, "none"), (["--help"], 0, "")):
            with self.subTest(words=words):
                run = self.digits(*words)
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                self.assertIn(said, run.stderr)


class Gemm(WeftTest):
    def check_report(self, report, macs, peak):
        self.assertLessEqual(REPORT_KEYS, set(report))
        self.assertEqual(set(report["launch_latency"]), LATENCY_KEYS)
        self.assertEqual(report["macs"], macs)
        self.assertGreater(report["device_cycles"], macs / peak)
        self.assertAlmostEqual(report["mxu_utilization"], macs / peak / report["device_cycles"], places=9)
        self.assertAlmostEqual(report["simulated_macs_per_second"] * report["wall_seconds"], macs, delta=1e-6 * macs)
        latency = report["launch_latency"]
        self.assertEqual(latency["doorbell_to_completion"], sum(v for k, v in latency.items() if k != "doorbell_to_completion"))
        self.assertTrue(all(v >= 0 for v in latency.values()), latency)
        self.assertEqual(latency["first_command_to_last_write"], report["device_cycles"])

    def test_bf16_files(self):
        random = np.random.default_rng(1)
        a, b = random.uniform(-1, 1, (37, 50)).astype(np.float32), random.uniform(-1, 1, (50, 21)).astype(np.float32)
        np.save(self.path("A.npy"), a)
        np.save(self.path("B.npy"), b)
        report = self.weft_json("gemm", "A.npy", "B.npy", "-o", "C.npy", *NANO, "--verify")
        c = np.load(self.path("C.npy"))
        self.assertEqual((c.dtype, c.shape), (np.float32, (37, 21)))
        self.assertLess(np.abs(c - a.astype(np.float64) @ b).max(), 0.05)
        self.check_report(report, 37 * 50 * 21, 64)
        self.assertLessEqual(CHECK_KEYS, set(report))
        self.assertEqual(report["differing"], 0)
        self.assertLess(report["max_relative_error"], 0.05)
        self.assertEqual(self.files(), ["A.npy", "B.npy", "C.npy"])

    def test_int8_files(self):
        random = np.random.default_rng(2)
        a, b = random.integers(-128, 128, (19, 133), dtype=np.int8), random.integers(-128, 128, (133, 26), dtype=np.int8)
        np.save(self.path("A.npy"), a)
        np.save(self.path("B.npy"), b)
        report = self.weft_json("gemm", "A.npy", "B.npy", "-o", "C.npy", "--precision", "int8", *NANO, "--verify")
        c = np.load(self.path("C.npy"))
        self.assertEqual(c.dtype, np.int32)
        np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))
        self.check_report(report, 19 * 133 * 26, 128)
        self.assertEqual((report["differing"], report["max_relative_error"]), (0, 0))

    def test_shape_on_each_core(self):
        reports = {core: self.weft_json("gemm", "--shape", "40x30x20", "--seed", 7, "--chip", "nano", "--core", core, "-o", f"{core}.npy")
                   for core in ("rtl", "fast", "lockstep")}
        for core, report in reports.items():
            self.assertEqual((report["core"], report["chip"]), (core, "nano"))
            self.check_report(report, 40 * 30 * 20, 64)
            self.assertEqual(CHECK_KEYS <= set(report), core == "lockstep")
        self.assertEqual(reports["lockstep"]["differing"], 0)
        bits = {(self.folder / f"{core}.npy").read_bytes() for core in reports}
        self.assertEqual(len(bits), 1, "the cores' results differ")

    @mock.patch.dict(os.environ)
    def test_each_manager_gives_the_same_bits_and_only_the_native_one_charges(self):
        os.environ.pop("WEFT_MANAGER", None)  # stronger than --manager
        shape = ("gemm", "--shape", "40x30x20", "--seed", 7, "--chip", "nano", "--core", "fast")
        cycles, bits = {}, set()
        for manager in ("native", "rv32"):
            report = self.weft_json(*shape, "--manager", manager, "-o", "C.npy")
            self.assertEqual(report["manager"], manager)
            cycles[manager] = report["launch_latency"]["fetched_to_validated"]
            bits.add((self.folder / "C.npy").read_bytes())
            self.assertEqual("(charged)" in self.weft(*shape, "--manager", manager), manager == "native")
        code, out, err = self.run_weft(*shape, "--manager", "ibex", "-o", "C.npy", "--json")
        if code == 0:
            report = json.loads(out)
            self.assertEqual(report["manager"], "ibex")
            self.assertEqual(report["launch_latency"]["fetched_to_validated"], cycles["rv32"], "Ibex has other cycles than its simulator")
            bits.add((self.folder / "C.npy").read_bytes())
        else:
            self.assertEqual((code, out), (2, ""))
            self.assertIn("--manager ibex: this weft-sim was built without Ibex; scripts/packages", err)
        self.assertEqual(len(bits), 1, "the managers' results differ")
        self.assertNotEqual(cycles["native"], cycles["rv32"], "--manager changes nothing")

    def test_text_report(self):
        text = self.weft("gemm", "--shape", "8x8x8", *NANO, "--verify")
        for words in ("device cycles", "MXU utilization", "MACs", "HBM bytes", "launch latency", "wall time", "differing           0 of 64"):
            self.assertIn(words, text)

    def test_seed_decides_the_inputs(self):
        results = []
        for i, seed in enumerate((1, 1, 2)):
            self.weft("gemm", "--shape", "9x9x9", "--seed", seed, "--chip", "nano", "--core", "fast", "-o", f"{i}.npy")
            results.append((self.folder / f"{i}.npy").read_bytes())
        self.assertEqual(results[0], results[1])
        self.assertNotEqual(results[0], results[2])

    def test_wave(self):
        self.weft("gemm", "--shape", "16x16x16", *NANO, "--wave", "all.fst")
        self.weft("gemm", "--shape", "16x16x16", *NANO, "--wave", "some.fst", "--wave-from", 100, "--wave-to", 200)
        whole, part = (self.folder / "all.fst").stat().st_size, (self.folder / "some.fst").stat().st_size
        self.assertGreater(part, 0)
        self.assertGreater(whole, part)


class Model(WeftTest):
    """ONNX models and executables; the model is that of the digits demo."""

    def compile_digits(self, batch):
        """Makes d.weft for nano and its input x.npy; returns the executable as disasm tells it, and options for run."""
        self.weft("compile", DIGITS, "-o", "d.weft", "--chip", "nano", "--batch", batch)
        kernel = json.loads(self.weft("disasm", "d.weft", "--json"))["kernels"][0]
        name = {a["direction"]: a["name"] for a in kernel["arguments"]}
        np.save(self.path("x.npy"), np.random.default_rng(3).uniform(0, 1, (batch, 64)).astype(np.float32))
        return kernel, ["--input", f"{name['input']}=x.npy", "--output", f"{name['output']}=y.npy"]

    def test_compile_reports_what_it_made(self):
        report = self.weft_json("compile", DIGITS, "-o", "d.weft", "--chip", "nano", "--batch", 5)
        self.assertEqual(report["bytes"], (self.folder / "d.weft").stat().st_size)
        self.assertEqual((report["chip"], report["output"]), ("nano", "d.weft"))
        self.assertEqual(report["macs"], 5 * (64 * 128 + 128 * 10))
        self.assertGreater(report["cycle_estimate"], 0)
        self.assertIn("d.weft", self.weft("compile", DIGITS, "-o", "d.weft", "--chip", "nano"))

    def test_model_and_executable_give_the_same_bits(self):
        _, files = self.compile_digits(5)
        report = self.weft_json("run", DIGITS, *files, *NANO, "--verify")
        self.assertLessEqual(REPORT_KEYS | CHECK_KEYS, set(report))
        self.assertEqual(report["differing"], 0)
        self.assertLess(report["max_relative_error"], 0.05)
        of_model = (self.folder / "y.npy").read_bytes()
        self.assertEqual(np.load(self.path("y.npy")).shape, (5, 10))
        (self.folder / "y.npy").unlink()
        for core in ("rtl", "fast", "lockstep"):
            report = self.weft_json("run", "d.weft", *files, "--chip", "nano", "--core", core)
            self.assertLessEqual(REPORT_KEYS, set(report))
            self.assertEqual((self.folder / "y.npy").read_bytes(), of_model, core)

    def several_outputs(self):
        """m.onnx: y = x W, and z, f and r, which are y under other names and shapes; i is x. Its input x.npy and what y is."""
        random = np.random.default_rng(5)
        x, w = (random.integers(-8, 9, shape).astype(np.float32) / 8 for shape in ((6, 12), (12, 4)))
        nodes = [helper.make_node("Gemm", ["x", "w"], ["y"]), helper.make_node("Identity", ["y"], ["z"]), helper.make_node("Flatten", ["y"], ["f"]),
                 helper.make_node("Reshape", ["z", "shape"], ["r"]), helper.make_node("Identity", ["x"], ["i"])]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
                   for name, dims in (("z", [6, 4]), ("y", [6, 4]), ("f", [6, 4]), ("r", [6, 2, 2]), ("i", [6, 12]))]
        constants = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.array([6, 2, 2]), "shape")]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6, 12])], outputs, constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), self.path("m.onnx"))
        np.save(self.path("x.npy"), x)
        return x, x.astype(np.float64) @ w

    def test_a_value_that_is_several_outputs_is_right_in_each(self):
        x, y = self.several_outputs()
        files = [word for name in "zyfri" for word in ("--output", f"{name}={name}.npy")]
        for where in (["--chip", "nano", "--core", "fast"], NANO, ["--chip", "nano", "--core", "lockstep"], ["--slice", "nano-2x2", "--core", "fast"]):
            with self.subTest(where=where):
                report = self.weft_json("run", "m.onnx", "--input", "x=x.npy", *files, *where, "--verify")
                # Sums of 12 products of small multiples of 1/8 are exact.
                for name, expected in (("z", y), ("y", y), ("f", y), ("r", y.reshape(6, 2, 2)), ("i", x)):
                    np.testing.assert_array_equal(np.load(self.path(f"{name}.npy")), expected.astype(np.float32), name)
                self.assertEqual((report["elements"], report["differing"]), (4 * 24 + 72, 0))

    def test_each_input_has_its_own_symbolic_first_dimension(self):
        nodes = [helper.make_node("Relu", [name], [name + "_"]) for name in "ab"]
        tensors = [[helper.make_tensor_value_info(name + suffix, TensorProto.FLOAT, [name, 3]) for name in "ab"] for suffix in ("", "_")]
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", *tensors)), self.path("m.onnx"))
        for name, rows in (("a", 2), ("b", 5)):
            np.save(self.path(f"{name}.npy"), np.ones((rows, 3), np.float32))
        self.weft("run", "m.onnx", "--input", "a=a.npy", "--input", "b=b.npy", "--output", "a_=x.npy", "--output", "b_=y.npy", *NANO, "--verify")
        self.assertEqual((np.load(self.path("x.npy")).shape, np.load(self.path("y.npy")).shape), ((2, 3), (5, 3)))

    def test_what_is_no_regular_file_is_written_as_it_is(self):
        _, files = self.compile_digits(5)
        os.mkfifo(self.path("pipe"))
        reader = subprocess.Popen(["cat", self.path("pipe")], stdout=subprocess.PIPE)
        self.addCleanup(reader.stdout.close)
        self.weft("run", "d.weft", files[0], files[1], "--output", files[3].replace("y.npy", "pipe"), *NANO)
        self.assertEqual(reader.communicate(timeout=30)[0][:6], b"\x93NUMPY")
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        self.weft("gemm", "--shape", "8x8x8", *NANO, "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_a_model_on_a_slice_gives_the_documented_bits(self):
        _, files = self.compile_digits(50)
        self.weft("run", DIGITS, *files, "--chip", "nano", "--core", "fast")
        of_one_chip = (self.folder / "y.npy").read_bytes()
        for sharding, same in (("batch=xy", True), ("batch=x,weights=n:y", True), ("weights=k:x", False), ("weights=k:x,weights=n:y", False)):
            report = self.weft_json("run", DIGITS, *files, "--slice", "nano-2x2", "--sharding", sharding, "--core", "fast", "--verify")
            self.assertEqual((report["differing"], report["elements"], report["chips"], report["launches"]), (0, 500, 4, 1), sharding)
            self.assertLess(report["max_relative_error"], 0.05)
            self.assertGreater(report["device_cycles"], 50 * (64 * 128 + 128 * 10) / 256)
            self.assertEqual((self.folder / "y.npy").read_bytes() == of_one_chip, same, sharding)
        sharding = ("--slice", "nano-2x2", "--sharding", "weights=k:x", "--core", "fast")
        alone = self.weft_json("run", DIGITS, *files, *sharding)["one_chip_cycles"]
        self.assertIn(f"one chip alone      about {alone} cycles: the barrier and what travels cost more", self.weft("run", DIGITS, *files, *sharding))

    def test_compile_for_a_slice_makes_an_executable_for_each_chip(self):
        report = self.weft_json("compile", DIGITS, "-o", "d.weft", "--slice", "nano-2x2", "--sharding", "weights=n:xy", "--batch", 5)
        self.assertEqual([c["output"] for c in report["chips"]], [f"d-chip{i}.weft" for i in range(4)])
        self.assertEqual(sum(c["macs"] for c in report["chips"]), 5 * (64 * 128 + 4 * 128 * 10))  # 10 columns are not four equal parts
        for chip in report["chips"]:
            self.assertEqual(chip["bytes"], (self.folder / chip["output"]).stat().st_size)
        commands = json.loads(self.weft("disasm", "d-chip1.weft", "--json"))["kernels"][0]["queues"]
        self.assertEqual(commands["sync"][0]["opcode"], "BARRIER")
        self.assertIn("d-chip3.weft", self.weft("compile", DIGITS, "-o", "d.weft", "--slice", "nano-2x2", "--batch", 4))

    def test_disasm_lists_every_command(self):
        kernel, _ = self.compile_digits(5)
        text = self.weft("disasm", "d.weft")
        for queue, commands in kernel["queues"].items():
            self.assertIn(f"queue {queue}  ; {len(commands)} commands", text)
            self.assertTrue(all("opcode" in c for c in commands))
        self.assertIn("MATMUL", text.upper())

    def test_trace_has_a_track_an_engine_and_spans_named_by_their_tags(self):
        kernel, files = self.compile_digits(16)
        texts = {c["text"] for queue in kernel["queues"].values() for c in queue if "text" in c}
        commands = sum(len(queue) for queue in kernel["queues"].values())
        for core in ("rtl", "fast"):
            with self.subTest(core=core):
                self.weft("run", "d.weft", *files, "--chip", "nano", "--core", core, "--trace", "t.json")
                events = json.loads((self.folder / "t.json").read_text())
                events = events["traceEvents"] if isinstance(events, dict) else events
                tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
                spans = [e for e in events if e["ph"] == "X"]
                used = {tracks[e["tid"]].lower() for e in spans}
                for engine in ("mxu", "vpu", "dma", "manager"):
                    self.assertTrue(any(engine in track for track in used), f"no span of {engine} among {sorted(used)}")
                of_core = [e for e in spans if tracks[e["tid"]].lower() != "manager" and "queue" not in tracks[e["tid"]]]
                self.assertEqual(len(of_core), commands)
                self.assertTrue(all(e["dur"] >= 0 for e in spans))
                names = {e["name"] for e in of_core}
                self.assertLessEqual(texts, names, "no span has these tags' names")


class Info(WeftTest):
    def test_info_names_the_presets(self):
        info = self.weft_json("info")
        self.assertEqual([c["name"] for c in info["chips"]], ["mini", "nano-4mxu", "nano-pe2", "nano-pe3", "nano-pe4", "nano", "small", "v2", "v3", "v4", "v5e-1mxu", "v5e", "v5p", "v6e"])
        self.assertEqual(info["cores"], ["rtl", "fast", "lockstep"])
        text = self.weft("info")
        for chip in info["chips"]:
            self.assertIn(chip["name"], text)

    def test_help_shows_every_default(self):
        self.assertIn("Exit codes", self.weft("--help"))
        for command in ("gemm", "compile", "run", "disasm", "info", "collective"):
            text = self.weft(command, "--help")
            self.assertIn("--json", text)
            if command in ("gemm", "compile", "run"):
                self.assertIn("v5e-1mxu", text)
        self.assertEqual(self.weft("--version").strip(), self.weft_json("info")["version"])


class Collective(WeftTest):
    """Collectives on a slice, as docs/collectives.md shows them."""

    def test_every_collective_gives_the_documented_bits(self):
        for kind in ("all-gather", "reduce-scatter", "all-reduce", "broadcast", "all-to-all", "permute"):
            for dtype in ("f32", "bf16", "i32") if "reduce" in kind else ("f32", "bf16", "i32", "i8"):
                run = self.weft_json("collective", kind, "--slice", "nano-4x2", "--axis", "x", "--dtype", dtype, "--bytes", "20000")
                self.assertEqual(run["differing"], 0, f"{kind} {dtype}")
                self.assertGreater(run["elements"], 0)
                self.assertEqual(run["ranks"], 4)

    def test_several_axes_and_groups(self):
        both = self.weft_json("collective", "all-reduce", "--slice", "nano-4x4", "--axis", "xy", "--bytes", "65536")
        self.assertEqual((both["differing"], both["ranks"], both["elements"]), (0, 16, 16 * 65536 // 4))
        groups = self.weft_json("collective", "all-reduce", "--slice", "nano-4x4", "--group", "0,1,5,4", "--group", "10,11,15,14", "--bytes", "20000")
        self.assertEqual((groups["differing"], groups["ranks"], groups["ring"], groups["elements"]), (0, 4, True, 8 * 5000))
        torus = self.weft_json("collective", "all-reduce", "--slice", "v4-4x4x4", "--axis", "xyz", "--bytes", "20016")
        self.assertEqual((torus["differing"], torus["ranks"], torus["ring"]), (0, 64, True))
        twisted = self.weft_json("collective", "all-gather", "--slice", "v4-4x4x8_twisted", "--axis", "z", "--bytes", "4096")
        self.assertEqual((twisted["differing"], twisted["chips"], twisted["ranks"]), (0, 128, 8))

    def test_the_largest_slice_has_more_files_than_a_shell_gives(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, soft), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        run = self.weft_json("collective", "all-gather", "--slice", "v5e-16x16", "--axis", "y", "--bytes", "4096")
        self.assertEqual((run["differing"], run["chips"]), (0, 256))
        run = self.weft_json("collective", "all-gather", "--slice", "v4-8x8x8", "--axis", "y", "--bytes", "4096")
        self.assertEqual((run["differing"], run["chips"], run["ranks"]), (0, 512, 8))
        code, _, err = self.run_weft("collective", "all-gather", "--slice", "nano-1024x1024", "--axis", "y", "--bytes", "4096")
        self.assertEqual(code, 2, err)
        self.assertIn("a simulator has at most 65534 chips", err)
        self.assertIn("16 ranks, lines", self.weft("collective", "broadcast", "--slice", "nano-4x4", "--axis", "xy", "--root", 5))

    def test_the_algorithm_is_the_faster_one_or_the_one_that_is_asked_for(self):
        for size, taken in (("256", "direct"), ("262144", "neighbor")):
            run = self.weft_json("collective", "all-gather", "--slice", "nano-4x1", "--bytes", size)
            self.assertEqual((run["algorithm"], run["direct_us"] < run["neighbor_us"], run["differing"]), (taken, taken == "direct", 0))
            self.assertIn(f"algorithm           {taken}; by closed form", self.weft("collective", "all-gather", "--slice", "nano-4x1", "--bytes", size))
        for asked in ("neighbor", "direct"):
            run = self.weft_json("collective", "all-reduce", "--slice", "nano-4x1", "--bytes", "4096", "--algorithm", asked)
            self.assertEqual((run["algorithm"], run["differing"]), (asked, 0))

    def test_the_same_run_takes_the_same_cycles(self):
        runs = [self.weft_json("collective", "all-reduce", "--slice", "nano-4x4", "--bytes", "65536") for _ in range(2)]
        self.assertEqual(runs[0]["device_cycles"], runs[1]["device_cycles"])

    def test_the_time_alone_is_the_same_to_the_cycle(self):
        for kind, *where in (("all-reduce", "--slice", "nano-4x4", "--axis", "xy", "--bytes", "65536"), ("all-reduce", "--slice", "nano-2x2", "--axis", "xy", "--bytes", "1048576"),
                             ("reduce-scatter", "--slice", "v4-2x2x4", "--axis", "xyz", "--dtype", "bf16", "--bytes", "40016"),
                             ("all-reduce", "--slice", "v5e-8x16", "--axis", "xy", "--algorithm", "direct", "--bytes", "16384"), ("all-gather", "--slice", "nano-4x4", "--axis", "xy"),
                             ("broadcast", "--slice", "nano-4x2", "--axis", "xy"), ("all-to-all", "--slice", "nano-4x4", "--axis", "xy"), ("permute", "--slice", "nano-4x4"),
                             ("barrier", "--slice", "nano-4x4", "--axis", "xy")):
            with_data, alone = (self.weft_json("collective", kind, *where, *more) for more in ((), ("--timing-only",)))
            self.assertEqual(with_data["differing"], 0, where)
            self.assertEqual((alone["device_cycles"], alone["elements"], alone["timing_only"]), (with_data["device_cycles"], 0, True), f"{kind} {where}")
            self.assertIsNone(alone["differing"], "nothing was compared")
        self.assertIn("none: the time alone", self.weft("collective", "all-reduce", "--slice", "nano-2x2", "--timing-only"))

    def test_wrong_requests_say_what_is_possible(self):
        for code, words, arguments in ((2, "4 ranks", ("broadcast", "--slice", "nano-4x2", "--root", "4")),
                                       (2, "the VPU adds f32, bf16 and i32", ("all-reduce", "--slice", "nano-2x2", "--dtype", "i8")),
                                       (2, "bf16, f32, i32, i8", ("all-gather", "--slice", "nano-2x2", "--dtype", "f16")),
                                       (2, "no algorithm 'tree'; possible: auto, direct, neighbor", ("all-reduce", "--slice", "nano-2x2", "--algorithm", "tree")),
                                       (2, "bytes of VMEM", ("all-reduce", "--slice", "nano-2x2", "--algorithm", "direct", "--bytes", "1048576")),
                                       (2, "multiple of 16", ("all-reduce", "--slice", "nano-2x2", "--bytes", "20")),
                                       (2, "all-gather, all-reduce", ("sum", "--slice", "nano-2x2")),
                                       (2, "no axis 'w'; axes: x, y, z", ("barrier", "--slice", "nano-2x2", "--axis", "w")),
                                       (2, "no dtype 'int8'", ("all-reduce", "--slice", "nano-2x2", "--dtype", "int8")),
                                       (2, "--timing-only --core rtl: RTL computes what it carries", ("barrier", "--slice", "nano-2x2", "--core", "rtl", "--timing-only")),
                                       (2, "core 'slow'", ("barrier", "--slice", "nano-2x2", "--core", "slow")),
                                       (2, "no slice", ("barrier", "--slice", "nano")),
                                       (2, "17x2 is larger than the largest slice of nano", ("barrier", "--slice", "nano-17x2")),
                                       (2, "whole cubes of 4x4x4; 3x4x4 is not", ("barrier", "--slice", "v4-3x4x4")),
                                       (2, "--core names 2 cores for 4 chips", ("barrier", "--slice", "nano-2x2", "--core", "fast,rtl")),
                                       (1, "--listen", ("all-reduce",))):
            got, _, err = self.run_weft("collective", *arguments)
            self.assertEqual(got, code, err)
            self.assertIn(words, err)


class Attach(WeftTest):
    """A weft-sim that stands by itself."""

    def start_simulator(self):
        simulator = subprocess.Popen([WEFT_SIM, "--chip", "nano", "--core", "rtl", "--socket", self.path("s.sock")], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(simulator.stdout.close)
        self.addCleanup(simulator.wait)
        self.addCleanup(simulator.kill)
        wait_for(lambda: "s.sock" in self.files(), "socket")
        return simulator

    def test_the_default_manager_is_the_one_that_reports_name(self):
        named = self.weft_json("gemm", "--shape", "8x8x8", "--chip", "nano", "--core", "fast")["manager"]
        simulator = subprocess.Popen([WEFT_SIM, "--chip", "nano", "--core", "fast", "--listen", self.path("chip")], stdin=subprocess.DEVNULL)
        self.addCleanup(simulator.wait)
        self.addCleanup(simulator.kill)
        wait_for(lambda: (self.folder / "chip/management.sock").exists(), "socket")
        firmware = self.weft_json("smi", "chip")[0]["firmware"]
        self.assertEqual((firmware["charged"], firmware["processor"] is None), (named == "native",) * 2)
        self.assertEqual(self.weft_json("gemm", "--shape", "8x8x8", "--socket", "chip/function0.sock")["manager"], "attached")

    def test_clients_one_after_the_other(self):
        simulator = self.start_simulator()
        cycles = []
        for seed in (1, 2, 3):
            report = self.weft_json("gemm", "--shape", "30x30x30", "--seed", seed, "--socket", "s.sock", "--verify")
            self.assertEqual((report["differing"], report["chip"], report["core"]), (0, "nano", "attached"))
            cycles.append(report["device_cycles"])
        self.assertEqual(len(set(cycles)), 1, cycles)
        self.assertIsNone(simulator.poll(), "the simulator has ended with its client")
        simulator.send_signal(signal.SIGTERM)
        self.assertEqual(simulator.wait(timeout=10), 0)
        self.assertEqual(simulator.stdout.read(), "")
        self.assertNotIn("s.sock", self.files())

    def start_long_client(self, simulator):
        """A client with seconds of work, which stands still. It is served, not merely started, once the simulator computes: only then may others come."""
        before = cpu_seconds(simulator.pid)
        client = self.start("gemm", "--shape", "384x384x384", "--socket", "s.sock", "--json")
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        wait_for(lambda: client.poll() is not None or cpu_seconds(simulator.pid) > before + 0.3, "work of the first client")
        client.send_signal(signal.SIGSTOP)
        self.assertIsNone(client.poll(), "the long client has ended already")
        return client

    def test_a_second_client_at_the_same_time_is_told_busy(self):
        first = self.start_long_client(self.start_simulator())
        code, _, err = self.run_weft("gemm", "--shape", "8x8x8", "--socket", "s.sock")
        self.assertIsNone(first.poll(), "the first client has ended before the second was answered")
        self.assertEqual(code, 3, err)
        self.assertIn("BUSY", err)
        self.assertEqual(len(err.splitlines()), 1, err)
        first.send_signal(signal.SIGCONT)
        out, err = first.stdout.read(), first.stderr.read()
        self.assertEqual((first.wait(), err), (0, ""))
        self.assertEqual(json.loads(out)["macs"], 384 ** 3)
        self.weft("gemm", "--shape", "8x8x8", "--socket", "s.sock", "--verify")

    def test_a_client_that_is_killed_leaves_the_simulator_ready(self):
        first = self.start_long_client(self.start_simulator())
        first.kill()
        first.wait()
        wait_for(lambda: self.run_weft("gemm", "--shape", "8x8x8", "--socket", "s.sock", "--verify")[0] == 0, "simulator that is free again")


if __name__ == "__main__":
    unittest.main()
