"""Breaks the RTL in many small ways and tells which of them no test notices. Started by scripts/mutate."""
from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import benches
import design
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
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at once; default: one a CPU")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop; builds nothing")
    parser.add_argument("--until", choices=benches.STAGES, default="system", help=(
        "the last tests to try: the block's own benches, then those of other blocks, then random programs and tests of "
        "the whole core; default system"))
    parser.add_argument("--goal", type=float, default=GOAL, help="per cent to kill, default %(default)g")
    parser.add_argument("--allow-survivors", action="store_true", help="the goal is enough; survivors need no waiver")
    parser.add_argument("--build", default="build/mutation", help="folder for the mutated RTL and its build")
    parser.add_argument("--waivers", default=str(Path(__file__).parent / "waivers.toml"))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--resume", action="store_true", help=(
        "keep what the file of --json says was killed, if the file that was broken is the same; run the others"))
    parser.add_argument("--junit", metavar="FILE")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--verbose", action="store_true", help="print killed mutants too")
    arguments = parser.parse_args(argv)
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
        return mutate(arguments, folder)
    except (benches.BuildError, design.DesignError, execution.BaselineError, report.ResumeError, schemata.SchemataError,
            UsageError, waivers.WaiverError, OSError) as error:
        print(f"scripts/mutate: {error}", file=sys.stderr)
        return 2


def mutate(arguments: argparse.Namespace, folder: Path) -> int:
    waived = waivers.read(Path(arguments.waivers))
    packages = generated_packages(folder)
    population, _ = design.population(ROOT, packages)
    stale = waivers.stale(waived, population)
    if stale:
        raise waivers.WaiverError("\n".join(f"waiver of a mutant that does not exist: {w.file}: {w.kind}: {w.change}"
                                            for w in stale))
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
    by_key = {waiver.key: waiver for waiver in waived}

    kept = report.read_killed(Path(arguments.json), ROOT, chosen) if arguments.resume else []
    judged = list(kept)
    done_before = {verdict.mutant.id for verdict in kept}
    if arguments.resume:
        print(f"{len(kept)} were killed before", flush=True)

    def latch(mutant: Mutant) -> bool:
        return arguments.until == "system" and lint.makes_latch(ROOT, packages, mutant)

    def progress(verdict: execution.Verdict, done: int, seconds: float) -> None:
        if not verdict.killed or arguments.verbose or len(chosen) <= 20:
            print(report.describe(verdict, by_key.get(waivers.key_of(verdict.mutant))), flush=True)
        judged.append(verdict)
        if done % 25 == 0 or len(judged) == len(chosen):
            print(f"[{len(judged)}/{len(chosen)}, {seconds:.0f} s]", flush=True)
        if arguments.json:          # a run that is cut short keeps what it has
            report.write_json(report.Result(len(population), arguments.seed, judged, report.match(judged, waived)),
                              Path(arguments.json), ROOT)
    to_run = [(numbers[m.id], m) for m in chosen if m.id not in done_before]
    verdicts = kept + execution.judge_all(to_run, programs, arguments.until, latch, arguments.jobs, progress)
    place = {mutant.id: index for index, mutant in enumerate(chosen)}
    verdicts.sort(key=lambda verdict: place[verdict.mutant.id])
    return conclude(arguments, report.Result(len(population), arguments.seed, verdicts, report.match(verdicts, waived)))


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
          f"{len(result.unexplained)} survivors without an explanation")
    if result.wrongly_waived:
        return 2
    goal_met = arguments.only or result.score >= arguments.goal
    return 0 if goal_met and (arguments.allow_survivors or not result.unexplained) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
