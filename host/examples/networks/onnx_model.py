"""An ONNX model in the making: nodes and constants in the order in which they are made, weights from a seed."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


class Model:
    """`node` and `draw` return the name of a value, which later nodes read."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def draw(self, *shape, scale=1.0, offset=0.0):
        return self.constant((offset + scale * self.rng.standard_normal(shape, dtype=np.float32)).astype(np.float32))

    def node(self, operator, *operands, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}"] if outputs == 1 else [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, operands, names, name=f"{operator}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def output(self, name, last):
        """Gives a value the name of an output."""
        self.nodes.append(helper.make_node("Identity", [last], [name], name=name))

    def whole(self, name, given, made):
        """`given`: inputs as arrays by name; `made`: the shapes of outputs by name, all of them f32."""
        inputs = [helper.make_tensor_value_info(n, TYPES[a.dtype], a.shape) for n, a in given.items()]
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in made.items()]
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    def dense(self, x, k, n):
        """x W + b"""
        return self.node("Add", self.node("MatMul", x, self.draw(k, n, scale=k**-0.5)), self.draw(n, scale=0.1))

    def convolution(self, x, inputs, outputs, size=3, stride=1, groups=1, gain=2.0):
        """With padding that keeps the size at stride 1; batch normalisation is in the weights, as trained networks ship."""
        deviation = (gain / (size * size * inputs / groups)) ** 0.5
        pads = [(size - 1) // 2] * 4
        return self.node("Conv", x, self.draw(outputs, inputs // groups, size, size, scale=deviation), self.draw(outputs, scale=0.1),
                         kernel_shape=[size, size], pads=pads, strides=[stride, stride], group=groups)
