"""A transformer block in eight shardings over a slice, micro-batches side by side: bits against one chip, and how much of what travels is hidden.

usage: block_shardings.py [--only NAME ..] [--small] [--check SHARE] [--json]   (environment: WEFT_PJRT_LIBRARY, WEFT_SIM)

Each sharding runs in a process of its own, with a trace. A cycle of a link is hidden if an MXU or the vector unit of the sending chip works in it.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
SEED = 7
Size = collections.namedtuple("Size", "slice batch tokens width heads inner parts")
SIZE = Size("v2-2x2", 4, 64, 512, 4, 2048, 4)   # batch: of a micro-batch, of which there are `parts`
SMALL = Size("nano-2x2", 4, 16, 64, 4, 256, 4)
NAMES = ("batch", "n", "n then k", "batch, n then k", "gathered weights", "tokens", "experts", "pipeline")


def normed(a):
    import jax
    import jax.numpy as jnp

    return a * jax.lax.rsqrt(jnp.mean(a * a, axis=-1, keepdims=True) + 1e-5)


def attention(x, w, size, of_n, of_k, of_keys):
    """x [batch, tokens, width], with what the attention adds to it. of_n, of_k: products; of_keys: keys and values of all tokens."""
    import jax

    def heads(a):
        return a.reshape(*a.shape[:2], size.heads, -1).transpose(0, 2, 1, 3)

    h = normed(x)
    q, k, v = (of_n(h, w[name]) for name in ("q", "k", "v"))
    q, k, v = heads(q), heads(of_keys(k)), heads(of_keys(v))
    scores = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * q.shape[-1] ** -0.5, axis=-1)
    mixed = (scores @ v).transpose(0, 2, 1, 3).reshape(x.shape)
    return x + of_k(mixed, w["o"])


def block(x, w, size, of_k, of_n=lambda a, w: a @ w, of_keys=lambda a: a):
    import jax

    y = attention(x, w, size, of_n, of_k, of_keys)
    return y + of_k(jax.nn.relu(of_n(normed(y), w["up"])), w["down"])


def draw(size, layers=1, experts=1):
    import numpy as np

    random = np.random.default_rng(SEED)
    d, f = size.width, size.inner
    shapes = {"q": (d, d), "k": (d, d), "v": (d, d), "o": (d, d), "up": (d, f), "down": (f, d)}

    def drawn(shape, scale):
        return (random.standard_normal(shape) * scale).astype(np.float32)

    w = {name: drawn((layers, *shape), shape[0] ** -0.5) for name, shape in shapes.items()}
    for name in ("up", "down"):
        w[name] = drawn((layers, experts, *shapes[name]), shapes[name][0] ** -0.5)
    xs = [drawn((size.batch, size.tokens, d), 1) for _ in range(size.parts)]
    return xs, w


def first(w):
    """Of one layer and one expert."""
    return {name: a[0][0] if name in ("up", "down") else a[0] for name, a in w.items()}


def in_parts(parts):
    """Sums of products in so many parts, as two chips add them up."""
    def product(a, w):
        step = w.shape[0] // parts
        pieces = [a[..., i * step:(i + 1) * step] @ w[i * step:(i + 1) * step] for i in range(parts)]
        return sum(pieces[1:], pieces[0])

    return product


def whole(a, w):
    return a @ w


def sharded(name, size, mesh):
    """The function of a list of micro-batches and of weights, for the slice and for one chip, and its arguments."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    def at(*spec):
        return NamedSharding(mesh, P(*spec))

    xs, w = draw(size)
    w = first(w)
    both = ("x", "y")

    def by_rules(specs, rows=None, of_k=whole, sums=whole):
        """Whole arrays whose shardings are given. sums: on one chip."""
        def step(product):
            return lambda xs, w: [block(x, w, size, product) for x in xs]
        return (jax.jit(step(of_k), in_shardings=([at(rows)] * size.parts, {name: at(*specs[name]) for name in w}), out_shardings=at(rows)),
                jax.jit(step(sums)), (xs, w))

    def manual(step, inputs, output):
        return jax.jit(jax.shard_map(step, mesh=mesh, in_specs=inputs, out_specs=output, check_vma=False))

    columns = dict.fromkeys(w, (None, "x"))
    pairs = columns | {"o": ("x", None), "down": ("x", None)}
    if name == "batch":
        return by_rules(dict.fromkeys(w, ()), both)
    if name == "n":
        return by_rules(columns, of_k=lambda a, m: lax.with_sharding_constraint(a @ m, at()))
    if name == "n then k":
        return by_rules(pairs, sums=in_parts(2))
    if name == "batch, n then k":
        return by_rules(pairs, "y", sums=in_parts(2))
    if name == "gathered weights":
        return by_rules(dict.fromkeys(w, (both, None)), both)
    if name == "tokens":  # long sequences, one by one
        size = size._replace(batch=1, tokens=size.batch * size.tokens)
        xs, w = draw(size)
        w = first(w)

        def step(xs, w):
            return [block(x, w, size, whole, of_keys=lambda a: lax.all_gather(a.transpose(1, 0, 2), both, axis=0, tiled=True).transpose(1, 0, 2)) for x in xs]

        def one(xs, w):
            return [block(x, w, size, whole) for x in xs]
        return manual(step, (P(None, both), P()), P(None, both)), jax.jit(one), (xs, w)
    if name == "experts":
        chips = mesh.devices.size
        xs, w = draw(size, 1, chips)
        w = {name: a[0] for name, a in w.items()}

        def parts_of(a):  # a token's expert is its number modulo the experts
            return a.reshape(-1, chips, size.width).transpose(1, 0, 2)

        def of_expert(h, up, down):
            return jax.nn.relu(h @ up) @ down

        def step(xs, w):
            def mlp(h):
                mine = lax.all_to_all(parts_of(h), both, 0, 0, tiled=True)   # [chips * rows, ..] for this chip's expert
                out = of_expert(mine.reshape(-1, size.width), w["up"][0], w["down"][0]).reshape(mine.shape)
                return lax.all_to_all(out, both, 0, 0, tiled=True).transpose(1, 0, 2).reshape(h.shape)
            ys = [attention(x, w, size, whole, whole, lambda a: a) for x in xs]
            return [y + mlp(normed(y)) for y in ys]

        def one(xs, w):
            def mlp(h):
                out = jnp.stack([of_expert(part, w["up"][i], w["down"][i]) for i, part in enumerate(parts_of(h))])
                return out.transpose(1, 0, 2).reshape(h.shape)
            ys = [attention(x, w, size, whole, whole, lambda a: a) for x in xs]
            return [y + mlp(normed(y)) for y in ys]
        specs = {name: P(both) if name in ("up", "down") else P() for name in w}
        xs = [jnp.concatenate([x] * chips) * (1 + jnp.arange(chips * size.batch)[:, None, None] / 8) for x in xs]
        return manual(step, (P(both), specs), P(both)), jax.jit(one), (xs, w)
    if name == "pipeline":
        stages = mesh.shape["x"]
        size = size._replace(parts=2 * size.parts)  # the first and the last turns are not full
        xs, w = draw(size, stages)
        w = {name: a[:, 0] if name in ("up", "down") else a for name, a in w.items()}
        onward = [(i, (i + 1) % stages) for i in range(stages)]

        def step(xs, w):
            own = {name: a[0] for name, a in w.items()}
            begins = lax.axis_index("x") == 0
            came, outs = {}, []
            turns = size.parts + 2 * (stages - 1)  # what a turn sends is computed with two turns later
            for turn in range(turns):
                x = xs[min(turn, size.parts - 1)]
                if turn >= 2:
                    x = jnp.where(begins, x, came[turn - 2])
                y = block(x, own, size, whole)
                if turn + 2 < turns:
                    came[turn] = lax.ppermute(y, "x", onward)
                if turn >= 2 * (stages - 1):
                    outs.append(y)  # the last stage's
            return [o[None] for o in outs]

        def one(xs, w):
            for stage in range(stages):
                xs = [block(x, {name: a[stage] for name, a in w.items()}, size, whole) for x in xs]
            return xs
        run = manual(step, ([P()] * size.parts, P("x")), [P("x")] * size.parts)
        return run, jax.jit(one), (xs, w)
    raise ValueError(name)


def run(name, size):
    """In this process: how many elements differ from one chip, and what compiling told."""
    import jax
    import numpy as np
    from jax.sharding import Mesh

    devices = jax.devices()
    sides = [int(side) for side in size.slice.split("-")[-1].split("x")]
    mesh = Mesh(np.array(devices).reshape(sides[::-1]).T, ("x", "y"))
    function, alone, arguments = sharded(name, size, mesh)
    compiled = function.lower(*arguments).compile()
    cost = compiled.cost_analysis()
    made = function(*arguments)
    made = [np.asarray(a)[-1] if name == "pipeline" else np.asarray(a) for a in made]
    xs, w = jax.device_put(arguments, devices[0])
    expected = [alone([x], w)[0] for x in xs]  # one by one: all in one program would take too many commands
    differing = elements = 0
    for ours, reference in zip(made, expected, strict=True):
        a, b = ours.view(np.uint32), np.asarray(reference).view(np.uint32)
        differing += int((a != b).sum())
        elements += a.size
    return {"differing": differing, "elements": elements, **{k: cost[k] for k in ("collectives", "device programs", "islands", "gathered programs", "replicated operators") if k in cost}}


def joined(spans):
    """Spans that do not meet, ascending."""
    out = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def common(a, b):
    total, i, j = 0, 0, 0
    while i < len(a) and j < len(b):
        total += max(0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total


def hidden(events):
    """Of a trace, within its launches of all chips: microseconds in which links carry data, summed over links, and those of them beside which the sending chip computes."""
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    launches = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["name"] == "LAUNCH"]
    begins = collections.Counter(begin for begin, _ in launches)
    chips = len({e["pid"] for e in events if e["ph"] == "X" and e["name"] == "LAUNCH"})
    together = [span for span in launches if begins[span[0]] == chips] or launches
    first, last = min(b for b, _ in together), max(e for _, e in together)
    links, work = collections.defaultdict(list), collections.defaultdict(list)
    for e in events:
        if e["ph"] != "X" or not first <= e["ts"] <= last:
            continue
        track, span = tracks.get((e["pid"], e["tid"]), ""), (e["ts"], e["ts"] + e["dur"])
        if track.endswith(" out") and e["name"] == "data":
            links[e["pid"], track].append(span)
        elif track == "vpu" or track.startswith("mxu"):
            work[e["pid"]].append(span)
    work = {chip: joined(spans) for chip, spans in work.items()}
    links = {key: joined(spans) for key, spans in links.items()}
    travels = sum(end - begin for spans in links.values() for begin, end in spans)
    beside = sum(common(spans, work.get(chip, [])) for (chip, _), spans in links.items())
    return {"us": last - first, "link_us": travels, "hidden_us": beside, "share": beside / travels if travels else None,
            "working": sum(e - b for spans in work.values() for b, e in spans) / max(1, len(work)) / (last - first)}


def measured(name, size):
    """In a process of its own, which ends with its trace."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        environment = os.environ | {"JAX_PLATFORMS": "weft", "WEFT_CHIPS": size.slice, "WEFT_TRACE": str(trace), "WEFT_CORE": os.environ.get("WEFT_CORE", "fast")}
        done = subprocess.run([sys.executable, "-B", __file__, "--here", json.dumps([name, list(size)])], capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise SystemExit(f"{name}: {done.stderr[-3000:]}")
        if os.environ.get("WEFT_JAX_LOG"):
            print(done.stderr, file=sys.stderr)
        return json.loads(done.stdout) | hidden(json.loads(trace.read_text()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--small", action="store_true", help="a block that takes seconds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", type=float, help="fail where bits differ, the host computes a part, or a smaller share of what travels is hidden")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        name, size = json.loads(arguments.here)
        print(json.dumps(run(name, Size(*size))))
        return
    size = SMALL if arguments.small else SIZE
    found = {}
    for name in arguments.only or NAMES:
        found[name] = measured(name, size)
        if not arguments.json:
            print(f"{name:<18} {found[name]}", flush=True)
    if arguments.json:
        print(json.dumps(found))
    if arguments.check is not None:
        for name, of in found.items():
            if of["differing"] or not of["elements"] or of["islands"] or of["gathered programs"] or (of["share"] is not None and of["share"] < arguments.check):
                raise SystemExit(f"{name}: {of}")


if __name__ == "__main__":
    main()
