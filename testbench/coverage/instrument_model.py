"""Adds the collector's hooks to a model that Verilator has generated with coverage.

usage: instrument_model.py VERILATOR CACHE-FOLDER MODEL-FOLDER PREFIX HEADER SOURCE.sv ...

In the model's symbol table the constructor calls model_begins() before the counters register and the destructor
model_ends(); the points of packages are registered (package_points.py). The counters become plain integers: a model is
evaluated by one thread, and an atomic addition for each line of each cycle is most of the cost of coverage. A text that is
not there, or not as often as it should be, is an error.

HEADER: that of the same model without coverage, of the preset release's build. If it differs in nothing but the instances that the class points
to, and no code uses these pointers, the model takes it for its own, so that files that include it are compiled once for both builds (reused_objects.py).
"""
import pathlib
import re
import sys

import package_points

CONSTRUCTOR = "    // Configure time unit / time precision\n"
REGISTER = "    TOP.__Vconfigure(true);\n"


def replace_once(text: str, old: str, new: str, path: pathlib.Path) -> str:
    if text.count(old) != 1:
        raise SystemExit(f"{path}: expected {old.strip()!r} once, found it {text.count(old)} times; "
                         "is this another version of Verilator than 5.006?")
    return text.replace(old, new)


def registration(points: list[package_points.Insert]) -> str:
    lines = []
    for point in points:
        line, column, _, rest = point.arguments.split(", ", 3)
        lines.append(f'    weft::coverage::add_point(&__Vcoverage[{point.index}], "{point.file}", {line}, {column}, {rest});\n')
    return "".join(lines)


def instrument(folder: pathlib.Path, prefix: str, packages: list[package_points.Insert]) -> None:
    source = folder / f"{prefix}__Syms.cpp"
    text = source.read_text()
    root = f"{prefix}___024root"
    text = replace_once(text, "// FUNCTIONS\n",
                        '#include "collector.hpp"\n\n' f"void {root}___eval_final({root}* vlSelf);\n\n// FUNCTIONS\n", source)
    text = replace_once(text, f"{prefix}__Syms::~{prefix}__Syms()\n{{\n",
                        f"{prefix}__Syms::~{prefix}__Syms()\n{{\n    weft::coverage::model_ends(this);\n", source)
    text = replace_once(text, CONSTRUCTOR,
                        "    weft::coverage::model_begins(this, sizeof(*this), [](void* symbols) {\n"
                        f"        {root}___eval_final(&static_cast<{prefix}__Syms*>(symbols)->TOP);\n"
                        "    });\n" + CONSTRUCTOR, source)
    text = replace_once(text, REGISTER, REGISTER + registration(packages), source)
    source.write_text(text)

    counters = 0
    for path in sorted([*folder.glob(f"{prefix}*.cpp"), *folder.glob(f"{prefix}*.h")]):
        text = path.read_text()
        counters += len(re.findall(r"std::atomic<uint32_t> __Vcoverage\[\d+\];", text))
        plain = text.replace("std::atomic<uint32_t>", "uint32_t").replace(".fetch_add(1, std::memory_order_relaxed)", "++")
        if plain != text:
            path.write_text(plain)
    if counters != 1:
        raise SystemExit(f"{folder}: expected one array of coverage counters, found {counters}")


INSTANCE = re.compile(r"^    \w+\* const (__PVT__\w+);\n", re.M)
INITIALISED = re.compile(r"^    , __PVT__\w+\{\s*vlSymsp->TOP\.__PVT__\w+\}\n", re.M)
INCLUDES = '#include "verilated_cov.h"\n', '#include "svdpi.h"\n'


def ports(header: str) -> list[str]:
    """Lines of a model's header without its instances and without what they and the counters need."""
    text = re.sub(r"^class \w+;\n", "", INSTANCE.sub("", header), flags=re.M)
    return [line for line in text.splitlines(keepends=True) if line.strip() and line not in INCLUDES]


def take_header(folder: pathlib.Path, prefix: str, other: pathlib.Path) -> bool:
    """Whether the model's class is now that of the header `other`. Its pointers to instances are null."""
    header, symbols, source = folder / f"{prefix}.h", folder / f"{prefix}__Syms.h", folder / f"{prefix}.cpp"
    try:
        text = other.read_text()
    except OSError:
        return False
    if ports(text) != ports(header.read_text()):
        return False
    header.write_text(text)
    symbols.write_text(replace_once(symbols.read_text(), '#include "verilated.h"\n', '#include "verilated.h"\n' + "".join(INCLUDES), symbols))
    nulls = "".join(f"    , {name}{{nullptr}}\n" for name in INSTANCE.findall(text))
    source.write_text(replace_once(INITIALISED.sub("", source.read_text()), "    , rootp{", nulls + "    , rootp{", source))
    return True


def main(verilator: str, cache: pathlib.Path, folder: pathlib.Path, prefix: str, header: pathlib.Path, sources: list[pathlib.Path]) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    packages = [path for path in sources if path.stem.endswith("_pkg")]
    model = package_points.inserts(folder)
    found = []
    try:
        for package in packages:
            if "generated" in package.parts:      # from spec/: no RTL of its own to cover
                continue
            points = package_points.points_of(verilator, package, packages, cache)
            if points:
                found += package_points.unnamed(model, package, points)
    except package_points.PackageError as error:
        raise SystemExit(str(error)) from None
    instrument(folder, prefix, found)
    take_header(folder, prefix, header)


if __name__ == "__main__":
    if len(sys.argv) < 7:
        raise SystemExit(__doc__)
    main(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4], pathlib.Path(sys.argv[5]), [pathlib.Path(p) for p in sys.argv[6:]])
