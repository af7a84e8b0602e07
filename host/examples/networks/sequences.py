"""Networks on sequences: an encoder of MiniLM's shape, a decoder of GPT-2's with its cache, an LSTM."""
import numpy as np

from onnx_model import Model


class Transformer(Model):
    def __init__(self, seed, width, heads):
        super().__init__(seed)
        self.width, self.heads, self.size = width, heads, width // heads

    def normalized(self, x, epsilon=1e-12):
        return self.node("LayerNormalization", x, self.draw(self.width, scale=0.1, offset=1), self.draw(self.width, scale=0.1), axis=-1, epsilon=epsilon)

    def shaped(self, x, *shape):
        return self.node("Reshape", x, self.constant(np.array(shape, np.int64)))

    def heads_of(self, x, batch, tokens, order):
        return self.node("Transpose", self.shaped(x, batch, tokens, self.heads, self.size), perm=order)

    def scaled(self, scores):
        return self.node("Div", scores, self.constant(np.float32(self.size**0.5)))

    def together(self, read, batch, tokens):
        """[batch, heads, tokens, size] to [batch, tokens, width]"""
        return self.shaped(self.node("Transpose", read, perm=[0, 2, 1, 3]), batch, tokens, self.width)

    def gelu(self, x):
        bell = self.node("Add", self.node("Erf", self.node("Div", x, self.constant(np.float32(2**0.5)))), self.constant(np.float32(1)))
        return self.node("Mul", self.node("Mul", x, self.constant(np.float32(0.5))), bell)

    def gelu_by_tanh(self, x):
        cube = self.node("Mul", self.node("Mul", x, x), x)
        inner = self.node("Mul", self.node("Add", x, self.node("Mul", cube, self.constant(np.float32(0.044715)))), self.constant(np.float32((2 / np.pi) ** 0.5)))
        return self.node("Mul", self.node("Mul", x, self.constant(np.float32(0.5))), self.node("Add", self.node("Tanh", inner), self.constant(np.float32(1))))


def encoder(batch=1, layers=6, tokens=128, width=384, heads=12, inner=1536, seed=1):
    """BERT's layers (Devlin et al. 2018) in MiniLM's size, behind the embedding: x [batch, tokens, width]."""
    m = Transformer(seed, width, heads)
    x = "x"
    for _ in range(layers):
        q, k, v = (m.heads_of(m.dense(x, width, width), batch, tokens, order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        weights = m.node("Softmax", m.scaled(m.node("MatMul", q, k)), axis=-1)
        read = m.together(m.node("MatMul", weights, v), batch, tokens)
        y = m.normalized(m.node("Add", m.dense(read, width, width), x))
        x = m.normalized(m.node("Add", m.dense(m.gelu(m.dense(y, width, inner)), inner, width), y))
    m.output("y", x)
    given = {"x": np.random.default_rng(2).standard_normal((batch, tokens, width), dtype=np.float32)}
    return m.whole("encoder", given, {"y": (batch, tokens, width)}), given


def decoder(context=1024, layers=12, width=768, heads=12, words=50257, seed=1):
    """A token of GPT-2 (Radford et al. 2019) behind the embedding, x [1, width], with the keys and values of the `context` - 1 tokens
    before: keys [layers x heads, size, context - 1], values [layers x heads, context - 1, size]. Gives the scores of all words, and
    the token's own key and value of each layer, which go to the end of the cache."""
    m = Transformer(seed, width, heads)
    size, past = width // heads, context - 1
    x, new_keys, new_values = "x", [], []
    for layer in range(layers):
        def cached(name, layer=layer):
            first, last = (m.constant(np.array([heads * (layer + i)], np.int64)) for i in (0, 1))
            return m.node("Slice", name, first, last, m.constant(np.array([0], np.int64)))

        y = m.normalized(x, 1e-5)
        q, k, v = (m.dense(y, width, width) for _ in range(3))
        new_keys.append(k)
        new_values.append(v)
        q, k, v = m.shaped(q, heads, 1, size), m.shaped(k, heads, size, 1), m.shaped(v, heads, 1, size)
        scores = m.node("Concat", m.node("MatMul", q, cached("keys")), m.node("MatMul", q, k), axis=2)
        weights = m.node("Softmax", m.scaled(scores), axis=-1)
        zero, most, all_ = (m.constant(np.array([i], np.int64)) for i in (0, past, context))
        axis = m.constant(np.array([2], np.int64))
        read = m.node("Add", m.node("MatMul", m.node("Slice", weights, zero, most, axis), cached("values")), m.node("Mul", m.node("Slice", weights, most, all_, axis), v))
        x = m.node("Add", x, m.dense(m.shaped(read, 1, width), width, width))
        x = m.node("Add", x, m.dense(m.gelu_by_tanh(m.dense(m.normalized(x, 1e-5), width, 4 * width)), 4 * width, width))
    m.output("scores", m.node("MatMul", m.normalized(x, 1e-5), m.draw(width, words, scale=width**-0.5)))
    m.output("new_keys", m.node("Concat", *new_keys, axis=0))
    m.output("new_values", m.node("Concat", *new_values, axis=0))
    rng = np.random.default_rng(2)
    given = {"x": rng.standard_normal((1, width), dtype=np.float32), "keys": rng.standard_normal((layers * heads, size, past), dtype=np.float32),
             "values": rng.standard_normal((layers * heads, past, size), dtype=np.float32)}
    return m.whole("decoder", given, {"scores": (1, words), "new_keys": (layers, width), "new_values": (layers, width)}), given


def lstm(inputs=128, width=128, steps=100, classes=10, seed=1):
    """A layer of `width` cells over `steps` steps, and a product on its last state."""
    m = Model(seed)
    scale = width**-0.5
    w, r, b = m.draw(1, 4 * width, inputs, scale=scale), m.draw(1, 4 * width, width, scale=scale), m.draw(1, 8 * width, scale=0.1)
    _, last, _ = m.node("LSTM", "x", w, r, b, outputs=3, hidden_size=width)
    x = m.node("Squeeze", last, m.constant(np.array([0], np.int64)))
    m.output("scores", m.node("Gemm", x, m.draw(width, classes, scale=scale), m.draw(classes, scale=0.1)))
    given = {"x": np.random.default_rng(2).standard_normal((steps, 1, inputs), dtype=np.float32)}
    return m.whole("lstm", given, {"scores": (1, classes)}), given
