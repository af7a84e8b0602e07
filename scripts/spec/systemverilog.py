"""Writes the SystemVerilog packages: weft_pkg (what every chip shares) and chip_pkg (one preset)."""
from model import camel

BANNER = "// Generated from spec/ by scripts/spec. Do not edit.\n"
# A package holds what any block may need; no block needs all of it.
LINT_OFF = "// verilator lint_off UNUSEDPARAM\n"
LINT_ON = "// verilator lint_on UNUSEDPARAM\n"


def command_struct(spec, body):
    """A packed struct over all 512 bits of a command, last byte first, gaps as reserved fields."""
    fields = sorted(spec.commands["header"]["fields"] + body["fields"], key=lambda f: f["offset"])
    lines, position, gap = [], 0, 0
    for field in fields:
        if field["offset"] > position:
            lines.append((8 * (field["offset"] - position), f"reserved{gap}", False))
            gap += 1
        lines.append((8 * field["bytes"], field["name"], field.get("signed", False)))
        position = field["offset"] + field["bytes"]
    if position < spec.commands["size_bytes"]:
        lines.append((8 * (spec.commands["size_bytes"] - position), f"reserved{gap}", False))
    text = f"  // Every byte of a command with body `{body['name']}`.\n  typedef struct packed {{\n"
    for width, name, signed in reversed(lines):
        text += f"    logic {'signed ' if signed else ''}[{width - 1}:0] {name};\n"
    return text + f"  }} {body['name']}_cmd_t;\n"


def reserved_mask(spec, body):
    """512-bit mask of the bits that no field covers."""
    mask = (1 << 512) - 1
    for field in spec.commands["header"]["fields"] + body["fields"]:
        mask &= ~(((1 << (8 * field["bytes"])) - 1) << (8 * field["offset"]))
    return mask


def enum_block(name, values, width):
    rows = ",\n".join(f"    {camel(name)}{camel(v['name'])} = {width}'d{v['value']}" for v in values)
    return f"  typedef enum logic [{width - 1}:0] {{\n{rows}\n  }} {name}_e;\n"


def weft_pkg(spec):
    cmd, core = spec.commands, spec.core
    out = [BANNER, LINT_OFF, "`default_nettype none\n", "package weft_pkg;\n"]
    param = lambda name, value: out.append(f"  localparam int unsigned {name} = {value};\n")
    param("CmdBits", 8 * cmd["size_bytes"])
    param("NumSemaphores", cmd["semaphores"])
    param("RemoteSemaphoreFirst", cmd["remote_semaphore_first"])
    param("NumSegments", cmd["segments"])
    param("NumQueues", core["queues"])
    param("NumUnits", core["units"])
    param("QueueDepth", core["queue_depth"])
    param("SemaphoreBits", core["semaphore_bits"])
    param("DmaChannels", core["dma_channels"])
    param("DmaGranuleBytes", core["dma_granule_bytes"])
    param("DmaOutstandingBeats", core["dma_outstanding_beats"])
    param("DmaOutstandingWrites", core["dma_outstanding_writes"])
    param("PrefetchCommands", core["prefetch_commands"])
    param("PrefetchShare", core["prefetch_share"])
    param("PrefetchChannel", core["prefetch_channel"])
    param("WatchdogDefaultCycles", core["watchdog_default_cycles"])
    param("CoreResetCycles", core["core_reset_cycles"])
    out.append(f"  localparam logic [7:0] NoSemaphore = 8'd{cmd['no_semaphore']};\n\n")
    out.append(enum_block("queue", [{"name": q["name"], "value": q["index"]} for q in cmd["queue"]], 3))
    out.append(enum_block("unit", [{"name": u["name"], "value": u["index"]} for u in cmd["unit"]], 4))
    out.append(enum_block("opcode", cmd["opcode"], 8))
    out.append(enum_block("fault", [{"name": "none", "value": 0}] +
                          [{"name": f["name"].lower(), "value": f["code"]} for f in spec.faults["fault"]], 8))
    param("LastFault", max(f["code"] for f in spec.faults["fault"]))
    for enum in spec.core_enums:
        if not enum.get("bits"):
            out.append(enum_block(enum["name"], enum["values"], 8))
    out.append(enum_block("ici_cause", next(e for e in spec.host["host_enum"] if e["name"] == "ici_cause")["values"], 8))
    flags = spec.enum("command_flag")["values"]
    mask = lambda chosen: sum(v["value"] for v in flags if chosen(v))
    out.append(f"  localparam logic [7:0] FlagsBuilt = 8'd{mask(lambda v: v['built'])};\n")
    out.append("  // Those that only a core in a slice knows.\n")
    out.append(f"  localparam logic [7:0] FlagsSlice = 8'd{mask(lambda v: v.get('slice'))};\n")
    for flag in flags:
        out.append(f"  localparam logic [7:0] Flag{camel(flag['name'])} = 8'd{flag['value']};\n")
    out.append("\n")
    for body in cmd["body"]:
        out.append(command_struct(spec, body))
        out.append(f"  localparam logic [511:0] {camel(body['name'])}ReservedMask = 512'h{reserved_mask(spec, body):0128x};\n\n")
    out.append("  // Which opcodes are built, for a core in a slice or one alone, and legal on a queue.\n")
    out.append("  function automatic logic opcode_legal(input logic [7:0] opcode, input logic [2:0] queue,\n"
               "                                        input logic in_slice);\n")
    out.append("    opcode_legal = 1'b0;\n")
    index = {q["name"]: q["index"] for q in cmd["queue"]}
    for op in cmd["opcode"]:
        if op["built"] or op.get("slice"):
            test = " || ".join(f"queue == 3'd{index[q]}" for q in op["queues"])
            place = "" if op["built"] else "in_slice && "
            out.append(f"    if ({place}opcode == 8'd{op['value']} && ({test})) opcode_legal = 1'b1;\n")
    out.append("  endfunction\n\n")
    out.append("  // The reserved bits of a command with this opcode.\n")
    out.append("  function automatic logic [511:0] reserved_mask(input logic [7:0] opcode);\n")
    out.append("    reserved_mask = NoneReservedMask;\n")
    for op in cmd["opcode"]:
        out.append(f"    if (opcode == 8'd{op['value']}) reserved_mask = {camel(op['body'])}ReservedMask;\n")
    out.append("  endfunction\n\n")
    out.append("  // Control and status registers: byte offsets on the manager's side.\n")
    param("CsrAddressBytes", spec.csr["address_bytes"])
    for reg in spec.csr["register"]:
        param(f"Csr{camel(reg['name'].lower())}", reg["offset"])
        for field in reg.get("fields", []):  # the lowest bit
            param(f"Csr{camel(reg['name'].lower())}{camel(field['name'])}Lsb", field["low"])
    out.append("\n  // Counter indices.\n")
    for number, name, _, _ in spec.counter_list:
        param(f"Counter{camel(name)}", number)
    param("NumCounters", len(spec.counter_list))
    out.append("endpackage\n`default_nettype wire\n" + LINT_ON)
    return "".join(out)


def chip_pkg(chip):
    rows = [("N", chip["n"], "MXU rows and columns"), ("NumMxu", chip["num_mxu"], "MXUs"),
            ("PeLatency", chip.get("pe_latency", 1), "cycles of a multiply-add in a PE"),
            ("VpuSublanes", chip.get("vpu_sublanes", 1), "rows that the VPU takes in a cycle"),
            ("WordBytes", chip["word_bytes"], "bytes of a VMEM word"), ("VmemWords", chip["vmem_words"], "words of VMEM"),
            ("VmemBanks", chip["vmem_banks"], "banks of VMEM, low-order interleaved"),
            ("AccBankRows", chip["acc_bank_rows"], "rows of an ACC bank; there are two"),
            ("DmaWords", chip["dma_words"], "VMEM words of a DMA beat")]
    out = [BANNER, LINT_OFF, "`default_nettype none\n", f"// Chip preset {chip['name']}: {chip['description']}.\n", "package chip_pkg;\n"]
    for name, value, doc in rows:
        out.append(f"  localparam int unsigned {name} = {value};  // {doc}\n")
    out.append("endpackage\n`default_nettype wire\n" + LINT_ON)
    return "".join(out)
