"""Trains a convolutional network on 8 x 8 pixels of handwritten digits with PyTorch, and counts what it reads of those held out.

usage: digits_cnn.py [--device weft|cpu] [--steps N] [--seed SEED] [--precision default|highest] [--json]
"""

import argparse
import json
import pathlib

import numpy as np
import torch
from torch import nn

DATA = pathlib.Path(__file__).resolve().parents[1] / "digits" / "optdigits.csv"
HELD_OUT, BATCH, CHANNELS, RATE = 599, 32, 8, 0.1


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Images [count, 1, 8, 8] of 0 to 1, and their labels."""
    rows = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
    return torch.from_numpy(rows[:, :64].reshape(-1, 1, 8, 8) / 16), torch.from_numpy(rows[:, 64].astype(np.int64))


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, CHANNELS, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * CHANNELS, 10))


def train_on_weft(steps: int, seed: int) -> tuple[list[float], int]:
    """The loss before each step, and the digits held out that are read right afterwards."""
    import torch_xla.core.xla_model as xm

    device = xm.xla_device()
    return train(steps, seed, device, xm.optimizer_step, xm.mark_step)


def train(steps: int, seed: int, device=None, optimizer_step=lambda optimizer: optimizer.step(), mark_step=lambda: None) -> tuple[list[float], int]:
    """The same on any device: without arguments, PyTorch's CPU."""
    images, labels = digits()
    torch.manual_seed(seed)
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    draw = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        batch = torch.from_numpy(draw.integers(HELD_OUT, len(images), BATCH))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch].to(device)), labels[batch].to(device))
        loss.backward()
        optimizer_step(optimizer)
        mark_step()
        losses.append(loss.detach())
    with torch.no_grad():
        read = model(images[:HELD_OUT].to(device)).argmax(-1).cpu()
    return [float(loss) for loss in losses], int((read == labels[:HELD_OUT]).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("weft", "cpu"), default="weft")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--precision", choices=("default", "highest"), default="default")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.device == "weft":
        import weft.torch_plugin

        weft.torch_plugin.register()
        from torch_xla import backends

        backends.set_mat_mul_precision(options.precision)
    losses, right = (train_on_weft if options.device == "weft" else train)(options.steps, options.seed)
    if options.json:
        print(json.dumps({"losses": losses, "right": right, "held_out": HELD_OUT}))
        return
    print(f"loss {losses[0]:.3f} before the first step, {losses[-1]:.3f} before the last of {len(losses)}")
    print(f"{right} of {HELD_OUT} digits that were held out are read right, on {options.device}")


if __name__ == "__main__":
    main()
