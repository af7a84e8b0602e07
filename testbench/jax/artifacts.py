"""Writes small programs as JAX gives them to a plugin: seeds of testbench/fuzz/corpora/stablehlo.

usage: artifacts.py FOLDER
"""

import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402
import programs  # noqa: E402

VERSION = "1.13.3"  # of StableHLO, as host/pjrt asks for it
CHOSEN = ("plus_one", "bits_to_float", "take_along", "index_apply", "argmax", "sort_pairs", "max_pool_grad",
          "conv_grouped_grad", "cholesky", "nested_scan", "switch", "random_split", "decode", "mlp_adam")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__.splitlines()[-1], file=sys.stderr)
        return 2
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/testbench/jax/")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    known = {program.name: program for program in programs.census()}
    for name in CHOSEN:
        module = jax.jit(known[name].function).trace(*known[name].arguments).lower(
            lowering_platforms=("tpu",)).compiler_ir("stablehlo")
        (folder / f"seed_{name}").write_bytes(stablehlo.serialize_portable_artifact(module, VERSION))
    print(f"{len(CHOSEN)} programs in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
