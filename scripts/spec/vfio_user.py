"""Writes the layouts of vfio-user messages: weft/spec/vfio_user.hpp and their reference page."""
from markdown import BANNER as PAGE_BANNER
from markdown import table
from model import camel, struct_bytes

BANNER = "// Generated from spec/ by scripts/spec. Do not edit.\n"
INT = {"u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t"}


def message(struct):
    """Fields lie one behind the other, without gaps: the spec's check says so."""
    name = camel(struct["name"])
    out = f"/// {struct['doc']}.\nstruct {name} {{\n"
    out += "".join(f"  {INT[field['type']]} {field['name']};  ///< {field['doc']}\n" for field in struct["fields"])
    out += f"}};\nstatic_assert(sizeof({name}) == {struct['bytes']});\n"
    out += "".join(f"static_assert(offsetof({name}, {field['name']}) == {field['offset']});\n" for field in struct["fields"])
    return out + "\n"


def vfio_user_hpp(spec):
    vfio = spec.vfio_user
    out = [BANNER, "/// Layout of the vfio-user messages that simulator and driver speak (docs/interop/vfio-user.rst of QEMU).\n"
           "/// Little-endian.\n#pragma once\n#include <cstddef>\n#include <cstdint>\n\nnamespace weft::spec::vfio_user {\n\n",
           f"inline constexpr uint16_t kMajor = {vfio['major']};\ninline constexpr uint16_t kMinor = {vfio['minor']};\n\n",
           "enum class Command : uint16_t {\n", *(f"  k{camel(name)} = {value},\n" for name, value in vfio["command"].items()), "};\n\n"]
    out += [message(struct) for struct in vfio["struct"]]
    out += [f"inline constexpr uint32_t k{camel(name)} = {constant['value']:#x};  ///< {constant['doc']}\n" for name, constant in vfio["constant"].items()]
    return "".join([*out, "\n}  // namespace weft::spec::vfio_user\n"])


def vfio_user_md(spec):
    vfio = spec.vfio_user
    out = [PAGE_BANNER, f"# Messages of vfio-user\n\nVersion {vfio['major']}.{vfio['minor']}; little-endian. The protocol is docs/interop/vfio-user.rst of QEMU: "
           "here stands what weft-sim and the driver speak of it.\n\n## Commands\n\n",
           table(["value", "command"], [(value, f"`{name.upper()}`") for name, value in vfio["command"].items()]),
           "## Flags\n\n", table(["name", "value", "meaning"], [(f"`{name}`", f"{c['value']:#x}", c["doc"]) for name, c in vfio["constant"].items()])]
    for struct in vfio["struct"]:
        out += [f"## `{struct['name']}`, {struct['bytes']} bytes\n\n{struct['doc']}.\n\n",
                table(["offset", "bytes", "field", "meaning"], [(f["offset"], struct_bytes(f), f"`{f['name']}`", f["doc"]) for f in struct["fields"]])]
    return "".join(out)
