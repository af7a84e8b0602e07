"""Breaks the RTL in many small ways and tells which of them no test notices. Started by scripts/mutate."""
from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import benches
import bugs
import design
import equality
import execution
import lint
import report
import sampling
import schemata
import waivers
from mutant import Mutant, living_numbers

ROOT = Path(__file__).resolve().parents[2]
GOAL = 95.0      # per cent of the mutants that the tests kill


class UsageError(Exception):
    """An argument names nothing."""


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__, epilog=(
        "Exit code: 0 at least %g %% are killed and every survivor is waived; 1 otherwise; 2 wrong arguments, waivers or "
        "a build that fails." % GOAL))
    parser.add_argument("--count", type=int, default=400, help="mutants to draw, default 400; 0: all there are")
    parser.add_argument("--seed", type=int, default=1, help="of the draw, default 1")
    parser.add_argument("--block", action="append", help="only mutants below rtl/BLOCK; may be repeated")
    parser.add_argument("--only", metavar="ID", action="append", help="this mutant; may be repeated")
    parser.add_argument("--bugs", nargs="?", const=str(Path(__file__).parent / "bugs.toml"), metavar="FILE", help=(
        "plant the bugs by hand of this file (bugs.toml) instead of drawing mutants; --only takes their names"))
    parser.add_argument("--prove-waivers", action="store_true", help=(
        "prove that the waived mutants equal the RTL, and stop; builds nothing; --only takes ids"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at once; default: one a CPU")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop; builds nothing")
    parser.add_argument("--until", choices=benches.STAGES, default="system", help=(
        "the last tests to try: the block's own benches, then those of other blocks, then random programs and tests of "
        "the whole core; default system"))
    parser.add_argument("--goal", type=float, default=GOAL, help="per cent to kill, default %(default)g")
    parser.add_argument("--allow-survivors", action="store_true", help="the goal is enough; survivors need no waiver")
    parser.add_argument("--build", help=(
        "folder for the mutated RTL and its build, default build/mutation, with --bugs build/bugs"))
    parser.add_argument("--waivers", default=str(Path(__file__).parent / "waivers.toml"))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--resume", action="store_true", help=(
        "keep what the file of --json says was killed, if the file that was broken is the same; run the others"))
    parser.add_argument("--junit", metavar="FILE")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--verbose", action="store_true", help="print killed mutants too")
    arguments = parser.parse_args(argv)
    arguments.build = arguments.build or ("build/bugs" if arguments.bugs else "build/mutation")
    if arguments.count < 0 or arguments.jobs < 1:
        parser.error("--count must not be negative, --jobs at least 1")
    if arguments.resume and not arguments.json:
        parser.error("--resume needs --json FILE, the result to go on with")
    return arguments


def generated_packages(folder: Path) -> Path:
    """weft_pkg and chip_pkg, made anew from spec/."""
    out = folder / "generated"
    benches.Build(ROOT, folder).run([sys.executable, str(ROOT / "scripts/spec/generate.py"), "--spec", str(ROOT / "spec"),
                                     "--out", str(out)])
    return out / "rtl"


def choose(population: list[Mutant], arguments: argparse.Namespace) -> list[Mutant]:
    if arguments.only:
        by_id = {mutant.id: mutant for mutant in population}
        unknown = [identifier for identifier in arguments.only if identifier not in by_id]
        if unknown:
            raise UsageError(f"no mutant {unknown[0]}; scripts/mutate --count 0 --list prints all")
        return [by_id[identifier] for identifier in dict.fromkeys(arguments.only)]
    if arguments.block:
        blocks = {mutant.block for mutant in population}
        unknown = [block for block in arguments.block if block not in blocks]
        if unknown:
            raise UsageError(f"no block {unknown[0]}; there are {', '.join(sorted(blocks))}")
        population = [mutant for mutant in population if mutant.block in arguments.block]
    return sampling.sample(population, arguments.count or len(population), arguments.seed)


def tree_holding(chosen: list[Mutant], population: list[Mutant], manifest: Path) -> list[Mutant]:
    """The mutants to build: those of the tree that is there, if it holds the chosen ones; so that one more run of a
    mutant builds nothing."""
    try:
        ids = json.loads(manifest.read_text())
    except (OSError, ValueError):
        return chosen
    by_id = {mutant.id: mutant for mutant in population}
    if not isinstance(ids, list) or any(i not in by_id for i in ids) or {m.id for m in chosen} - set(ids):
        return chosen
    return [by_id[i] for i in ids]


def main(argv: list[str]) -> int:
    arguments = arguments_of(argv)
    folder = (ROOT / arguments.build).resolve()
    try:
        return hunt_bugs(arguments, folder) if arguments.bugs else mutate(arguments, folder)
    except (benches.BuildError, bugs.BugError, design.DesignError, execution.BaselineError, report.ResumeError, schemata.SchemataError,
            UsageError, waivers.WaiverError, OSError) as error:
        print(f"scripts/mutate: {error}", file=sys.stderr)
        return 2


def hunt_bugs(arguments: argparse.Namespace, folder: Path) -> int:
    """--bugs"""
    known = bugs.read(Path(arguments.bugs), ROOT)
    chosen = bugs.choose(known, arguments.only)
    if arguments.list:
        for bug in chosen:
            print(f"{bug.id}  {bug.block}: {bug.breaks}")
        return 0
    numbers = bugs.write_tree(ROOT, folder / "rtl", known)
    build = benches.Build(ROOT, folder)
    build.configure()
    programs = [p for p in build.programs() if any(p in benches.order_of([p], b.files, arguments.until) for b in chosen)]
    print(f"{len(chosen)} of {len(known)} bugs; building {', '.join(sorted({p.name for p in programs}))}", flush=True)
    build.compile(programs, arguments.jobs)
    execution.baseline(programs, arguments.jobs)
    print("all pass without a bug", flush=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = []
        for verdict in pool.map(lambda bug: bugs.hunt(bug, numbers[bug.id], programs, arguments.until), chosen):
            verdicts.append(verdict)
            print(f"[{len(verdicts)}/{len(chosen)}] {verdict.bug.id}: {verdict.killed_by or 'SURVIVED'}", flush=True)
            if arguments.json:
                bugs.write_json(verdicts, Path(arguments.json))
    killed = sum(bool(verdict.killed_by) for verdict in verdicts)
    print(bugs.table(verdicts))
    print(f"{killed} of {len(chosen)} killed, {bugs.needed(len(chosen))} needed")
    for verdict in verdicts:
        if not verdict.killed_by:
            print(f"survived: {verdict.bug.id}: {verdict.bug.breaks}\n  tried: {', '.join(verdict.tried) or 'nothing'}\n"
                  f"  rerun: scripts/mutate --bugs --only {verdict.bug.id}")
    return 0 if killed >= bugs.needed(len(chosen)) else 1


def mutate(arguments: argparse.Namespace, folder: Path) -> int:
    waived = waivers.read(Path(arguments.waivers))
    packages = generated_packages(folder)
    population, _ = design.population(ROOT, packages)
    by_id = waivers.resolve(waived, population)
    if arguments.prove_waivers:
        return prove_waivers(arguments, by_id, population, packages, folder)
    chosen = choose(population, arguments)
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.id}  {mutant.what}")
        return 0
    print(f"{len(chosen)} of {len(population)} mutants, seed {arguments.seed}", flush=True)

    manifest = folder / "mutants.json"
    built = tree_holding(chosen, population, manifest)
    schemata.write_tree(ROOT, folder / "rtl", built)
    manifest.write_text(json.dumps([mutant.id for mutant in built]))
    build = benches.Build(ROOT, folder)
    build.configure()
    files = {mutant.change.file for mutant in chosen}
    programs = [p for p in build.programs() if any(p in benches.order([p], f, arguments.until) for f in files)]
    print(f"building {', '.join(sorted({p.name for p in programs}))}", flush=True)
    build.compile(programs, arguments.jobs)
    execution.baseline(programs, arguments.jobs)
    print("all pass without a mutant", flush=True)

    numbers = living_numbers(built)

    kept = report.read_killed(Path(arguments.json), ROOT, chosen) if arguments.resume else []
    judged = list(kept)
    done_before = {verdict.mutant.id for verdict in kept}
    if arguments.resume:
        print(f"{len(kept)} were killed before", flush=True)

    def latch(mutant: Mutant) -> bool:
        return arguments.until == "system" and lint.makes_latch(ROOT, packages, mutant)

    def progress(verdict: execution.Verdict, done: int, seconds: float) -> None:
        if not verdict.killed or arguments.verbose or len(chosen) <= 20:
            print(report.describe(verdict, by_id.get(verdict.mutant.id)), flush=True)
        judged.append(verdict)
        if done % 25 == 0 or len(judged) == len(chosen):
            print(f"[{len(judged)}/{len(chosen)}, {seconds:.0f} s]", flush=True)
        if arguments.json:          # a run that is cut short keeps what it has
            report.write_json(report.Result(len(population), arguments.seed, judged, by_id),
                              Path(arguments.json), ROOT)
    to_run = [(numbers[m.id], m) for m in chosen if m.id not in done_before]
    verdicts = kept + execution.judge_all(to_run, programs, arguments.until, latch, arguments.jobs, progress)
    place = {mutant.id: index for index, mutant in enumerate(chosen)}
    verdicts.sort(key=lambda verdict: place[verdict.mutant.id])
    return conclude(arguments, report.Result(len(population), arguments.seed, verdicts, by_id))


def prove_waivers(arguments: argparse.Namespace, by_id: dict[str, waivers.Waiver], population: list[Mutant], packages: Path,
                  folder: Path) -> int:
    """--prove-waivers: each mutant that is said to be equal is proved to be."""
    mutants = [m for m in population if m.id in by_id and by_id[m.id].proof and (not arguments.only or m.id in arguments.only)]
    if not mutants:
        raise UsageError("no waiver to prove")

    def prove(mutant: Mutant) -> bool:
        try:
            outcome = equality.prove(ROOT, packages, mutant, by_id[mutant.id].proof, folder / "equal" / mutant.id.replace("/", "."))
            state = "equal" if outcome.equal else f"NOT EQUAL: {outcome.why}"
        except equality.EqualityError as error:
            outcome, state = None, f"NOT PROVEN: {error}"
        print(f"{mutant.id}: {mutant.what}: {state}" + (f" [{outcome.seconds:.0f} s]" if outcome else ""), flush=True)
        return outcome is not None and outcome.equal
    with ThreadPoolExecutor(arguments.jobs) as pool:
        proved = sum(pool.map(prove, mutants))
    unproven = sum(w.category == waivers.UNPROVEN for w in by_id.values())
    print(f"{proved} of {len(mutants)} waivers proved; {unproven} of class {waivers.UNPROVEN} count as survivors")
    return 0 if proved == len(mutants) else 1


def conclude(arguments: argparse.Namespace, result: report.Result) -> int:
    if arguments.json:
        report.write_json(result, Path(arguments.json), ROOT)
    for path, write in ((arguments.junit, report.write_junit), (arguments.markdown, report.write_markdown)):
        if path:
            write(result, Path(path))
    print(report.text_table(result))
    for verdict in result.wrongly_waived:
        print(f"waived, but killed by {verdict.program}: {verdict.mutant.id}; take the waiver out")
    print(f"{result.killed} of {len(result.verdicts)} killed, {result.score:.1f} %; "
          f"{len(result.unexplained)} survivors without an explanation, {len(result.unproven)} whose equality is not proven")
    if result.wrongly_waived:
        return 2
    goal_met = arguments.only or result.score >= arguments.goal
    return 0 if goal_met and (arguments.allow_survivors or not result.unexplained) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
