"""ONNX's test vectors (node, simple, pytorch-operator, pytorch-converted; the onnx wheel ships them) through weft's importer and reference.

usage: conformance.py [--set NAME] [--only TEXT] [--json FILE] [--show right|wrong|refused|crash]
                      (Python of .venv; RUNNER names the program, default build/bin/conformance_runner)

Each vector is right (number, types, shapes and values of the outputs as ONNX has them, values within ONNX's own tolerance), wrong, refused
by name, or a crash. Counted are those whose types are f32, f64, bf16, f16, integers or bool and whose operators are not excused: the table
of excuses is that of docs/onnx_operators.md. The vectors are the oracle; nothing of weft's expects anything of weft's."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(onnx.__file__).parent / "backend/test/data"
SETS = ("node", "simple", "pytorch-operator", "pytorch-converted")
T = TensorProto
TYPES = {T.FLOAT, T.DOUBLE, T.BFLOAT16, T.FLOAT16, T.BOOL, T.INT8, T.UINT8, T.INT16, T.UINT16, T.INT32, T.UINT32, T.INT64, T.UINT64}
EXCUSED = {"Bernoulli", "ConcatFromSequence", "ImageDecoder", "MaxRoiPool", "Multinomial", "Optional", "OptionalGetElement", "OptionalHasElement", "RandomNormal",
           "RandomNormalLike", "RandomUniform", "RandomUniformLike", "RegexFullMatch", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
           "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"}
# Vectors that do not saturate, as the text of QLinearMatMul says and onnxruntime does: they hold values modulo 256.
DISPUTED = {"test_qlinearmatmul_2D_int8_float16", "test_qlinearmatmul_2D_int8_float32", "test_qlinearmatmul_3D_int8_float16", "test_qlinearmatmul_3D_int8_float32"}
RTOL, ATOL = 1e-3, 1e-7  # of onnx's own runner
BF16_RTOL = 2.0 ** -7  # a unit in the last place: some vectors of bf16 were made by cutting bits off


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def operators(model):
    """(operators of ONNX, whether there are others)."""
    nodes = [n for g in graphs(model.graph) for n in g.node] + [n for f in model.functions for n in f.node]
    own = {(f.domain, f.name) for f in model.functions}
    return {n.op_type for n in nodes if n.domain in ("", "ai.onnx")}, any(n.domain not in ("", "ai.onnx") and (n.domain, n.op_type) not in own for n in nodes)


def counts(model):
    ops, foreign = operators(model)
    values = [v.type for v in [*model.graph.input, *model.graph.output]]
    if foreign or ops & EXCUSED or any(v.WhichOneof("value") != "tensor_type" or v.tensor_type.elem_type not in TYPES for v in values):
        return False
    casts = [a.i for g in graphs(model.graph) for n in g.node if n.op_type == "Cast" for a in n.attribute if a.name == "to"]
    return all(to in TYPES for to in casts)


def tensors(folder, kind, declared):
    """The arrays in order; of bf16, which NumPy does not have and vectors hold as bits in uint16, the f32 values."""
    found = []
    for i in range(len(list(folder.glob(f"{kind}_*.pb")))):
        proto = TensorProto()
        proto.ParseFromString((folder / f"{kind}_{i}.pb").read_bytes())
        array = numpy_helper.to_array(proto)
        bf16 = i < len(declared) and declared[i] == T.BFLOAT16
        found.append((array.astype(np.uint32) << 16).view(np.float32) if bf16 and array.dtype == np.uint16 else array.astype(np.float32) if bf16 else array)
    return found


def compare(expected, got, declared):
    if len(expected) != len(got) or not expected:
        return f"{len(got)} outputs, ONNX has {len(expected)}"
    for i, (want, have) in enumerate(zip(expected, got, strict=True)):
        if want.dtype != have.dtype or want.shape != have.shape:
            return f"output {i} is {have.dtype} {have.shape}, ONNX's {want.dtype} {want.shape}"
        if want.dtype.kind == "f":
            want, have = want.astype(np.float64), have.astype(np.float64)
            near = np.isclose(have, want, rtol=BF16_RTOL if declared[i] == T.BFLOAT16 else RTOL, atol=ATOL, equal_nan=True)
        else:
            near = have == want
        if not np.all(near):
            at = np.unravel_index(int(np.argmin(near)), near.shape)
            return f"output {i}{[int(a) for a in at]} is {have[at]}, ONNX's {want[at]}, {int(np.sum(~near))} of {near.size} differ"
    return ""


def cases(chosen, only):
    for name in SETS:
        for folder in sorted((DATA / name).iterdir()) if chosen in (None, name) else ():
            if only in folder.name:
                for data in sorted(folder.glob("test_data_set_*")):
                    yield name, folder, data


def judge(case, model, row, out):
    declared = [o.type.tensor_type.elem_type for o in model.graph.output]
    if row["code"] == 2:
        return ("refused", row["message"]) if re.search(r"node \d+ '|input '|initializer|output '|value_info|the model", row["message"]) else ("wrong", f"a refusal without a name: {row['message']}")
    if row["code"] != 0:
        return "crash", f"exit code {row['code']}, signal {row['signal']}"
    try:
        expected = tensors(case[2], "output", declared)
    except Exception as error:
        return "wrong", f"the vector is no tensor: {error}"
    wrong = compare(expected, tensors(out, "output", declared), declared)
    return ("wrong", wrong) if wrong else ("right", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=SETS)
    parser.add_argument("--only", default="", help="tests whose name contains this")
    parser.add_argument("--json", help="write the tally to this file")
    parser.add_argument("--show", action="append", default=[], choices=("right", "wrong", "refused", "crash"))
    arguments = parser.parse_args()
    runner = os.environ.get("RUNNER", str(ROOT / "build/bin/conformance_runner"))
    vectors = list(cases(arguments.set, arguments.only))
    tally = {name: Counter() for name in SETS}
    refusals = Counter()
    with tempfile.TemporaryDirectory(prefix="weft-conformance-") as work:
        outs = [Path(work) / str(i) for i in range(len(vectors))]
        lines = "".join(f"{folder / 'model.onnx'}\t{data}\t{out}\n" for (_, folder, data), out in zip(vectors, outs, strict=True))
        done = subprocess.run([runner], input=lines, capture_output=True, text=True, check=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        if len(rows) != len(vectors):
            sys.exit(f"conformance.py: {len(rows)} of {len(vectors)} vectors ran")
        for case, row, out in zip(vectors, rows, outs, strict=True):
            model = onnx.load(str(case[1] / "model.onnx"), load_external_data=False)
            verdict, why = judge(case, model, row, out)
            counted = counts(model)
            if case[1].name in DISPUTED and verdict != "crash":
                tally[case[0]]["disputed"] += 1
                continue
            if verdict in ("wrong", "crash") or counted:
                tally[case[0]][verdict] += 1
            if not counted:
                tally[case[0]]["excused"] += verdict not in ("wrong", "crash")
                continue
            if verdict == "refused":
                refusals[re.sub(r"^node \d+ '[^']*' ", "", why)[:120]] += 1
            if verdict in arguments.show or verdict in ("wrong", "crash"):
                print(f"{verdict.upper()}: {case[1].name}: {why}")
    for why, count in refusals.most_common():
        print(f"refused {count:4}: {why}")
    for name, found in tally.items():
        total = sum(found[k] for k in ("right", "wrong", "refused", "crash"))
        if total:
            print(f"{name}: {found['right']} of {total} right ({100 * found['right'] / total:.1f} %), {found['wrong']} wrong, {found['refused']} refused, {found['crash']} crashes; {found['excused']} excused, {found['disputed']} disputed")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"onnx": onnx.__version__, "sets": {k: dict(v) for k, v in tally.items()}, "excused": sorted(EXCUSED)}, indent=2) + "\n")
    if not any(found["right"] for found in tally.values()):
        sys.exit("conformance.py: nothing was compared")
    sys.exit(1 if any(found["wrong"] + found["crash"] for found in tally.values()) else 0)


if __name__ == "__main__":
    main()
