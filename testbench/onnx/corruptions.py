"""Ways to break a model. Each changes the model in place; what it makes may, with luck, still be allowed: onnxruntime and the checker say."""
import copy

from google.protobuf.message import DecodeError
from onnx import AttributeProto, TensorProto, helper


def node(rng, model, needs=lambda n: True):
    nodes = [n for n in model.graph.node if needs(n)]
    return nodes[int(rng.integers(len(nodes)))] if nodes else None


def pick(rng, items):
    return items[int(rng.integers(len(items)))] if items else None


def set_opset(version):
    def change(rng, model):
        model.opset_import[0].version = version
    return change


def no_opset(rng, model):
    del model.opset_import[:]


def two_opsets(rng, model):
    model.opset_import.append(helper.make_opsetid("ai.onnx", 13))


def set_ir(version):
    def change(rng, model):
        model.ir_version = version
    return change


def output_of_another(rng, model):
    n, names = node(rng, model), [m.output[0] for m in model.graph.node] + [i.name for i in model.graph.input] + [t.name for t in model.graph.initializer]
    n.output[0] = pick(rng, [name for name in names if name != n.output[0]] or ["other"])


def unknown_input(rng, model):
    n = node(rng, model, lambda n: n.input)
    if n is not None:
        n.input[int(rng.integers(len(n.input)))] = "nowhere"


def empty_input(rng, model):
    n = node(rng, model, lambda n: n.input)
    if n is not None:
        n.input[int(rng.integers(len(n.input)))] = ""


def own_output(rng, model):
    n = node(rng, model, lambda n: n.input)
    if n is not None:
        n.input[0] = n.output[0]


def more_inputs(rng, model):
    n = node(rng, model)
    n.input.append(pick(rng, [i.name for i in model.graph.input]))


def fewer_inputs(rng, model):
    n = node(rng, model, lambda n: n.input)
    if n is not None:
        del n.input[-1]


def more_outputs(rng, model):
    node(rng, model).output.append("more")


def no_output_name(rng, model):
    node(rng, model).output[0] = ""


def unknown_operator(rng, model):
    node(rng, model).op_type = "Gem"


def unknown_domain(rng, model):
    node(rng, model).domain = "com.example"


def unknown_attribute(rng, model):
    node(rng, model).attribute.append(helper.make_attribute("slope", 1))


def attribute_of_another_type(rng, model):
    n = node(rng, model, lambda n: any(a.type == AttributeProto.INT for a in n.attribute))
    if n is not None:
        a = next(a for a in n.attribute if a.type == AttributeProto.INT)
        a.type, a.f = AttributeProto.FLOAT, 1.0


def attribute_without_type(rng, model):
    n = node(rng, model, lambda n: n.attribute)
    if n is not None:
        n.attribute[0].ClearField("type")


def attribute_twice(rng, model):
    n = node(rng, model, lambda n: n.attribute)
    if n is not None:
        n.attribute.append(n.attribute[0])


def far_axis(rng, model):
    n = node(rng, model, lambda n: n.op_type == "Flatten")
    if n is not None:
        del n.attribute[:]
        n.attribute.append(helper.make_attribute("axis", int(rng.integers(-9, 9))))


def nodes_in_another_order(rng, model):
    nodes = [copy.deepcopy(n) for n in model.graph.node]
    rng.shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def node_twice(rng, model):
    model.graph.node.append(copy.deepcopy(node(rng, model)))


def node_gone(rng, model):
    model.graph.node.remove(node(rng, model))


def unknown_output(rng, model):
    model.graph.output.append(helper.make_tensor_value_info("nowhere", TensorProto.FLOAT, [1]))


def output_twice(rng, model):
    model.graph.output.append(copy.deepcopy(model.graph.output[0]))


def no_outputs(rng, model):
    del model.graph.output[:]


def output_without_name(rng, model):
    model.graph.output[0].name = ""


def input_twice(rng, model):
    model.graph.input.append(copy.deepcopy(model.graph.input[0]))


def input_of_integers(rng, model):
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64


def dimension(value):
    def change(rng, model):
        dims = model.graph.input[0].type.tensor_type.shape.dim
        if dims:
            dims[int(rng.integers(len(dims)))].dim_value = value
    return change


def input_without_shape(rng, model):
    model.graph.input[0].type.tensor_type.ClearField("shape")


def output_of_another_shape(rng, model):
    dims = pick(rng, list(model.graph.output)).type.tensor_type.shape.dim
    if dims:
        dims[0].dim_value = 77
    else:
        dims.add().dim_value = 77


def output_of_integers(rng, model):
    pick(rng, list(model.graph.output)).type.tensor_type.elem_type = TensorProto.INT64


def initializer(change):
    def of_model(rng, model):
        tensor = pick(rng, list(model.graph.initializer))
        if tensor is not None:
            change(rng, model, tensor)
    return of_model


@initializer
def initializer_gone(rng, model, tensor):
    model.graph.initializer.remove(tensor)


@initializer
def initializer_twice(rng, model, tensor):
    model.graph.initializer.append(copy.deepcopy(tensor))


@initializer
def initializer_longer(rng, model, tensor):
    tensor.dims.append(2)


@initializer
def initializer_turned(rng, model, tensor):
    turned = list(tensor.dims)[::-1]
    del tensor.dims[:]
    tensor.dims.extend(turned)


@initializer
def initializer_negative(rng, model, tensor):
    if tensor.dims:
        tensor.dims[0] = -tensor.dims[0]


@initializer
def initializer_cut(rng, model, tensor):
    tensor.raw_data = tensor.raw_data[:-1] if tensor.raw_data else b"\1\2\3"


@initializer
def initializer_of_another_type(rng, model, tensor):
    tensor.data_type = int(rng.choice([TensorProto.INT32, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.STRING]))


@initializer
def initializer_elsewhere(rng, model, tensor):
    tensor.data_location = TensorProto.EXTERNAL


@initializer
def initializer_is_an_input(rng, model, tensor):
    """Allowed: an input with a default value; of another shape, not."""
    dims = list(tensor.dims)
    if rng.random() < 0.5:
        dims.append(3)
    model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, dims))


def other_bits(rng, model):
    """Bits of the file turned over, until it is still a file of the format."""
    whole = model.SerializeToString()
    for _ in range(100):
        data = bytearray(whole)
        for at in rng.integers(0, 8 * len(data), int(rng.integers(1, 4))):
            data[at // 8] ^= 1 << at % 8
        try:
            model.ParseFromString(bytes(data))
            model.SerializeToString()
            return
        except (DecodeError, UnicodeError):
            model.ParseFromString(whole)


def function_of_an_operator(rng, model):
    n = node(rng, model)
    f = model.functions.add()
    f.name, f.domain = n.op_type, ""
    f.opset_import.append(helper.make_opsetid("", 13))


CORRUPTIONS = {
    "opset 0": set_opset(0), "opset 99": set_opset(99), "opset -1": set_opset(-1), "no opset": no_opset, "two opsets": two_opsets,
    "ir_version 0": set_ir(0), "ir_version 99": set_ir(99), "function": function_of_an_operator,
    **{f.__name__.replace("_", " "): f for f in (
        output_of_another, unknown_input, empty_input, own_output, more_inputs, fewer_inputs, more_outputs, no_output_name, unknown_operator,
        unknown_domain, unknown_attribute, attribute_of_another_type, attribute_without_type, attribute_twice, far_axis, nodes_in_another_order,
        node_twice, node_gone, unknown_output, output_twice, no_outputs, output_without_name, input_twice, input_of_integers, input_without_shape,
        output_of_another_shape, output_of_integers, other_bits)},
    "dimension 0": dimension(0), "dimension -1": dimension(-1), "dimension 2^40": dimension(1 << 40),
    "initializer gone": initializer_gone, "initializer twice": initializer_twice, "initializer longer": initializer_longer,
    "initializer turned": initializer_turned, "initializer negative": initializer_negative, "initializer cut": initializer_cut,
    "initializer of another type": initializer_of_another_type, "initializer elsewhere": initializer_elsewhere,
    "initializer is an input": initializer_is_an_input,
}


def corrupt(rng, model):
    """Breaks the model in one way; returns its name."""
    name = pick(rng, sorted(CORRUPTIONS))
    CORRUPTIONS[name](rng, model)
    return name
