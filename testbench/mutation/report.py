"""The result as a table, JSON, JUnit and Markdown."""
from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from benches import STAGES
from execution import Verdict
from lint import STAGE
from mutant import Mutant
from waivers import UNPROVEN, Waiver

COLUMNS = ("block", "mutants", "own bench", "other bench", "system", "lint", "killed", "survived", "waived", "score")


@dataclass
class Result:
    population: int
    seed: int
    verdicts: list[Verdict]
    waived: dict[str, Waiver]      # by id of the mutant

    @property
    def killed(self) -> int:
        return sum(verdict.killed for verdict in self.verdicts)

    @property
    def score(self) -> float:
        """Killed of all: a waived survivor counts as survived."""
        return 100.0 * self.killed / len(self.verdicts) if self.verdicts else 100.0

    @property
    def unexplained(self) -> list[Verdict]:
        return [v for v in self.verdicts if not v.killed and v.mutant.id not in self.waived]

    @property
    def unproven(self) -> list[Verdict]:
        """Survivors that are known, and that nothing proves to be equal."""
        return [v for v in self.verdicts if not v.killed and v.mutant.id in self.waived
                and self.waived[v.mutant.id].category == UNPROVEN]

    @property
    def wrongly_waived(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.killed and v.mutant.id in self.waived]


def rows(result: Result, group) -> list[list[str]]:
    table = []
    for name in sorted({group(v) for v in result.verdicts}) + ["all"]:
        part = [v for v in result.verdicts if name in ("all", group(v))]
        stage = [sum(v.stage == s for v in part) for s in (*STAGES, STAGE)]
        survived = [v for v in part if not v.killed]
        waived = sum(v.mutant.id in result.waived for v in survived)
        score = 100.0 * (len(part) - len(survived)) / len(part) if part else 100.0
        table.append([name, len(part), *stage, sum(stage), len(survived), waived, f"{score:.1f} %"])
    return [[str(cell) for cell in row] for row in table]


def text_table(result: Result) -> str:
    lines = [list(COLUMNS)] + rows(result, lambda v: v.mutant.block)
    widths = [max(len(row[i]) for row in lines) for i in range(len(COLUMNS))]
    return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
                     for row in lines)


def rerun(verdict: Verdict) -> str:
    return f"scripts/mutate --only {verdict.mutant.id}"


def diff(verdict: Verdict) -> str:
    before, after = verdict.mutant.diff
    sign = [("-", line) for line in before.split("\n")] + [("+", line) for line in after.split("\n")]
    return "\n".join(f"    {mark} {line.strip()}" for mark, line in sign)


def describe(verdict: Verdict, waived: Waiver | None) -> str:
    state = f"killed by {verdict.program} ({verdict.how}) {verdict.test}".rstrip() if verdict.killed else "SURVIVED"
    if waived and not verdict.killed:
        state = f"survived, waived ({waived.category}): {waived.reason}"
    return f"{verdict.mutant.id}: {state}\n{diff(verdict)}\n    change: {verdict.mutant.what}\n    rerun:  {rerun(verdict)}"


class ResumeError(Exception):
    """A file of --json cannot be resumed."""


def digest(root: Path, file: str) -> str:
    """Of a source: a verdict holds as long as the file that was broken is the same."""
    return hashlib.sha256((root / file).read_bytes()).hexdigest()[:16]


def read_killed(path: Path, root: Path, mutants: list[Mutant]) -> list[Verdict]:
    """Verdicts of an earlier run, of those of `mutants` that it killed and whose file has not changed since. What survived is no
    verdict to keep: there may be a new test. No file: none."""
    if not path.exists():
        return []
    try:
        entries = {entry["id"]: entry for entry in json.loads(path.read_text())["verdicts"]}
        kept = []
        for mutant in mutants:
            entry = entries.get(mutant.id)
            if entry is None or entry["stage"] == "survived" or entry["digest"] != digest(root, mutant.change.file):
                continue
            if entry["change"] != mutant.what or entry["stage"] not in (*STAGES, STAGE):
                raise ResumeError(f"{path}: {mutant.id} is not the mutant of that id, or its stage {entry['stage']!r} is none")
            kept.append(Verdict(mutant, 0, entry["stage"], entry["killed_by"], entry["how"], entry["test"], entry["tried"],
                                entry["cpu_seconds"]))
        return kept
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResumeError(f"{path} is no result of scripts/mutate --json: {error!r}") from None


def write_json(result: Result, path: Path, root: Path) -> None:
    entries = [{"id": v.mutant.id, "block": v.mutant.block, "kind": v.mutant.change.kind, "change": v.mutant.what,
                "source": v.mutant.source, "digest": digest(root, v.mutant.change.file), "stage": v.stage, "killed_by": v.program, "how": v.how, "test": v.test,
                "tried": v.tried, "waived": v.mutant.id in result.waived, "cpu_seconds": round(v.cpu_seconds, 2),
                "rerun": rerun(v)} for v in result.verdicts]
    document = {"population": result.population, "seed": result.seed, "mutants": len(result.verdicts),
                "killed": result.killed, "score": round(result.score, 2),
                "unexplained": len(result.unexplained),
                "unproven": len(result.unproven), "verdicts": entries}
    path.write_text(json.dumps(document, indent=1) + "\n")


def write_junit(result: Result, path: Path) -> None:
    suite = ElementTree.Element("testsuite", name="mutation", tests=str(len(result.verdicts)),
                                failures=str(len(result.unexplained)))
    for verdict in result.verdicts:
        case = ElementTree.SubElement(suite, "testcase", classname=f"mutation.{verdict.mutant.block}",
                                      name=verdict.mutant.id, time=f"{verdict.cpu_seconds:.2f}")
        waiver = result.waived.get(verdict.mutant.id)
        if verdict.killed:
            continue
        element = ElementTree.SubElement(case, "skipped" if waiver else "failure",
                                         message=waiver.reason if waiver else "no test fails")
        element.text = describe(verdict, waiver)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def write_markdown(result: Result, path: Path) -> None:
    def table(first: str, group) -> list[str]:
        head = [first, *COLUMNS[1:]]
        lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
        return lines + ["| " + " | ".join(row) + " |" for row in rows(result, group)]
    lines = ["# Mutants of the RTL", "",
             f"{len(result.verdicts)} of {result.population} mutants, seed {result.seed}: {result.killed} killed, "
             f"{result.score:.1f} %. {len(result.unexplained)} survivors without an explanation.", ""]
    lines += table("block", lambda v: v.mutant.block) + [""]
    lines += table("kind", lambda v: v.mutant.change.kind) + ["", "## Survivors", ""]
    for verdict in result.verdicts:
        if not verdict.killed:
            lines += ["```", describe(verdict, result.waived.get(verdict.mutant.id)), "```", ""]
    path.write_text("\n".join(lines))
