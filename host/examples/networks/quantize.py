#!/usr/bin/env python3
"""usage: quantize.py MODEL.onnx QUANTISED.onnx [per_channel] [symmetric] [INPUT.npy ...]: a network in 8 bits, made by onnxruntime from what these inputs come to.

Products and convolutions are between DequantizeLinear and QuantizeLinear: weights i8, with a scale for each channel if asked for; activations u8, or i8
with a zero point of 0 if `symmetric`. Without inputs: random ones. The model has one input.
"""
import pathlib
import sys
import tempfile

import numpy as np
import onnx

if sys.path and pathlib.Path(sys.path[0]).resolve() == pathlib.Path(__file__).resolve().parent:
    sys.path.pop(0)  # onnxruntime has an onnx_model too
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static  # noqa: E402


class Samples(CalibrationDataReader):
    def __init__(self, name, arrays):
        self.left = [{name: array} for array in arrays]

    def get_next(self):
        return self.left.pop(0) if self.left else None


def random_samples(model, count=8, seed=1):
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape, dtype=np.float32) for _ in range(count)]


def quantized(model, samples, symmetric=False, **options):
    kinds = {"activation_type": QuantType.QInt8 if symmetric else QuantType.QUInt8, "weight_type": QuantType.QInt8, **options}
    with tempfile.TemporaryDirectory() as folder:
        plain, made = pathlib.Path(folder) / "plain.onnx", pathlib.Path(folder) / "made.onnx"
        onnx.save(model, plain)
        quantize_static(plain, made, Samples(model.graph.input[0].name, samples), quant_format=QuantFormat.QDQ,
                        extra_options={"ActivationSymmetric": symmetric}, **kinds)
        return onnx.load(made)


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    model = onnx.load(arguments[0])
    arrays = [np.load(a) for a in arguments[2:] if a.endswith(".npy")] or random_samples(model)
    onnx.save(quantized(model, arrays, symmetric="symmetric" in arguments, per_channel="per_channel" in arguments), arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
