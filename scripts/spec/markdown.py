"""Writes the reference pages of docs/reference."""
BANNER = "<!-- Generated from spec/ by scripts/spec. Do not edit. -->\n"


def table(head, rows):
    out = "| " + " | ".join(head) + " |\n|" + "---|" * len(head) + "\n"
    return out + "".join("| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |\n" for row in rows) + "\n"


def built(opcode):
    return "yes" if opcode["built"] else "in a slice; else ILLEGAL_OPCODE" if opcode.get("slice") else "no: ILLEGAL_OPCODE"


def flag_note(value):
    if value.get("built", True):
        return ""
    return " (in a slice; else must be 0)" if value.get("slice") else " (not built: must be 0)"


def commands_md(spec):
    cmd = spec.commands
    out = [BANNER, "# Tensor core commands\n\n64 bytes, little-endian, 64-byte aligned. Bytes that no field covers are reserved and must be zero.\n\n## Opcodes\n\n",
           table(["opcode", "value", "queues", "body", "built", "what it does"],
                 [(o["name"], f"{o['value']:#04x}", ", ".join(o["queues"]), o["body"], built(o), o["doc"]) for o in cmd["opcode"]])]
    field = lambda f: (f["offset"], f["bytes"], ("i" if f.get("signed") else "u") + str(8 * f["bytes"]), f"`{f['name']}`", f["doc"] + (f" ({f['enum']})" if "enum" in f else ""))
    out += ["## Header\n\n", table(["offset", "bytes", "type", "field", "meaning"], map(field, cmd["header"]["fields"]))]
    for body in cmd["body"]:
        if body["fields"]:
            out += [f"## Body `{body['name']}`\n\n", table(["offset", "bytes", "type", "field", "meaning"], map(field, body["fields"]))]
    for enum in cmd["enum"]:
        out += [f"## `{enum['name']}`\n\n", table(["value", "name", "meaning"], [(v["value"], f"`{v['name']}`", v["doc"] + flag_note(v)) for v in enum["values"]])]
    return "".join(out)


def constant_rows(host, values):
    """One row for each constant: counts and sizes in decimal, numbers that are written or compared in hexadecimal."""
    decimal = lambda key, value: value <= 4096 or key.endswith(("_bytes", "_cycles"))
    return [(f"`{key}`", value if decimal(key, value) else f"{value:#x}", host["doc"][key]) for key, value in values]


def with_fields(register):
    """A register's text, and what its bits say."""
    span = lambda f: str(f["low"]) if f["bits"] == 1 else f"{f['low'] + f['bits'] - 1}:{f['low']}"
    return "<br>".join([register["doc"], *(f"{span(f)} `{f['name']}`: {f['doc']}" for f in register.get("fields", []))])


def registers_md(spec):
    constants = lambda values: table(["name", "value", "meaning"], constant_rows(spec.host, values))
    scalars = [(key, value) for key, value in spec.host.items() if isinstance(value, int)]
    out = [BANNER, "# Registers, rings and structures\n\nAll numbers are little-endian.\n\n## Constants\n\n",
           constants(scalars), "## PCI function\n\n", constants(spec.host["pci"].items()),
           "## Limits\n\n", constants(spec.host["limits"].items()),
           "## BAR0\n\n",
           table(["offset", "bytes", "access", "register", "meaning"], [(f"{r['offset']:#06x}", r["bytes"], r["access"], f"`{r['name']}`", with_fields(r)) for r in spec.host["register"]]),
           "## Core registers, on the manager's side\n\n",
           table(["offset", "count", "access", "register", "meaning"], [(f"{r['offset']:#06x}", r.get("count", 1), r["access"], f"`{r['name']}`", with_fields(r)) for r in spec.csr["register"]])]
    for struct in spec.host["struct"] + spec.executable["struct"]:
        out += [f"## `{struct['name']}`, {struct['bytes']} bytes\n\n{struct['doc']}.\n\n",
                table(["offset", "type", "field", "meaning"], [(f["offset"], f["type"] + (f"[{f['count']}]" if "count" in f else ""), f"`{f['name']}`", f["doc"]) for f in struct["fields"]])]
    for enum in spec.csr["enum"] + spec.host["host_enum"] + spec.executable["exec_enum"]:
        out += [f"## `{enum['name']}`\n\n", table(["value", "name", "meaning"], [(v["value"], f"`{v['name']}`", v.get("doc", "")) for v in enum["values"]])]
    return "".join(out)


def errors_md(spec):
    return "".join([BANNER, "# Errors, faults and counters\n\n## Status codes of the C ABI\n\n`exit` is the exit code of the `weft` command. [Every code by an example](../errors.md).\n\n",
                    table(["code", "name", "scope", "retryable", "origin", "exit", "meaning"],
                          [(e["value"], e["name"], e["scope"], "yes" if e["retryable"] else "no", e["origin"], e["exit"], e["doc"]) for e in spec.errors["error"]]),
                    "## Faults of the tensor core\n\n",
                    table(["code", "name", "becomes", "action", "meaning"], [(f["code"], f["name"], f["error"], f["action"], f["doc"]) for f in spec.faults["fault"]]),
                    "## Counters\n\n64 bits each, copied by one write of COUNTER_SNAPSHOT.\n\n",
                    table(["index", "name", "unit", "meaning"], spec.counter_list)])


def chips_md(spec):
    rows = []
    for c in spec.chips:
        peak = 2 * c["peak_macs_per_cycle"] * c["clock_hz"] / 1e12
        rows.append((f"`{c['name']}`", c["n"], c["num_mxu"], c["pe_latency"], c["vpu_sublanes"], f"{c['clock_hz'] / 1e9:g}", f"{peak:.4g}", f"{c['vmem_bytes'] / 1024:g}", c["acc_bank_rows"],
                     f"{c['hbm_bytes'] / 2**20:g}", f"{c['hbm_bytes_per_second'] / 1e9:g}", f"{c['hbm_bytes_per_second'] / c['clock_hz']:.4g}", f"{c['fingerprint']:#018x}"))
    return "".join([BANNER, "# Chip presets\n\nPeak is derived from the parameters. Sizes are binary, rates decimal.\n\n",
                    table(["preset", "N", "MXUs", "PE latency", "VPU sublanes", "clock GHz", "peak bf16 TFLOP/s", "VMEM KiB", "ACC rows a bank", "HBM MiB", "HBM GB/s", "HBM bytes a cycle", "fingerprint"], rows)])
