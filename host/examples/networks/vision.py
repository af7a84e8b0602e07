"""Networks on images: ResNet-18, MobileNetV2, U-Net."""
import numpy as np

from onnx_model import Model


def image(seed, batch, channels, size):
    return np.random.default_rng(seed).standard_normal((batch, channels, size, size), dtype=np.float32)


def resnet18(batch=1, size=224, width=64, classes=1000, seed=1):
    """He et al. 2015: a convolution of 7 x 7, four stages of two residual blocks, 1,000 classes."""
    m = Model(seed)

    def block(x, inputs, outputs, stride):
        y = m.node("Relu", m.convolution(x, inputs, outputs, stride=stride))
        y = m.convolution(y, outputs, outputs, gain=0.5)
        if stride != 1 or inputs != outputs:
            x = m.convolution(x, inputs, outputs, size=1, stride=stride, gain=1)
        return m.node("Relu", m.node("Add", y, x))

    x = m.node("Relu", m.convolution("x", 3, width, size=7, stride=2))
    x = m.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = width
    for stage in range(4):
        for i in range(2):
            outputs = width << stage
            x = block(x, channels, outputs, stride=2 if stage and not i else 1)
            channels = outputs
    x = m.node("Flatten", m.node("GlobalAveragePool", x))
    m.output("scores", m.node("Gemm", x, m.draw(channels, classes, scale=channels**-0.5), m.draw(classes, scale=0.1)))
    given = {"x": image(2, batch, 3, size)}
    return m.whole("resnet18", given, {"scores": (batch, classes)}), given


# Expansion, channels, blocks, stride of the first one.
MOBILENET = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet_v2(batch=1, size=224, classes=1000, stages=MOBILENET, first=32, last=1280, seed=1):
    """Sandler et al. 2018: depthwise convolutions between two of 1 x 1, of which the second is linear; ReLU6."""
    m = Model(seed)
    zero, six = m.constant(np.float32(0)), m.constant(np.float32(6))

    def clipped(x):
        return m.node("Clip", x, zero, six)

    def block(x, inputs, outputs, expansion, stride):
        inner = inputs * expansion
        y = clipped(m.convolution(x, inputs, inner, size=1)) if expansion != 1 else x
        y = clipped(m.convolution(y, inner, inner, stride=stride, groups=inner))
        y = m.convolution(y, inner, outputs, size=1, gain=1)
        return m.node("Add", x, y) if stride == 1 and inputs == outputs else y

    x, channels = clipped(m.convolution("x", 3, first, stride=2)), first
    for expansion, outputs, blocks, stride in stages:
        for i in range(blocks):
            x = block(x, channels, outputs, expansion, stride if i == 0 else 1)
            channels = outputs
    x = clipped(m.convolution(x, channels, last, size=1))
    x = m.node("Flatten", m.node("GlobalAveragePool", x))
    m.output("scores", m.node("Gemm", x, m.draw(last, classes, scale=last**-0.5), m.draw(classes, scale=0.1)))
    given = {"x": image(2, batch, 3, size)}
    return m.whole("mobilenet_v2", given, {"scores": (batch, classes)}), given


def unet(batch=1, size=256, base=16, levels=4, seed=1):
    """Ronneberger et al. 2015, with padding: an image of one channel to a mask of its size."""
    m = Model(seed)

    def twice(x, inputs, outputs):
        return m.node("Relu", m.convolution(m.node("Relu", m.convolution(x, inputs, outputs)), outputs, outputs))

    def up(x, inputs, outputs):
        return m.node("ConvTranspose", x, m.draw(inputs, outputs, 2, 2, scale=inputs**-0.5), m.draw(outputs, scale=0.1), kernel_shape=[2, 2], strides=[2, 2])

    x, channels, kept = twice("x", 1, base), base, []
    for _ in range(levels):
        kept.append(x)
        x = twice(m.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), channels, 2 * channels)
        channels *= 2
    for skipped in reversed(kept):
        x = m.node("Concat", skipped, up(x, channels, channels // 2), axis=1)
        x = twice(x, channels, channels // 2)
        channels //= 2
    m.output("mask", m.node("Sigmoid", m.convolution(x, channels, 1, size=1, gain=1)))
    given = {"x": image(2, batch, 1, size)}
    return m.whole("unet", given, {"mask": (batch, 1, size, size)}), given
