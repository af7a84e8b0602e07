"""Writes small programs as JAX gives them to a plugin: seeds of testbench/fuzz/corpora/stablehlo.

usage: artifacts.py FOLDER
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402
import programs  # noqa: E402
from jax.experimental import io_callback  # noqa: E402

from jax_plugins.weft import callbacks  # noqa: E402

VERSION = "1.13.3"  # of StableHLO, as host/pjrt asks for it
CHOSEN = ("plus_one", "bits_to_float", "take_along", "index_apply", "argmax", "sort_pairs", "max_pool_grad",
          "conv_grouped_grad", "cholesky", "nested_scan", "switch", "random_split", "decode", "mlp_adam")


def of_several_devices():
    """A step of data and model parallelism, each device on its part; then what nothing says the sharding of."""
    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))

    def step(x, w):
        y = jax.lax.psum(x @ w, "model") + jax.lax.axis_index("data")
        return jax.lax.all_gather(y, "data", tiled=True)

    f = jax.shard_map(step, mesh=mesh, in_specs=(P("data", "model"), P("model")), out_specs=P(), check_vma=False)
    place = jax.sharding.NamedSharding(mesh, P("data"))
    return jax.jit(lambda x, w: f(x, w) * 2, in_shardings=(place, None)).trace(
        np.ones((4, 6), np.float32), np.ones((6, 2), np.float32)).lower(lowering_platforms=("tpu",))


def of_donated_arguments():
    """One device: an output takes the place of the second argument. Four: it is not known which output may."""
    yield "donated", jax.jit(lambda x, y: (x.sum(), y + 1), donate_argnums=1).trace(
        np.ones(4, np.float32), np.ones((2, 3), np.float32)).lower(lowering_platforms=("tpu",))
    place = jax.sharding.NamedSharding(Mesh(np.array(jax.devices()), ("data",)), P("data"))
    yield "donor", jax.jit(lambda x: x + 1, donate_argnums=0, in_shardings=place).trace(
        np.ones(4, np.float32)).lower(lowering_platforms=("tpu",))


def of_callbacks():
    """In order in a function, a loop and a branch, with tokens of the program; then one without results, and without order."""
    callbacks.register()
    ordered = lambda x: io_callback(print, None, x, ordered=True)  # noqa: E731

    def f(x):
        ordered(x)
        jax.lax.fori_loop(0, 3, lambda i, _: (ordered(x), jax.lax.cond(i == 1, lambda: ordered(x), lambda: None), 0)[2], 0)
        jax.debug.callback(print, x)
        return jax.pure_callback(lambda x: x, x, x) + 1

    return jax.jit(f).trace(np.ones(4, np.float32)).lower(lowering_platforms=("weft",))


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
    module = of_several_devices().compiler_ir("stablehlo")
    (folder / "seed_shard_map").write_bytes(stablehlo.serialize_portable_artifact(module, VERSION, True))
    for name, lowered in of_donated_arguments():
        bytecode = stablehlo.serialize_portable_artifact(lowered.compiler_ir("stablehlo"), VERSION, name == "donor")
        (folder / f"seed_{name}").write_bytes(bytecode)
    (folder / "seed_callbacks").write_bytes(stablehlo.serialize_portable_artifact(of_callbacks().compiler_ir("stablehlo"), VERSION))
    print(f"{len(CHOSEN) + 4} programs in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
