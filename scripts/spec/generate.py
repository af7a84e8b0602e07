#!/usr/bin/env python3
"""Generates everything that follows from spec/: SystemVerilog packages, C and C++ headers, reference pages.

generate.py --spec SPEC --out DIR     headers and packages into DIR (files that do not change keep their time)
generate.py --spec SPEC --docs DIR    reference pages into DIR
generate.py --spec SPEC --docs DIR --check   exit 1 and name the page that is not current

Needs Python 3.11 (tomllib) and nothing else."""
import argparse
import sys
from pathlib import Path

import c_header
import cpp_header
import markdown
import systemverilog
import vfio_user
import vpu_tables
from model import Spec, SpecError


def write(path, text, check=False):
    """Writes only what changes, so that a build does no more than it must. Returns False if check finds a difference."""
    if path.exists() and path.read_text() == text:
        return True
    if check:
        print(f"{path} is not current: run scripts/spec/generate.py --spec spec --docs docs/reference", file=sys.stderr)
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", required=True, type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    try:
        spec = Spec(args.spec)
    except (SpecError, KeyError, ValueError) as error:
        print(f"spec: {error}", file=sys.stderr)
        return 1
    if args.out:
        write(args.out / "rtl" / "weft_pkg.sv", systemverilog.weft_pkg(spec))
        write(args.out / "rtl" / "vpu_table_pkg.sv", vpu_tables.systemverilog())
        for chip in spec.chips:
            write(args.out / "rtl" / chip["name"] / "chip_pkg.sv", systemverilog.chip_pkg(chip))
        include = args.out / "include" / "weft" / "spec"
        write(include / "spec.h", c_header.spec_h(spec))
        write(include / "commands.hpp", cpp_header.commands_hpp(spec))
        write(include / "command_fields.hpp", cpp_header.command_fields_hpp(spec))
        write(include / "chips.hpp", cpp_header.chips_hpp(spec))
        write(include / "names.hpp", cpp_header.names_hpp(spec))
        write(include / "ici.hpp", cpp_header.ici_hpp(spec))
        write(include / "dcn.hpp", cpp_header.dcn_hpp(spec))
        write(include / "vfio_user.hpp", vfio_user.vfio_user_hpp(spec))
        write(include / "vpu_table.hpp", vpu_tables.cpp())
    ok = True
    if args.docs:
        for name, make in (("commands", markdown.commands_md), ("host_interface", markdown.registers_md),
                           ("errors_faults_counters", markdown.errors_md), ("chips", markdown.chips_md), ("vfio_user", vfio_user.vfio_user_md)):
            ok &= write(args.docs / f"{name}.md", make(spec), args.check)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
