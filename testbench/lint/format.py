#!/usr/bin/env python3
"""C and C++ are as .clang-format has them; no line of SystemVerilog is longer than 100 columns.

usage: format.py SOURCE_FOLDER
Exit code 0: all are; 1: the places that are not, on standard error, and the command that mends them."""
import subprocess
import sys
from pathlib import Path

FOLDERS = ("base", "driver", "firmware", "host", "model", "testbench")
FORMATTER = "clang-format-16"
COLUMNS = 100


def main():
    root = Path(sys.argv[1])
    sources = sorted(f for folder in FOLDERS for f in (root / folder).rglob("*")
                     if f.suffix in (".c", ".cpp", ".h", ".hpp"))
    bad = subprocess.run([FORMATTER, "--dry-run", "--Werror", *map(str, sources)], capture_output=True, text=True)
    sys.stderr.write(bad.stderr)
    if bad.returncode != 0:
        print(f"mend with: {FORMATTER} -i FILE", file=sys.stderr)
    long_lines = [f"{f.relative_to(root)}:{number}: {len(line)} columns, the limit is {COLUMNS}"
                  for f in sorted((root / "rtl").rglob("*.sv"))
                  for number, line in enumerate(f.read_text().splitlines(), 1) if len(line) > COLUMNS]
    print(*long_lines, sep="\n", file=sys.stderr)
    print(f"{len(sources)} C and C++ files looked at")
    return 1 if bad.returncode != 0 or long_lines else 0


if __name__ == "__main__":
    sys.exit(main())
