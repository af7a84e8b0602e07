"""The weft command of the wheel."""

import os
import pathlib
import sys


def main() -> None:
    """Becomes the command that lies in this package, with the simulator beside it."""
    folder = pathlib.Path(__file__).resolve().parent / "bin"
    os.environ.setdefault("WEFT_SIM", str(folder / "weft-sim"))
    try:
        os.execv(folder / "weft", ["weft", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"weft: {error}: the command comes with the wheel, which scripts/wheel makes")
