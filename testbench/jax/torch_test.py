"""The training loop in PyTorch on Weft, through torch_xla, against PyTorch on the CPU.

usage: torch_test.py      environment: EXAMPLE_STEPS (100: of training), WEFT_CHIPS, WEFT_SIM, WEFT_PJRT_LIBRARY
Exit code 77: this Python has no torch_xla, which needs 7 GB; docs/jax.md tells which versions.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "host" / "examples" / "torch" / "digits_cnn.py"
STEPS, SEED = int(os.environ.get("EXAMPLE_STEPS", "100")), 1


def train(device: str, precision: str = "default") -> dict:
    arguments = ["--device", device, "--precision", precision, "--steps", str(STEPS), "--seed", str(SEED), "--json"]
    done = subprocess.run([sys.executable, "-B", EXAMPLE, *arguments], capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": str(ROOT / "host" / "python")})
    if done.returncode != 0:
        raise AssertionError(f"{device}, seed {SEED}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"seed {SEED}, {STEPS} steps, {device}, {precision}: {found['losses'][0]:.6f} to {found['losses'][-1]:.6f}, mean of the last 10 "
          f"{mean(found['losses']):.6f}, {found['right']} of {found['held_out']} read", file=sys.stderr)
    return found


def mean(losses: list[float]) -> float:
    return sum(losses[-10:]) / len(losses[-10:])


class Training(unittest.TestCase):
    def test_a_convolutional_network_learns_as_on_the_cpu(self):
        ours, highest, reference = train("weft"), train("weft", "highest"), train("cpu")
        ours, highest, reference = (found["losses"] for found in (ours, highest, reference))
        self.assertEqual(len(ours), STEPS)
        self.assertLess(reference[-1], reference[0])
        self.assertLess(abs(mean(ours) / mean(reference) - 1), 0.02)
        self.assertLess(abs(highest[0] / reference[0] - 1), 1e-5)
        self.assertLess(abs(highest[-1] / reference[-1] - 1), 1e-3)


if __name__ == "__main__":
    missing = [name for name in ("torch", "torch_xla") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed", file=sys.stderr)
        sys.exit(77)
    unittest.main()
