"""Random models of the operators of 8 bits on a device, against onnxruntime.

usage: quantized_models.py [--count N] [--seed S] [--chip NAME] [--core NAME]
                           (Python of .venv; WEFT and WEFT_SIM name the programs, default those of build/bin)

A model is one operator, or a short chain of them: products and convolutions by constants or inputs, with zero points and scales of each
kind that ONNX has, some of them powers of two, so that results lie between two integers. All elements must be onnxruntime's, and the
device's bits the golden model's. On a host where onnxruntime's products saturate, the bits alone are compared. A model that was judged wrong is printed with the line that draws it again. Exit code 1: there was one."""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import oracle

ROOT = Path(__file__).resolve().parents[2]
OPSET, IR_VERSION = 13, 8  # onnxruntime has no QLinearMatMul of opset 21
TYPES = {np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32}


class Draw:
    def __init__(self, seed):
        self.random, self.nodes, self.constants, self.inputs, self.given = np.random.default_rng(seed), [], [], [], {}

    def integer(self, low, high):
        return int(self.random.integers(low, high + 1))

    def chance(self, probability):
        return self.random.random() < probability

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def input(self, array):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape))
        self.given[name] = array
        return name

    def node(self, operator, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def bytes(self, shape, dtype):
        limits = np.iinfo(dtype)
        return self.random.integers(limits.min, limits.max + 1, shape).astype(dtype)

    def type(self):
        return np.int8 if self.chance(0.4) else np.uint8

    def zero(self, dtype, shape=()):
        limits = np.iinfo(dtype)
        usual = 0 if dtype == np.int8 else 128
        return np.full(shape, usual, dtype) if self.chance(0.3) else self.random.integers(limits.min, limits.max + 1, shape).astype(dtype)

    def scale(self, near, shape=()):
        """About so large; a power of two as often as not."""
        values = near * np.exp(self.random.normal(0, 0.5, shape))
        return np.asarray(2.0 ** np.round(np.log2(values)) if self.chance(0.5) else values, np.float32)

    def weights_for(self, dtype):
        """Pairs of types that onnxruntime has."""
        return np.int8 if dtype == np.int8 else self.type()

    def second(self, array):
        return self.constant(array) if self.chance(0.75) else self.input(array)

    def matrix(self):
        """The shapes of a product, and of what it gives."""
        m, k, n = self.integer(1, 40), self.integer(1, 90), self.integer(1, 40)
        batch = [self.integer(1, 3)] if self.chance(0.3) else []
        return [*batch, m, k], [k, n], k, n

    def matmul_integer(self):
        left, right, _, n = self.matrix()
        a, w = self.type(), self.type()
        zero_w = self.zero(w, (n,) if self.chance(0.3) else ())
        return self.node("MatMulInteger", [self.input(self.bytes(left, a)), self.second(self.bytes(right, w)), self.constant(self.zero(a)), self.constant(zero_w)]), TensorProto.INT32

    def qlinear_matmul(self):
        left, right, k, n = self.matrix()
        a = self.type()
        w = self.weights_for(a)
        x = self.input(self.bytes(left, a))
        for _ in range(self.integer(1, 3)):
            row = (n,) if self.chance(0.3) else ()
            zero_w = np.zeros(row, w) if w == np.int8 and row else self.zero(w, row)
            x = self.node("QLinearMatMul", [x, self.constant(np.float32(1)), self.constant(self.zero(a)), self.second(self.bytes(right, w)), self.constant(self.scale(1 / (70 * np.sqrt(k)), row)),
                                            self.constant(zero_w), self.constant(np.float32(1)), self.constant(self.zero(a))])
            k, right = n, [n, n]
        return x, TYPES[np.dtype(a)]

    def windows(self, channels, group):
        taps, outputs = self.integer(1, 3), self.integer(1, 20) * group
        attributes = {"kernel_shape": [taps, taps], "pads": [self.integer(0, 1) for _ in range(4)], "strides": [self.integer(1, 2)] * 2, "group": group}
        if self.chance(0.2):
            attributes["dilations"] = [2, 2]
        return [outputs, channels // group, taps, taps], attributes

    def images(self):
        group = self.integer(2, 6) if self.chance(0.2) else 1
        channels = group * self.integer(1, 20 if group == 1 else 1)
        return [self.integer(1, 2), channels, self.integer(5, 9), self.integer(5, 9)], channels, group

    def conv_integer(self):
        shape, channels, group = self.images()
        filters, attributes = self.windows(channels, group)
        a, w = np.uint8, self.type()
        inputs = [self.input(self.bytes(shape, a)), self.second(self.bytes(filters, w)), self.constant(self.zero(a)), self.constant(self.zero(w))]
        return self.node("ConvInteger", inputs, **attributes), TensorProto.INT32

    def qlinear_conv(self):
        shape, channels, group = self.images()
        filters, attributes = self.windows(channels, group)
        a, w = (np.uint8, self.type()) if self.chance(0.7) else (np.int8, np.int8)
        row = (filters[0],) if self.chance(0.4) else ()
        terms = int(np.prod(filters[1:]))
        inputs = [self.input(self.bytes(shape, a)), self.constant(np.float32(1)), self.constant(self.zero(a)), self.second(self.bytes(filters, w)),
                  self.constant(self.scale(1 / (70 * np.sqrt(terms)), row)), self.constant(np.zeros(row, w) if row else self.zero(w)), self.constant(np.float32(1)), self.constant(self.zero(a))]
        if self.chance(0.6):
            inputs.append(self.constant(self.random.integers(-20000, 20000, filters[0]).astype(np.int32)))
        return self.node("QLinearConv", inputs, **attributes), TYPES[np.dtype(a)]

    def quantised_product(self):
        """f32 that is quantised, multiplied, and quantised again."""
        left, right, k, n = self.matrix()
        a = self.type()
        w = self.weights_for(a)
        scale_x, zero_x = self.constant(self.scale(0.02)), self.constant(self.zero(a))
        quantised = self.node("QuantizeLinear", [self.input(self.random.standard_normal(left).astype(np.float32)), scale_x, zero_x])
        zero_w = self.constant(self.zero(w))
        sums = self.node("QLinearMatMul", [quantised, scale_x, zero_x, self.constant(self.bytes(right, w)), self.constant(self.scale(0.02)), zero_w,
                                           self.constant(self.scale(0.02 * np.sqrt(k))), zero_y := self.constant(self.zero(a))])
        if self.chance(0.5):
            return sums, TYPES[np.dtype(a)]
        return self.node("DequantizeLinear", [sums, self.constant(self.scale(0.02)), zero_y]), TensorProto.FLOAT

    def model(self):
        kinds = (self.matmul_integer, self.qlinear_matmul, self.conv_integer, self.qlinear_conv, self.quantised_product)
        result, element = kinds[self.integer(0, len(kinds) - 1)]()
        graph = helper.make_graph(self.nodes, "drawn", self.inputs, [helper.make_tensor_value_info(result, element, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def exact():
    """Whether onnxruntime's products of u8 by i8 are: without VNNI they saturate at 16 bits, as its documentation says."""
    flags = Path("/proc/cpuinfo").read_text()
    return "vnni" in flags or "avx2" not in flags


def wrong(seed, weft, *options):
    """What is wrong with the model of this seed, and what it was: "device", "parts" or "refused"."""
    draw = Draw(seed)
    model = draw.model()
    operators = "+".join(n.op_type for n in model.graph.node)
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        expected = onnxruntime.InferenceSession(model.SerializeToString(), plain, providers=["CPUExecutionProvider"]).run(None, draw.given)[0]
    except Exception as error:  # combinations that onnxruntime does not have
        return "", f"onnxruntime: {oracle.first_line(error)}"
    with tempfile.TemporaryDirectory() as folder:
        outcome = oracle.ask_weft(weft, folder, model, draw.given, *options)
    if outcome.code != 0:
        return f"{operators}: exit code {outcome.code}: {outcome.err.strip()[:300]}", "refused"
    report = json.loads(outcome.out)
    found = outcome.outputs[model.graph.output[0].name]
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{operators}: {found.dtype} {found.shape}, onnxruntime's {expected.dtype} {expected.shape}", ""
    if report.get("differing", 0) != 0:
        return f"{operators}: {report['differing']} of {report['elements']} elements are not the golden model's", ""
    if exact() and not np.array_equal(found, expected):
        at = np.unravel_index(int(np.argmax(found != expected)), found.shape)
        return f"{operators}: {int(np.sum(found != expected))} of {found.size} elements differ, {[int(i) for i in at]} is {found[at]}, onnxruntime's {expected[at]}", ""
    islands = [part["reasons"] for part in report.get("parts", []) if part["where"] == "host"]
    return "", f"islands: {islands}" if islands else "device"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chip", default="nano")
    parser.add_argument("--core", default="fast")
    arguments = parser.parse_args()
    weft = os.environ.get("WEFT", str(ROOT / "build/bin/weft"))
    tally, bad = {}, 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        why, kind = wrong(seed, weft, "--chip", arguments.chip, "--core", arguments.core)
        tally[kind] = tally.get(kind, 0) + 1
        if why:
            bad += 1
            print(f"WRONG: {why}\n  quantized_models.py --count 1 --seed {seed} --chip {arguments.chip} --core {arguments.core}")
    for kind, count in sorted(tally.items(), key=lambda item: -item[1]):
        print(f"{count:5} {kind or 'wrong'}")
    sys.exit(1 if bad or not tally.get("device") else 0)


if __name__ == "__main__":
    main()
