"""Pictures of the site as SVG, from the data of the tree: processes and folders, a roofline of products, and how cycles moved.

Data: spec/chips (peaks), testbench/regression/cycle_baselines.json (cycles) and that file's history in git."""
import html
import json
import math
import re
import subprocess
import sys
from pathlib import Path

BASELINES = "testbench/regression/cycle_baselines.json"
INK, MUTED, COLOURS = "#222", "#888", ("#1b6ca8", "#c8553d", "#3a7d44", "#7d4e9e", "#b8860b", "#4a4a4a")


class Svg:
    """A picture in its making."""

    def __init__(self, width, height, title):
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="13" role="img">',
                      f"<title>{html.escape(title)}</title>", f'<rect width="{width}" height="{height}" fill="#fff"/>']

    def line(self, x1, y1, x2, y2, colour=INK, width=1.0, dash=""):
        self.lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"' + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def text(self, x, y, text, anchor="start", colour=INK, size=13, weight="normal"):
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" font-weight="{weight}">{html.escape(str(text))}</text>')

    def dot(self, x, y, colour, tip):
        self.lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{html.escape(tip)}</title></circle>')

    def box(self, x, y, width, height, head, rows=(), colour="#eef3f8"):
        self.lines.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{colour}" stroke="{INK}"/>')
        self.text(x + 10, y + 20, head, weight="bold")
        for number, row in enumerate(rows):
            self.text(x + 10, y + 40 + 18 * number, row, size=12)

    def polyline(self, points, colour):
        self.lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')

    def done(self):
        return "\n".join([*self.lines, "</svg>\n"])


def architecture():
    """The processes and the folders that they are made of."""
    s = Svg(940, 430, "Processes of Weft and the folders that they are made of")
    s.text(20, 24, "application process", weight="bold", size=15)
    s.text(520, 24, "simulator process (weft-sim), one per slice", weight="bold", size=15)
    s.box(20, 40, 320, 84, "driver/", ["weft.h; rings, doorbells, interrupts", "buffers: files in memory, mapped at IOVAs", "faults, hang reports, resets"])
    s.box(20, 150, 320, 66, "host/", ["compiler: graph, tiles, commands, executable", "runtime, tools, JAX by PJRT"])
    s.box(20, 250, 320, 84, "spec/", ["one source in TOML: registers, commands, rings,", "errors, chips. Generated: SystemVerilog, C, C++,", "the reference pages"], colour="#eef7ee")
    s.box(520, 40, 400, 84, "model/server, model/chip", ["PCIe endpoint: registers, MSI-X,", "DMA into the memory that was mapped"])
    s.box(520, 140, 190, 66, "model/rv32, model/ibex", ["the manager's processor", "runs firmware/"])
    s.box(730, 140, 190, 66, "HBM", ["programs, buffers,", "segments of launches"])
    s.box(520, 224, 400, 84, "tensor core", ["rtl/: MXU, VPU, VMEM, DMA, queues; Verilated", "or model/core: the fast core; both in lockstep", "judged by model/golden"], colour="#f8f1e7")
    s.box(520, 326, 400, 48, "model/ici", ["routers and links to the other chips of the slice"])
    for y, label in ((62, "vfio-user messages"), (86, "interrupts: eventfd"), (110, "host memory: shared files")):
        s.line(340, y, 520, y, COLOURS[0], 1.5)
        s.text(430, y - 5, label, "middle", COLOURS[0], 11)
    for x, y1, y2 in ((180, 124, 150), (615, 124, 140), (825, 124, 140), (615, 206, 224), (825, 206, 224), (720, 308, 326)):
        s.line(x, y1, x, y2, INK, 1.5)
    s.text(20, 396, "driver/ includes spec/ alone; the far side of the socket could be a PCIe card.", colour=MUTED, size=12)
    s.text(20, 416, "Bit for bit: what the RTL computes, the golden model computes, on every size of the array.", colour=MUTED, size=12)
    return s.done()


def read_rows(text):
    return {(row["program"], row["core"]): row for row in json.loads(text) if "program" in row}


def products(rows):
    """(chip, M, K, N, bytes of an element, cycles) of each matrix product in bf16 or int8."""
    for (program, core), row in sorted(rows.items()):
        match = re.fullmatch(r"weft gemm (?:--precision (int8) )?--shape (\d+)x(\d+)x(\d+) --chip ([\w-]+)", program)
        if match and core == "rtl":
            yield match[5], int(match[2]), int(match[3]), int(match[4]), 1 if match[1] else 2, row["device"]


def log_axis(value, low, high, first, last):
    return first + (last - first) * (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))


def roofline(spec, rows, name):
    """Products of one chip: MACs a cycle against MACs a byte, under the roof of array and HBM."""
    chip = next(c for c in spec.chips if c["name"] == name)
    peak, bandwidth = chip["peak_macs_per_cycle"], chip["hbm_bytes_per_second"] / chip["clock_hz"]
    points = []
    for chip_name, m, k, n, size, cycles in products(rows):
        if chip_name == name:
            # Each operand comes once, the result goes once: f32 of bf16, int32 of int8.
            traffic = size * (m * k + k * n) + 4 * m * n
            points.append((m * k * n / traffic, m * k * n / cycles, size, f"{m}x{k}x{n} {'bf16' if size == 2 else 'int8'}: {m * k * n / cycles:.1f} MACs a cycle, {cycles:,} cycles"))
    if not points:
        raise ValueError(f"{BASELINES} has no product of {name}")
    tallest = 2 * peak
    low_x, high_x = min(p[0] for p in points) / 2, max(max(p[0] for p in points), 2 * peak / bandwidth) * 3
    low_y, high_y = min(p[1] for p in points) / 2, tallest * 2
    s = Svg(880, 430, f"Roofline of {name}")
    left, right, top, bottom = 80, 690, 50, 370
    x = lambda v: log_axis(v, low_x, high_x, left, right)  # noqa: E731
    y = lambda v: log_axis(v, low_y, high_y, bottom, top)  # noqa: E731
    s.text(left, 28, f"{name}: what products reach of what array and HBM allow", weight="bold", size=15)
    for axis, low, high in (("x", low_x, high_x), ("y", low_y, high_y)):
        for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
            value = 10.0 ** power
            if axis == "x":
                s.line(x(value), top, x(value), bottom, "#e5e5e5")
                s.text(x(value), bottom + 18, f"{value:g}", "middle", MUTED)
            else:
                s.line(left, y(value), right, y(value), "#e5e5e5")
                s.text(left - 8, y(value) + 4, f"{value:g}", "end", MUTED)
    ridge = peak / bandwidth
    start = max(low_x, low_y / bandwidth)
    s.line(x(start), y(start * bandwidth), x(ridge), y(peak), COLOURS[1], 2)
    s.line(x(ridge), y(peak), right, y(peak), COLOURS[1], 2)
    s.text(right + 8, y(peak) + 4, f"bf16: {peak:,} MACs a cycle", colour=COLOURS[1])
    s.line(x(2 * ridge), y(2 * peak), right, y(2 * peak), COLOURS[1], 1.5, "6 4")
    s.line(x(ridge), y(peak), x(2 * ridge), y(2 * peak), COLOURS[1], 1.5, "6 4")
    s.text(right + 8, y(2 * peak) + 4, f"int8: {2 * peak:,}", colour=COLOURS[1])
    s.text(x(start) + 24, y(start * bandwidth) + 14, f"HBM: {bandwidth:.4g} bytes a cycle", colour=COLOURS[1])
    for intensity, speed, size, tip in points:
        s.dot(x(intensity), y(speed), COLOURS[0] if size == 2 else COLOURS[2], tip)
    s.text((left + right) / 2, bottom + 42, "MACs per byte of operands and result", "middle")
    s.text(left, top - 6, "MACs a cycle", size=12, colour=MUTED)
    for number, (label, colour) in enumerate((("bf16", COLOURS[0]), ("int8", COLOURS[2]))):
        s.dot(left + 20 + 70 * number, top + 16, colour, label)
        s.text(left + 30 + 70 * number, top + 20, label)
    return s.done(), len(points)


def history(root):
    """[(date, rows)], the oldest first; the file of now alone where git has none."""
    log = subprocess.run(["git", "-C", root, "log", "--reverse", "--format=%H %ad", "--date=short", "--", BASELINES], capture_output=True, text=True)
    found = []
    for line in log.stdout.splitlines():
        commit, date = line.split()
        shown = subprocess.run(["git", "-C", root, "show", f"{commit}:{BASELINES}"], capture_output=True, text=True)
        if shown.returncode == 0:
            found.append((date, read_rows(shown.stdout)))
    now = read_rows((root / BASELINES).read_text())
    if not found or found[-1][1] != now:
        found.append(("now", now))
    return found


def trend(states, programs):
    """Device cycles of some programs at each commit that changed a baseline, relative to the first."""
    s = Svg(960, 400, "Device cycles of programs over the commits that changed a baseline")
    left, right, top, bottom = 70, 480, 50, 330
    series = []
    for program in programs:
        values = [(i, rows[(program, core)]["device"]) for i, (_, rows) in enumerate(states) for core in ("rtl",) if (program, core) in rows]
        if values:
            series.append((program, values))
    if not series:
        raise ValueError(f"{BASELINES} has none of {programs}")
    high = max(v / values[0][1] for _, values in series for _, v in values) * 1.05
    s.text(left, 28, "Device cycles, relative to the first measurement of each program", weight="bold", size=15)
    x = lambda i: left + (right - left) * i / max(1, len(states) - 1)  # noqa: E731
    y = lambda v: bottom - (bottom - top) * v / high  # noqa: E731
    for tenth in range(0, int(high * 5) + 1):
        s.line(left, y(tenth / 5), right, y(tenth / 5), "#e5e5e5")
        s.text(left - 8, y(tenth / 5) + 4, f"{tenth / 5:.1f}", "end", MUTED)
    last = -math.inf
    for i, (date, _) in enumerate(states):
        if (i == 0 or states[i - 1][0] != date) and x(i) - last > 70:  # room for its text
            s.text(x(i), bottom + 18, date, "middle", MUTED, 11)
            last = x(i)
    for number, (program, values) in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        s.polyline([(x(i), y(v / values[0][1])) for i, v in values], colour)
        for i, v in values:
            s.dot(x(i), y(v / values[0][1]), colour, f"{program}: {v:,} cycles ({states[i][0]})")
        s.dot(right + 20, top + 24 * number, colour, program)
        s.text(right + 30, top + 4 + 24 * number, f"{program.removeprefix('weft ')}: {values[-1][1]:,}", size=12)
    return s.done()


TRENDS = ("digits --chip v5e-1mxu", "weft gemm --shape 1024x1024x1024 --chip v5e-1mxu", "weft gemm --shape 256x256x256 --chip nano",
          "weft gemm --shape 64x64x64 --chip nano", "digits_train --steps 2 --goal 0 --slice nano-2x2")
ROOFS = ("nano", "v5e-1mxu")


def write_pictures(root, folder):
    """pictures.md in `folder`, and beside it what it shows."""
    sys.path.insert(0, str(root / "scripts" / "spec"))
    from model import Spec
    spec, states = Spec(root / "spec"), history(root)
    rows = states[-1][1]
    pictures = {"architecture.svg": architecture(), "cycles.svg": trend(states, TRENDS)}
    page = ["# Pictures", "Made by scripts/site from the tree's own data; a dot tells its figures when the pointer rests on it.",
            "## Architecture", "![processes and folders](architecture.svg)", "More: [architecture](architecture.md).",
            "## Rooflines", "Device cycles are those of the RTL ([baselines](../testbench/regression/README.md)), bytes those of operands and result once, peaks those of "
            "[the presets](reference/chips.md); int8 goes at twice the rate of bf16."]
    for name in ROOFS:
        pictures[f"roofline_{name}.svg"], count = roofline(spec, rows, name)
        page.append(f"![roofline of {name}, {count} products](roofline_{name}.svg)")
    page += ["## Cycle trends", f"{len(states)} states of the baselines, from the history of `{BASELINES}`. Less is faster.", "![device cycles](cycles.svg)",
             "What else is measured: [figures](figures.md)."]
    for name, text in pictures.items():
        Path(folder / name).write_text(text)
    Path(folder / "pictures.md").write_text("\n\n".join(page) + "\n")
