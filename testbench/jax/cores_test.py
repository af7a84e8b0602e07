"""The examples' scripts on the RTL, step by step bit-equal to the fast core, and in the same device cycles.

usage: cores_test.py [--steps N] [--script NAME ..]     default: all, with 1 step of training
environment: WEFT_CHIPS (of the examples for one device), WEFT_SIM, WEFT_PJRT_LIBRARY; each core runs in a process of its own
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "host" / "python"), str(ROOT / "host" / "examples" / "jax")]
CORES = ("fast", "rtl")
SLICES = {"pmap": "nano-2x2", "pjit": "nano-4x2", "sharded_transformer": "nano-4x2"}  # by example for several devices
NAMES = ("language_model", "digits_cnn", "decode", *SLICES)


def digest(values) -> str:
    """Of the bits, types and shapes of arrays."""
    import jax
    import numpy as np

    found = hashlib.sha256()
    for leaf in map(np.asarray, jax.tree.leaves(values)):
        found.update(f"{leaf.dtype}{leaf.shape}".encode())
        found.update(np.ascontiguousarray(leaf).tobytes())
    return found.hexdigest()


def scripts(steps: int) -> dict:
    import data_parallel
    import decode
    import digits_cnn
    import jax
    import jax.numpy as jnp
    import language_model
    import sharded_transformer
    import transformer

    size = transformer.Size(width=16, heads=2, layers=2, length=8, batch=2)
    p = transformer.parameters(jax.random.key(1), size)
    prompt = jnp.zeros(size.length, jnp.int32).at[:4].set(jnp.array(list(b"The "), jnp.int32))
    return {"language_model": lambda: language_model.train(steps, 1, size), "digits_cnn": lambda: digits_cnn.train(steps, 1),
            "decode": lambda: decode.decode(p, prompt, 4, size),
            "pmap": lambda: data_parallel.by_pmap(steps, 1), "pjit": lambda: data_parallel.by_pjit(steps, 1),
            "sharded_transformer": lambda: sharded_transformer.train(steps, 1)}


def run(steps: int, names: list[str]) -> None:
    """What one core computes, as a line of JSON."""
    import weft

    found = {}
    for name in names:
        with weft.profile(operators=False) as profile:
            bits = digest(scripts(steps)[name]())
        launches = [launch.cycles for program in profile.programs for launch in program.launches]
        found[name] = {"bits": bits, "launches": len(launches), "cycles": sum(launches)}
    print(json.dumps(found))


def on(core: str, chips: str, names: list[str], steps: int) -> dict:
    arguments = [f"--steps={steps}", *(f"--script={name}" for name in names)]
    done = subprocess.run([sys.executable, "-B", __file__, "--run", *arguments], capture_output=True, text=True,
                          env=os.environ | {"WEFT_CHIPS": chips, "WEFT_CORE": core, "JAX_PLATFORMS": "weft"}, check=False)
    if done.returncode != 0:
        sys.exit(f"core {core} of {chips} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--script", action="append", choices=NAMES)
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.script or list(NAMES)
    if options.run:
        run(options.steps, names)
        return 0
    by_chips = {}
    for name in names:
        by_chips.setdefault(SLICES.get(name, os.environ.get("WEFT_CHIPS", "nano")), []).append(name)
    wrong = 0
    for chips, group in by_chips.items():
        told = {core: on(core, chips, group, options.steps) for core in CORES}
        for name, fast in told["fast"].items():
            rtl = told["rtl"][name]
            equal = fast == rtl and fast["launches"] > 0
            wrong += not equal
            print(f"{name} on {chips}: {fast['launches']} launches, {fast['cycles']} device cycles, "
                  f"{'equal on both cores' if equal else f'differs: fast {fast}, rtl {rtl}'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
