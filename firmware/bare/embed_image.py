"""Writes the firmware's image as a C++ source, and as a file for weft-sim --image (model/sim/image_file.hpp): the bytes of its ROM, where its
state lies, its functions for backtraces.

usage: embed_image.py IMAGE.elf OUTPUT.cpp OUTPUT.image
"""
import re
import shutil
import struct
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path

STATE = "weft::fw::the_state"
INTERFACE = Path(__file__).resolve().parents[2] / "spec/host_interface.toml"


def run(tool, *arguments):
    path = shutil.which(f"riscv64-unknown-elf-{tool}")
    if path is None:
        sys.exit(f"riscv64-unknown-elf-{tool} is missing")
    return subprocess.run([path, *arguments], check=True, capture_output=True).stdout


def symbols(image):
    """(address, bytes, type, name) of each, by address. Assembler labels have no size."""
    found = []
    for line in run("nm", "-n", "-S", "-C", image).decode().splitlines():
        fields = re.fullmatch(r"([0-9a-f]+)(?: ([0-9a-f]+))? (\w) (.*)", line)
        if fields:
            found.append((int(fields[1], 16), int(fields[2] or "0", 16), fields[3], fields[4]))
    return found


def image_file(rom, state, functions):
    """`functions`: (address, name), by address."""
    interface = tomllib.loads(INTERFACE.read_text())
    names = "".join(f"{address:x} {name}\n" for address, name in functions).encode("ascii")
    header = struct.pack("<8s5I", b"WEFTIMG\n", interface["abi_major"] << 16 | interface["abi_minor"], *state, len(rom), len(names))
    return header + struct.pack("<I", zlib.crc32(header + rom + names)) + rom + names


def main():
    image, output, file = sys.argv[1:4]
    binary = Path(output).with_suffix(".bin")
    run("objcopy", "-O", "binary", "-j", ".text", "-j", ".rodata", image, str(binary))
    rom = binary.read_bytes()
    found = symbols(image)
    state = next(((address, size) for address, size, _, name in found if name == STATE), None)
    if state is None or not rom:
        sys.exit(f"{image}: no {STATE}, or no code")
    functions = sorted({(address, name) for address, _, kind, name in found if kind in "tT" and not name.startswith((".", "$"))})
    rows = [", ".join(f"0x{byte:02x}" for byte in rom[at:at + 24]) for at in range(0, len(rom), 24)]
    quoted = [(address, name.replace("\\", "\\\\").replace('"', '\\"')) for address, name in functions]
    Path(output).write_text(f"""// Made by firmware/bare/embed_image.py.
#include "firmware/image.hpp"

namespace weft::fw {{
namespace {{

constexpr unsigned char kRom[] = {{
{chr(10).join(row + "," for row in rows)}
}};
constexpr ImageFunction kFunctions[] = {{
{chr(10).join(f'{{0x{address:x}, "{name}"}},' for address, name in quoted)}
}};

}}  // namespace

const Image* embedded_image() {{
  static const Image image{{std::as_bytes(std::span(kRom)), 0x{state[0]:x}, {state[1]}, 0x{zlib.crc32(rom):08x}, kFunctions}};
  return &image;
}}

}}  // namespace weft::fw
""")
    Path(file).write_bytes(image_file(rom, state, functions))
    return 0


if __name__ == "__main__":
    sys.exit(main())
