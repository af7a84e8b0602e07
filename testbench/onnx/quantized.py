"""Networks that onnxruntime has quantised to 8 bits: with QuantizeLinear and DequantizeLinear around products (QDQ), or with activations that are
quantised while they run (MatMulInteger, ConvInteger)."""
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

sys.path.insert(0, str(Path(__file__).parents[2] / "host/examples/networks"))
import quantize  # noqa: E402

OPSET, IR_VERSION = 17, 8
UNSIGNED = QuantType.QUInt8


def drawn(random, shape):
    return random.standard_normal(shape, dtype=np.float32)


class Network:
    """Nodes one after the other, each of the one before."""

    def __init__(self, shape, seed):
        self.random, self.nodes, self.constants, self.value, self.shape = np.random.default_rng(seed), [], [], "x", shape

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def add(self, operator, *others, **attributes):
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [self.value, *others], [result], name=f"n{len(self.nodes)}", **attributes))
        self.value = result
        return result

    def dense(self, k, n, relu=True):
        self.add("Gemm", self.constant(drawn(self.random, (k, n)) / np.sqrt(k)), self.constant(drawn(self.random, n) * 0.1))
        return self.add("Relu") if relu else self.value

    def convolution(self, channels, outputs, taps=3, stride=1, group=1, relu=True):
        weights = drawn(self.random, (outputs, channels // group, taps, taps)) / np.sqrt(channels // group * taps * taps)
        self.add("Conv", self.constant(weights), self.constant(drawn(self.random, outputs) * 0.1), kernel_shape=[taps, taps], pads=[taps // 2] * 4,
                 strides=[stride, stride], group=group)
        return self.add("Relu") if relu else self.value

    def model(self, outputs):
        graph = helper.make_graph(self.nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, outputs)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def mlp(batch=4, width=64, layers=3, inputs=40, outputs=10, seed=1):
    network = Network([batch, inputs], seed)
    sizes = [inputs, *[width] * (layers - 1), outputs]
    for i, (k, n) in enumerate(zip(sizes, sizes[1:], strict=False)):
        network.dense(k, n, relu=i + 2 < len(sizes))
    return network.model([batch, outputs])


def cnn(batch=1, size=12, channels=16, seed=2):
    """A ResNet in small: a first convolution, a block that adds its input, one with a stride, depthwise windows, and a mean of each channel."""
    network = Network([batch, 3, size, size], seed)
    first = network.convolution(3, channels)
    network.convolution(channels, channels)
    network.convolution(channels, channels, relu=False)
    network.add("Add", first)
    network.add("Relu")
    network.convolution(channels, 2 * channels, stride=2)
    network.convolution(2 * channels, 2 * channels, group=2 * channels)
    network.convolution(2 * channels, 2 * channels, taps=1)
    network.add("GlobalAveragePool")
    network.add("Flatten", axis=1)
    network.dense(2 * channels, 10, relu=False)
    return network.model([batch, 10])


def quantized(model, form="qdq", **options):
    """`form`: "qdq", or "dynamic"."""
    if form == "dynamic":
        with tempfile.TemporaryDirectory() as folder:
            plain, made = Path(folder) / "plain.onnx", Path(folder) / "made.onnx"
            onnx.save(model, plain)
            quantize_dynamic(plain, made, **options)
            result = onnx.load(made)
    else:
        result = quantize.quantized(model, quantize.random_samples(model), **options)
    result.ir_version = IR_VERSION
    return result
