#!/usr/bin/env python3
"""usage: full_networks.py [--json FILE] [--only NAME] [--chip CHIP] [--keep FOLDER]: the example networks in full size on the fast core,
against onnxruntime in f32 and, bit by bit, the golden model. WEFT and WEFT_SIM name the programs. Ends with 1 if one is wrong.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "host/examples/networks"))
import layers  # noqa: E402
import sequences  # noqa: E402
import vision  # noqa: E402

ERROR = 0.02  # relative, L2: products are of bf16
LIMIT_S = 1200
# Name, how it is made, chip.
NETWORKS = (
    ("resnet18", vision.resnet18, "v5e-1mxu"),
    ("mobilenet_v2", vision.mobilenet_v2, "v5e-1mxu"),
    ("unet", vision.unet, "v5e-1mxu"),
    ("encoder", sequences.encoder, "v5e-1mxu"),
    ("lstm", sequences.lstm, "v5e-1mxu"),
    ("resnet18, batch 8", lambda: vision.resnet18(batch=8), "v5e"),
    ("bert_base, batch 8", lambda: sequences.encoder(batch=8, layers=12, width=768, heads=12, inner=3072), "v5e"),
    ("decoder_step", sequences.decoder, "v5e"),
    ("attention", layers.attention, "v5e"),
)
# Of those whose products are taken in six passes too: how far it may be from f32. Six layers; deeper.
PRECISE = {"lstm": 1e-5, "encoder": 1e-5, "resnet18": 1e-4, "mobilenet_v2": 1e-4}


def expected(file, given):
    """onnxruntime's outputs by name."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


def run(name, make, chip, folder, precision="bf16", most=ERROR):
    """What weft made of it: the report, its relative error, which is below `most`, and what is wrong; empty: nothing."""
    model, given = make()
    file = folder / "m.onnx"
    onnx.save(model, file)
    command = [os.environ["WEFT"], "run", file, "--chip", chip, "--core", "fast", "--precision", precision, "--verify", "--json"]
    for argument, array in given.items():
        np.save(folder / f"in_{argument}.npy", array)
        command += ["--input", f"{argument}={folder / f'in_{argument}.npy'}"]
    wanted = expected(file, given)
    for output in wanted:
        command += ["--output", f"{output}={folder / f'out_{output}.npy'}"]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    tally = {"name": name if precision == "bf16" else f"{name}, {precision}", "chip": chip, "seconds": round(time.monotonic() - began, 1), "wrong": ""}
    if done.returncode != 0:
        return {**tally, "wrong": (done.stderr or done.stdout).strip()[:300]}
    report = json.loads(done.stdout)
    error = 0.0
    for output, values in wanted.items():
        found = np.load(folder / f"out_{output}.npy")
        if found.shape != values.shape:
            return {**tally, "wrong": f"{output} is {found.shape}, and {values.shape} at onnxruntime"}
        error = max(error, float(np.linalg.norm(found - values) / np.linalg.norm(values)))
    parts = len(report.get("parts", [{}]))
    tally |= {"parts": parts, "islands": sum(part.get("where") == "host" for part in report.get("parts", [])), "device_cycles": report["device_cycles"],
              "macs": report["macs"], "elements": report.get("elements", 0), "differing": report.get("differing", -1), "error": error, "most": most}
    if tally["differing"] != 0 or tally["elements"] == 0:
        tally["wrong"] = f"{tally['differing']} of {tally['elements']} elements differ from the golden model"
    elif not error < most:
        tally["wrong"] = f"relative error {error:.2e}"
    return tally


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--chip", default="")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    tallies = []
    for name, make, chip in NETWORKS:
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            passes = [("bf16", ERROR)] + ([("bf16x6", PRECISE[name])] if name in PRECISE else [])
            for precision, most in passes:
                tallies.append(run(name, make, options.chip or chip, folder, precision, most))
                print(json.dumps(tallies[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(tallies, indent=1), encoding="utf-8")
    return 0 if tallies and not any(tally["wrong"] for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
