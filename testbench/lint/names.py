#!/usr/bin/env python3
"""Names in the RTL, by Verible: files and their modules, signals, ports, parameters, types, labels (CONTRIBUTING.md); and what is legal but seldom meant.

usage: names.py SOURCE_FOLDER      (Verible stands in .venv: scripts/packages)
Exit code 0: no finding; 1: the findings, or a file that Verible could not read; 2: Verible is missing."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RULES = ("module-filename", "package-filename", "one-module-per-file",
         "signal-name-style",             # lower_snake
         "port-name-suffix",              # _i, _o
         "parameter-name-style",          # UpperCamel
         "enum-name-style", "struct-union-name-style",  # _e, _t
         "generate-label", "generate-label-prefix",     # gen_
         "interface-name-style", "macro-name-style", "mismatched-labels", "explicit-parameter-storage-type",
         "always-comb", "always-comb-blocking", "case-missing-default", "disable-statement", "explicit-function-lifetime", "explicit-task-lifetime",
         "forbid-consecutive-null-statements", "forbid-defparam", "invalid-system-task-function",  # $random has no seed
         "packed-dimensions-range-ordering", "suggest-parentheses", "suspicious-semicolon", "truncated-numeric-literal", "undersized-binary-literal",
         "void-cast")
# Verible takes the keywords of Verilog-AMS for keywords; to SystemVerilog, Verilator, slang and Yosys they are names. It sees them with a 0 behind.
RESERVED = re.compile(r"\b(inf|units)\b")


def main():
    root = Path(sys.argv[1]).resolve()
    verible = root / ".venv" / "bin" / "verible-verilog-lint"
    if not verible.is_file():
        print(f"{verible} is missing: run scripts/packages", file=sys.stderr)
        return 2
    sources = sorted((root / "rtl").rglob("*.sv"))
    if not sources:
        print("no file was looked at", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="weft-names-") as folder:
        names = [RESERVED.sub(r"\g<1>0", str(source.relative_to(root))) for source in sources]
        for source, name in zip(sources, names, strict=True):
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(RESERVED.sub(r"\g<1>0", source.read_text()))
        done = subprocess.run([verible, "--ruleset", "none", "--rules", ",".join(RULES), *names], cwd=folder, capture_output=True, text=True)
    sys.stderr.write(done.stdout + done.stderr)
    print(f"{len(sources)} files looked at")
    return 1 if done.returncode != 0 or done.stdout or done.stderr else 0


if __name__ == "__main__":
    sys.exit(main())
