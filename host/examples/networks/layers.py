"""Kinds of layers by themselves, in the sizes in which they bound real networks: dense layers in a row, and attention."""
import numpy as np

from onnx_model import Model


def mlp(batch=128, layers=4, width=1024, seed=1):
    """x [batch, width] through `layers` dense layers, a relu between them."""
    m = Model(seed)
    x = "x"
    for layer in range(layers):
        x = m.dense(x, width, width)
        if layer + 1 < layers:
            x = m.node("Relu", x)
    m.output("y", x)
    given = {"x": np.random.default_rng(2).standard_normal((batch, width), dtype=np.float32)}
    return m.whole("mlp", given, {"y": (batch, width)}), given


def attention(heads=12, tokens=2048, size=64, seed=1):
    """Queries, keys and values [heads, tokens, size] of one sequence, every token sees every other one."""
    m = Model(seed)
    scores = m.node("MatMul", "q", m.node("Transpose", "k", perm=[0, 2, 1]))
    weights = m.node("Softmax", m.node("Div", scores, m.constant(np.float32(size**0.5))), axis=-1)
    m.output("y", m.node("MatMul", weights, "v"))
    rng = np.random.default_rng(2)
    given = {name: rng.standard_normal((heads, tokens, size), dtype=np.float32) for name in ("q", "k", "v")}
    return m.whole("attention", given, {"y": (heads, tokens, size)}), given
