"""ONNX networks."""

import contextlib
import ctypes
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weft import _abi
from weft._handles import Handle
from weft._library import call_above, library
from weft.errors import fresh
from weft.runs import RunReport, report_of

if TYPE_CHECKING:
    from weft.device import Device


def _numpy_type(name: str) -> np.dtype[Any]:
    """bf16: of ml_dtypes where that is installed, else uint16, its bits."""
    kind: Any = np.bool_ if name == "pred" else {"i": "int", "u": "uint", "f": "float", "b": "uint"}[name[0]] + name.lstrip("biuf")
    if name == "bf16":
        with contextlib.suppress(ImportError):
            import ml_dtypes

            kind = ml_dtypes.bfloat16
    made: np.dtype[Any] = np.dtype(kind)
    return made


@dataclass(frozen=True)
class TensorSpec:
    """An input or output of a network."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class Model:
    """A network that is compiled for the chips of one preset; made by `compile`. Any thread.

    inputs, outputs: in the network's order. parts: what runs where, in order: {"where": "device" or "host", "operators": {kind:
    number}, "reasons": {why the host: number}}.
    """

    def __init__(self, path: str, preset: str, bindings: Mapping[str, Any]) -> None:
        value = ctypes.c_void_p()
        call_above("weft_model_compile", os.fsencode(path), preset.encode(), json.dumps(bindings).encode(), ctypes.byref(value))
        assert value.value is not None
        self.path, self.preset = path, preset
        self._handle = Handle(value.value, "network", library().weft_model_release)
        text = ctypes.c_void_p()
        with self._handle as model:
            call_above("weft_model_describe", model, ctypes.byref(text))
        described = json.loads(taken(text))
        self.inputs, self.outputs = (
            [TensorSpec(t["name"], _numpy_type(t["type"]), tuple(t["shape"])) for t in described[kind]] for kind in ("inputs", "outputs")
        )
        self.parts: list[dict[str, Any]] = described["parts"]

    def __repr__(self) -> str:
        return f"<weft.Model {self.path} for {self.preset}>"

    def run(self, inputs: Mapping[str, NDArray[Any]], *, device: "Device | None" = None) -> dict[str, NDArray[Any]]:
        """The outputs by name on these inputs, of any strides. device: of the network's preset; None: `default_device()`. Blocks;
        calls on one device take turns. KeyError, TypeError, ValueError: an input's name, dtype or shape. Errors of the device."""
        return self.run_reported(inputs, device=device)[0]

    def run_reported(self, inputs: Mapping[str, NDArray[Any]], *, device: "Device | None" = None) -> tuple[dict[str, NDArray[Any]], RunReport]:
        """`run`, and what its launches took."""
        given = self._checked(inputs)
        if device is None:
            from weft.device import default_device

            device = default_device()
        made = {spec.name: np.empty(spec.shape, spec.dtype) for spec in self.outputs}
        report = fresh(_abi.weft_run_report)
        with device._runner_handle() as runner, device._handle, self._handle as model:
            call_above(
                "weft_runner_run", runner, model, _tensors(given), len(given), _tensors(list(made.values())), len(made), ctypes.byref(report)
            )  # fmt: skip
        return made, report_of(report)

    def _checked(self, inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        names = [spec.name for spec in self.inputs]
        for name in [*names, *inputs]:
            if name not in inputs or name not in names:
                raise KeyError(f"{'no' if name in names else 'an unknown'} input {name!r}: the network has {', '.join(names)}")
        given = []
        for spec in self.inputs:
            array = inputs[spec.name]
            if not isinstance(array, np.ndarray) or array.dtype != spec.dtype:
                kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
                raise TypeError(f"input {spec.name!r} is of {kind}: the network takes a NumPy array of {spec.dtype}")
            if array.shape != spec.shape:
                raise ValueError(f"input {spec.name!r} has the shape {array.shape}: the network takes {spec.shape}")
            given.append(np.ascontiguousarray(array))
        return given


def compile(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    preset: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    symbols: Mapping[str, int] | None = None,
    precision: str = "bf16",
) -> Model:
    """Compiles an ONNX network (opsets 7 to 23); operators that the chip has no commands for will run on the host.

    preset: of the chip; None: that of `default_device()`. shapes: of inputs; symbols: sizes of symbolic dimensions. precision: of
    products of float32: "bf16" (operands rounded to bf16, sums in f32), "bf16x3" or "bf16x6" (sums of 3 or 6 products of bf16 parts:
    about 16 and 24 bits). Needs no device if the preset is named. Error: INVALID_ARGUMENT (no network, shapes that are not known, no
    such precision), UNSUPPORTED (an operator).
    """
    if preset is None:
        from weft.device import default_device

        preset = default_device().info.preset
    bindings = {"shapes": {name: list(map(int, dims)) for name, dims in (shapes or {}).items()}, "symbols": {name: int(size) for name, size in (symbols or {}).items()}, "precision": precision}
    return Model(os.fspath(path), preset, bindings)


def taken(text: ctypes.c_void_p) -> str:
    """A text that the library has made, which goes back to it."""
    try:
        return ctypes.string_at(text).decode() if text.value else ""
    finally:
        library().weft_text_release(text)


def _tensors(arrays: Sequence[NDArray[Any]]) -> Any:
    tensors = (_abi.weft_tensor * max(len(arrays), 1))()
    for tensor, array in zip(tensors, arrays, strict=False):
        tensor.data, tensor.bytes = array.ctypes.data, array.nbytes
    return tensors
