"""The report as HTML: index.html with totals, blocks, files, bins and waivers, and a page for each source. No scripts, no
files from elsewhere: a folder that can be opened anywhere."""
from __future__ import annotations

import html
import pathlib
import re

from metrics import METRICS, Item, Sources, Totals, totals
from report_text import NAMES, block_of, by_block, by_file
from waivers import Waiver

STYLE = """
:root { --good: #2e7d4f; --bad: #b3261e; --waived: #8a6d1d; --line: #d9dee3; --soft: #f5f7f9; --ink: #1d2329; --grey: #66717c; }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1180px; padding: 28px 24px 60px; color: var(--ink); background: #fff;
       font: 14px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
h1 { font-size: 22px; margin: 0 0 2px } h2 { font-size: 16px; margin: 34px 0 8px } a { color: #1f5fa8; text-decoration: none }
a:hover { text-decoration: underline } .about { color: var(--grey); margin: 0 0 20px }
.cards { display: grid; grid-template-columns: repeat(4, 1fr); gap: 14px }
.card { border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px }
.card b { font-size: 26px; display: block; line-height: 1.25; font-variant-numeric: tabular-nums }
.card .name { color: var(--grey) } .card .count { color: var(--grey); font-size: 12.5px }
.good { color: var(--good) } .bad { color: var(--bad) } .waived { color: var(--waived) }
.bar { height: 5px; border-radius: 3px; background: #e9c9c6; overflow: hidden; margin: 6px 0 } .bar i { display: block; height: 100%; background: var(--good) }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: 4px 10px; border-bottom: 1px solid var(--line); vertical-align: top }
th { font-weight: 600; background: var(--soft); position: sticky; top: 0 } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.problems { border: 1px solid var(--bad); border-radius: 8px; padding: 8px 14px; margin: 14px 0 } .problems p { margin: 3px 0 }
.bins { columns: 3; column-gap: 26px; font-size: 12.5px } .bins div { break-inside: avoid; display: flex; justify-content: space-between; gap: 8px; border-bottom: 1px solid #eef1f4 }
details { border: 1px solid var(--line); border-radius: 8px; padding: 6px 12px; margin: 8px 0 } summary { cursor: pointer }
summary .count { float: right; font-variant-numeric: tabular-nums }
table.source { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", monospace } table.source td { padding: 0 8px; border: 0; white-space: pre }
table.source td.n { color: var(--grey) } tr.missed td { background: #fbe9e7 } tr.partly td { background: #fff4dc } tr.ok td.n { color: var(--good) }
tr.waived td { background: #f6f0dd } td.why { color: var(--bad); white-space: normal !important; min-width: 220px; font-family: system-ui, "DejaVu Sans", sans-serif }
td.why .waived { color: var(--waived) } code { font: 12.5px ui-monospace, "DejaVu Sans Mono", monospace }
@media (max-width: 800px) { .cards { grid-template-columns: 1fr 1fr } .bins { columns: 1 } }
"""


def page(title: str, body: str) -> str:
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>{body}</body></html>\n")


def file_page_name(file: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", file) + ".html"


def _class(percent: float, threshold: float) -> str:
    return "good" if percent >= threshold else "bad"


def _card(metric: str, sums: Totals, threshold: float) -> str:
    grade = _class(sums.percent, threshold)
    waived = f", {sums.waived} waived" if sums.waived else ""
    return (f'<div class="card"><span class="name">{NAMES[metric]}</span><b class="{grade}">{sums.percent:.2f} %</b>'
            f'<div class="bar"><i style="width:{sums.percent:.2f}%"></i></div>'
            f'<span class="count">{sums.covered:,} of {sums.total:,}{waived}; threshold {threshold:g} %</span></div>')


def _cell(sums: Totals, threshold: float) -> str:
    if sums.total == 0:
        return '<td class="n">–</td><td class="n">–</td>'
    missed = f'<span class="bad">{sums.missed}</span>' if sums.missed else "0"
    return f'<td class="n {_class(sums.percent, threshold)}">{sums.percent:.2f} %</td><td class="n">{missed}</td>'


def _figures(rows: list[tuple[str, dict[str, Totals]]], first: str, thresholds: dict[str, float]) -> str:
    metrics = METRICS[:3]
    head = "".join(f'<th class="n">{NAMES[m]}</th><th class="n">missed</th>' for m in metrics)
    body = "".join(f"<tr><td>{label}</td>" + "".join(_cell(sums[m], thresholds[m]) for m in metrics) + "</tr>" for label, sums in rows)
    return f"<table><tr><th>{first}</th>{head}</tr>{body}</table>"


def _bins(items: list[Item], docs: dict[str, str]) -> str:
    groups: dict[str, list[Item]] = {}
    for item in items:
        if item.metric == "bin":
            groups.setdefault(item.note, []).append(item)
    parts = []
    order = sorted(groups.items(), key=lambda pair: (-sum(1 for i in pair[1] if i.state == "missed"), pair[0]))
    for group, mine in order:
        sums = totals(mine)["bin"]
        mine = sorted(mine, key=lambda i: ({"missed": 0, "waived": 1, "covered": 2}[i.state], i.name))
        rows = "".join(f'<div><span class="{ {"missed": "bad", "waived": "waived", "covered": ""}[i.state] }">'
                       f'{html.escape(i.name.removesuffix("_C").removeprefix(group + "_"))}</span><span>'
                       f'{"missed" if i.state == "missed" else "waived" if i.state == "waived" else f"{i.hits:,}"}</span></div>'
                       for i in mine)
        grade = "bad" if sums.missed else "good"
        parts.append(f'<details{" open" if sums.missed else ""}><summary><b>{html.escape(group)}</b> {html.escape(docs.get(group, ""))}'
                     f'<span class="count {grade}">{sums.covered} of {sums.total}</span></summary><div class="bins">{rows}</div></details>')
    return "".join(parts)


def _waivers(waivers: list[Waiver]) -> str:
    if not waivers:
        return "<p>None.</p>"
    rows = "".join(f"<tr><td>{html.escape(w.owner)}</td><td>{w.kind}</td><td><code>"
                   + html.escape(" ".join(f"{k}: {v}" for k, v in w.where.items() if k != "text"))
                   + f'</code></td><td class="n">{w.needed}</td><td>{html.escape(w.reason)}</td></tr>'
                   for w in waivers)
    return f'<table><tr><th>owner</th><th>kind</th><th>names</th><th class="n">waived</th><th>reason</th></tr>{rows}</table>'


def index(items: list[Item], waivers: list[Waiver], thresholds: dict[str, float], problems: list[str], docs: dict[str, str],
          about: dict[str, str]) -> str:
    sums = totals(items)
    cards = "".join(_card(m, sums[m], thresholds[m]) for m in METRICS)
    wrong = "".join(f"<p>{html.escape(p)}</p>" for p in problems)
    files = [(f'<a href="{file_page_name(file)}">{html.escape(file)}</a>', s) for file, s in by_file(items).items()]
    told = " · ".join(f"{html.escape(k)} {html.escape(v)}" for k, v in about.items())
    return page("Coverage of the RTL", f"<h1>Coverage of the RTL</h1><p class=\"about\">{told}</p><div class=\"cards\">{cards}</div>"
                + (f'<div class="problems">{wrong}</div>' if problems else "")
                + "<h2>Blocks</h2>" + _figures(list(by_block(items).items()), "block", thresholds)
                + "<h2>Functional bins</h2>" + _bins(items, docs)
                + "<h2>Files</h2>" + _figures(files, "file", thresholds)
                + "<h2>Waivers</h2>" + _waivers(waivers))


def bit_ranges(names: list[tuple[int, str]]) -> str:
    """[(3, "still"), (4, "still"), (7, "rose only")] to "[4:3] still, [7] rose only"."""
    out, run = [], []
    for bit, note in sorted(names) + [(-2, "")]:
        if run and (bit != run[-1][0] + 1 or note != run[0][1]):
            low, high = run[0][0], run[-1][0]
            out.append((f"[{high}:{low}]" if high != low else f"[{low}]") + f" {run[0][1]}")
            run = []
        run.append((bit, note))
    return ", ".join(out)


def source_page(file: str, items: list[Item], sources: Sources, thresholds: dict[str, float]) -> str:
    mine: dict[int, list[Item]] = {}
    for item in items:
        mine.setdefault(item.line, []).append(item)
    rows = []
    for number, text in enumerate(sources.lines(file), 1):
        here = mine.get(number, [])
        line = next((i for i in here if i.metric == "line"), None)
        missed = [i for i in here if i.state == "missed"]
        waived = [i for i in here if i.state == "waived"]
        kind = ("missed" if line and line.state == "missed" else "partly" if missed else "waived" if waived else "ok" if line else "")
        why = [f"{i.name}: never taken" for i in missed if i.metric == "branch"]
        still: dict[str, list[tuple[int, str]]] = {}
        for i in missed:
            if i.metric == "toggle":
                port, _, bit = i.name.partition(".")[2].rpartition("[")
                still.setdefault(port, []).append((int(bit[:-1]), i.note))
        why += [f"{port}{bit_ranges(bits)}" for port, bits in still.items()]
        told = "<br>".join(html.escape(w) for w in why)
        for waiver in {id(i.waiver): i.waiver for i in waived}.values():
            told += f'<div class="waived">waived: {html.escape(waiver.reason)}</div>'
        hits = f"{line.hits:,}" if line else ""
        rows.append(f'<tr class="{kind}" id="L{number}"><td class="n">{number}</td><td class="n">{hits}</td>'
                    f'<td>{html.escape(text)}</td><td class="why">{told}</td></tr>')
    sums = totals(items)
    return page(file, f'<p><a href="index.html">Coverage of the RTL</a></p><h1>{html.escape(file)}</h1>'
                f'<p class="about">block {html.escape(block_of(file))}</p>'
                + _figures([("", sums)], "", thresholds)
                + f'<h2>Source</h2><table class="source">{"".join(rows)}</table>')


def write(folder: pathlib.Path, items: list[Item], waivers: list[Waiver], sources: Sources, thresholds: dict[str, float],
          problems: list[str], docs: dict[str, str], about: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(index(items, waivers, thresholds, problems, docs, about))
    files: dict[str, list[Item]] = {}
    for item in items:
        if item.metric != "bin":
            files.setdefault(item.file, []).append(item)
    for file, mine in files.items():
        (folder / file_page_name(file)).write_text(source_page(file, mine, sources, thresholds))
