"""The figures of the compiler: which ONNX models it takes, and whether what it makes of them is right."""
import subprocess

from figures_tools import folder, read, row

LIMIT_S = 1800
GOAL = 0.95
DEVICE_GOAL = 0.8
MOST_EXCUSED = 25
MOST_CYCLES = {"resnet18, batch 8": 630_000, "bert_base, batch 8": 1_820_000}  # 35 % of the peak, 75 % of the bound


def conformance(tools):
    """ONNX's own vectors, through the importer and the reference on the host."""
    python = tools.root / ".venv/bin/python"
    if not python.is_file():
        raise tools.Failed(f"{python} is missing: scripts/packages makes it")
    out = folder(tools) / "conformance.json"
    out.unlink(missing_ok=True)
    subprocess.run([python, "-B", "testbench/onnx/conformance.py", "--json", out], cwd=tools.root, timeout=LIMIT_S, capture_output=True, text=True,
                   env={"RUNNER": str(tools.program("conformance_runner"))}, check=False)
    if not out.is_file():
        raise tools.Failed("testbench/onnx/conformance.py wrote no tally")
    found = read(tools, out)
    oracle = f"the vectors of onnx {found['onnx']}"
    rows = []
    wrong = crashes = 0
    for name, tally in found["sets"].items():
        right, refused = tally.get("right", 0), tally.get("refused", 0)
        total = right + refused + tally.get("wrong", 0) + tally.get("crash", 0)
        wrong, crashes = wrong + tally.get("wrong", 0), crashes + tally.get("crash", 0)
        share = right / total if total else 0
        rows.append(row(f"conformance, {name}", round(100 * share, 1), f"% of {total} vectors right, {refused} refused, {tally.get('excused', 0)} of excused operators or types, "
                        f"{tally.get('disputed', 0)} disputed", ">= 95 %", share >= GOAL, oracle=oracle))
    rows.append(row("conformance, wrong", wrong, "vectors", "0", wrong == 0, oracle=oracle))
    rows.append(row("conformance, crashes", crashes, "vectors", "0", crashes == 0, oracle=oracle))
    rows.append(row("conformance, excused operators", len(found["excused"]), "of the standard ones", f"<= {MOST_EXCUSED}", len(found["excused"]) <= MOST_EXCUSED))
    return rows


def device(tools):
    """How many of ONNX's vectors of f32 are one device program, islands none."""
    python = tools.root / ".venv/bin/python"
    if not python.is_file():
        raise tools.Failed(f"{python} is missing: scripts/packages makes it")
    out = folder(tools) / "node_vectors.json"
    out.unlink(missing_ok=True)
    subprocess.run([python, "-B", "testbench/onnx/node_vectors.py", "--json", out], cwd=tools.root, timeout=LIMIT_S, capture_output=True, text=True,
                   env={"WEFT": str(tools.program("weft")), "WEFT_SIM": str(tools.program("weft-sim"))}, check=False)
    if not out.is_file():
        raise tools.Failed("testbench/onnx/node_vectors.py wrote no tally")
    found = read(tools, out)
    oracle = f"the vectors of onnx {found['onnx']}"
    whole, total = len(found["f32_on_device"]), found["f32"]
    share = whole / total if total else 0
    return [row("node vectors of f32 on the device", round(100 * share, 1), f"% of {total} vectors, {whole} without an island", ">= 80 %", share >= DEVICE_GOAL, oracle=oracle),
            row("node vectors, wrong", found["wrong"], f"of {len(found['taken'])} that weft run takes", "0", found["wrong"] == 0 and bool(found["taken"]), oracle=oracle)]


def networks(tools):
    """The example networks in full size: what they cost, and how far they are from f32."""
    python = tools.root / ".venv/bin/python"
    if not python.is_file():
        raise tools.Failed(f"{python} is missing: scripts/packages makes it")
    out = folder(tools) / "full_networks.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([python, "-B", "testbench/onnx/full_networks.py", "--json", out], cwd=tools.root, timeout=LIMIT_S, capture_output=True, text=True,
                          env={"WEFT": str(tools.program("weft")), "WEFT_SIM": str(tools.program("weft-sim"))}, check=False)
    if not out.is_file():
        raise tools.Failed(f"testbench/onnx/full_networks.py wrote no tally: {done.stderr[-300:]}")
    rows = []
    for tally in read(tools, out):
        name = f"{tally['name']} on {tally['chip']}"
        if "error" not in tally:
            rows.append(row(name, tally["wrong"], "", "it runs", False))
            continue
        most = MOST_CYCLES.get(tally["name"])
        rows.append(row(f"{name}, error", f"{tally['error']:.2e}", "relative L2 against f32, products of bf16", "stated", True, oracle="onnxruntime"))
        rows.append(row(f"{name}, differing", tally["differing"], f"of {tally['elements']} elements, {tally['islands']} islands of the host", "0", tally["differing"] == 0 and tally["elements"] > 0,
                        oracle="the golden model"))
        rows.append(row(f"{name}, cycles", tally["device_cycles"], f"device cycles, {tally['macs']} MACs", f"<= {most}" if most else "stated", most is None or tally["device_cycles"] <= most))
    return rows


FIGURES = (("conformance", conformance), ("device", device), ("networks", networks))
