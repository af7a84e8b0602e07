"""A chip from Python: a product, bytes to HBM and back, a network and where its cycles went. Needs NumPy, no JAX.

usage: PYTHONPATH=host/python python3 host/examples/python/first_steps.py [DEVICE]      DEVICE: nano unless told
"""

import pathlib
import sys

import numpy as np

import weft

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits" / "digits.onnx"


def main() -> int:
    with weft.open(sys.argv[1] if len(sys.argv) > 1 else "nano") as chip:
        info = chip.info
        print(f"{info.preset}: {info.clock_hz // 10**6} MHz, {info.hbm_bytes >> 20} MiB of HBM, {info.core.name.lower()} core")

        # Eighths, which bf16 holds, in sums that f32 holds: the product is exact.
        a = ((5 * np.arange(64)[:, None] + np.arange(96)) % 16 - 8).astype(np.float32) / 8
        b = ((7 * np.arange(96)[:, None] + 3 * np.arange(32)) % 16 - 8).astype(np.float32) / 8
        differing = int((chip.gemm(a, b) != a @ b).sum())
        print(f"product: {differing} of {64 * 32} elements differ from NumPy's")

        # A buffer in HBM, filled by one command and read back by another.
        buffer = chip.put(np.zeros(16, np.uint32))
        with chip.queue() as queue:
            event = queue.fill(buffer, 0x2A, 32, offset=32).wait()
        print(f"fill: {event.status.name}, {buffer.read(np.uint32, (16,))[6:10]}")

        try:
            chip.buffer(1 << 40)
        except weft.Error as error:
            print(f"refused: {error.status.name}, retryable {error.retryable}")

        network = weft.compile(DIGITS, preset=info.preset, symbols={"batch": 16})
        pixels = np.random.default_rng(1).uniform(0, 1, (16, 64)).astype(np.float32)
        with weft.profile() as profile:
            scores = network.run({"pixels": pixels}, device=chip)["scores"]
        program = profile.programs[0]
        print(f"network: scores {scores.shape}, {program.device_cycles} cycles, {100 * program.utilization:.1f} % of the MXU")
        for operator in program.operators:
            print(f"  {operator.name:8} {operator.cycles:5} cycles, bound by {operator.bound_by}")
    return differing


if __name__ == "__main__":
    sys.exit(main())
