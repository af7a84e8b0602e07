#!/usr/bin/env python3
"""Elaborates the tensor core with slang, a second SystemVerilog front end beside Verilator: no error, every file used.

usage: slang_lint.py RTL_FOLDER GENERATED_RTL_FOLDER CHIP      (Python of .venv, which has pyslang)
Exit code 0: no error; 1: errors, on standard error."""
import sys
from pathlib import Path

try:
    from pyslang import driver
except ImportError:
    sys.exit("slang_lint.py: no pyslang in this Python: scripts/packages installs it into .venv")


def main():
    rtl, generated, chip = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    first = [generated / "weft_pkg.sv", generated / chip / "chip_pkg.sv"]
    first += [rtl / "common" / "core_pkg.sv", rtl / "common" / "port_pkg.sv"]
    first += sorted(set(generated.glob("*.sv")) - set(first))
    packages = sorted(set(rtl.glob("*/*_pkg.sv")) - set(first))
    modules = sorted(set(rtl.glob("*/*.sv")) - set(packages) - set(first))
    sources = first + packages + modules
    missing = [path for path in first if not path.is_file()]
    if missing or not modules:
        sys.exit(f"slang_lint.py: no {missing[0] if missing else rtl}: build the target weft_spec_generate")
    slang = driver.Driver()
    slang.addStandardArgs()
    # every module is a top of its own, with its default parameters: some stand in branches that the core does not take
    tops = [word for path in modules for word in ("--top", path.stem)]
    good = slang.parseCommandLine(" ".join(["slang", *tops, *map(str, sources)]))
    good = good and slang.processOptions() and slang.parseAllSources()
    compilation = slang.createCompilation()
    slang.reportCompilation(compilation, True)
    good = slang.reportDiagnostics(True) and good
    elaborated = {instance.name for instance in compilation.getRoot().topInstances}
    left = {path.stem for path in modules} - elaborated
    print(f"slang_lint.py: {len(sources)} files, {len(elaborated)} modules: {'no error' if good else 'errors'}")
    if left:
        print(f"slang_lint.py: not elaborated: {', '.join(sorted(left))}", file=sys.stderr)
    return 0 if good and not left else 1


if __name__ == "__main__":
    sys.exit(main())
