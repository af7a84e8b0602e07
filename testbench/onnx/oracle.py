"""What ONNX's own programs say of a model, what weft makes of it, and whether the two agree.

The oracle is onnxruntime (results, and whether a model runs) and onnx.checker (whether a model is allowed). It shares no
code with weft: not its importer, not its graph, not its arithmetic.
"""
import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from bounds import Unknown, values_of

REFUSED = 2  # exit code: wrong input, or not supported
PATIENCE_S = 60
# What a refusal names: a node with its operator, a tensor, or what the whole model is.
PLACES = re.compile(r"node \d+ '[^']*' \([^)]*\)|(input|output|initializer|value_info|tensor) '|^the model |^not an ONNX model|initializer: |argument name '")
# The checker wants the first three for a reader; no result depends on them, and onnxruntime does without. The fourth is a
# version of the format that onnx 1.18 does not know: onnxruntime says whether it exists. The last are shapes that are declared,
# of -1 or of what the network was before it was changed: onnxruntime says whether it runs with those that it computes.
DESCRIPTIVE = re.compile(r"Field 'name' of 'graph' is required to be non-empty|Field 'shape' of 'type' is required but missing|"
                         r"Field 'type' of 'value_info' is required but missing|Your model ir_version \d+ is higher than the checker's|.*\[ShapeInferenceError\]")
NO_DEVICE = "--verify compares device programs, and the model has none"  # all of it is the host's
HUGE = 2.0 ** 100  # beyond it, and where numbers are not finite, the bound of an error means nothing
onnxruntime.set_default_logger_severity(4)


@dataclass
class Verdict:
    """Of ONNX's programs. `refusal`: why it is no model, or does not run with these inputs; empty: it is and does."""
    refusal: str = ""
    outputs: dict = field(default_factory=dict)


@dataclass
class Outcome:
    """Of weft run. `outputs` by name; empty unless the exit code is 0."""
    code: int
    out: str
    err: str
    outputs: dict = field(default_factory=dict)


def ask_onnx(model, arrays):
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # it raises several kinds, some of them C++'s
        if not DESCRIPTIVE.match(first_line(error)):
            return Verdict(f"onnx.checker: {first_line(error)}")
    try:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # As the model is written: an optimiser may repair what is broken.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        return Verdict(outputs=dict(zip(names, session.run(names, dict(arrays)), strict=True)))
    except Exception as error:
        return Verdict(f"onnxruntime: {first_line(error)}")


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def run_weft(weft, folder, words):
    return subprocess.run([str(weft), *words], cwd=folder, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=PATIENCE_S)


def ask_weft(weft, folder, model, arrays, *options):
    """weft run on the model and the arrays, all outputs written, with --verify."""
    folder = Path(folder)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    words = ["run", "m.onnx"]
    for i, (name, array) in enumerate(arrays.items()):
        np.save(folder / f"in{i}.npy", array)
        words += ["--input", f"{name}=in{i}.npy"]
    files = {name: folder / f"out{i}.npy" for i, name in enumerate(dict.fromkeys(o.name for o in model.graph.output))}
    for name, file in files.items():
        file.unlink(missing_ok=True)
        words += ["--output", f"{name}={file.name}"]
    try:
        words = [word.replace("\0", "?") for word in words]  # a broken model may have such names
        done = run_weft(weft, folder, [*words, "--verify", "--json", *options])
        if done.returncode == REFUSED and NO_DEVICE in done.stderr:
            done = run_weft(weft, folder, [*words, "--json", *options])
    except subprocess.TimeoutExpired:
        return Outcome(-1, "", f"weft run hangs: it had not ended after {PATIENCE_S} s")
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    if done.returncode == 0:
        outcome.outputs = {name: np.load(file) if file.exists() else None for name, file in files.items()}
    return outcome


def judge(model, arrays, verdict, outcome, must_take=False):
    """What is wrong, as a sentence; empty: nothing. And how much of its bound the largest error uses."""
    if outcome.code == REFUSED:
        return judge_refusal(outcome, verdict, must_take), 0.0
    if outcome.code != 0:
        return f"weft run ended with exit code {outcome.code}: {outcome.err.strip()[:300]}", 0.0
    if verdict.refusal:
        return f"weft takes what ONNX refuses: {verdict.refusal}", 0.0
    return judge_results(model, arrays, verdict, outcome, must_take)


def judge_refusal(outcome, verdict, must_take):
    lines = outcome.err.splitlines()
    if len(lines) != 1 or outcome.out:
        return f"a refusal is one line on stderr, this is {outcome.err!r} and {outcome.out!r}"
    text = lines[0].removeprefix("weft: ").removeprefix("m.onnx: ")
    if not PLACES.search(text):
        return f"the refusal names neither node and operator nor tensor: {lines[0]}"
    if must_take and not verdict.refusal:
        return f"weft refuses what its documentation promises: {lines[0]}"
    return ""


def judge_results(model, arrays, verdict, outcome, must_take):
    report = json.loads(outcome.out)
    names = [o.name for o in model.graph.output]
    if sorted(outcome.outputs) != sorted(names) or not names:
        return f"outputs {sorted(outcome.outputs)}, the model has {names}", 0.0
    try:
        bounds = values_of(model, arrays)
    except Unknown as unknown:
        return f"weft takes {unknown}, for which there is no bound", 0.0
    elements, used = 0, 0.0
    for name in names:
        expected, got = verdict.outputs[name], outcome.outputs[name]
        if got is None:
            return f"output {name} is not written", 0.0
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return f"output {name} is {got.dtype} {got.shape}, onnxruntime's {expected.dtype} {expected.shape}", 0.0
        elements += got.size
        bound = bounds[name][1]
        if bound.shape != got.shape:
            return f"output {name} is {got.shape}, by its bound {bound.shape}", 0.0
        with np.errstate(all="ignore"):
            error = np.abs(got.astype(np.float64) - expected)
            bounded = np.isfinite(expected) & (bound < HUGE) & (np.abs(expected) < HUGE)
            error = np.where(bounded, np.where(np.isfinite(error), error, np.inf), 0.0)
            share = np.divide(error, bound, out=np.where(error > 0, np.inf, 0.0), where=bound > 0)
        if must_take and not bounded.all():
            return f"output {name} of a plain model is not finite", 0.0
        used = max(used, float(share.max()))
        if (share > 1).any():
            at = np.unravel_index(int(share.argmax()), got.shape)
            return f"output {name}{[int(i) for i in at]} is {got[at]}, onnxruntime's {expected[at]}, allowed {bound[at]:.3g}", used
    # Of a model with islands --verify compares what device programs give, and there are none in one that is the host's alone.
    if isinstance(report.get("parts"), list):  # on a slice: their number
        device = any(part["where"] == "device" for part in report["parts"])
        if device and (report.get("differing") != 0 or not report.get("elements")):
            return f"--verify compared {report.get('elements')} elements and found {report.get('differing')}", used
    elif report.get("differing") != 0 or report.get("elements") != elements:
        return f"--verify compared {report.get('elements')} elements and found {report.get('differing')}, of {elements}", used
    return "", used
