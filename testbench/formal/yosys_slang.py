#!/usr/bin/env python3
"""Yosys 0.70 with the slang front end, as a program: the native library that PyPI's pyosys brings (.venv, scripts/packages).

usage: yosys_slang.py SCRIPT        as `yosys -q -s SCRIPT`: errors and warnings alone are printed, to standard error
Exit code 0: the script ran to its end; 1: an error, or there is no pyosys."""
import os
import sys
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "python"


def command(script):
    """What runs a script."""
    return [__file__, str(script)]


def main():
    if len(sys.argv) != 2:
        print("ERROR: usage: yosys_slang.py SCRIPT", file=sys.stderr)
        return 1
    if Path(sys.prefix) != PYTHON.parents[1] and PYTHON.exists():  # what pyosys is built for, whatever python3 comes first in PATH
        os.execv(PYTHON, [str(PYTHON), "-B", "-P", __file__, sys.argv[1]])
    try:
        from pyosys import libyosys
    except ImportError as error:
        print(f"ERROR: {error}: scripts/packages installs pyosys", file=sys.stderr)
        return 1
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the log; an error ends the process with code 1
    libyosys.run_pass(f"script {sys.argv[1]}", libyosys.Design())
    return 0


if __name__ == "__main__":
    sys.exit(main())
