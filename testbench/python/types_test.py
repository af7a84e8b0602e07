#!/usr/bin/env python3
"""mypy --strict on the package as it is installed, and that it finds a wrong use.

usage: types_test.py MYPY      the program; scripts/packages installs it into .venv"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from weft_package import BUILD, ROOT

WRONG = "import weft\n\nweft.open(3)\nweft.gemm(1, 2).shape\nweft.devices()[0].title\n"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="weft-types-") as name:
        folder = pathlib.Path(name)
        shutil.copytree(ROOT / "host/python/weft", folder / "weft", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(BUILD / "python/weft/_abi.py", folder / "weft")
        (folder / "wrong.py").write_text(WRONG)
        command = [sys.argv[1], "--strict", "--cache-dir", str(BUILD / "mypy"), "--no-error-summary"]
        package = subprocess.run([*command, "-p", "weft"], cwd=folder, capture_output=True, text=True)
        print(package.stdout, package.stderr, sep="", end="")
        wrong = subprocess.run([*command, "wrong.py"], cwd=folder, capture_output=True, text=True)
    found = wrong.stdout.count("wrong.py:")
    if found != 4:
        print(f"{found} of 4 wrong uses are found:\n{wrong.stdout}")
    print(f"{len(list((ROOT / 'host/python/weft').glob('*.py')))} files looked at")
    return package.returncode or found != 4


if __name__ == "__main__":
    sys.exit(main())
