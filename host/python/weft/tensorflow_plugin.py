"""TensorFlow's functions on Weft's chips.

    import weft.tensorflow_plugin
    forward = weft.tensorflow_plugin.on_chip(model)     # any Python function of tensors, or a tf.function
    y = forward(x)                                      # a tf.Tensor, or whatever structure of them the function returns

TensorFlow's own compiler makes StableHLO of the function, through jax2tf.call_tf, and JAX's plugin compiles and runs that: what is said of JAX holds
(docs/jax.md). TensorFlow itself takes devices from a library of C++ that is built for its version, so its own placement does not know the chips.

WEFT_CHIPS and WEFT_CORE name the chip and the core, as for JAX. Needs tensorflow, or tensorflow-cpu, and jax beside this package.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import tensorflow as tf  # type: ignore[import-not-found,import-untyped,unused-ignore]
from jax.experimental import jax2tf
from jax.interpreters import mlir

PLATFORM = "weft"


@functools.cache
def register() -> None:
    """Tells JAX how jax2tf.call_tf is lowered for Weft: as for the CPU. ImportError: this release of JAX lowers it in another way. Any thread."""
    jax.devices(PLATFORM)  # a platform is known once it has been asked for
    module = importlib.import_module("jax.experimental.jax2tf.call_tf")
    try:
        primitive, lowering = module.call_tf_p, module._call_tf_lowering
    except AttributeError as error:
        raise ImportError(f"jax {jax.__version__} lowers jax2tf.call_tf in another way: {error}") from None
    mlir.register_lowering(primitive, functools.partial(lowering, platform="cpu"), platform=PLATFORM)


class _Compiled:
    """A function for arguments of one signature, with the values of the variables that it reads as constants."""

    def __init__(self, function: Any, variables: list[np.ndarray]) -> None:
        self.variables = variables
        self.call = jax.jit(jax2tf.call_tf(function, has_side_effects=False))

    def has(self, variables: list[np.ndarray]) -> bool:
        return all(np.array_equal(ours, now, equal_nan=ours.dtype.kind == "f") for ours, now in zip(self.variables, variables, strict=True))


def on_chip(function: Callable[..., Any], *, device: int = 0) -> Callable[..., Any]:
    """The function on chip `device`: takes and returns what `function` does, with tensors of any shapes whose dtypes are bool, i8 to i32, u8 to u32, bf16, f16
    or f32. It is compiled for each set of shapes and dtypes. Variables are constants of the program: where one has changed since, it is compiled again, so
    what a step of training changes is better an argument and a result. Products of f32 are one pass of bf16, the default precision of a TPU.

    IndexError: there is no such chip. ValueError: the function assigns to variables, or has operators or results that TensorFlow cannot compile; its text names
    them. Errors of a call are jax.errors.JaxRuntimeError with the chip's words. One thread at a time.
    """
    register()
    chips = jax.devices(PLATFORM)
    if not 0 <= device < len(chips):
        raise IndexError(f"there is no chip {device}: {len(chips)} of them are open (WEFT_CHIPS)")
    traced = tf.function(function, autograph=False, jit_compile=True)
    known: dict[Any, _Compiled] = {}

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        tensors = jax.tree.map(tf.convert_to_tensor, arguments)
        concrete = traced.get_concrete_function(*tensors)
        assigned = sorted({op.type for op in concrete.graph.get_operations() if op.type.startswith("Assign")})
        if assigned:
            raise ValueError(f"the function assigns to variables ({', '.join(assigned)}): return what it changes, and take it as an argument")
        variables = [variable.numpy() for variable in concrete.variables]
        compiled = known.get(concrete)
        if compiled is None or not compiled.has(variables):
            compiled = known[concrete] = _Compiled(traced, variables)
        moved = jax.tree.map(lambda tensor: jax.device_put(tensor.numpy(), chips[device]), tensors)
        return jax.tree.map(tf.convert_to_tensor, jax.device_get(compiled.call(*moved)))

    return run
