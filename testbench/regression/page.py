"""One page of HTML for a regression: self-contained, no script, works offline."""
import html
from collections import Counter

from buckets import buckets
from results import FAILED, PASSED, SKIPPED

SLOWEST, EXAMPLES = 20, 5
STYLE = """
:root{--ink:#1d2329;--soft:#5d6873;--line:#d9dfe4;--paper:#fff;--band:#f5f7f9;--good:#1f7a4d;--bad:#b3261e;--idle:#9aa4ad}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#98a3ad;--line:#39424a;--paper:#14181c;--band:#1d2328;--good:#58c08a;--bad:#f2837b;--idle:#66717b}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:72rem;margin:2rem auto;padding:0 1.5rem}
h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}p{margin:.3rem 0}.soft{color:var(--soft)}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;color:var(--soft);font-size:.85rem}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.verdict{font-size:1.15rem;font-weight:600;margin:.8rem 0}.good{color:var(--good)}.bad{color:var(--bad)}
code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:var(--band);padding:.7rem .9rem;overflow-x:auto;max-height:22rem;margin:.4rem 0}
details{margin:.2rem 0}summary{cursor:pointer}svg{display:block}.wide{overflow-x:auto}
"""


def text(value):
    return html.escape(str(value), quote=True)


def bar(cases):
    """Share of passed, failed and skipped cases as a bar."""
    count, x, parts = Counter(case.status for case in cases), 0.0, []
    for status, colour in ((PASSED, "good"), (FAILED, "bad"), (SKIPPED, "idle")):
        width = 160 * count[status] / max(1, len(cases))
        if width:
            width = max(width, 2.0)  # one failure in a thousand is still seen
            parts.append(f'<rect x="{min(x, 160 - width):.1f}" width="{width:.1f}" height="10" fill="var(--{colour})"/>')
            x += width
    title = f"{count[PASSED]} passed, {count[FAILED]} failed, {count[SKIPPED]} skipped"
    return f'<svg width="160" height="10" role="img" aria-label="{title}"><title>{title}</title>{"".join(parts)}</svg>'


def table(head, rows):
    """head: (title, class) pairs; cells are HTML already."""
    top = "".join(f'<th class="{kind}">{text(title)}</th>' for title, kind in head)
    body = "".join("<tr>" + "".join(f'<td class="{kind}">{cell}</td>' for cell, (_, kind) in zip(row, head, strict=True)) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def job_rows(outcomes):
    for outcome in outcomes:
        failed = sum(case.status == FAILED for case in outcome.cases)
        rate = 100 * sum(case.status == PASSED for case in outcome.cases) / max(1, len(outcome.cases))
        yield (text(outcome.job.name), bar(outcome.cases), f"{len(outcome.cases)}", f'<span class="{"bad" if failed else ""}">{failed}</span>',
               f"{rate:.1f} %", f"{outcome.seconds:.1f}", f"<code>{text(outcome.command)}</code>")


def failures(cases):
    found = buckets(cases)
    if not found:
        return '<p class="soft">None.</p>'
    parts = []
    for bucket in found:
        parts.append(f"<h3><span class=bad>{len(bucket.cases)} ×</span> <code>{text(bucket.reason)}</code></h3>")
        for case in bucket.cases[:EXAMPLES]:
            parts.append(f"<details><summary>{text(case.job)}: {text(case.name)}</summary><p>{text(case.message)}</p><pre>{text(case.output)}</pre></details>")
        if len(bucket.cases) > EXAMPLES:
            parts.append(f'<p class="soft">and {len(bucket.cases) - EXAMPLES} more: {text(", ".join(case.name for case in bucket.cases[EXAMPLES:]))}</p>')
    return "".join(parts)


def cycle_section(rows):
    """rows of scripts/cycles --json: {program, core, measure, baseline, cycles}."""
    if rows is None:
        return '<p class="soft">Not compared.</p>'
    moved = [row for row in rows if row["baseline"] != row["cycles"]]
    if not moved:
        return f"<p>{len(rows)} baselines, none moved.</p>"

    def shown(value):
        return "-" if value is None else f"{value:,}"

    def difference(row):
        if row["baseline"] is None or row["cycles"] is None:
            return "-"
        return f'{row["cycles"] - row["baseline"]:+,} ({100 * (row["cycles"] / row["baseline"] - 1):+.2f} %)'

    return f"<p><span class=bad>{len(moved)} of {len(rows)} baselines moved.</span></p>" + table(
        (("program", ""), ("core", ""), ("cycles of", ""), ("baseline", "n"), ("now", "n"), ("difference", "n")),
        [(text(row["program"]), text(row["core"]), text(row["measure"]), shown(row["baseline"]), shown(row["cycles"]), difference(row)) for row in moved])


COVERAGE_NAMES = {"line": "line", "branch": "branch", "toggle": "port toggle", "bin": "functional"}


def coverage_section(coverage, link):
    """coverage: what scripts/coverage --json prints, or None; link: the whole report."""
    if coverage is None:
        return '<p class="soft">Not collected at this level.</p>'
    rows = []
    for metric, name in COVERAGE_NAMES.items():
        found, goal = coverage["totals"][metric], coverage["thresholds"][metric]
        below = "bad" if found["percent"] < goal else ""
        rows.append((name, f'<span class="{below}">{found["percent"]:.2f} %</span>', f"{goal:g} %", f'{found["total"]:,}', f'{found["waived"]:,}'))
    return table((("coverage", ""), ("reached", "n"), ("goal", "n"), ("points", "n"), ("waived", "n")), rows) + f'<p><a href="{text(link)}">The whole report</a></p>'


def page(about, outcomes, cycles, coverage, coverage_link):
    """The page. about: {level, seed, commit, date, cpu, seconds}."""
    cases = [case for outcome in outcomes for case in outcome.cases]
    failed = sum(case.status == FAILED for case in cases)
    verdict = f'<span class="bad">{failed} of {len(cases)} tests failed</span>' if failed else f'<span class="good">All {len(cases)} tests passed</span>'
    slow = sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Weft regression: {text(about["level"])}, {"failed" if failed else "passed"}</title><style>{STYLE}</style></head><body>
<h1>Weft regression, level {text(about["level"])}</h1>
<p class="soft">commit {text(about["commit"])} · seed {text(about["seed"])} · {text(about["date"])} · {about["seconds"]:.0f} s on {text(about["cpu"])}</p>
<p class="verdict">{verdict}</p>
<p class="soft">Again: <code>scripts/regress {text(about["level"])} --seed {text(about["seed"])}</code></p>
<h2>Jobs</h2>
{table((("job", ""), ("", ""), ("tests", "n"), ("failed", "n"), ("passed", "n"), ("seconds", "n"), ("command", "")), job_rows(outcomes))}
<h2>Failures, alike together</h2>
{failures(cases)}
<h2>Device cycles</h2>
{cycle_section(cycles)}
<h2>Coverage of the RTL</h2>
{coverage_section(coverage, coverage_link)}
<h2>Slowest tests</h2>
{table((("test", ""), ("job", ""), ("seconds", "n")), [(text(case.name), text(case.job), f"{case.seconds:.2f}") for case in slow])}
</body></html>
"""
