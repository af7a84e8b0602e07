"""Weft's chips as devices of PyTorch/XLA.

    import weft.torch_plugin
    weft.torch_plugin.register()          # before the first device is asked for
    import torch_xla.core.xla_model as xm
    device = xm.xla_device()

Where the wheel is installed, PJRT_DEVICE=WEFT and PJRT_DYNAMIC_PLUGINS=1 with torch_xla.experimental.plugins do the same.
WEFT_CHIPS and WEFT_CORE name the chip and the core, as for JAX.
"""

import os

os.environ.setdefault("PJRT_DEVICE", "WEFT")  # torch_xla chooses the CPU when it is imported, and says so

import torch_xla  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
from torch_xla.experimental import plugins  # type: ignore[import-not-found,unused-ignore]  # noqa: E402

from weft._library import library_path, prepare  # noqa: E402


class Plugin(plugins.DevicePlugin):  # type: ignore[misc,unused-ignore]
    """What torch_xla asks of a plugin. One process has all chips."""

    def __init__(self) -> None:
        super().__init__()
        # The plugin reads StableHLO; torch_xla's own programs are HLO, which it converts if it is told so.
        os.environ["XLA_STABLEHLO_COMPILE"] = "1"

    def library_path(self) -> str:
        """The plugin's library. FileNotFoundError tells where it was looked for."""
        path = library_path()
        prepare(path)
        return str(path)


def register() -> None:
    """Makes Weft's chips the devices of torch_xla. RuntimeError: it has opened other devices already."""
    if torch_xla._XLAC._xla_runtime_is_initialized():
        raise RuntimeError("torch_xla has its devices already: call weft.torch_plugin.register() before the first one is asked for")
    os.environ["PJRT_DEVICE"] = "WEFT"
    plugins.register_plugin("WEFT", Plugin())
