"""Reads spec/*.toml and checks it: overlaps, gaps, duplicate values. Standard library only."""
import tomllib
from pathlib import Path

TYPE_BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


class SpecError(Exception):
    """A defect of the specification; the message names file, object and values."""


class Spec:
    """The whole specification as plain dictionaries, checked."""

    def __init__(self, root):
        root = Path(root)
        load = lambda name: tomllib.loads((root / name).read_text())
        self.commands = load("commands.toml")
        self.faults = load("faults.toml")
        self.counters = load("counters.toml")
        self.errors = load("errors.toml")
        self.host = with_state_page(load("host_interface.toml"), load("state_page.toml"))
        self.csr = load("core_csr.toml")
        self.core = load("core.toml")
        self.executable = load("executable.toml")
        self.ici = load("ici.toml")
        self.dcn = load("dcn.toml")
        self.vfio_user = load("vfio_user.toml")
        self.chips = [
            derive_chip(tomllib.loads(path.read_text()), self) for path in sorted((root / "chips").glob("*.toml"))
        ]
        self.counter_list = expand_counters(self)
        check(self)

    @property
    def core_enums(self):
        """Enumerations of the tensor core: of its commands, then of its registers."""
        return self.commands["enum"] + self.csr["enum"]

    def enum(self, name):
        return next(e for e in self.commands["enum"] if e["name"] == name)

    def body(self, name):
        return next(b for b in self.commands["body"] if b["name"] == name)


def with_state_page(host, state):
    """The host interface with the limits, their texts, registers, enumerations and structures of state_page.toml."""
    for key, value in state["limits"].items():
        if key in host["limits"]:
            raise SpecError(f"state_page.limits.{key} is in host_interface.toml already")
        host["limits"][key] = value
    host["doc"] |= state["doc"]
    for key in ("register", "host_enum", "struct"):
        host[key] += state[key]
    return host


def derive_chip(chip, spec):
    """Adds what follows from a preset's parameters, so that no figure is written twice."""
    n, clock = chip["n"], chip["clock_hz"]
    if n & (n - 1) or not 8 <= n <= 256:
        raise SpecError(f"chips/{chip['name']}.toml: n = {n} is no power of two from 8 to 256")
    if chip["acc_bank_rows"] < 4 * n or chip["acc_bank_rows"] & (chip["acc_bank_rows"] - 1):
        raise SpecError(f"chips/{chip['name']}.toml: acc_bank_rows = {chip['acc_bank_rows']}, needs a power of two >= {4 * n}")
    if chip["num_mxu"] not in (1, 2, 4):
        raise SpecError(f"chips/{chip['name']}.toml: num_mxu = {chip['num_mxu']} is none of 1, 2, 4")
    if chip.setdefault("pe_latency", 1) not in (1, 2, 3, 4):
        raise SpecError(f"chips/{chip['name']}.toml: pe_latency = {chip['pe_latency']} is none of 1 to 4")
    if chip.setdefault("vpu_sublanes", 1) not in (1, 2, 4, 8):
        raise SpecError(f"chips/{chip['name']}.toml: vpu_sublanes = {chip['vpu_sublanes']} is none of 1, 2, 4, 8")
    chip["word_bytes"] = 2 * n
    chip["vmem_words"] = chip["vmem_bytes"] // chip["word_bytes"]
    chip["peak_macs_per_cycle"] = n * n * chip["num_mxu"]
    chip["hbm_read_latency_cycles"] = -(-chip["hbm_read_latency_ns"] * clock // 10**9)
    chip["hbm_write_latency_cycles"] = -(-chip["hbm_write_latency_ns"] * clock // 10**9)
    chip["pcie_latency_cycles"] = -(-chip["pcie_latency_ns"] * clock // 10**9)
    matter = ("n", "num_mxu", "vmem_bytes", "vmem_banks", "acc_bank_rows", "dma_words")
    text = f"isa={spec.host['isa_oldest']};" + "".join(f"{key}={chip[key]};" for key in matter)
    if chip["pe_latency"] != 1:      # a driver knows a chip's preset, and a compiler its timing, by the fingerprint
        text += f"pe_latency={chip['pe_latency']};"
    if chip["vpu_sublanes"] != 1:
        text += f"vpu_sublanes={chip['vpu_sublanes']};"
    chip["fingerprint"] = fnv1a64(text.encode())
    chip["identifier"] = chip["name"].replace("-", "_")
    return chip


def fnv1a64(data):
    """FNV-1a, 64 bits (Fowler, Noll, Vo)."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def expand_counters(spec):
    """A list of (index, name, unit, doc); groups `per = "queue"` come once for each queue."""
    result = []
    for group in spec.counters["group"]:
        owners = [q["name"] for q in spec.commands["queue"]] if group.get("per") == "queue" else [group["name"]]
        for owner in owners:
            for counter in group["counters"]:
                result.append((len(result), f"{owner}_{counter['name']}" if group.get("per") != "queue"
                               else f"queue_{owner}_{counter['name']}", counter["unit"], counter["doc"]))
    return result


def check_fields(where, fields, total, width):
    """Fields must not overlap or leave the object."""
    owner = {}
    for field in fields:
        for byte in range(field["offset"], field["offset"] + width(field)):
            if byte >= total:
                raise SpecError(f"{where}.{field['name']}: byte {byte} is outside of {total} bytes")
            if byte in owner:
                raise SpecError(f"{where}: {owner[byte]} and {field['name']} overlap at byte {byte}")
            owner[byte] = field["name"]


def check_bits(where, fields, total):
    """Fields of a register must not overlap or leave it."""
    owner = {}
    for field in fields:
        for bit in range(field["low"], field["low"] + field["bits"]):
            if bit >= total:
                raise SpecError(f"{where}.{field['name']}: bit {bit} is outside of {total} bits")
            if bit in owner:
                raise SpecError(f"{where}: {owner[bit]} and {field['name']} overlap at bit {bit}")
            owner[bit] = field["name"]


def field_mask(field):
    """The bits of a register's field."""
    return ((1 << field["bits"]) - 1) << field["low"]


def struct_bytes(field):
    return TYPE_BYTES[field["type"]] * field.get("count", 1)


def check_unique(where, rows, key):
    seen = {}
    for row in rows:
        if row[key] in seen:
            raise SpecError(f"{where}: {seen[row[key]]} and {row['name']} share {key} = {row[key]}")
        seen[row[key]] = row["name"]


def check(spec):
    header = spec.commands["header"]["fields"]
    for body in spec.commands["body"]:
        check_fields(f"commands.{body['name']}", header + body["fields"], spec.commands["size_bytes"], lambda f: f["bytes"])
    check_unique("commands.opcode", spec.commands["opcode"], "value")
    check_unique("faults", spec.faults["fault"], "code")
    check_unique("errors", spec.errors["error"], "value")
    check_unique("vfio_user.command", [{"name": n, "value": v} for n, v in spec.vfio_user["command"].items()], "value")
    for struct in spec.vfio_user["struct"]:
        if sum(map(struct_bytes, struct["fields"])) != struct["bytes"]:
            raise SpecError(f"vfio_user.{struct['name']}: the fields have not {struct['bytes']} bytes together")
    for struct in spec.host["struct"] + spec.executable["struct"] + spec.vfio_user["struct"]:
        check_fields(struct["name"], struct["fields"], struct["bytes"], struct_bytes)
        for field in struct["fields"]:
            if field["offset"] % TYPE_BYTES[field["type"]]:
                raise SpecError(f"{struct['name']}.{field['name']}: offset {field['offset']} is not aligned to its type")
    for key in [k for k, v in spec.host.items() if isinstance(v, int)] + list(spec.host["pci"]) + list(spec.host["limits"]):
        if key not in spec.host["doc"]:
            raise SpecError(f"host_interface.{key} has no text in [doc], which the reference page shows")
    check_fields("host_interface.register", spec.host["register"], spec.host["pci"]["bar0_bytes"], lambda f: f["bytes"])
    for where, registers, size in (("core_csr", spec.csr["register"], lambda r: 8), ("host_interface", spec.host["register"], lambda r: r["bytes"])):
        for register in registers:
            check_bits(f"{where}.{register['name']}", register.get("fields", []), 8 * size(register))
    names = {e["name"] for e in spec.errors["error"]}
    for fault in spec.faults["fault"]:
        if fault["error"] not in names:
            raise SpecError(f"faults.{fault['name']}: error {fault['error']} does not exist")
    check_unique("ici.generation", spec.ici["generation"], "name")
    for generation in spec.ici["generation"]:
        if generation["wrap"] not in ("full_pod", "axis_of_16", "cubes") or generation["dimensions"] not in (2, 3) or len(generation["largest"]) != 3:
            raise SpecError(f"ici.{generation['name']}: wrap, dimensions or largest is none of the known ones")
    check_unique("dcn.host", [{"name": host["generation"]} for host in spec.dcn["host"]], "name")
    if {host["generation"] for host in spec.dcn["host"]} != {generation["name"] for generation in spec.ici["generation"]}:
        raise SpecError("dcn.host: not one for each generation of ici.toml")
    if any(host["chips_per_host"] < 1 for host in spec.dcn["host"]):
        raise SpecError("dcn.host: a host has one chip at least")
    if len(spec.counter_list) > 512:
        raise SpecError(f"counters: {len(spec.counter_list)} do not fit the COUNTER block of 512")


def camel(name):
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))
