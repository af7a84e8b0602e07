"""GridSample against onnxruntime: random images, places, modes, paddings and ranks. ONNX's vectors have 18 of these
combinations, and none with a cubic border, of which onnxruntime is the judge here."""
import os
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

MODELS = 60
SEED = 7
TOLERANCE = 1e-4  # absolute, of sums of up to 16 products of order 1 in float32


def draw(rng):
    """(model, images, places, what it is)"""
    newer = bool(rng.integers(2))
    mode = str(rng.choice(("linear", "nearest", "cubic") if newer else ("bilinear", "nearest", "bicubic")))
    padding, corners = str(rng.choice(("zeros", "border", "reflection"))), int(rng.integers(2))
    rank = int(rng.choice((2, 3))) if newer and mode != "cubic" else 2  # onnxruntime has no cubic of three dimensions
    batch, channels = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    images = rng.standard_normal((batch, channels, *rng.integers(1, 6, rank))).astype(np.float32)
    places = (rng.standard_normal((batch, *rng.integers(1, 5, rank), rank)) * rng.choice((0.5, 1, 3))).astype(np.float32)
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding, align_corners=corners)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, of.shape) for name, of in (("x", images), ("grid", places))]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20 if newer else 16)], ir_version=9)
    return model, images, places, f"{mode}, {padding}, corners {corners}, images {images.shape}, places {places.shape}"


class GridSample(unittest.TestCase):
    def test_random_images_and_places_give_onnxruntimes_results(self):
        rng = np.random.default_rng(SEED)
        with tempfile.TemporaryDirectory() as folder:
            for i in range(MODELS):
                model, images, places, what = draw(rng)
                with self.subTest(model=i, seed=SEED, what=what):
                    onnx.save(model, f"{folder}/m.onnx")
                    np.save(f"{folder}/x.npy", images)
                    np.save(f"{folder}/grid.npy", places)
                    subprocess.run([os.environ["WEFT"], "run", f"{folder}/m.onnx", "--device", "none", "--input", f"x={folder}/x.npy",
                                    "--input", f"grid={folder}/grid.npy", "--output", f"y={folder}/y.npy"],
                                   check=True, capture_output=True, timeout=60)
                    session = onnxruntime.InferenceSession(f"{folder}/m.onnx", providers=["CPUExecutionProvider"])
                    expected = session.run(None, {"x": images, "grid": places})[0]
                    found = np.load(f"{folder}/y.npy")
                    self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
                    self.assertGreater(found.size, 0)
                    self.assertLess(float(np.abs(found - expected).max()), TOLERANCE)


if __name__ == "__main__":
    unittest.main()
