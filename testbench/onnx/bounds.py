"""How far a result of weft may be from ONNX's.

weft rounds inputs, weights and values between nodes to bf16 (docs/numerics.md) and adds up products in fp32; the oracle
computes in fp32 throughout. So beside each value runs a bound of its error: every node adds one rounding to bf16 of its
result and of each constant (half a unit in the last of 8 bits: 2^-8 of the value), errors of the operands, and K roundings
to fp32 of a product, once for either side. Where weft rounds less (it keeps sums in fp32 up to the end of a fused layer)
the bound is merely loose.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

BF16, F32 = 2.0 ** -8, 2.0 ** -24
TINY = 2.0 ** -120  # what is flushed to zero on the way
LARGEST = 2.0 ** 127


class Unknown(Exception):
    """The model has an operator for whose result there is no bound here."""


def rounded(value, error):
    return value, error + BF16 * (np.abs(value) + error) + TINY


def constant(array):
    return rounded_once(np.asarray(array, np.float64))


def rounded_once(exact):
    """With the error of bf16, which has no bound where the range of bf16 ends."""
    return exact, np.where(np.abs(exact) * (1 + BF16) < LARGEST, BF16 * np.abs(exact) + TINY, np.inf)


def product(x, w):
    (a, a_error), (b, b_error) = x, w
    size = np.abs(a) + a_error
    error = a_error @ np.abs(b) + size @ b_error
    return a @ b, error + 2 * (a.shape[-1] + 2) * F32 * (size @ (np.abs(b) + b_error))


def add(x, y):
    return x[0] + y[0], x[1] + y[1] + 2 * F32 * (np.abs(x[0]) + np.abs(y[0]) + x[1] + y[1])


def scaled(x, factor):
    value, error = rounded_once(x[0] * factor)
    return value, error + x[1] * abs(factor)


def reshaped(array, words):
    return array.reshape([array.shape[i] if d == 0 else d for i, d in enumerate(words)])


def through(function, slope):
    """A function whose derivative is at most `slope` in size."""
    return lambda x, given: (function(x[0][0]), slope * x[0][1] + 2.0 ** -20 * (1 + np.abs(function(x[0][0]))))


def exponential(x, given):
    value, error = x[0]
    return np.exp(value), np.exp(value) * np.expm1(error) + 2.0 ** -20 * np.exp(value)


def softmax(x, given):
    """Each probability moves by a factor of at most exp(2 error)."""
    value, error = x[0]
    axis = given.get("axis")
    shape = value.shape
    if given["opset"] < 13:
        cut = (1 if axis is None else axis) % max(value.ndim, 1)
        value, error = (part.reshape(int(np.prod(shape[:cut])), -1) for part in (value, error))
        axis = 1
    axis = -1 if axis is None else axis
    powers = np.exp(value - value.max(axis, keepdims=True))
    y = powers / powers.sum(axis, keepdims=True)
    return y.reshape(shape), (y * np.expm1(2 * error.max(axis, keepdims=True)) + 2.0 ** -20).reshape(shape)


def multiply(x, given):
    (a, a_error), (b, b_error) = x
    return a * b, np.abs(a) * b_error + np.abs(b) * a_error + a_error * b_error + F32 * np.abs(a * b)


def concatenate(x, given):
    axis = given["axis"]
    return np.concatenate([v for v, _ in x], axis), np.concatenate([e for _, e in x], axis)


def transpose(x, given):
    return tuple(np.transpose(part, given.get("perm")) for part in x[0])


# What the host computes, in f32.
FOREIGN = {"Sigmoid": through(lambda v: 1 / (1 + np.exp(-v)), 0.25), "Tanh": through(np.tanh, 1), "Neg": through(np.negative, 1), "Abs": through(np.abs, 1),
           "Exp": exponential, "Softmax": softmax, "Transpose": transpose, "Sub": lambda x, given: add(x[0], (-x[1][0], x[1][1])), "Mul": multiply,
           "Max": lambda x, given: (np.maximum(x[0][0], x[1][0]), np.maximum(x[0][1], x[1][1])), "Concat": concatenate}


def cast(value, error, to):
    """To 16-bit floats: one more rounding. To integers: an error may move a value to the next one."""
    if to in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        return value, error + BF16 * (np.abs(value) + error) + TINY
    if to == TensorProto.BOOL:
        return (value != 0).astype(np.float64), np.where(np.abs(value) > error, 0.0, 1.0) * (error > 0)
    return np.trunc(value), np.where(error > 0, error + 1, 0.0)


def values_of(model, arrays):
    """Name -> (value, bound of the error) for everything that the graph computes from these inputs, which are bf16 values or not."""
    values = {name: (np.asarray(a, np.float64), np.where(a.view(np.uint32) & 0xFFFF, BF16 * np.abs(a), 0.0)) for name, a in arrays.items()}
    raw = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    with np.errstate(all="ignore"):  # a broken model may hold any number
        values = computed(model, values, raw)
    for output in model.graph.output:  # a constant is as the model has it, or rounded once
        if output.name not in values and output.name in raw:
            values[output.name] = constant(raw[output.name])
    return values


def computed(model, values, raw):
    for node in model.graph.node:
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        given["opset"] = max((i.version for i in model.opset_import if i.domain in ("", "ai.onnx")), default=0)
        op = node.op_type
        if op == "Constant":
            value = helper.get_attribute_value(node.attribute[0])
            raw[node.output[0]] = numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)
            continue
        if op in ("Identity", "Cast") and node.input[0] in raw:
            raw[node.output[0]] = raw[node.input[0]]
            continue
        if op == "Shape":
            raw[node.output[0]] = np.asarray(values[node.input[0]][0].shape if node.input[0] in values else raw[node.input[0]].shape, np.int64)
            values[node.output[0]] = raw[node.output[0]], np.zeros(raw[node.output[0]].shape)
            continue
        x = [values[i] if i in values else constant(raw[i]) for i in node.input if i and op != "Reshape"]
        if op == "Gemm":
            if given.get("transA"):
                x[0] = tuple(part.T for part in x[0])
            w = (x[1][0].T, x[1][1].T) if given.get("transB") else x[1]
            y = product(x[0], scaled(w, given.get("alpha", 1.0)))
            if len(x) > 2:
                y = add(y, scaled(x[2], given.get("beta", 1.0)))
        elif op == "MatMul":
            y = product(*x)
        elif op == "Add":
            y = add(*x)
        elif op == "Relu":
            y = np.maximum(x[0][0], 0), x[0][1]
        elif op == "Cast" and given.get("to") not in (TensorProto.FLOAT, TensorProto.DOUBLE):
            y = cast(*x[0], given.get("to"))
        elif op in ("Identity", "Cast"):
            y = x[0]
        elif op == "Flatten":
            shape = x[0][0].shape
            axis = given.get("axis", 1)
            cut = axis if axis >= 0 else len(shape) + axis
            flat = int(np.prod(shape[:cut])), int(np.prod(shape[cut:]))
            y = x[0][0].reshape(flat), x[0][1].reshape(flat)
        elif op == "Reshape":
            words = raw[node.input[1]].tolist()
            y = tuple(reshaped(part, words) for part in (values[node.input[0]] if node.input[0] in values else constant(raw[node.input[0]])))
        elif op in FOREIGN:
            y = FOREIGN[op](x, given)
        else:
            raise Unknown(f"operator {op}")
        values[node.output[0]] = rounded(*y)
    return values
