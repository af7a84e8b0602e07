"""The last test that a mutant must pass: rtl/ is free of lint (rtl/CMakeLists.txt). Of what Verilator warns of, only a latch counts,
because other warnings may come of the way a change is written and not of what it does."""
from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from design import BYTES, compile_order, package_files
from mutant import Mutant

STAGE = "lint"
WARNING = "-LATCH:"


def makes_latch(root: Path, packages: Path, mutant: Mutant) -> bool:
    """Whether Verilator sees a latch in the whole core at nano with the plain change in it."""
    with tempfile.TemporaryDirectory(prefix="weft-mutant-") as folder:
        rtl = Path(folder) / "rtl"
        shutil.copytree(root / "rtl", rtl)
        file = Path(folder) / mutant.change.file
        file.write_text(mutant.change.apply(file.read_text(encoding=BYTES)), encoding=BYTES)
        sources = compile_order(package_files(packages) + list(rtl.glob("*/*.sv")))
        done = subprocess.run(["verilator", "--lint-only", "-Wall", "-Wno-fatal", "--timescale", "1ns/1ps", "--top-module",
                               "weft_core", *map(str, sources)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return WARNING in done.stdout
