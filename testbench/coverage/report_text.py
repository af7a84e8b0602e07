"""The report as a table for terminals, as lcov info and as JSON."""
from __future__ import annotations

import json
import pathlib

from metrics import METRICS, Item, Totals, totals

NAMES = {"line": "line", "branch": "branch", "toggle": "port toggle", "bin": "functional"}


def block_of(file: str) -> str:
    """rtl/core/issue.sv to core."""
    return file.split("/")[1] if file.count("/") >= 2 else "bins"


def by_block(items: list[Item]) -> dict[str, dict[str, Totals]]:
    grouped: dict[str, list[Item]] = {}
    for item in items:
        if item.metric != "bin":
            grouped.setdefault(block_of(item.file), []).append(item)
    return {block: totals(mine) for block, mine in sorted(grouped.items())}


def by_file(items: list[Item]) -> dict[str, dict[str, Totals]]:
    grouped: dict[str, list[Item]] = {}
    for item in items:
        if item.metric != "bin":
            grouped.setdefault(item.file, []).append(item)
    return {file: totals(mine) for file, mine in sorted(grouped.items())}


def failures(sums: dict[str, Totals], thresholds: dict[str, float]) -> list[str]:
    """The metrics that are below their threshold, or empty."""
    found = []
    for metric in METRICS:
        if sums[metric].total == 0:
            found.append(f"{NAMES[metric]}: nothing was measured")
        elif sums[metric].percent < thresholds[metric]:
            found.append(f"{NAMES[metric]}: {sums[metric].percent:.2f} % is below {thresholds[metric]:g} %")
    return found


def table(items: list[Item], thresholds: dict[str, float]) -> str:
    sums, lines = totals(items), []
    lines.append(f"{'':14}{'covered':>9}{'of':>8}{'waived':>8}{'missed':>8}{'':>10}{'threshold':>11}")
    for metric in METRICS:
        s = sums[metric]
        verdict = "" if s.total and s.percent >= thresholds[metric] else "  below"
        lines.append(f"{NAMES[metric]:14}{s.covered:9}{s.total:8}{s.waived:8}{s.missed:8}{s.percent:8.2f} %"
                     f"{thresholds[metric]:9g} %{verdict}")
    lines.append("")
    lines.append(f"{'block':14}" + "".join(f"{NAMES[m]:>13}" for m in METRICS[:3]))
    for block, s in by_block(items).items():
        lines.append(f"{block:14}" + "".join(f"{s[m].percent:11.2f} %" for m in METRICS[:3]))
    return "\n".join(lines) + "\n"


def lcov(items: list[Item]) -> str:
    """Line and branch counts in lcov's format; waived ones are left out."""
    files: dict[str, list[Item]] = {}
    for item in items:
        if item.metric in ("line", "branch") and item.state != "waived":
            files.setdefault(item.file, []).append(item)
    out = []
    for file, mine in sorted(files.items()):
        lines = [item for item in mine if item.metric == "line"]
        branches = [item for item in mine if item.metric == "branch"]
        out += ["TN:", f"SF:{file}"]
        for number, item in enumerate(branches):
            out.append(f"BRDA:{item.line},0,{number},{item.hits or '-'}")
        out += [f"BRF:{len(branches)}", f"BRH:{sum(1 for item in branches if item.hits)}"]
        out += [f"DA:{item.line},{item.hits}" for item in lines]
        out += [f"LF:{len(lines)}", f"LH:{sum(1 for item in lines if item.hits)}", "end_of_record"]
    return "\n".join(out) + "\n"


def document(items: list[Item], thresholds: dict[str, float], problems: list[str], about: dict[str, str]) -> dict:
    """What coverage.json holds."""
    def figures(sums: dict[str, Totals]) -> dict:
        return {m: {"covered": s.covered, "total": s.total, "waived": s.waived, "percent": round(s.percent, 3)}
                for m, s in sums.items()}
    return {
        "about": about,
        "thresholds": thresholds,
        "totals": figures(totals(items)),
        "blocks": {block: figures(s) for block, s in by_block(items).items()},
        "files": {file: figures(s) for file, s in by_file(items).items()},
        "bins": {item.name: {"group": item.note, "hits": item.hits, "state": item.state} for item in items if item.metric == "bin"},
        "missed": [{"metric": i.metric, "file": i.file, "line": i.line, "name": i.name, "note": i.note}
                   for i in items if i.state == "missed" and i.metric != "bin"],
        "problems": problems,
    }


def write(folder: pathlib.Path, items: list[Item], thresholds: dict[str, float], problems: list[str], about: dict[str, str]) -> None:
    (folder / "coverage.txt").write_text(table(items, thresholds))
    (folder / "coverage.info").write_text(lcov(items))
    (folder / "coverage.json").write_text(json.dumps(document(items, thresholds, problems, about), indent=1) + "\n")
