"""Writes weft/spec/spec.h: constants, enumerations and shared structures for C11, C++20 and freestanding firmware."""
from model import field_mask, struct_bytes

BANNER = "// Generated from spec/ by scripts/spec. Do not edit.\n"
C_TYPE = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t"}


def number(value):
    return f"{value:#x}u" if value < 2**32 else f"UINT64_C({value:#x})"


def struct(item):
    """Gaps become named padding, so that the layout is the same for every compiler."""
    out = f"/* {item['doc']} */\ntypedef struct weft_{item['name']} {{\n"
    position, gap = 0, 0
    for field in sorted(item["fields"], key=lambda f: f["offset"]):
        if field["offset"] > position:
            out += f"  uint8_t padding{gap}[{field['offset'] - position}];\n"
            gap += 1
        count = f"[{field['count']}]" if field.get("count", 1) > 1 else ""
        out += f"  {C_TYPE[field['type']]} {field['name']}{count}; /* {field['doc']} */\n"
        position = field["offset"] + struct_bytes(field)
    if position < item["bytes"]:
        out += f"  uint8_t padding{gap}[{item['bytes'] - position}];\n"
    out += f"}} weft_{item['name']};\n"
    out += f"WEFT_STATIC_ASSERT(sizeof(weft_{item['name']}) == {item['bytes']}, \"weft_{item['name']}\");\n"
    for field in item["fields"]:
        out += (f"WEFT_STATIC_ASSERT(offsetof(weft_{item['name']}, {field['name']}) == {field['offset']}, "
                f"\"weft_{item['name']}.{field['name']}\");\n")
    return out + "\n"


def enum(name, values, prefix=None):
    prefix = prefix or f"WEFT_{name.upper()}_"
    rows = "".join(f"  {prefix}{v['name'].upper()} = {v['value']},{' /* ' + v['doc'] + ' */' if 'doc' in v else ''}\n" for v in values)
    return f"typedef enum weft_{name} {{\n{rows}}} weft_{name};\n\n"


def spec_h(spec):
    host, core, cmd = spec.host, spec.core, spec.commands
    out = [BANNER, "#pragma once\n#include <stddef.h>\n#include <stdint.h>\n\n",
           "#ifdef __cplusplus\n#define WEFT_STATIC_ASSERT(x, text) static_assert(x, text)\n#else\n"
           "#define WEFT_STATIC_ASSERT(x, text) _Static_assert(x, text)\n#endif\n\n"]
    define = lambda name, value: out.append(f"#define WEFT_{name} {number(value)}\n")
    for key in ("abi_major", "abi_minor", "magic", "isa_version", "isa_oldest", "reset_key"):
        define(key.upper(), host[key])
    for key, value in host["pci"].items():
        define(f"PCI_{key.upper()}", value)
    for key, value in host["limits"].items():
        define(f"LIMIT_{key.upper()}", value)
    out.append("\n/* A field of a register: of its value, and of a number what to write */\n"
               "#define WEFT_FIELD(mask, value) (((value) & (mask)) / ((mask) & (~(mask) + 1u)))\n"
               "#define WEFT_TO_FIELD(mask, number) (((number) * ((mask) & (~(mask) + 1u))) & (mask))\n")
    out.append("\n/* BAR0 registers: byte offsets, and the bits of their fields */\n")

    def fields(name, register):
        for field in register.get("fields", []):
            define(f"{name}_{field['name'].upper()}", field_mask(field))

    for reg in host["register"]:
        define(f"REG_{reg['name']}", reg["offset"])
        fields(f"REG_{reg['name']}", reg)
    out.append("\n/* Core registers, on the manager's side: byte offsets, 64-bit accesses, and the bits of their fields */\n")
    for reg in spec.csr["register"]:
        define(f"CSR_{reg['name']}", reg["offset"])
        if reg.get("count", 1) > 1:
            define(f"CSR_{reg['name']}_STRIDE", reg["stride"])
        fields(f"CSR_{reg['name']}", reg)
    out.append("\n/* Shared parameters of the tensor core */\n")
    for key, value in core.items():
        if not isinstance(value, dict):
            define(f"CORE_{key.upper()}", value)
    for key, value in core["manager"].items():
        define(f"MANAGER_{key.upper()}", value)
    define("COMMAND_BYTES", cmd["size_bytes"])
    define("NO_SEMAPHORE", cmd["no_semaphore"])
    out.append("/* Byte offsets of fields in a command */\n")
    for field in cmd["header"]["fields"]:
        define(f"COMMAND_{field['name'].upper()}", field["offset"])
    for body in cmd["body"]:
        for field in body["fields"]:
            define(f"COMMAND_{body['name'].upper()}_{field['name'].upper()}", field["offset"])
    define("SEMAPHORES", cmd["semaphores"])
    define("REMOTE_SEMAPHORE_FIRST", cmd["remote_semaphore_first"])
    define("SEGMENTS", cmd["segments"])
    define("COUNTERS", len(spec.counter_list))
    define("LAST_FAULT", max(f["code"] for f in spec.faults["fault"]))
    out.append("\n/* Completion status fields */\n#define WEFT_STATUS_PHASE(s) ((s) & 1u)\n#define WEFT_STATUS_CLASS(s) (((s) >> 1) & 0xfu)\n"
               "#define WEFT_STATUS_CODE(s) (((s) >> 5) & 0xffffu)\n#define WEFT_STATUS_RETRYABLE(s) (((s) >> 21) & 1u)\n"
               "#define WEFT_STATUS_MORE(s) (((s) >> 22) & 1u)\n"
               "#define WEFT_STATUS_CHECK(s) ((s) >> 24)\n"
               "#define WEFT_STATUS_WITH_CHECK(s, crc) (((s) & 0xffffffu) | (((uint32_t)(crc) & 0xffu) << 24))\n"
               "#define WEFT_STATUS(phase, class_, code, retryable, more) (((uint32_t)(phase) & 1u) | (((uint32_t)(class_) & 0xfu) << 1) | "
               "(((uint32_t)(code) & 0xffffu) << 5) | (((uint32_t)(retryable) & 1u) << 21) | (((uint32_t)(more) & 1u) << 22))\n\n")
    out.append(enum("error", spec.errors["error"], "WEFT_ERROR_"))
    out.append(enum("error_class", spec.errors["error_class"]))
    out.append(enum("fault", [{"name": "NONE", "value": 0}] + [dict(f, value=f["code"]) for f in spec.faults["fault"]]))
    out.append(enum("queue_index", [dict(q, value=q["index"]) for q in cmd["queue"]], "WEFT_QUEUE_"))
    out.append(enum("unit_index", [{"name": u["name"], "value": u["index"]} for u in cmd["unit"]], "WEFT_UNIT_"))
    out.append(enum("opcode", cmd["opcode"]))
    for item in spec.core_enums:
        out.append(enum(item["name"], item["values"]))
    for item in host["host_enum"] + spec.executable["exec_enum"]:
        out.append(enum(item["name"], item["values"]))
    out.append(enum("counter", [{"name": n, "value": i, "doc": f"{u}: {d}"} for i, n, u, d in spec.counter_list]))
    for key, value in spec.executable.items():
        if isinstance(value, int):
            define(f"EXECUTABLE_{key.upper()}", value)
    out.append("\n")
    for item in host["struct"] + spec.executable["struct"]:
        out.append(struct(item))
    return "".join(out)
