"""The census: programs as users of JAX write them, with arguments drawn from a seed.

Each program is a function of JAX and its arguments. `products`: the program has products that a device may round to
bf16; others are computed in f32 wherever they run.
"""

from collections.abc import Callable, Sequence
import dataclasses
from typing import Any

import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

SEED = 20261123


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    function: Callable[..., Any]
    arguments: Sequence[Any]
    products: bool = False


def _floats(*shape: int, seed: int = SEED) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _integers(low: int, high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(SEED).integers(low, high, shape).astype(np.int32)


def elementwise() -> list[Program]:
    x, y = _floats(4, 33), _floats(4, 33, seed=SEED + 1)
    positive, unit = np.abs(x) + 0.1, np.tanh(x) * 0.9
    i, j = _integers(-100, 100, 65), _integers(1, 20, 65)
    u = i.astype(np.uint32)
    unary = {
        "negate": jnp.negative, "abs": jnp.abs, "exp": jnp.exp, "expm1": jnp.expm1, "tanh": jnp.tanh, "sin": jnp.sin,
        "cos": jnp.cos, "tan": jnp.tan, "floor": jnp.floor, "ceil": jnp.ceil, "round": jnp.round, "sign": jnp.sign,
        "sigmoid": jax.nn.sigmoid, "softplus": jax.nn.softplus, "gelu": jax.nn.gelu, "erf": lax.erf,
        "isfinite": jnp.isfinite, "cbrt": jnp.cbrt, "arctan": jnp.arctan, "sinh": jnp.sinh, "cosh": jnp.cosh,
        "logsumexp": jax.nn.logsumexp, "softmax": jax.nn.softmax, "to_bf16": lambda x: x.astype(jnp.bfloat16) * 2,
        "to_int": lambda x: x.astype(jnp.int32), "reduce_precision": lambda x: lax.reduce_precision(x, 5, 10),
    }
    of_positive = {"log": jnp.log, "log1p": jnp.log1p, "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "gammaln": lax.lgamma}
    of_unit = {"arcsin": jnp.arcsin, "arccos": jnp.arccos, "arctanh": jnp.arctanh, "erf_inv": lax.erf_inv}
    binary = {
        "add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.divide, "maximum": jnp.maximum,
        "minimum": jnp.minimum, "arctan2": jnp.arctan2, "less": jnp.less, "equal": jnp.equal,
        "where": lambda x, y: jnp.where(x > y, x, -y), "remainder": lax.rem, "nextafter": jnp.nextafter,
    }
    of_integers = {
        "integer_divide": jnp.floor_divide, "integer_modulo": jnp.mod, "shift_left": lambda i, j: i << (j % 31),
        "shift_right": lambda i, j: i >> (j % 31), "and_or_xor": lambda i, j: (i & j) | (i ^ j),
        "integer_power": lambda i, j: i**3 + j, "integer_minmax": lambda i, j: jnp.clip(i, -j, j),
    }
    of_unsigned = {
        "popcount": lax.population_count, "clz": lax.clz, "logical_shift": lambda u: lax.shift_right_logical(u, jnp.uint32(3)),
        "bits_to_float": lambda u: lax.bitcast_convert_type(u >> 9 | 0x3F800000, jnp.float32) - 1.0,
    }
    programs = [Program("plus_one", lambda x: x + 1, (x,)),
                Program("power", jnp.power, (positive, y)),
                Program("chain", lambda x, y: jnp.sin(x) * y + jnp.exp(-x * x) / (1 + y * y), (x, y))]
    for table, arguments in ((unary, (x,)), (of_positive, (positive,)), (of_unit, (unit,)), (binary, (x, y)),
                             (of_integers, (i, j)), (of_unsigned, (u,))):
        programs += [Program(name, function, arguments) for name, function in table.items()]
    return programs


def arrays() -> list[Program]:
    x, k = _floats(4, 6, 5), _integers(0, 6, 7)
    return [
        Program("transpose", lambda x: x.transpose(2, 0, 1).reshape(10, 12), (x,)),
        Program("concatenate", lambda x: jnp.concatenate([x, x[:, :2] * 2], axis=1), (x,)),
        Program("pad", lambda x: jnp.pad(x, ((1, 2), (0, 0), (3, 0)), constant_values=7.0), (x,)),
        Program("reverse", lambda x: x[::-1, ::2], (x,)),
        Program("roll", lambda x: jnp.roll(x, 2, axis=1), (x,)),
        Program("iota", lambda: jnp.arange(12).reshape(3, 4) + jnp.linspace(0, 1, 4), ()),
        Program("take", lambda x, k: jnp.take(x, k, axis=1), (x, k)),
        Program("take_along", lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1), (x,)),
        Program("batched_gather", lambda x, k: jax.vmap(lambda a: a[k])(x), (x, k)),
        Program("index_set", lambda x, k: x.at[:, k].set(1.5), (x, np.arange(3, dtype=np.int32))),
        Program("index_add", lambda x, k: x.at[:, k].add(1.0), (x, k)),
        Program("index_max", lambda x, k: x.at[1, k].max(0.5), (x, k)),
        Program("index_apply", lambda x, k: x.at[0, k].apply(jnp.tanh), (x, np.arange(3, dtype=np.int32))),
        Program("out_of_range", lambda x, k: x.at[k + 3].add(1.0) + x[k + 3].sum(), (x[0], k)),
        Program("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, 0, i), (2, 6, 3)), (x, np.int32(9))),
        Program("dynamic_update", lambda x, i: lax.dynamic_update_slice(x, x[:1] * 0, (i, 0, 0)), (x, np.int32(2))),
        Program("sums", lambda x: (x.sum(), x.sum(0), x.mean((0, 2)), x.prod(1), x.max(2), x.min()), (x,)),
        Program("argmax", lambda x: (jnp.argmax(x, 1), jnp.argmin(x), jnp.any(x > 2), jnp.all(x < 9, 0)), (x,)),
        Program("variance", lambda x: (x.var(1), x.std()), (x,)),
        Program("cumulative", lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 2), lax.cummax(x, 1)), (x,)),
        Program("sort", lambda x: (jnp.sort(x, 1), jnp.argsort(-x, 0), lax.top_k(x, 3)), (x,)),
        Program("sort_pairs", lambda k, x: lax.sort((k, x), num_keys=2), (k, _floats(7))),
        Program("sort_nan", lambda x: jnp.sort(jnp.where(x > 1, jnp.nan, x).ravel()), (x,)),
        Program("median", lambda x: (jnp.median(x), jnp.quantile(x, 0.3, axis=1)), (x,)),
        Program("searchsorted", lambda x: jnp.searchsorted(jnp.sort(x.ravel()), x[0]), (x,)),
        Program("unique", lambda k: jnp.unique(k, size=7, fill_value=-1), (k,)),
        Program("one_hot", lambda k: jax.nn.one_hot(k, 6), (k,)),
        Program("segment_sum", lambda x, k: jax.ops.segment_sum(x, k[:4], 6), (x, k)),
        Program("histogram", lambda x: jnp.histogram(x, bins=5)[0], (x,)),
        Program("max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "SAME"), (x,)),
        Program("max_pool_grad", jax.grad(lambda x: (lax.reduce_window(
            x, -jnp.inf, lax.max, (1, 3, 2), (1, 2, 2), "VALID") ** 2).sum()), (x,)),
        Program("average_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 1, 1), "SAME") / 4, (x,)),
    ]


def products() -> list[Program]:
    a, b = _floats(5, 16), _floats(16, 7, seed=SEED + 1)
    batch = _floats(3, 8, 16), _floats(3, 16, 4)
    image, kernel = _floats(2, 9, 8, 3), _floats(3, 3, 3, 6) * 0.2
    dimensions = ("NHWC", "HWIO", "NHWC")
    square = a[:, :5] @ a[:, :5].T + np.eye(5, dtype=np.float32)
    return [
        Program("matmul", lambda a, b: a @ b, (a, b), True),
        Program("matmul_constant", lambda a: a @ b + jnp.ones(7), (a,), True),
        Program("relu_constant", lambda a: jax.nn.relu(a @ b) @ b.T, (a,), True),
        Program("matmul_highest", lambda a: jnp.dot(a, b, precision="highest"), (a,)),
        Program("matmul_integers", lambda a, b: a @ b, (_integers(-9, 9, 4, 5), _integers(-9, 9, 5, 3))),
        Program("batched", lambda a, b: jnp.einsum("bij,bjk->bki", a, b), batch, True),
        Program("einsum", lambda a: jnp.einsum("ij,kj->ik", a, a), (a,), True),
        Program("conv", lambda x, w: lax.conv_general_dilated(
            x, w, (2, 1), "SAME", dimension_numbers=dimensions), (image, kernel), True),
        Program("conv_dilated", lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), ((2, 1), (0, 3)), (2, 1), (1, 2), dimension_numbers=dimensions), (image, kernel), True),
        Program("conv_grouped", lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "VALID", dimension_numbers=dimensions, feature_group_count=3),
            (image, kernel[:, :, :1]), True),
        Program("conv_grad", jax.grad(lambda x, w: (lax.conv_general_dilated(
            x, w, (2, 1), "SAME", dimension_numbers=dimensions) ** 2).sum(), (0, 1)), (image, kernel), True),
        Program("conv_grouped_grad", jax.grad(lambda x, w: (lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=dimensions, feature_group_count=3) ** 2).sum(), (0, 1)),
            (image, kernel[:, :, :1]), True),
        Program("cholesky", jnp.linalg.cholesky, (square,)),
        Program("solve", jnp.linalg.solve, (square, _floats(5, 2)), True),
        Program("qr", lambda m: (jnp.linalg.qr(m), jnp.linalg.qr(m.T, mode="complete")), (a,)),
        Program("eigenvalues", lambda m: (jnp.linalg.eigvalsh(m), jnp.abs(jnp.linalg.eigh(m).eigenvectors)), (square,)),
        Program("singular_values", lambda m: jnp.linalg.svd(m, compute_uv=False), (a,), True),
        Program("least_squares", lambda m: (jnp.linalg.lstsq(m, m @ jnp.ones((7, 2)))[0], jnp.linalg.pinv(m)), (b,), True),
        Program("max_pool_places", lambda x: jax.jvp(
            lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "SAME"), (x,), (x,)), (a,)),
        Program("inverse_det", lambda m: (jnp.linalg.inv(m), jnp.linalg.det(m)), (square,), True),
    ]


def control() -> list[Program]:
    x = _floats(6, 4)
    return [
        Program("fori", lambda x: lax.fori_loop(0, 5, lambda i, x: x * 0.9 + i, x), (x,)),
        Program("while", lambda x: lax.while_loop(lambda c: c[1] < 7, lambda c: (c[0] * 1.1, c[1] + 1), (x, 0)), (x,)),
        Program("scan", lambda x: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(4), x), (x,)),
        Program("scan_grad", jax.grad(lambda x: lax.scan(
            lambda c, row: (jnp.tanh(c * row + 0.1), c.sum()), jnp.ones(4), x)[1].sum()), (x,)),
        Program("nested_scan", lambda x: lax.scan(lambda c, row: lax.scan(
            lambda d, v: (d + v * row.sum(), d), c, row), 0.0, x), (x,)),
        Program("cond", lambda x: lax.cond(x[0, 0] > 0, lambda x: x + 1, lambda x: x - 1, x), (x,)),
        Program("switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x), (np.int32(1), x)),
        Program("vmap_cond", jax.vmap(lambda r: lax.cond(r[0] > 0, lambda r: r * 2, lambda r: -r, r)), (x,)),
        Program("map", lambda x: lax.map(lambda r: r / (1 + jnp.abs(r).sum()), x), (x,)),
        Program("associative_scan", lambda x: lax.associative_scan(jnp.maximum, x), (x,)),
        Program("remat", jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum()), (x,)),
        Program("custom_jvp", jax.grad(lambda x: jax.nn.relu(x).sum() + jax.nn.silu(x).sum()), (x,)),
        Program("hessian", jax.hessian(lambda v: (jnp.sin(v) * v).sum()), (x[0],)),
    ]


def random() -> list[Program]:
    key = jax.random.PRNGKey(7)
    key = np.asarray(key)
    return [
        Program("random_bits", lambda k: jax.random.bits(k, (9,)), (key,)),
        Program("random_split", lambda k: jax.random.split(k, 3), (key,)),
        Program("random_fold", lambda k: jax.random.fold_in(k, 5), (key,)),
        Program("random_uniform", lambda k: jax.random.uniform(k, (4, 5)), (key,)),
        Program("random_normal", lambda k: jax.random.normal(k, (4, 5)), (key,)),
        Program("random_integers", lambda k: jax.random.randint(k, (9,), -4, 12), (key,)),
        Program("random_permutation", lambda k: jax.random.permutation(k, 11), (key,)),
        Program("random_categorical", lambda k: jax.random.categorical(k, _floats(3, 8)), (key,)),
        Program("random_truncated", lambda k: jax.random.truncated_normal(k, -2, 2, (5,)), (key,)),
        Program("random_gamma", lambda k: jax.random.gamma(k, 2.5, (6,)), (key,)),
        Program("dropout", lambda k, x: jnp.where(jax.random.bernoulli(k, 0.8, x.shape), x / 0.8, 0), (key, _floats(3, 4))),
    ]


def networks() -> list[Program]:
    def mlp(p, x, y):
        (w1, b1), (w2, b2) = p
        logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        return -jnp.mean(jnp.sum(jax.nn.one_hot(y, 10) * jax.nn.log_softmax(logits), -1))

    def adam(p, m, v, t, x, y):
        loss, g = jax.value_and_grad(mlp)(p, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), p, m, v)
        return p, m, v, t + 1, loss

    heads, width = 4, 32
    weights = {name: _floats(width, size, seed=i) / 6 for i, (name, size) in enumerate(
        {"q": width, "k": width, "v": width, "o": width, "up": 4 * width}.items())}
    weights["down"] = _floats(4 * width, width, seed=9) / 12

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def block(p, x):
        split = lambda a: a.reshape(*a.shape[:2], heads, -1).transpose(0, 2, 1, 3)
        h = norm(x)
        q, k, v = split(h @ p["q"]), split(h @ p["k"]), split(h @ p["v"])
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(width // heads)
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        o = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v).transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + o @ p["o"]
        return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]

    def train(p, x):
        loss, g = jax.value_and_grad(lambda p: jnp.mean(block(p, x) ** 2))(p)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, g), loss

    def layers(p, x):
        stacked = jax.tree.map(lambda a: jnp.stack([a, a * 0.5, a * 0.25]), p)
        return lax.scan(lambda x, p: (block(p, x), None), x, stacked)[0]

    def decode(p, table, prompt):
        def step(i, state):
            tokens, cache = state
            row = table[tokens[i]]
            cache = lax.dynamic_update_slice(cache, (row @ p["k"])[None], (i, 0))
            scores = jnp.where(jnp.arange(cache.shape[0]) <= i, cache @ (row @ p["q"]), -1e9)
            logits = table @ (jax.nn.softmax(scores) @ cache + row)
            return lax.dynamic_update_slice(tokens, jnp.argmax(logits)[None].astype(tokens.dtype), (i + 1,)), cache
        return lax.fori_loop(0, 6, step, (prompt, jnp.zeros((8, width))))[0]

    def cnn(p, x):
        y = lax.conv_general_dilated(x, p["conv"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        y = lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.mean((y.reshape(y.shape[0], -1) @ p["dense"]) ** 2)

    layer = [(_floats(20, 16) / 4, np.zeros(16, np.float32)), (_floats(16, 10) / 4, np.zeros(10, np.float32))]
    zeros = jax.tree.map(np.zeros_like, layer)
    x, y, sequence = _floats(12, 20), _integers(0, 10, 12), _floats(2, 8, width)
    filters = {"conv": _floats(3, 3, 3, 4) / 5, "dense": _floats(4 * 16, 5) / 8}
    return [
        Program("mlp_adam", adam, (layer, zeros, zeros, np.float32(1), x, y), True),
        Program("transformer", block, (weights, sequence), True),
        Program("transformer_train", train, (weights, sequence), True),
        Program("transformer_bf16", lambda p, x: block(jax.tree.map(lambda a: a.astype(jnp.bfloat16), p), x.astype(jnp.bfloat16)).astype(jnp.float32), (weights, sequence), True),
        Program("transformer_layers", layers, (weights, sequence), True),
        Program("decode", decode, (weights, _floats(50, width), np.zeros(8, np.int32)), True),
        Program("cnn_grad", jax.value_and_grad(cnn), (filters, _floats(2, 8, 8, 3)), True),
    ]


def census() -> list[Program]:
    return elementwise() + arrays() + products() + control() + random() + networks()
