"""The figures of the first issue: from a bit-exact product to an empty launch."""
import os
import re
import tempfile
import time
from pathlib import Path

from figures_tools import row

RTL_PRODUCT, FAST_PRODUCT = "1024x1024x1024", "2048x2048x2048"
RTL_LIBRARY = "weft_core_v5e_1mxu"


def bit_exact(tools):
    rows = []
    for test, chip, shapes_goal in (("nano", "nano", 300), ("v5e", "v5e-1mxu", 20)):
        ((shapes, elements, differing),), passed = tools.test_line("gemm_exact_test", test, r"gemm_exact: (\d+) shapes, (\d+) elements, (\d+) differing")
        rows.append(row(f"bit-exact, {chip} RTL", int(differing), f"of {int(elements)} elements, {int(shapes)} shapes", f"0 over {shapes_goal} shapes",
                        passed and differing == 0 and elements > 0 and shapes == shapes_goal))
    return rows


def size_independence(tools):
    ((shapes, differing),), passed = tools.test_line("gemm_exact_test", "size", r"size_independence: (\d+) shapes on 3 presets, (\d+) differing")
    return [row("array-size independence", int(differing), f"elements differ, {int(shapes)} shapes on nano, small, v5e-1mxu", "0", passed and differing == 0 and shapes > 0)]


def utilization(tools):
    value = tools.gemm(RTL_PRODUCT, "rtl")[0]["mxu_utilization"]
    return [row("utilisation", 100 * value, "% of peak, 1024^3 bf16, v5e-1mxu RTL", ">= 95", value >= 0.95)]


def rtl_speed(tools):
    value = max(report["simulated_macs_per_second"] for report in tools.gemm(RTL_PRODUCT, "rtl")) / 1e6
    return [row("RTL speed", value, "M MAC/s, 1024^3", ">= 200 (AVX-512)", value >= 200)]


def rtl_build(tools):
    """Verilates and compiles the v5e-1mxu core in a folder of its own, without ccache."""
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    with tempfile.TemporaryDirectory(prefix="weft-figures-") as folder:
        tools.run(["cmake", "--preset", "release", "-B", folder], cwd=tools.root, env=environment)
        tools.run(["cmake", "--build", folder, "--target", "weft_spec_generate"], env=environment)
        begin = time.monotonic()
        tools.run(["cmake", "--build", folder, "--target", RTL_LIBRARY, "-j", "2"], env=environment)
        seconds = time.monotonic() - begin
    return [row("RTL build", seconds, "s, v5e-1mxu, without ccache, -j 2", "<= 90", seconds <= 90)]


def fast_bits(tools):
    lines, passed = tools.test_line("cores_agree_test", "bits", r"cores_agree: (\d+) shapes, (\d+) differing")
    shapes, differing = (int(sum(column)) for column in zip(*lines, strict=True))
    return [row("fast core, bits", differing, f"elements differ from the RTL, {shapes} shapes", "0", passed and differing == 0 and shapes > 0)]


def fast_speed(tools):
    value = max(report["simulated_macs_per_second"] for report in tools.gemm(FAST_PRODUCT, "fast")) / 1e9
    return [row("fast core, speed", value, "G MAC/s, 2048^3", ">= 5", value >= 5)]


def fast_cycles(tools):
    report = tools.run_json("cycle_compare")
    value, shapes = 100 * report["largest_deviation"], len(report["shapes"])
    return [row("fast core, cycles", value, f"% off the RTL's at worst, {shapes} shapes", "<= 5 over 20", value <= 5 and shapes == 20)]


def determinism(tools):
    rows = []
    for test, line, what in (("determinism", "determinism", "device cycles"), ("steps", "launch_steps", "launch steps")):
        ((repetitions, equal),), passed = tools.test_line("gemm_exact_test", test, line + r": (\d+) repetitions, (\d+) equal")
        rows.append(row(f"determinism, {what}", int(repetitions - equal), f"of {int(repetitions)} repetitions differ", "0", passed and equal == repetitions and repetitions > 1))
    return rows


def host_overhead(tools):
    reports = [tools.run_json("launch_latency") for _ in range(tools.repetitions)]
    best = min(reports, key=lambda report: report["median_us"])
    return [row("host overhead", best["median_us"], f"us, median of {best['runs']} empty launches (p99 {best['p99_us']:.0f} us)", "<= 200", best["median_us"] <= 200)]


def in_flight(tools):
    ((flying, completed, wrong, disordered, duplicate),), passed = tools.test_line(
        "launch_test", "thousand", r"in_flight: (\d+) at once, (\d+) completed, (\d+) wrong, (\d+) out of order, (\d+) duplicate")
    return [row("in flight", int(flying), f"launches at once on one queue; {int(1000 - completed)} lost, {int(duplicate)} twice", ">= 1000 without loss",
                passed and flying >= 1000 and completed == 1000 and wrong + disordered + duplicate == 0)]


def memory(tools):
    value = max(report["peak_bytes"] for report in tools.gemm(RTL_PRODUCT, "rtl")) / 2**30
    return [row("memory", value, "GiB, VmHWM of weft-sim, 1024^3", "<= 2", 0 < value <= 2)]


def wall_time(tools):
    """From what scripts/demo and scripts/test print at their end."""
    text = Path(tools.log).read_text() if Path(tools.log).is_file() else ""
    rows = []
    for name, pattern, goal in (("time, demo", r"demo: (\d+) s from start to answer", 15), ("time, tests", r"tests: install and build (\d+) s, tests (\d+) s", 30)):
        match = re.search(pattern, text)
        minutes = sum(map(int, match.groups())) / 60 if match else None
        rows.append(row(name, minutes, "min" if match else "see CI log", f"<= {goal} from bare, 2 cores", minutes <= goal if match else None))
    return rows


FIGURES = [
    ("bit-exact", bit_exact),
    ("array-size independence", size_independence),
    ("utilisation", utilization),
    ("RTL speed", rtl_speed),
    ("RTL build", rtl_build),
    ("fast core, bits", fast_bits),
    ("fast core, speed", fast_speed),
    ("fast core, cycles", fast_cycles),
    ("determinism", determinism),
    ("host overhead", host_overhead),
    ("in flight", in_flight),
    ("memory", memory),
    ("time", wall_time),
]
