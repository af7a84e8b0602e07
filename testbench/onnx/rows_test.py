"""Gather of whole rows, as embeddings read them: the bits of onnxruntime, in a device program where a product follows."""
import itertools
import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SEED = 11
SIZES = ((1, 16, 1), (50, 1, 9), (50, 7, 8), (300, 16, 33), (1000, 40, 128), (20000, 130, 20), (70, 700, 70))


def model_of(operator, table, indices, width, constant, attributes):
    """rows = Gather(table, indices); y = rows W"""
    w = numpy_helper.from_array(np.random.default_rng(SEED).standard_normal((width, 4)).astype(np.float32), "w")
    kind = TensorProto.INT32 if indices.dtype == np.int32 else TensorProto.INT64
    inputs = [helper.make_tensor_value_info("i", kind, indices.shape)]
    weights = [w, numpy_helper.from_array(np.array([-1, width], np.int64), "flat")]
    if constant:
        weights.append(numpy_helper.from_array(table, "t"))
    else:
        inputs.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, table.shape))
    nodes = [helper.make_node(operator, ["t", "i"], ["rows"], **attributes), helper.make_node("Reshape", ["rows", "flat"], ["r"]),
             helper.make_node("MatMul", ["r", "w"], ["y"])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("rows", "y")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)


class Rows(unittest.TestCase):
    def judge(self, operator, table, indices, width, constant, attributes, chip="nano"):
        model = model_of(operator, table, indices, width, constant, attributes)
        given = {"i": indices} | ({} if constant else {"t": table})
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, f"{folder}/m.onnx")
            call = [os.environ["WEFT"], "run", f"{folder}/m.onnx", "--chip", chip, "--core", "fast", "--verify", "--json", "--output", f"rows={folder}/rows.npy"]
            for name, array in given.items():
                np.save(f"{folder}/{name}.npy", array)
                call += ["--input", f"{name}={folder}/{name}.npy"]
            done = subprocess.run(call, check=True, capture_output=True, timeout=120, text=True)
            found = np.load(f"{folder}/rows.npy")
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        expected = session.run(["rows"], given)[0]
        self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
        self.assertGreater(found.size, 0)
        np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))
        report = json.loads(done.stdout)
        self.assertEqual(report["differing"], 0)
        where = [part["where"] for part in report.get("parts", []) if "gather" in part["operators"]]
        self.assertIn(where, ([], ["device"]))  # of one program no parts are told

    def test_rows_of_inputs_and_constants(self):
        for (rows, columns, count), constant, kind in itertools.product(SIZES, (False, True), (np.int32, np.int64)):
            with self.subTest(rows=rows, columns=columns, count=count, constant=constant, kind=kind):
                rng = np.random.default_rng([SEED, rows, columns])
                table = rng.standard_normal((rows, columns)).astype(np.float32)
                self.judge("Gather", table, rng.integers(-rows, rows, count).astype(kind), columns, constant, {"axis": 0})

    def test_many_rows_on_large_arrays(self):
        for chip, count in (("v5e", 300), ("v5e-1mxu", 128)):
            with self.subTest(chip=chip):
                table = np.random.default_rng(SEED).standard_normal((5000, 96)).astype(np.float32)
                self.judge("Gather", table, np.random.default_rng(count).integers(-5000, 5000, count), 96, False, {}, chip)

    def test_indices_and_tables_of_several_dimensions(self):
        rng = np.random.default_rng(SEED)
        table = rng.standard_normal((40, 3, 10)).astype(np.float32)
        for shape in ((), (1,), (3, 5), (2, 1, 4)):
            with self.subTest(shape=shape):
                self.judge("Gather", table, np.asarray(rng.integers(-40, 40, shape), np.int64), 30, False, {"axis": -3})

    def test_rows_by_vectors_of_indices(self):
        rng = np.random.default_rng(SEED)
        table = rng.standard_normal((12, 5, 24)).astype(np.float32)
        indices = np.stack([rng.integers(-12, 12, 17), rng.integers(-5, 5, 17)], 1)
        self.judge("GatherND", table, indices, 24, True, {})

    def test_a_table_with_infinities(self):
        rng = np.random.default_rng(SEED)
        table = rng.standard_normal((64, 24)).astype(np.float32)
        table[3, 4], table[5, 6], table[9] = np.inf, np.nan, -0.0
        self.judge("Gather", table, rng.integers(0, 64, 100), 24, True, {"axis": 0})


if __name__ == "__main__":
    unittest.main()
