"""ONNX's own test vectors of single operators, which its wheel ships, through weft run.

usage: node_vectors.py [--only TEXT] [--known] [--jobs J] [--json FILE]
                       (Python of .venv; WEFT and WEFT_SIM name the programs, default those of build/bin)

weft takes a model or refuses it by name. What it takes must give the vector's outputs: number, shape, values within the
bound of bounds.py if all operators are of KNOWN (a product rounds to bf16), else within what ONNX's own runner allows, or
BF16 of the largest value where the device has multiplied matrices.
Exit code 1: a model was judged wrong, or none was taken.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

import oracle
from conformance import ATOL, RTOL
from random_models import ONE_CHIP, ROOT

VECTORS = Path(onnx.__file__).parent / "backend/test/data/node"
BF16 = 2.0**-6
KNOWN = {"Gemm", "MatMul", "Add", "Relu", "Flatten", "Reshape", "Identity", "Constant", "Cast"}


def tensors(folder, kind):
    """The vector's arrays in order; None: one is no tensor, or has no counterpart in NumPy."""
    found = []
    for i in range(len(list(folder.glob(f"{kind}_*.pb")))):
        proto = onnx.TensorProto()
        try:
            proto.ParseFromString((folder / f"{kind}_{i}.pb").read_bytes())
            found.append(numpy_helper.to_array(proto))
        except Exception:  # sequences, optionals, types of one to eight bits
            return None
    return found


def is_known(model):
    return {n.op_type for n in model.graph.node} <= KNOWN


def judge_by_tolerance(outputs, outcome):
    """What is wrong by ONNX's own tolerance, as a sentence; empty: nothing."""
    if sorted(outcome.outputs) != sorted(outputs) or not outputs:
        return f"outputs {sorted(outcome.outputs)}, the model has {sorted(outputs)}"
    report = json.loads(outcome.out)
    for name, expected in outputs.items():
        got = outcome.outputs[name]
        if got is None or got.shape != expected.shape:
            return f"output {name} is {None if got is None else got.shape}, the vector {expected.shape}"
        finite = np.abs(expected[np.isfinite(expected)].astype(np.float64))
        atol = BF16 * finite.max(initial=0) if report.get("macs") else ATOL
        if not np.isclose(got.astype(np.float64), expected.astype(np.float64), rtol=RTOL, atol=atol, equal_nan=True).all():
            return f"output {name} is {got.ravel()[:4]}..., the vector {expected.ravel()[:4]}..."
    device = any(part["where"] == "device" for part in report.get("parts", [{"where": "device"}]))
    if device and (report.get("differing") != 0 or not report.get("elements")):
        return f"--verify compared {report.get('elements')} elements and found {report.get('differing')}"
    return ""


def on_device(outcome):
    """A model that is one device program is reported without parts."""
    parts = json.loads(outcome.out).get("parts")
    return parts is None or all(part["where"] == "device" for part in parts)


def run(weft, work, test):
    folder = Path(work) / test.name
    folder.mkdir()
    model = onnx.load(str(test / "model.onnx"))
    inputs, outputs = (tensors(test / "test_data_set_0", kind) for kind in ("input", "output"))
    names = [i.name for i in model.graph.input]
    whole = inputs is not None and outputs is not None and len(inputs) == len(names)
    arrays = dict(zip(names, inputs, strict=True)) if whole else {}
    arrays = {name: np.asarray(a, order="C") for name, a in arrays.items() if a.dtype == np.float32 and a.size}
    outcome = oracle.ask_weft(weft, folder, model, arrays, *ONE_CHIP)
    verdict = oracle.Verdict("" if whole else "its vector is of other types than tensors")
    if whole:  # vectors of bf16 are stored as bits; weft writes them as float32
        outputs = [(a.astype(np.uint32) << 16).view(np.float32) if o.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 else a
                   for a, o in zip(outputs, model.graph.output, strict=True)]
        verdict.outputs = dict(zip([o.name for o in model.graph.output], outputs, strict=True))
    if outcome.code == 0 and whole and not is_known(model):
        wrong, used = judge_by_tolerance(verdict.outputs, outcome), 0.0
    else:
        wrong, used = oracle.judge(model, arrays, verdict, outcome)
    shutil.rmtree(folder)
    f32 = bool(names) and all(v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT for v in (*model.graph.input, *model.graph.output))
    return {"test": test.name, "code": outcome.code, "used": used, "wrong": wrong, "f32": f32, "device": outcome.code == 0 and on_device(outcome)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose name contains this")
    parser.add_argument("--known", action="store_true", help="models of weft's operators only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", help="write the tally to this file")
    arguments = parser.parse_args()
    weft = os.environ.get("WEFT", str(ROOT / "build/bin/weft"))
    os.environ.setdefault("WEFT_SIM", str(ROOT / "build/bin/weft-sim"))
    tests = sorted(t for t in VECTORS.iterdir() if arguments.only in t.name)
    if arguments.known:
        tests = [t for t in tests if is_known(onnx.load(str(t / "model.onnx")))]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weft-onnx-") as work, ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda test: run(weft, work, test), tests))
    for r in results:
        if r["wrong"]:
            print(f"WRONG: {r['test']}: {r['wrong']}\nrerun: .venv/bin/python testbench/onnx/node_vectors.py --only {r['test']}")
    taken = [r["test"] for r in results if r["code"] == 0]
    tally = {"onnx": onnx.__version__, "tests": len(results), "taken": taken, "refused": sum(r["code"] == oracle.REFUSED for r in results),
             "wrong": sum(bool(r["wrong"]) for r in results), "f32": sum(r["f32"] for r in results),
             "f32_on_device": [r["test"] for r in results if r["f32"] and r["device"]], "seconds": round(time.monotonic() - begin, 1)}
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(tally, indent=2) + "\n")
    print(f"{tally['tests']} tests of onnx {tally['onnx']} in {tally['seconds']} s: {len(taken)} taken, {tally['refused']} refused, {tally['wrong']} wrong")
    print(f"taken: {', '.join(taken)}")
    print(f"whole on the device: {len(tally['f32_on_device'])} of {tally['f32']} whose inputs and outputs are f32: {', '.join(tally['f32_on_device'])}")
    if not taken:
        sys.exit("node_vectors.py: nothing was compared")
    sys.exit(1 if tally["wrong"] else 0)


if __name__ == "__main__":
    main()
