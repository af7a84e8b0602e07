#!/usr/bin/python3
"""Bad input to weft: one message that says what, where and which values, the documented exit code, no output left, the next run works."""
import os
import signal
import stat
import unittest
import unittest.mock

import numpy as np
import onnx
from onnx import TensorProto, helper

from weft_command import BUILD, DIGITS, WeftTest, children, cpu_seconds, wait_for

WRONG_USAGE, WRONG_INPUT, NO_MEMORY, DEVICE_FAILED, BAD_EXECUTABLE = 1, 2, 3, 4, 5
FAST = ["--chip", "nano", "--core", "fast"]


class BadInput(WeftTest):
    def setUp(self):
        super().setUp()
        self.array("A.npy", (4, 6))
        self.array("B.npy", (6, 5))

    def array(self, name, shape, dtype=np.float32):
        np.save(self.path(name), np.ones(shape, dtype))

    def refused(self, code, words, *arguments):
        """The run ends with `code` and one message that holds all `words`; afterwards the folder is as before and weft works."""
        before = self.files()
        got, out, err = self.run_weft(*arguments)
        told = f"weft {' '.join(map(str, arguments))}\nexit code {got}, stdout {out!r}, stderr:\n{err}"
        self.assertEqual(got, code, told)
        self.assertEqual(out, "", told)
        self.assertTrue(err.startswith("weft: ") and err.endswith("\n"), told)
        self.assertEqual(len(err.splitlines()), 1, told)
        for word in words:
            self.assertIn(word, err, told)
        self.assertEqual(self.files(), before, told)
        self.works()
        return err

    def works(self):
        self.weft("gemm", "--shape", "9x9x9", *FAST, "--verify")

    def gemm(self, code, words, *arguments):
        return self.refused(code, words, "gemm", *arguments, "-o", "C.npy", *(() if "--chip" in arguments else FAST))


class Gemm(BadInput):
    def test_shapes_that_do_not_fit(self):
        self.array("wrong.npy", (7, 5))
        self.gemm(WRONG_INPUT, ["A.npy is 4 x 6", "wrong.npy is 7 x 5"], "A.npy", "wrong.npy")

    def test_arrays_that_are_no_matrices(self):
        for shape in ((6,), (2, 3, 4), (0, 6), ()):
            self.array("wrong.npy", shape)
            self.gemm(WRONG_INPUT, ["wrong.npy", str(shape).rstrip(",)").strip("(")], "wrong.npy", "B.npy")

    def test_wrong_element_types(self):
        for dtype in ("float64", "int8", "int64", "complex64", ">f4"):
            self.array("wrong.npy", (4, 6), np.dtype(dtype))
            self.gemm(WRONG_INPUT, ["wrong.npy"], "wrong.npy", "B.npy")
        self.gemm(WRONG_INPUT, ["A.npy", "float32", "int8"], "A.npy", "B.npy", "--precision", "int8")

    def test_fortran_order(self):
        np.save(self.path("wrong.npy"), np.asfortranarray(np.ones((4, 6), np.float32)))
        self.gemm(WRONG_INPUT, ["wrong.npy", "Fortran"], "wrong.npy", "B.npy")

    def test_files_that_are_no_arrays(self):
        self.gemm(WRONG_INPUT, ["none.npy", "No such file"], "none.npy", "B.npy")
        (self.folder / "text.npy").write_text("no array")
        self.gemm(WRONG_INPUT, ["text.npy"], "text.npy", "B.npy")
        (self.folder / "empty.npy").write_bytes(b"")
        self.gemm(WRONG_INPUT, ["empty.npy"], "empty.npy", "B.npy")
        (self.folder / "short.npy").write_bytes((self.folder / "A.npy").read_bytes()[:-4])
        self.gemm(WRONG_INPUT, ["short.npy"], "short.npy", "B.npy")
        (self.folder / "folder.npy").mkdir()
        self.gemm(WRONG_INPUT, ["folder.npy"], "folder.npy", "B.npy")

    def test_missing_operands(self):
        self.gemm(WRONG_INPUT, ["--shape"])
        self.gemm(WRONG_INPUT, ["A.npy and B.npy"], "A.npy")
        self.gemm(WRONG_INPUT, ["--shape"], "A.npy", "B.npy", "--shape", "2x2x2")

    def test_shape_option(self):
        for text in ("8x8", "axbxc", "8x8x8x8", "-1x2x3", "8x8x8 ", ""):
            self.gemm(WRONG_INPUT, ["MxKxN"], "--shape", text)
        self.gemm(WRONG_INPUT, ["0x8x8", "at least 1"], "--shape", "0x8x8")
        self.gemm(WRONG_INPUT, ["99999999x99999999x99999999"], "--shape", "99999999x99999999x99999999")
        self.gemm(WRONG_INPUT, ["18446744073709551617"], "--shape", "18446744073709551617x1x1")

    def test_chip_core_manager_precision(self):
        self.gemm(WRONG_INPUT, ["there is no manager 'arm'; managers: native, rv32, ibex"], "--shape", "8x8x8", "--chip", "nano", "--manager", "arm")
        self.gemm(WRONG_INPUT, ["v99", "nano", "small", "v5e-1mxu"], "--shape", "8x8x8", "--chip", "v99")
        self.gemm(WRONG_INPUT, ["slow", "rtl", "fast", "lockstep"], "--shape", "8x8x8", "--chip", "nano", "--core", "slow")
        self.gemm(WRONG_INPUT, ["fp64", "bf16", "int8"], "--shape", "8x8x8", "--precision", "fp64")

    def test_hbm_too_small(self):
        # nano has 64 MiB, of which the manager keeps 64 KiB: the first is told by the chip's HBM, the second by what the driver has of it.
        self.gemm(NO_MEMORY, ["A (8 x 8192), B (8192 x 8192) and C take 134610944 bytes of HBM, the chip has 67108864"], "--shape", "8x8192x8192")
        self.gemm(NO_MEMORY, ["bytes of HBM", "67043328"], "--shape", "8x4070x8192")

    def test_output_that_cannot_be_written(self):
        self.refused(WRONG_INPUT, ["none/C.npy", "No such file"], "gemm", "--shape", "8x8x8", "-o", "none/C.npy", *FAST)
        self.refused(WRONG_INPUT, [str(self.folder), "directory"], "gemm", "--shape", "8x8x8", "-o", self.folder, *FAST)

    def test_waves_and_traces_that_cannot_be(self):
        self.gemm(WRONG_INPUT, ["--wave", "fast"], "--shape", "8x8x8", "--wave", "w.fst")
        self.gemm(WRONG_INPUT, ["9", "5"], "--shape", "8x8x8", "--chip", "nano", "--wave", "w.fst", "--wave-from", 9, "--wave-to", 5)
        self.gemm(WRONG_INPUT, ["none/w.fst"], "--shape", "8x8x8", "--chip", "nano", "--wave", "none/w.fst")
        self.gemm(WRONG_INPUT, ["none/t.json"], "--shape", "8x8x8", "--trace", "none/t.json")

    def test_socket_that_nobody_serves(self):
        self.refused(DEVICE_FAILED, ["none.sock"], "gemm", "--shape", "8x8x8", "--socket", self.path("none.sock"), "-o", "C.npy")

    def test_device_that_cannot_be(self):
        gemm = ("gemm", "--shape", "8x8x8", "-o", "C.npy", "--open")
        self.refused(DEVICE_FAILED, ["0000:ff:1f.7", "weft list"], *gemm, "pci:0000:ff:1f.7")
        self.refused(WRONG_INPUT, ["0000:00:05.0"], *gemm, "pci:five")
        self.refused(WRONG_INPUT, ["pci:<address>"], *gemm, "usb:1")
        self.refused(WRONG_INPUT, ["--chip and --core"], *gemm, "sim:nano")
        self.refused(DEVICE_FAILED, ["none"], "list", "--listen", self.path("none"))

    def test_result_that_was_there_before_is_kept(self):
        (self.folder / "C.npy").write_text("before")
        self.array("wrong.npy", (7, 5))
        self.gemm(WRONG_INPUT, ["wrong.npy"], "A.npy", "wrong.npy")
        self.assertEqual((self.folder / "C.npy").read_text(), "before")


class Usage(BadInput):
    """What is no command line of weft at all: code 1 and no run."""

    def usage(self, word, *arguments):
        before = self.files()
        code, out, err = self.run_weft(*arguments)
        self.assertEqual(code, WRONG_USAGE, f"{arguments}: {err}")
        self.assertIn(word, err + out)
        self.assertEqual(self.files(), before)

    def test_wrong_usage(self):
        self.usage("subcommand")
        self.usage("frobnicate", "frobnicate")
        self.usage("--frobnicate", "gemm", "--frobnicate")
        self.usage("--seed", "gemm", "--shape", "8x8x8", "--seed", "x")
        self.usage("--batch", "compile", DIGITS, "-o", "x.weft", "--batch", "0")
        self.usage("MODEL", "compile", "-o", "x.weft")
        self.usage("MODEL", "run")


class Executable(BadInput):
    def setUp(self):
        super().setUp()
        self.weft("compile", DIGITS, "-o", "d.weft", "--chip", "nano", "--batch", 4)
        self.bytes = (self.folder / "d.weft").read_bytes()
        self.array("x.npy", (4, 64))

    def run_file(self, code, words, data, chip="nano"):
        (self.folder / "bad.weft").write_bytes(data)
        arguments = ("--input", "x=x.npy", "--output", "y=y.npy", "--chip", chip, "--core", "fast")
        return self.refused(code, ["bad.weft", *words], "run", "bad.weft", *arguments)

    def test_truncated(self):
        for size in (len(self.bytes) - 1, len(self.bytes) // 2, 100, 16):
            self.run_file(BAD_EXECUTABLE, [], self.bytes[:size])

    def test_for_another_chip(self):
        self.run_file(BAD_EXECUTABLE, ["nano", "small"], self.bytes, chip="small")

    def test_one_changed_byte_anywhere(self):
        for position in range(8, len(self.bytes), len(self.bytes) // 12):
            data = bytearray(self.bytes)
            data[position] ^= 0x40
            self.run_file(BAD_EXECUTABLE, [], bytes(data))

    def test_foreign_files(self):
        for data in (b"", b"\x7fELF" + bytes(200), b"MZ", os.urandom(4096)):
            self.run_file(WRONG_INPUT, ["ONNX"], data)

    def test_verify_needs_the_model(self):
        self.refused(WRONG_INPUT, ["--verify"], "run", "d.weft", "--input", "x=x.npy", *FAST, "--verify")

    def test_disasm_of_what_is_no_executable(self):
        self.refused(BAD_EXECUTABLE, ["x.npy"], "disasm", "x.npy")
        (self.folder / "bad.weft").write_bytes(self.bytes[:300])
        self.refused(BAD_EXECUTABLE, ["bad.weft"], "disasm", "bad.weft")
        self.refused(WRONG_INPUT, ["none.weft", "No such file"], "disasm", "none.weft")


class Model(BadInput):
    def setUp(self):
        super().setUp()
        graph = onnx.load(str(DIGITS)).graph
        self.input, self.output = graph.input[0].name, graph.output[0].name
        self.array("x.npy", (4, 64))

    def run_digits(self, code, words, *arguments):
        return self.refused(code, words, "run", DIGITS, *arguments, *FAST)

    def test_missing_and_unknown_inputs_and_outputs(self):
        output = ("--output", f"{self.output}=y.npy")
        self.run_digits(WRONG_INPUT, [f"'{self.input}' is missing"], *output)
        self.run_digits(WRONG_INPUT, ["'nothing'", self.input], "--input", f"{self.input}=x.npy", "--input", "nothing=x.npy", *output)
        self.run_digits(WRONG_INPUT, ["'nothing'", self.output], "--input", f"{self.input}=x.npy", "--output", "nothing=y.npy")
        self.run_digits(WRONG_INPUT, ["NAME=FILE"], "--input", "x.npy", *output)
        self.run_digits(WRONG_INPUT, ["twice"], "--input", f"{self.input}=x.npy", "--input", f"{self.input}=x.npy", *output)
        self.run_digits(WRONG_INPUT, ["none.npy"], "--input", f"{self.input}=none.npy", *output)

    def test_wrong_shape_and_type(self):
        output = ("--output", f"{self.output}=y.npy")
        self.array("bad.npy", (4, 63))
        self.run_digits(WRONG_INPUT, ["bad.npy", "4, 63", "64"], "--input", f"{self.input}=bad.npy", *output)
        self.array("bad.npy", (4, 64), np.int8)
        self.run_digits(WRONG_INPUT, ["bad.npy", "int8", "float32"], "--input", f"{self.input}=bad.npy", *output)

    def test_an_array_of_another_rank(self):
        for shape in ((4, 8, 8), (256,), (1, 4, 64), ()):
            self.array("bad.npy", shape)
            self.run_digits(WRONG_INPUT, ["bad.npy", f"({', '.join(map(str, shape))})", "needs ("], "--input", f"{self.input}=bad.npy")

    def test_files_that_are_no_arrays(self):
        whole = (self.folder / "x.npy").read_bytes()
        for data, words in ((b"", "NUMPY"), (b"PK\3\4" + bytes(100), "NUMPY"), (whole[:60], "header"), (whole[:-1], "needs 1024 bytes"),
                            (whole + b"x", "needs 1024 bytes"), (whole.replace(b"<f4", b"<f2"), "float16 needs 512 bytes"), (whole.replace(b"<f4", b"<c8"), "'<c8'"), (whole.replace(b"<f4", b"|O "), "'|O '"),
                            (whole.replace(b"(4, 64)", b"(-4,64)"), "shape")):
            (self.folder / "bad.npy").write_bytes(data)
            self.run_digits(WRONG_INPUT, ["bad.npy", words], "--input", f"{self.input}=bad.npy")

    def test_outputs_that_cannot_be_written_or_lose_what_is_there(self):
        given = ("--input", f"{self.input}=x.npy")
        model = self.folder / "digits.onnx"
        model.write_bytes(DIGITS.read_bytes())
        kept = model.read_bytes(), (self.folder / "x.npy").read_bytes()
        for path, words in (("none/y.npy", ["none/y.npy", "No such file"]), (".", ["directory"]), ("digits.onnx", ["digits.onnx", "written over"]),
                            ("./x.npy", ["x.npy", "written over"])):
            self.refused(WRONG_INPUT, words, "run", "digits.onnx", *given, "--output", f"{self.output}={path}", *FAST)
        self.assertEqual((model.read_bytes(), (self.folder / "x.npy").read_bytes()), kept)
        self.refused(WRONG_INPUT, ["y.npy", "'a' and 'b' would be written"], "run", "digits.onnx", *given, "--output", "a=y.npy", "--output", "b=./y.npy", *FAST)
        self.refused(WRONG_INPUT, ["digits.onnx", "written over"], "compile", "digits.onnx", "-o", "digits.onnx", "--chip", "nano")
        self.refused(WRONG_INPUT, ["A.npy", "written over"], "gemm", "A.npy", "B.npy", "-o", "A.npy", *FAST)

    def test_waves_and_traces_are_regular_files(self):
        os.mkfifo(self.path("pipe"))
        for command, option in ((["gemm", "--shape", "8x8x8", "--chip", "nano", "--core", "rtl"], "--wave"), (["gemm", "--shape", "8x8x8", *FAST], "--trace"),
                                (["collective", "barrier", "--slice", "nano-2x2"], "--trace")):
            self.refused(WRONG_INPUT, ["pipe", "no regular file"], *command, option, "pipe")
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))

    def compile_model(self, code, words, model, *arguments):
        data = model if isinstance(model, bytes) else model.SerializeToString()
        (self.folder / "m.onnx").write_bytes(data)
        return self.refused(code, ["m.onnx", *words], "compile", "m.onnx", "-o", "m.weft", "--chip", "nano", *arguments)

    def test_slices_and_shardings_that_cannot_be(self):
        for words, slice_, sharding in (
                (["no slice 'nano-22'", "CHIP-AxB"], "nano-22", "batch=x"),
                (["no slice 'nano-0x2'"], "nano-0x2", "batch=x"),
                (["there is no chip 'pico'", "nano"], "pico-2x2", "batch=x"),
                (["'weights=q:x' is not"], "nano-2x2", "weights=q:x"),
                (["'' is not"], "nano-2x2", ""),
                (["no axis 'w'"], "nano-2x2", "batch=w"),
                (["axis x is named twice"], "nano-2x2", "batch=xx"),
                (["batch= is there twice"], "nano-2x2", "batch=x,batch=y"),
                (["axes are missing"], "nano-2x2", "weights=n:"),
                (["axis x cuts two"], "nano-2x2", "batch=x,weights=n:x"),
                (["a batch of 1 rows over 2 chips"], "nano-2x2", "batch=x")):
            self.refused(WRONG_INPUT, words, "compile", DIGITS, "-o", "m.weft", "--slice", slice_, "--sharding", sharding)
        self.array("x.npy", (4, 64))
        self.refused(WRONG_INPUT, ["no input 'x'", "pixels"], "run", DIGITS, "--input", "x=x.npy", "--slice", "nano-2x2", "--core", "fast")
        self.refused(WRONG_INPUT, ["no manager 'arm'"], "run", DIGITS, "--slice", "nano-2x2", "--core", "fast", "--manager", "arm")
        self.refused(WRONG_INPUT, ["input 'pixels' is missing"], "run", DIGITS, "--slice", "nano-2x2", "--core", "fast")

    def test_no_onnx(self):
        whole = DIGITS.read_bytes()
        for data in (b"", b"no model", whole[:-100], whole[:1000], os.urandom(5000)):
            self.compile_model(WRONG_INPUT, ["ONNX"], data)
        self.refused(WRONG_INPUT, ["none.onnx"], "compile", "none.onnx", "-o", "m.weft")

    def one_node(self, node, shape=(4, 8), constants=(), opset=13):
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], list(constants))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])

    def test_operator_and_attribute_that_are_not_built(self):
        self.compile_model(WRONG_INPUT, ["DeformConv", "the_node", "onnx_operators"], self.one_node(helper.make_node("DeformConv", ["x", "x", "x"], ["y"], name="the_node"), opset=19))
        self.compile_model(WRONG_INPUT, ["Conv", "the_node", "f32[4, 8]"], self.one_node(helper.make_node("Conv", ["x", "x"], ["y"], name="the_node")))
        self.compile_model(WRONG_INPUT, ["Cast", "the_node"], self.one_node(helper.make_node("Cast", ["x"], ["y"], name="the_node", to=TensorProto.STRING)))

    def test_shapes_inside_the_model_that_do_not_fit(self):
        weights = helper.make_tensor("w", TensorProto.FLOAT, (9, 3), [0.0] * 27)
        self.compile_model(WRONG_INPUT, ["the_node", "8", "9"], self.one_node(helper.make_node("MatMul", ["x", "w"], ["y"], name="the_node"), constants=[weights]))

    def test_input_that_is_nowhere(self):
        self.compile_model(WRONG_INPUT, ["the_node", "nowhere"], self.one_node(helper.make_node("Relu", ["nowhere"], ["y"], name="the_node")))

    def test_hbm_too_small_for_a_model(self):
        # The input alone is 64 MiB of bf16.
        columns, rows = 8192, 4096
        weights = helper.make_tensor("w", TensorProto.FLOAT, (columns, 1), [0.0] * columns)
        model = self.one_node(helper.make_node("MatMul", ["x", "w"], ["y"]), (rows, columns), [weights])
        (self.folder / "m.onnx").write_bytes(model.SerializeToString())
        self.array("big.npy", (rows, columns))
        self.refused(NO_MEMORY, ["67108864"], "run", "m.onnx", "--input", "x=big.npy", "--output", "y=y.npy", *FAST)


class Targets(BadInput):
    """What no build, or no generation, has: every command that starts a simulator says so before anything runs."""
    COMMANDS = {"gemm": ["gemm", "--shape", "8x8x8"], "selftest": ["selftest"], "inject": ["inject", "--count", 1],
                "run": ["run", DIGITS, "--input", "pixels=x.npy"], "digits": ["digits"], "digits_train": ["digits_train", "--steps", 1]}
    SLICE_COMMANDS = {"preflight": ["preflight"], "collective": ["collective", "barrier"], "run": ["run", DIGITS, "--input", "pixels=x.npy"],
                      "digits_train": ["digits_train", "--steps", 1]}

    def setUp(self):
        super().setUp()
        self.array("x.npy", (48, 64))

    def says(self, words, *arguments):
        """Exit code 2 and one message with all `words`, in which nothing is lost or closed."""
        example = arguments[0].startswith("digits")
        code, out, err = self.run_weft(*arguments[1:], program=str(BUILD / "bin" / arguments[0])) if example else self.run_weft(*arguments)
        told = f"{' '.join(map(str, arguments))}\nexit code {code}, stdout {out!r}, stderr:\n{err}"
        self.assertEqual((code, out), (WRONG_INPUT, ""), told)
        self.assertEqual(len(err.splitlines()), 1, told)
        for word in words:
            self.assertIn(word, err, told)
        for word in ("LOST", "lost", "reset by peer", "pipe", "HBM is gone", "exit code"):
            self.assertNotIn(word, err, told)

    def test_rtl_that_this_build_does_not_have(self):
        for name, command in self.COMMANDS.items():
            for core in ("rtl", "lockstep"):
                with self.subTest(command=name, core=core):
                    self.says(["the RTL core of chip 'v4' is not in this build", "nano", "the fast core", "weft build-chip v4"],
                              *command, "--chip", "v4", "--core", core)
        for name, command in self.SLICE_COMMANDS.items():
            with self.subTest(command=name):
                self.says(["the RTL core of chip 'v4' is not in this build"], *command, "--slice", "v4-2x2x1", "--core", "rtl")
        with unittest.mock.patch.dict(os.environ, WEFT_ARRAY="structural"):
            self.says(["the RTL core with the structural array of chip 'v4' is not in this build", "the fast array",
                       "weft build-chip v4 --array structural"], *self.COMMANDS["gemm"], "--chip", "v4", "--core", "rtl")

    def test_slices_that_their_generation_forbids(self):
        for slice_, rule in (("v4-3x4x4", "a slice of v4 with more than 16 chips is made of whole cubes of 4x4x4; 3x4x4 is not"),
                             ("nano-17x2", "17x2 is larger than the largest slice of nano"), ("v5e-2x2x2", "v5e has 2 axes, not 3"),
                             ("v4-4x4x4_twisted", "can be twisted"), ("pico-2x2", "no such generation"), ("v5e-4", "no slice")):
            for name, command in self.SLICE_COMMANDS.items():
                with self.subTest(command=name, slice=slice_):
                    self.says([slice_, rule], *command, "--slice", slice_)


class Death(BadInput):
    def test_simulator_that_dies_in_the_middle(self):
        process = self.start("gemm", "--shape", "1024x1024x1024", "--chip", "nano", "--core", "rtl", "-o", "C.npy")
        before = self.files()
        simulator = wait_for(lambda: children(process.pid, "weft-sim"), "weft-sim")[0]
        # It computes once it has used more CPU time than a boot takes.
        wait_for(lambda: process.poll() is not None or cpu_seconds(simulator) > 1, "running simulator")
        self.assertIsNone(process.poll())
        os.kill(simulator, signal.SIGKILL)
        out, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (DEVICE_FAILED, ""), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        for word in ("DEVICE_LOST", "signal 9"):
            self.assertIn(word, err)
        self.assertEqual(self.files(), before)
        self.works()


if __name__ == "__main__":
    unittest.main()
