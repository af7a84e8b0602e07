"""Small networks as ONNX models: a layer of a transformer's encoder and a convolutional network, with weights from a seed."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Model:
    """Nodes and constants in the order in which they are made."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def draw(self, *shape, scale=1.0, offset=0.0):
        return self.constant((offset + scale * self.rng.standard_normal(shape)).astype(np.float32))

    def node(self, operator, *operands, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [name], name=name, **attributes))
        return name

    def whole(self, name, given, made, last):
        self.nodes.append(helper.make_node("Identity", [last], ["y"], name="y"))
        x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in (("x", given), ("y", made)))
        graph = helper.make_graph(self.nodes, name, [x], [y], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def encoder_layer(tokens, width, heads, inner, seed=1):
    """x [1, tokens, width]: attention, residual, normalisation, two products with a GELU between them, residual, normalisation."""
    m = Model(seed)
    size = width // heads
    split, together = m.constant(np.array([1, tokens, heads, size], np.int64)), m.constant(np.array([1, tokens, width], np.int64))

    def dense(x, k, n):
        return m.node("Add", m.node("MatMul", x, m.draw(k, n, scale=k**-0.5)), m.draw(n, scale=0.1))

    def heads_of(x, order):
        return m.node("Transpose", m.node("Reshape", x, split), perm=order)

    def normalized(x):
        return m.node("LayerNormalization", x, m.draw(width, scale=0.1, offset=1), m.draw(width, scale=0.1), axis=-1, epsilon=1e-12)

    q, k, v = heads_of(dense("x", width, width), [0, 2, 1, 3]), heads_of(dense("x", width, width), [0, 2, 3, 1]), heads_of(dense("x", width, width), [0, 2, 1, 3])
    weights = m.node("Softmax", m.node("Div", m.node("MatMul", q, k), m.constant(np.float32(size**0.5))), axis=-1)
    read = m.node("Reshape", m.node("Transpose", m.node("MatMul", weights, v), perm=[0, 2, 1, 3]), together)
    y = normalized(m.node("Add", dense(read, width, width), "x"))
    u = dense(y, width, inner)
    bell = m.node("Add", m.node("Erf", m.node("Div", u, m.constant(np.float32(2**0.5)))), m.constant(np.float32(1)))
    gelu = m.node("Mul", m.node("Mul", u, m.constant(np.float32(0.5))), bell)
    return m.whole("encoder", [1, tokens, width], [1, tokens, width], normalized(m.node("Add", dense(gelu, inner, width), y)))


def small_cnn(seed=1):
    """x [1, 3, 16, 16]: convolutions with relu, one of them with a stride and one in groups, pooling, a product and a softmax."""
    m = Model(seed)

    def convolution(x, inputs, outputs, groups=1, stride=1):
        w = m.draw(outputs, inputs // groups, 3, 3, scale=(9 * inputs / groups) ** -0.5)
        return m.node("Relu", m.node("Conv", x, w, m.draw(outputs, scale=0.1), pads=[1, 1, 1, 1], strides=[stride, stride], group=groups))

    x = m.node("MaxPool", convolution("x", 3, 8), kernel_shape=[2, 2], strides=[2, 2])
    x = convolution(convolution(x, 8, 16, stride=2), 16, 16, groups=4)
    x = m.node("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    x = m.node("Flatten", m.node("GlobalAveragePool", x))
    return m.whole("cnn", [1, 3, 16, 16], [1, 10], m.node("Softmax", m.node("Gemm", x, m.draw(16, 10, scale=0.25), m.draw(10)), axis=1))


def main():
    """usage: networks.py FOLDER: writes encoder.onnx, of MiniLM's size at 128 tokens, cnn.onnx, and an input of each."""
    import sys

    import onnx
    for name, model, shape in (("encoder", encoder_layer(128, 384, 12, 1536), (1, 128, 384)), ("cnn", small_cnn(), (1, 3, 16, 16))):
        onnx.save(model, f"{sys.argv[1]}/{name}.onnx")
        np.save(f"{sys.argv[1]}/{name}_x.npy", np.random.default_rng(2).standard_normal(shape).astype(np.float32))


if __name__ == "__main__":
    main()
