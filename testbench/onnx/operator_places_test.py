"""docs/onnx_operators.md says where each operator runs: here `weft compile --explain` is asked. Models: ONNX's own vectors of that operator alone whose inputs and
outputs are f32; for operators of other types, of which there are none, a small model of this file in which it follows a product. The page's last column begins
with "device" if and only if a model of the operator is one device program."""
import json
import os
import re
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from random_models import ROOT

VECTORS = Path(onnx.__file__).parent / "backend/test/data/node"
OPSET, OPSETS = 20, {"Upsample": 9}  # the last that has it
# Values of all small models by name; h is a product of 4 x 8, of the input x of 4 x 8 and w.
CONSTANTS = {
    "w": np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8), "quarter": np.float32([0.25]), "zero": np.float32([0]), "three": np.int64([3]), "axis": np.array(1),
    "axes": np.int64([1]), "depth": np.array(8), "off_on": np.float32([0, 1]), "rows": np.int64([[0], [2]]), "two_rows": np.ones((2, 8), np.float32), "row": np.int64([2, 0]),
    "back": np.tile(np.arange(8)[::-1], (4, 1)), "ones": np.ones((4, 8), np.float32), "shape": np.int64([4, 8]), "first": np.float32(0), "end": np.float32(8), "step": np.float32(1),
    "lengths": np.int64([8, 4, 2, 1]), "one": np.uint32([1]), "mask": np.int32([3]), "kept": np.array([1, 0, 1, 0, 1, 0, 0, 1], bool), "less": np.int64([4, 6]), "flat": np.int64([2, 16]),
    "pads": np.int64([0, 1, 0, 1]), "image": np.int64([1, 2, 4, 4]), "starts": np.int64([1]), "ends": np.int64([3]), "once": np.int64([2, 1]), "repeats": np.int64([1, 2]), "two_parts": np.int64([4, 4]),
    "scale": np.float32(0.05), "middle": np.uint8(128), "w8": np.tile(np.int8([1, -2, 3, 4]), (8, 2)), "w_middle": np.int8(0), "taps8": np.ones((2, 2, 3, 3), np.int8),
    "double": np.float32([1, 1, 2, 2]),
}
BYTES = [("QuantizeLinear", ["h", "scale", "middle"], ["q"])]
IMAGE = [("Reshape", ["h", "image"], ["i"])]
BOTH = [("Less", ["h", "quarter"], ["b1"]), ("Greater", ["h", "zero"], ["b2"])]
CHOSEN, CAST = ("Where", ["b", "h", "zero"], ["y"]), ("Cast", ["i"], ["y"], {"to": 1})


def compared(name):
    return [(name, ["h", "quarter"], ["b"]), CHOSEN]


def bits(name):
    return [("Cast", ["h"], ["a"], {"to": TensorProto.INT32}), (name, ["a", "mask"], ["i"]), CAST]


# operator: nodes behind the product; the last gives y
SMALL = {
    **{name: compared(name) for name in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "Where")},
    "Where": compared("Less"),
    **{name: [*BOTH, (name, ["b1", "b2"], ["b"]), CHOSEN] for name in ("And", "Or", "Xor")},
    "Not": [("Less", ["h", "quarter"], ["a"]), ("Not", ["a"], ["b"]), CHOSEN],
    "IsNaN": [("IsNaN", ["h"], ["b"]), CHOSEN], "IsInf": [("IsInf", ["h"], ["b"]), CHOSEN],
    "Cast": [("Cast", ["h"], ["i"], {"to": TensorProto.INT32}), CAST], "CastLike": [("CastLike", ["h", "mask"], ["i"]), CAST],
    **{name: bits(name) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    "BitwiseNot": [("Cast", ["h"], ["a"], {"to": TensorProto.INT32}), ("BitwiseNot", ["a"], ["i"]), CAST],
    "BitShift": [("Cast", ["h"], ["a"], {"to": TensorProto.UINT32}), ("BitShift", ["a", "one"], ["i"], {"direction": "LEFT"}), CAST],
    "ArgMax": [("ArgMax", ["h"], ["i"], {"axis": 1}), CAST], "ArgMin": [("ArgMin", ["h"], ["i"], {"axis": 1}), CAST], "Hardmax": [("Hardmax", ["h"], ["y"])],
    "CumSum": [("CumSum", ["h", "axis"], ["y"])], "Trilu": [("Trilu", ["h"], ["y"])], "TopK": [("TopK", ["h", "three"], ["y", "at"])], "Mod": [("Mod", ["h", "quarter"], ["y"], {"fmod": 1})],
    "OneHot": [("ArgMax", ["h"], ["a"], {"axis": 1, "keepdims": 0}), ("OneHot", ["a", "depth", "off_on"], ["y"])],
    "ScatterND": [("ScatterND", ["h", "rows", "two_rows"], ["y"])], "ScatterElements": [("ScatterElements", ["h", "back", "ones"], ["y"], {"axis": 1})],
    "GatherElements": [("GatherElements", ["h", "back"], ["y"], {"axis": 1})], "Gather": [("Gather", ["h", "row"], ["y"])], "GatherND": [("GatherND", ["h", "rows"], ["y"])],
    "ConstantOfShape": [("ConstantOfShape", ["shape"], ["k"]), ("Add", ["h", "k"], ["y"])], "Constant": [("Constant", [], ["k"], {"value_float": 2.0}), ("Add", ["h", "k"], ["y"])],
    "Size": [("Size", ["h"], ["i"]), ("Cast", ["i"], ["f"], {"to": 1}), ("Div", ["h", "f"], ["y"])], "Shape": [("Shape", ["h"], ["s"]), ("Reshape", ["h", "s"], ["y"])],
    "EyeLike": [("EyeLike", ["h"], ["k"]), ("Add", ["h", "k"], ["y"])], "Range": [("Range", ["first", "end", "step"], ["k"]), ("Add", ["h", "k"], ["y"])],
    "ReverseSequence": [("ReverseSequence", ["h", "lengths"], ["y"], {"batch_axis": 0, "time_axis": 1})], "Compress": [("Compress", ["h", "kept"], ["y"], {"axis": 1})],
    "CenterCropPad": [("CenterCropPad", ["h", "less"], ["y"])], "NonZero": [("NonZero", ["h"], ["i"]), CAST], "Unique": [("Unique", ["h"], ["y"])],
    "Reshape": [("Reshape", ["h", "flat"], ["y"])], "Expand": [("Unsqueeze", ["h", "axes"], ["a"]), ("Expand", ["a", "shape"], ["y"])], "Pad": [("Pad", ["h", "pads"], ["y"])],
    "Slice": [("Slice", ["h", "starts", "ends"], ["y"])], "Squeeze": [("Unsqueeze", ["h", "axes"], ["a"]), ("Squeeze", ["a", "axes"], ["y"])], "Unsqueeze": [("Unsqueeze", ["h", "axes"], ["y"])],
    "Tile": [("Tile", ["h", "repeats"], ["y"])], "Split": [("Split", ["h", "two_parts"], ["y", "z"], {"axis": 1})], "LpNormalization": [("LpNormalization", ["h"], ["y"])],
    **{f"Reduce{name}": [(f"Reduce{name}", ["h", "axes"], ["y"])] for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")},
    "QuantizeLinear": [*BYTES, ("DequantizeLinear", ["q", "scale", "middle"], ["y"])], "DequantizeLinear": [*BYTES, ("DequantizeLinear", ["q", "scale", "middle"], ["y"])],
    "DynamicQuantizeLinear": [("DynamicQuantizeLinear", ["h"], ["q", "s", "z"]), ("DequantizeLinear", ["q", "s", "z"], ["y"])],
    "MatMulInteger": [*BYTES, ("MatMulInteger", ["q", "w8", "middle", "w_middle"], ["i"]), CAST],
    "QLinearMatMul": [*BYTES, ("QLinearMatMul", ["q", "scale", "middle", "w8", "scale", "w_middle", "scale", "middle"], ["p"]), ("DequantizeLinear", ["p", "scale", "middle"], ["y"])],
    "ConvInteger": [*IMAGE, ("QuantizeLinear", ["i", "scale", "middle"], ["q"]), ("ConvInteger", ["q", "taps8", "middle"], ["p"]), ("Cast", ["p"], ["y"], {"to": 1})],
    "QLinearConv": [*IMAGE, ("QuantizeLinear", ["i", "scale", "middle"], ["q"]), ("QLinearConv", ["q", "scale", "middle", "taps8", "scale", "w_middle", "scale", "middle"], ["p"]),
                    ("DequantizeLinear", ["p", "scale", "middle"], ["y"])],
    "Resize": [*IMAGE, ("Resize", ["i", "", "double"], ["y"])],
    "Upsample": [("Reshape", ["h", "image"], ["i"]), ("Upsample", ["i", "double"], ["y"])],
    "Einsum": [("Einsum", ["h", "w"], ["y"], {"equation": "ij,jk->ik"})],
}


def small(name):
    nodes = [helper.make_node(n[0], n[1], n[2], **(n[3] if len(n) > 3 else {})) for n in [("MatMul", ["x", "w"], ["h"]), *SMALL[name]]]
    read = {i for node in nodes for i in node.input}
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])], [helper.make_empty_tensor_value_info("y")],
                              [numpy_helper.from_array(array, key) for key, array in CONSTANTS.items() if key in read])
    graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSETS.get(name, OPSET))], ir_version=9)


def vectors():
    """By operator: models of ONNX in which it is alone, of f32."""
    found = {}
    for folder in sorted(VECTORS.iterdir()):
        model = onnx.load(str(folder / "model.onnx"))
        values = [*model.graph.input, *model.graph.output]
        if len(model.graph.node) == 1 and model.graph.input and all(v.type.tensor_type.elem_type == TensorProto.FLOAT for v in values):
            found.setdefault(model.graph.node[0].op_type, []).append(model)
    return found


class OperatorPlaces(unittest.TestCase):
    def explained(self, path):
        """Whether the model is one device program, or why not."""
        weft = os.environ.get("WEFT", str(ROOT / "build/bin/weft"))
        done = subprocess.run([weft, "compile", path, "--chip", "nano", "--explain", "--json"], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            return done.stderr.strip() or f"exit code {done.returncode}"
        parts = json.loads(done.stdout)["parts"]
        return "" if parts and all(part["where"] == "device" for part in parts) else str([part.get("because") for part in parts if part["where"] != "device"])

    def test_the_page_says_where_operators_run(self):
        page = dict(re.findall(r"^\| (\w+) \| [\d to]+ \| (.*) \|$", (ROOT / "docs/onnx_operators.md").read_text(), re.M))
        self.assertGreater(len(page), 150)
        models = vectors()
        for name in SMALL:
            models.setdefault(name, []).append(small(name))
        with tempfile.TemporaryDirectory() as folder:
            asked = []
            for name in page:
                for i, model in enumerate(models.get(name, [])):
                    asked.append((name, f"{folder}/{name}{i}.onnx"))
                    onnx.save(model, asked[-1][1])
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                answers = {}
                for (name, _), why in zip(asked, pool.map(lambda a: self.explained(a[1]), asked), strict=True):
                    answers.setdefault(name, []).append(why)
        self.assertGreater(len(answers), 130)
        for name, where in page.items():
            on_device = "" in answers.get(name, [])
            with self.subTest(operator=name):
                self.assertEqual(where.startswith("device"), on_device, f"{name}: the page says '{where}'; weft compile: {answers.get(name, ['nothing was asked'])[:3]}")


if __name__ == "__main__":
    unittest.main()
