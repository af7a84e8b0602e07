#!/usr/bin/env python3
"""usage: make.py NETWORK FOLDER [SIZE=VALUE ...]: writes NETWORK.onnx and an array NETWORK_INPUT.npy for each input, from a seed.

NETWORK: resnet18, mobilenet_v2, unet, encoder, decoder, lstm, mlp, attention; their sizes are the arguments of the functions in vision.py, sequences.py
and layers.py.
"""
import pathlib
import sys

import numpy as np
import onnx

import layers
import sequences
import vision

NETWORKS = {"resnet18": vision.resnet18, "mobilenet_v2": vision.mobilenet_v2, "unet": vision.unet, "encoder": sequences.encoder,
            "decoder": sequences.decoder, "lstm": sequences.lstm, "mlp": layers.mlp, "attention": layers.attention}


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in NETWORKS:
        sys.exit(__doc__)
    name, folder = arguments[0], pathlib.Path(arguments[1])
    sizes = {key: int(value) for key, _, value in (a.partition("=") for a in arguments[2:])}
    model, given = NETWORKS[name](**sizes)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / f"{name}.onnx")
    for argument, array in given.items():
        np.save(folder / f"{name}_{argument}.npy", array)


if __name__ == "__main__":
    main(sys.argv[1:])
