"""The networks in sizes that a small chip runs in a second, and a convolutional network of all kinds of windows."""
import numpy as np

import sequences
import vision
from onnx_model import Model


def small_cnn(seed=1):
    """x [1, 3, 16, 16]: convolutions with relu, one of them with a stride and one in groups, pooling, a product and a softmax."""
    m = Model(seed)

    def convolution(x, inputs, outputs, groups=1, stride=1):
        return m.node("Relu", m.convolution(x, inputs, outputs, groups=groups, stride=stride, gain=1))

    x = m.node("MaxPool", convolution("x", 3, 8), kernel_shape=[2, 2], strides=[2, 2])
    x = convolution(convolution(x, 8, 16, stride=2), 16, 16, groups=4)
    x = m.node("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    x = m.node("Flatten", m.node("GlobalAveragePool", x))
    m.output("y", m.node("Softmax", m.node("Gemm", x, m.draw(16, 10, scale=0.25), m.draw(10)), axis=1))
    given = {"x": np.random.default_rng(2).standard_normal((1, 3, 16, 16), dtype=np.float32)}
    return m.whole("cnn", given, {"y": (1, 10)}), given


NETWORKS = {
    "cnn": small_cnn,
    "resnet18": lambda: vision.resnet18(batch=2, size=32, width=8, classes=10),
    "mobilenet_v2": lambda: vision.mobilenet_v2(size=32, classes=10, stages=((1, 8, 1, 1), (3, 12, 2, 2)), first=8, last=24),
    "unet": lambda: vision.unet(size=16, base=4, levels=2),
    "encoder": lambda: sequences.encoder(layers=1, tokens=12, width=32, heads=4, inner=64),
    "decoder": lambda: sequences.decoder(context=12, layers=2, width=32, heads=4, words=40),
    "lstm": lambda: sequences.lstm(inputs=12, width=16, steps=4),
}
