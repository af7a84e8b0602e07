"""Writes the C++ headers: typed commands with encoder and decoder, chip presets, and name tables."""
from model import camel

BANNER = "// Generated from spec/ by scripts/spec. Do not edit.\n"
HEAD = BANNER + "#pragma once\n"
INT = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 5: "uint64_t"}


def ctype(field):
    return ("int32_t" if field.get("signed") else INT[field["bytes"]])


def default(field):
    if field["name"].startswith(("wait_sem", "post_sem")):
        return " = 0xff"
    return " = 1" if field["name"] in ("size1", "size2", "size3") else " = 0"


def commands_hpp(spec):
    cmd = spec.commands
    out = [HEAD, "#include <array>\n#include <cstdint>\n#include <cstring>\n#include <span>\n#include <string_view>\n\n",
           '#include "weft/spec/spec.h"\n\nnamespace weft::spec {\n\n',
           "/// One tensor core command as it lies in memory: 64 bytes, little-endian.\n"
           "struct alignas(64) Command {\n  std::array<uint8_t, 64> bytes{};\n  bool operator==(const Command&) const = default;\n};\n"
           "static_assert(sizeof(Command) == 64);\n\n"
           "/// Reads `count` (1 to 8) little-endian bytes at `offset`.\n"
           "inline uint64_t load_le(const Command& c, unsigned offset, unsigned count) {\n  uint64_t v = 0;\n"
           "  for (unsigned i = 0; i < count; i++) v |= static_cast<uint64_t>(c.bytes[offset + i]) << (8 * i);\n  return v;\n}\n"
           "/// Writes the low `count` bytes of `v` little-endian at `offset`.\n"
           "inline void store_le(Command& c, unsigned offset, unsigned count, uint64_t v) {\n"
           "  for (unsigned i = 0; i < count; i++) c.bytes[offset + i] = static_cast<uint8_t>(v >> (8 * i));\n}\n\n"]

    def block(name, fields, header):
        out.append(f"struct {name} {{\n")
        if header:
            out.append("  CommandHeader header;\n")
        for f in fields:
            out.append(f"  {ctype(f)} {f['name']}{default(f)};  ///< {f['doc']}\n")
        out.append(f"  bool operator==(const {name}&) const = default;\n}};\n")

    def codec(name, fields, header, fn):
        out.append(f"inline void encode_into(Command& c, const {name}& v) {{\n")
        if header:
            out.append("  encode_into(c, v.header);\n")
        for f in fields:
            out.append(f"  store_le(c, {f['offset']}, {f['bytes']}, static_cast<uint64_t>(v.{f['name']}));\n")
        out.append("}\n")
        out.append(f"inline Command encode(const {name}& v) {{\n  Command c;\n  encode_into(c, v);\n  return c;\n}}\n")
        out.append(f"inline {name} decode_{fn}(const Command& c) {{\n  {name} v;\n")
        if header:
            out.append("  v.header = decode_header(c);\n")
        for f in fields:
            out.append(f"  v.{f['name']} = static_cast<{ctype(f)}>(load_le(c, {f['offset']}, {f['bytes']}));\n")
        out.append("  return v;\n}\n\n")

    out.append("/// Bytes 0 to 15 of every command.\n")
    block("CommandHeader", cmd["header"]["fields"], False)
    codec("CommandHeader", cmd["header"]["fields"], False, "header")
    for body in cmd["body"]:
        name = camel(body["name"]) + "Command"
        out.append(f"/// A command with body `{body['name']}`.\n")
        block(name, body["fields"], True)
        codec(name, body["fields"], True, body["name"])
    out.append("enum class Body : uint8_t { " + ", ".join(f"k{camel(b['name'])}" for b in cmd["body"]) + " };\n")
    queues = {q["name"]: q["index"] for q in cmd["queue"]}
    out.append("/// What the specification says of an opcode. queue_mask: bit q set if legal on queue q.\n"
               "/// slice: built for cores that stand in a slice.\n"
               "struct OpcodeInfo {\n  std::string_view name;\n  uint8_t value;\n  Body body;\n  bool built;\n  bool slice;\n  uint8_t queue_mask;\n};\n")
    rows = ", ".join(f'OpcodeInfo{{"{o["name"]}", {o["value"]}, Body::k{camel(o["body"])}, {str(o["built"]).lower()}, {str(o.get("slice", False)).lower()}, '
                     f'{sum(1 << queues[q] for q in o["queues"])}}}' for o in cmd["opcode"])
    out.append(f"inline constexpr std::array<OpcodeInfo, {len(cmd['opcode'])}> kOpcodes{{{rows}}};\n")
    out.append("/// nullptr for an opcode that does not exist.\ninline const OpcodeInfo* find_opcode(uint8_t value) {\n"
               "  for (const auto& o : kOpcodes)\n    if (o.value == value) return &o;\n  return nullptr;\n}\n")
    out.append("/// The oldest version of the commands (WEFT_ISA_VERSION) that has this one.\n"
               "inline uint32_t isa_version(const Command& c) {\n  [[maybe_unused]] const OpcodeInfo* opcode = find_opcode(c.bytes[0]);\n")
    for rule in cmd["newer"]:
        opcode = next(o for o in cmd["opcode"] if o["name"] == rule["opcode"])
        fields = {f["name"]: f for b in cmd["body"] if b["name"] == opcode["body"] for f in b["fields"]}
        when = "".join(f" && load_le(c, {fields[w['field']]['offset']}, {fields[w['field']]['bytes']}) "
                       + (f"== {w['is']}" if "is" in w else f"!= {w['not']}") for w in rule["when"])
        out.append(f"  if (c.bytes[0] == {opcode['value']}{when}) return {rule['isa']};\n")
    for b in cmd["body"]:
        for f in b["fields"]:
            for v in spec.enum(f["enum"])["values"] if "enum" in f else []:
                if "isa" in v:
                    out.append(f"  if (opcode != nullptr && opcode->body == Body::k{camel(b['name'])} && load_le(c, {f['offset']}, {f['bytes']}) == {v['value']}) return {v['isa']};\n")
    out.append(f"  return {spec.host['isa_oldest']};\n}}\n")
    flags = sum(v["value"] for v in spec.enum("command_flag")["values"] if v["built"])
    out.append(f"inline constexpr uint8_t kFlagsBuilt = {flags};\n")
    slices = sum(v["value"] for v in spec.enum("command_flag")["values"] if v.get("slice"))
    out.append(f"/// Those that only cores in a slice know.\ninline constexpr uint8_t kFlagsSlice = {slices};\n")
    out.append("\n}  // namespace weft::spec\n")
    return "".join(out)


def command_fields_hpp(spec):
    """The fields of commands as tables, which few files need."""
    cmd = spec.commands
    out = [HEAD, "#include <array>\n#include <cstdint>\n#include <span>\n#include <string_view>\n\n",
           '#include "weft/spec/commands.hpp"\n\nnamespace weft::spec {\n\n']
    out.append("/// A field of a command, for disassembly and for messages. enum_name is empty where values are plain numbers.\n"
               "struct FieldInfo {\n  std::string_view name;\n  uint8_t offset;\n  uint8_t bytes;\n  bool is_signed;\n"
               "  std::string_view enum_name;\n};\n")
    for label, fields in [("Header", cmd["header"]["fields"])] + [(camel(b["name"]), b["fields"]) for b in cmd["body"]]:
        rows = ", ".join(f'FieldInfo{{"{f["name"]}", {f["offset"]}, {f["bytes"]}, {str(f.get("signed", False)).lower()}, "{f.get("enum", "")}"}}' for f in fields)
        out.append(f"inline constexpr std::array<FieldInfo, {len(fields)}> k{label}Fields{{{rows}}};\n")
    out.append("inline std::span<const FieldInfo> body_fields(Body body) {\n  switch (body) {\n")
    for b in cmd["body"]:
        out.append(f"    case Body::k{camel(b['name'])}: return k{camel(b['name'])}Fields;\n")
    out.append("  }\n  return {};\n}\n\n}  // namespace weft::spec\n")
    return "".join(out)


CHIP_FIELDS = [("n", "unsigned", "MXU rows and columns (PEs)"), ("num_mxu", "unsigned", "MXUs"),
               ("pe_latency", "unsigned", "cycles of a multiply-add in a PE, 1 to 4"),
               ("vpu_sublanes", "unsigned", "rows that the VPU takes in a cycle, 1, 2, 4 or 8"),
               ("clock_hz", "uint64_t", "core clock"), ("vmem_bytes", "uint64_t", "VMEM"), ("vmem_banks", "unsigned", "banks of VMEM"),
               ("acc_bank_rows", "unsigned", "rows of each of the two ACC banks"), ("dma_words", "unsigned", "VMEM words of a DMA beat"),
               ("hbm_bytes", "uint64_t", "HBM"), ("hbm_bytes_per_second", "uint64_t", "HBM bandwidth, reads and writes together"),
               ("pcie_bytes_per_second", "uint64_t", "PCIe bandwidth, each way"),
               ("word_bytes", "unsigned", "bytes of a VMEM word (2 N)"), ("vmem_words", "unsigned", "words of VMEM"),
               ("peak_macs_per_cycle", "uint64_t", "bf16 multiply-accumulates a cycle"),
               ("hbm_read_latency_cycles", "unsigned", "core cycles"), ("hbm_write_latency_cycles", "unsigned", "core cycles"),
               ("pcie_latency_cycles", "unsigned", "core cycles, one way"), ("fingerprint", "uint64_t", "of the parameters that matter to a program")]


def chips_hpp(spec):
    out = [HEAD, "#include <array>\n#include <cstdint>\n#include <string_view>\n\nnamespace weft::spec {\n\n",
           "/// A chip preset. Sizes in bytes unless the name says otherwise.\nstruct Chip {\n  std::string_view name;\n  std::string_view description;\n"]
    for name, kind, doc in CHIP_FIELDS:
        out.append(f"  {kind} {name};  ///< {doc}\n")
    out.append("};\n\n")
    rows = []
    for chip in spec.chips:
        values = ", ".join(f".{name} = {chip[name]}{'u' if kind == 'unsigned' else 'ull'}" for name, kind, _ in CHIP_FIELDS)
        rows.append(f'    Chip{{.name = "{chip["name"]}", .description = "{chip["description"]}", {values}}}')
    out.append(f"inline constexpr std::array<Chip, {len(spec.chips)}> kChips{{{{\n" + ",\n".join(rows) + "}};\n\n")
    out.append("/// nullptr for a preset that does not exist.\nconstexpr const Chip* find_chip(std::string_view name) {\n"
               "  for (const auto& chip : kChips)\n    if (chip.name == name) return &chip;\n  return nullptr;\n}\n\n}  // namespace weft::spec\n")
    return "".join(out)


def ici_hpp(spec):
    out = [HEAD, "#include <array>\n#include <cstdint>\n#include <string_view>\n\nnamespace weft::spec {\n\n"]
    for name, value in spec.ici["link"].items():
        out.append(f"inline constexpr unsigned kIci{camel(name)} = {value};\n")
    out.append("\n/// Which axes of a slice close to a ring.\nenum class WrapRule : uint8_t { kFullPod, kAxisOf16, kCubes };\n"
               "/// The slices of a generation of chips. largest: chips along each axis, ascending for 3-D.\n"
               "struct Generation {\n  std::string_view name;\n  unsigned dimensions;\n  WrapRule wrap;\n  std::array<unsigned, 3> largest;\n  bool twist;\n"
               "  bool names_count_cores;\n  unsigned cores_per_chip;\n  uint64_t link_bytes_per_second;  ///< one way, usable\n};\n\n")
    rows = []
    for g in spec.ici["generation"]:
        largest = ", ".join(f"{size}u" for size in g["largest"])
        rows.append(f'    Generation{{"{g["name"]}", {g["dimensions"]}, WrapRule::k{camel(g["wrap"])}, {{{largest}}}, {str(g["twist"]).lower()}, '
                    f'{str(g["names_count"] == "cores").lower()}, {g["cores_per_chip"]}, {g["link_bytes_per_second"]}ull}}')
    out.append(f"inline constexpr std::array<Generation, {len(rows)}> kGenerations{{{{\n" + ",\n".join(rows) + "}};\n\n")
    out.append("/// nullptr for a generation that does not exist.\ninline const Generation* find_generation(std::string_view name) {\n"
               "  for (const auto& generation : kGenerations)\n    if (generation.name == name) return &generation;\n  return nullptr;\n}\n\n}  // namespace weft::spec\n")
    return "".join(out)


def dcn_hpp(spec):
    out = [HEAD, "#include <array>\n#include <cstdint>\n#include <string_view>\n\nnamespace weft::spec {\n\n"]
    for name, value in spec.dcn["network"].items():
        out.append(f"inline constexpr unsigned kDcn{camel(name)} = {value};\n")
    out.append("\n/// The hosts of a generation's chips. network_bytes_per_second: of a host, each way; 0: not published.\n"
               "struct DcnHost {\n  std::string_view generation;\n  unsigned chips_per_host;\n  uint64_t network_bytes_per_second;\n};\n\n")
    rows = [f'    DcnHost{{"{h["generation"]}", {h["chips_per_host"]}, {h["network_bytes_per_second"]}ull}}' for h in spec.dcn["host"]]
    out.append(f"inline constexpr std::array<DcnHost, {len(rows)}> kDcnHosts{{{{\n" + ",\n".join(rows) + "}};\n\n}  // namespace weft::spec\n")
    return "".join(out)


def names_hpp(spec):
    tables = [("error", [(e["name"], e["value"], e["doc"]) for e in spec.errors["error"]]),
              ("fault", [("NONE", 0, "no fault")] + [(f["name"], f["code"], f["doc"]) for f in spec.faults["fault"]]),
              ("queue", [(q["name"], q["index"], q["doc"]) for q in spec.commands["queue"]]),
              ("unit", [(u["name"], u["index"], "") for u in spec.commands["unit"]]),
              ("counter", [(n, i, f"{u}: {d}") for i, n, u, d in spec.counter_list]),
              ("core_opcode", [(o["name"], o["value"], o["doc"]) for o in spec.commands["opcode"]])]
    for enum in spec.core_enums + spec.host["host_enum"] + spec.executable["exec_enum"]:
        tables.append((enum["name"], [(v["name"], v["value"], v.get("doc", "")) for v in enum["values"]]))
    out = [HEAD, "#include <array>\n#include <cstdint>\n#include <span>\n#include <string_view>\n\nnamespace weft::spec {\n\n",
           "/// A named value of the specification.\nstruct NamedValue {\n  std::string_view name;\n  uint64_t value;\n  std::string_view doc;\n};\n\n"]
    for name, rows in tables:
        body = ",\n    ".join(f'{{"{n}", {v}, "{d}"}}' for n, v, d in rows)
        out.append(f"inline constexpr std::array<NamedValue, {len(rows)}> k{camel(name)}Names{{{{\n    {body}}}}};\n")
        out.append(f"/// Empty for a value that has no name.\ninline std::string_view {name}_name(uint64_t value) {{\n"
                   f"  for (const auto& row : k{camel(name)}Names)\n    if (row.value == value) return row.name;\n  return {{}};\n}}\n\n")
    out.append("/// The values of an enumeration of commands.toml by its name; empty if there is none.\n"
               "inline std::span<const NamedValue> enum_values(std::string_view enum_name) {\n")
    for enum in spec.commands["enum"]:
        out.append(f'  if (enum_name == "{enum["name"]}") return k{camel(enum["name"])}Names;\n')
    out.append("  return {};\n}\n\n")
    rows = ",\n    ".join(f'{{"{e["name"]}", {e["value"]}, "{e["scope"]}", {str(e["retryable"]).lower()}, "{e["origin"]}", {e["exit"]}}}' for e in spec.errors["error"])
    out.append("/// Properties of an error code. exit_code is what the weft command returns.\nstruct ErrorInfo {\n  std::string_view name;\n  uint32_t code;\n"
               "  std::string_view scope;\n  bool retryable;\n  std::string_view origin;\n  int exit_code;\n};\n"
               f"inline constexpr std::array<ErrorInfo, {len(spec.errors['error'])}> kErrors{{{{\n    {rows}}}}};\n"
               "/// nullptr for a code that does not exist.\ninline const ErrorInfo* find_error(uint32_t code) {\n  for (const auto& e : kErrors)\n"
               "    if (e.code == code) return &e;\n  return nullptr;\n}\n"
               "/// The error of the C ABI that a core fault becomes (INTERNAL for an unknown code).\ninline uint32_t fault_error(uint32_t fault) {\n  switch (fault) {\n")
    value = {e["name"]: e["value"] for e in spec.errors["error"]}
    for f in spec.faults["fault"]:
        out.append(f"    case {f['code']}: return {value[f['error']]};  // {f['name']} -> {f['error']}\n")
    out.append(f"    default: return {value['INTERNAL']};\n  }}\n}}\n\n}}  // namespace weft::spec\n")
    return "".join(out)
