"""The figures of the compiler: which ONNX models it takes, and whether what it makes of them is right."""
import json
import subprocess
import sys

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
        six = "bf16x6" in name
        rows.append(row(f"{name}, error", f"{tally['error']:.2e}", f"relative L2 against f32, products of {'six passes of ' if six else ''}bf16", f"<= {tally['most']}" if six else "stated",
                        not six or tally["error"] <= tally["most"], oracle="onnxruntime"))
        rows.append(row(f"{name}, differing", tally["differing"], f"of {tally['elements']} elements, {tally['islands']} islands of the host", "0", tally["differing"] == 0 and tally["elements"] > 0,
                        oracle="the golden model"))
        rows.append(row(f"{name}, cycles", tally["device_cycles"], f"device cycles, {tally['macs']} MACs", f"<= {most}" if most else "stated", most is None or tally["device_cycles"] <= most))
    return rows


# Name, network, its sizes, least share of the bound in percent; the bound is of L1, without padding.
ROOFLINE = (("MLP 1024 x 4, batch 128", "mlp", ["batch=128"], 85), ("MLP 1024 x 4, batch 256", "mlp", ["batch=256"], 88),
            ("BERT-base, batch 8", "encoder", ["batch=8", "layers=12", "width=768", "heads=12", "inner=3072"], 75),
            ("attention, 12 heads of 64, 2048 tokens", "attention", [], 70), ("decode step of GPT-2, context 1024", "decoder", [], 80))


def network(tools, name, sizes):
    """Makes an example network; its file."""
    python = tools.root / ".venv/bin/python"
    if not python.is_file():
        raise tools.Failed(f"{python} is missing: scripts/packages makes it")
    where = folder(tools) / "_".join([name, *sizes]).replace("=", "")
    done = subprocess.run([python, "-B", "host/examples/networks/make.py", name, where, *sizes], cwd=tools.root, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise tools.Failed(f"make.py {name}: {done.stderr[-300:]}")
    return where / f"{name}.onnx"


def roofline(tools):
    """Cycles on the fast core of v5e against the bound of the model."""
    rows = []
    for name, made, sizes, least in ROOFLINE:
        file = network(tools, made, sizes)
        done = subprocess.run([tools.program("weft"), "bench", file, "--chip", "v5e", "--json"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        goal = f">= {least} %"
        if done.returncode != 0:
            rows.append(row(f"roofline, {name}", (done.stderr or done.stdout).strip()[:120], "", goal, False))
            continue
        of = json.loads(done.stdout)["batches"][0]
        share = 100 * of["achieved"]
        rows.append(row(f"roofline, {name}", round(share, 1), f"% of {of['bound_cycles']} cycles, bound by {of['bound_by']}: {of['device_cycles']} device cycles, "
                        f"{100 * of['padded_share']:.1f} % padding, {of['islands']} islands", goal, share >= least and of["islands"] == 0))
    return rows


def random_graphs(tools):
    """Random networks through the compiler to a device."""
    out = folder(tools) / "random_graphs.json"
    out.unlink(missing_ok=True)
    level = "nightly" if tools.level != "ci" else "ci"
    subprocess.run([tools.program("random_graphs"), "--level", level, "--seed", "1", "--jobs", "2", "--json", out], capture_output=True, text=True, timeout=3 * LIMIT_S, check=False)
    if not out.is_file():
        raise tools.Failed("random_graphs wrote no tally")
    found = read(tools, out)
    wanted = 20_000 if level == "nightly" else 2_000
    return [row("random graphs, differing or with a hazard", found["failed"], f"of {found['graphs']} networks, {found['elements']} elements, {found['device_programs']} device programs",
                f"0 of {wanted}", found["failed"] == 0 and found["graphs"] == wanted, oracle="the golden arithmetic; the reference of L1 in f32")]


def compiling(tools):
    """What weft compile takes of BERT-base, and how programs grow with equal layers."""
    sizes = ["batch=8", "width=768", "heads=12", "inner=3072"]
    found = {}
    for layers in (1, 12):
        file = network(tools, "encoder", [*sizes[:1], f"layers={layers}", *sizes[1:]])
        probe = "import resource, subprocess, sys; r = subprocess.run(sys.argv[1:]).returncode; u = resource.getrusage(resource.RUSAGE_CHILDREN); print(r, u.ru_utime + u.ru_stime, u.ru_maxrss)"
        done = subprocess.run([sys.executable, "-c", probe, tools.program("weft"), "compile", file, "--chip", "v5e", "-o", folder(tools) / f"bert{layers}.weft"],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        code, seconds, kilobytes = done.stdout.split()[-3:]
        if code != "0":
            raise tools.Failed(f"weft compile: {done.stderr[-300:]}")
        listed = subprocess.run([tools.program("weft"), "disasm", folder(tools) / f"bert{layers}.weft"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        found[layers] = float(seconds), int(kilobytes) / 2**20, listed.stdout.count("\n")
    growth = found[12][2] / max(1, found[1][2])
    return [row("compile, BERT-base", round(found[12][0], 1), "s of processor time", "<= 5 s", found[12][0] <= 5),
            row("compile, BERT-base, memory", round(found[12][1], 2), "GiB", "<= 1 GB", found[12][1] * 2**30 <= 1e9),
            row("compile, lines of 12 equal layers over those of one", round(growth, 1), "times, disassembled", "<= 1.5 times", growth <= 1.5)]


def in_rtl(tools):
    """Whole networks on the RTL of v5e-1mxu."""
    if tools.level == "ci":
        return [row(f"in the RTL, {name}", None, "", f"<= {most} s", None) for name, most in (("ResNet-18", 45), ("MiniLM", 20))]
    rows = []
    for name, made, argument, most in (("ResNet-18", "resnet18", "x", 45), ("MiniLM", "encoder", "x", 20)):
        file = network(tools, made, [])
        done = subprocess.run([tools.program("weft"), "run", file, "--chip", "v5e-1mxu", "--core", "rtl", "--verify", "--json", "--input", f"{argument}={file.with_name(made + '_' + argument + '.npy')}"],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise tools.Failed(f"weft run {made}: {(done.stderr or done.stdout)[-300:]}")
        found = json.loads(done.stdout)
        rows.append(row(f"in the RTL, {name}", round(found["wall_seconds"], 1), f"s, {found['device_cycles']} device cycles, {found['differing']} of {found['elements']} elements differ",
                        f"<= {most} s, 0", found["wall_seconds"] <= most and found["differing"] == 0 and found["elements"] > 0, oracle="the golden model"))
    return rows


def speed(tools):
    """The fast core beside OpenBLAS, one thread each, in turns: the best of each."""
    python = tools.root / ".venv/bin/python"
    if not python.is_file():
        raise tools.Failed(f"{python} is missing: scripts/packages makes it")
    blas = ("import numpy, time; a = numpy.ones((2048, 2048), numpy.float32); b = a.copy(); a @ b\n"
            "t = time.process_time(); a @ b; print(2048**3 / (time.process_time() - t))")
    best = [0.0, 0.0]
    for _ in range(max(1, tools.repetitions)):
        done = subprocess.run([python, "-c", blas], capture_output=True, text=True, timeout=LIMIT_S, check=True, env={"OPENBLAS_NUM_THREADS": "1"})
        best[0] = max(best[0], float(done.stdout))
        done = subprocess.run([tools.program("weft"), "gemm", "--shape", "2048x2048x2048", "--chip", "v5e-1mxu", "--core", "fast", "--json"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=True)
        best[1] = max(best[1], json.loads(done.stdout)["simulated_macs_per_second"])
    share = best[1] / best[0]
    return [row("fast core, 2048^3, over OpenBLAS sgemm", round(share, 2), f"times: {best[1] / 1e9:.1f} over {best[0] / 1e9:.1f} G MAC/s", ">= 0.6", share >= 0.6)]


def cycles(tools):
    """Every cycle baseline."""
    done = subprocess.run(["scripts/cycles", "--build", tools.build], cwd=tools.root, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    last = done.stdout.strip().splitlines()[-1:] or [done.stderr.strip()[-120:]]
    return [row("cycle baselines", last[0], "", "none moved", done.returncode == 0)]


FIGURES = (("conformance", conformance), ("device", device), ("networks", networks), ("roofline", roofline), ("random graphs", random_graphs), ("compile", compiling),
           ("in the RTL", in_rtl), ("speed", speed), ("cycles", cycles))
