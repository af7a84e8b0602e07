"""Draws small ONNX models from a seed.

A plain model keeps to what docs of the importer promise (host/compiler/README.md): weft must take it. A free model uses
whatever ONNX allows around the same operators, and some others: weft takes it or refuses it. Both are drawn from ONNX's
own rules; nothing here knows how weft imports a model.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSETS = range(7, 24)  # the checker of onnx 1.18 knows no later one
BATCH = "batch"
# What weft does not have; inputs of one tensor, or of two of the same shape.
FOREIGN = {"Sigmoid": 1, "Tanh": 1, "Neg": 1, "Abs": 1, "Exp": 1, "Softmax": 1, "Shape": 1, "Transpose": 1, "Sub": 2, "Mul": 2, "Max": 2, "Concat": 2}


def bf16(values):
    """float32 values rounded to the nearest bf16, ties to even: exact in either arithmetic."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


class ModelDraw:
    """One model under construction. `values` holds the shape of every computed tensor, the batch filled in."""

    def __init__(self, rng, plain):
        self.rng, self.plain = rng, plain
        self.opset = int(rng.choice(OPSETS))
        self.batch = self.integer(1, 6)
        self.nodes, self.initializers, self.graph_inputs, self.arrays = [], [], [], {}
        self.values, self.count = {}, 0

    def integer(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def pick(self, items):
        items = list(items)
        return items[self.integer(0, len(items) - 1)]

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def numbers(self, shape):
        return bf16(self.rng.uniform(-2, 2, shape))

    # ---- inputs and constants

    def add_input(self):
        rank = self.pick((1, 2, 2, 2, 3, 4) if self.plain else (0, 1, 2, 2, 3, 4))
        dims = [self.integer(1, 6) for _ in range(rank)]
        declared = list(dims)
        if rank and self.chance(0.4):
            dims[0], declared[0] = self.batch, BATCH
        elif not self.plain and rank > 1 and self.chance(0.1):
            declared[-1] = "columns"
        name = self.name("x")
        self.graph_inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, declared))
        self.arrays[name] = self.numbers(dims)
        self.values[name] = dims

    def constant(self, array):
        """A name for the array: an initializer, a Constant, or one of those behind Identity or Cast."""
        name = self.name("c")
        array = np.asarray(array)
        ways = ["initializer", "initializer", "typed"]
        if array.dtype == np.float32 or self.opset >= 9:
            ways.append("value")
        if array.dtype == np.float32 and self.opset >= 12 and array.ndim < 2:
            ways.append("value_float" + ("s" if array.ndim else ""))
        if array.dtype == np.int64 and self.opset >= 12 and array.ndim == 1:
            ways.append("value_ints")
        if self.opset >= 13:
            ways += ["identity"] + (["cast"] if array.dtype == np.float32 else [])
        way = self.pick(ways)
        if way in ("identity", "cast"):
            wide = array.astype(np.float64) if way == "cast" else array
            self.initializers.append(numpy_helper.from_array(wide, name + "_raw"))
            attributes = {"to": TensorProto.FLOAT} if way == "cast" else {}
            self.node("Identity" if way == "identity" else "Cast", [name + "_raw"], name, **attributes)
        elif way in ("initializer", "typed"):
            tensor = numpy_helper.from_array(array, name)
            if way == "typed":
                tensor = helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.flatten().tolist())
            self.initializers.append(tensor)
        else:
            value = {"value": lambda: numpy_helper.from_array(array), "value_float": lambda: float(array),
                     "value_floats": array.tolist, "value_ints": array.tolist}[way]()
            self.node("Constant", [], name, **{way: value})
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=self.name("n") if self.chance(0.8) else "", **attributes))
        return output

    def result(self, op, inputs, dims, **attributes):
        name = self.name("t")
        self.values[name] = list(dims)
        return self.node(op, inputs, name, **attributes)

    # ---- operators; each draws a node that suits, or returns None

    def any_value(self, rank=None):
        names = [n for n, dims in self.values.items() if rank is None or len(dims) == rank]
        return self.pick(names[-4:]) if names else None

    def gemm(self):
        x = self.any_value(2)
        if x is None:
            return None
        rows, k = self.values[x]
        n = self.integer(1, 9)
        attributes = {}
        if self.chance(0.5):
            attributes["alpha"] = float(self.pick((0.5, 1.0, -1.25, 0.3)))
        if self.chance(0.5):
            attributes["beta"] = float(self.pick((0.5, 1.0, -2.0, 0.7)))
        transposed = self.chance(0.4)
        if transposed or self.chance(0.2):
            attributes["transB"] = int(transposed)
        if not self.plain and self.chance(0.15):
            attributes["transA"] = 1
        weights = self.constant(self.numbers((n, k) if transposed else (k, n)))
        inputs = [x, weights]
        if self.opset < 11 or self.chance(0.6):
            shapes = [(), (1,), (n,), (1, n), (1, 1)]
            if not self.plain:
                shapes += [(rows, n), (rows, 1), (1, 1, n), (n + 1,)]
            inputs.append(self.constant(self.numbers(self.pick(shapes))))
        elif self.chance(0.2):
            inputs.append("")
        return self.result("Gemm", inputs, (rows, n), **attributes)

    def matmul(self):
        x = self.any_value(2 if self.plain else None)
        if x is None or not self.values[x]:
            return None
        dims = self.values[x]
        n = self.integer(1, 9)
        weights = self.constant(self.numbers((dims[-1], n)))
        return self.result("MatMul", [x, weights], (*dims[:-1], n))

    def add_constant(self):
        x = self.any_value()
        dims = self.values[x]
        shape = [int(d) if self.chance(0.6) else 1 for d in dims[1 if len(dims) > 1 else 0:]]
        shape = shape[self.integer(0, len(shape)):]
        if self.chance(0.3):
            shape = [1] * (len(dims) - len(shape)) + shape
        if len(dims) == 1 and self.chance(0.2):
            shape = [1] + shape
        if not self.plain and self.chance(0.4):
            shape = [int(self.pick((1, 1, *dims, self.integer(1, 5)))) for _ in range(self.integer(0, 4))]
        try:
            result = np.broadcast_shapes(dims, shape)
        except ValueError:
            result = dims
        operands = [x, self.constant(self.numbers(shape))]
        return self.result("Add", operands[::-1] if self.chance(0.5) else operands, result)

    def add_tensors(self):
        a = self.any_value()
        same = [n for n, dims in self.values.items() if dims == self.values[a] or (not self.plain and self.chance(0.3))]
        return self.result("Add", [a, self.pick(same)], self.values[a])

    def relu(self):
        x = self.any_value()
        return self.result("Relu", [x], self.values[x])

    def identity(self):
        x = self.any_value()
        return self.result("Identity", [x], self.values[x])

    def cast(self):
        x = self.any_value()
        to = TensorProto.FLOAT if self.plain or self.chance(0.7) else TensorProto.DOUBLE
        return self.result("Cast", [x], self.values[x], to=to)

    def flatten(self):
        x = self.any_value()
        dims = self.values[x]
        rank = len(dims)
        axes = list(range(rank + 1)) + (list(range(-rank, 0)) if self.opset >= 11 else [])
        if self.plain:  # those that keep the rows
            rows = dims[0] if rank > 1 else 1
            axes = [a for a in axes if np.prod(dims[:a] if a >= 0 else dims[:rank + a], dtype=int) == rows]
        if not axes:
            return None
        axis = self.pick(axes)
        cut = axis if axis >= 0 else rank + axis
        result = (int(np.prod(dims[:cut])), int(np.prod(dims[cut:])))
        attributes = {} if axis == 1 and self.chance(0.5) else {"axis": axis}
        return self.result("Flatten", [x], result, **attributes)

    def reshape(self):
        x = self.any_value()
        dims = self.values[x]
        rank = len(dims)
        total = int(np.prod(dims))
        rows = dims[0] if rank > 1 else 1
        if self.plain or self.chance(0.6):
            rest = total // rows
            tail = []
            for _ in range(self.integer(0, 2)):
                tail.append(self.pick([d for d in range(1, rest + 1) if rest % d == 0]))
                rest //= tail[-1]
            result = [rows, *tail, rest]
        else:
            result = [self.pick([d for d in range(1, total + 1) if total % d == 0])]
            result.append(total // result[0])
        words = list(result)
        if rank and dims[0] == result[0] and self.chance(0.4):
            words[0] = 0
        if self.chance(0.4):
            words[self.integer(0, len(words) - 1)] = -1
        attributes = {"allowzero": 0} if self.opset >= 14 and self.chance(0.2) else {}
        return self.result("Reshape", [x, self.constant(np.array(words, np.int64))], result, **attributes)

    def foreign(self):
        op = self.pick(FOREIGN)
        x = self.any_value()
        attributes = {"axis": 0} if op == "Concat" else {}
        return self.result(op, [x] * FOREIGN[op], self.values[x], **attributes)

    # ---- the whole

    def model(self):
        """The model, and its inputs by name."""
        for _ in range(self.pick((1, 1, 2, 3))):
            self.add_input()
        draws = [self.gemm] * 3 + [self.matmul] * 2 + [self.add_constant] * 3 + [self.add_tensors] * 2 + [self.relu] * 3
        draws += [self.identity] * 2 + [self.flatten] * 2 + [self.reshape] * 2 + [self.cast]
        if not self.plain:
            draws.append(self.foreign)
        wanted = self.integer(1, 9)
        made = []
        while len(made) < wanted:
            name = self.pick(draws)()
            if name is not None:
                made.append(name)
        names = [made[-1]] + [n for n in made[:-1] if self.chance(0.25)]
        if self.chance(0.05):
            names.append(self.pick(self.arrays))
        if self.chance(0.3):
            names = names[::-1]
        outputs = [self.output_info(name) for name in names]
        info = [self.output_info(n) for n in made if n not in names and self.chance(0.2)] if self.plain else []
        graph = helper.make_graph(self.nodes, "drawn", self.graph_inputs, outputs, self.initializers, value_info=info)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=self.integer(4, 10)), self.arrays

    def output_info(self, name):
        dims = list(self.values[name])
        if self.plain and self.chance(0.8):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_{i}" for i in range(len(dims))])
