#!/usr/bin/python3
"""Runs the formal proofs of proofs.toml, and shows that each of them can fail.

usage: prove.py [--build FOLDER] [--only NAME ...] [--mutants all|first|none] [--no-proof] [--json FILE] [--junit FILE] [--jobs N] [--keep FOLDER]
       prove.py --list | --table README.md | --check-table README.md

A proof holds if its assertions hold (method), every cover statement is reached, and each of its mutants, which are
textual changes of the RTL, is refuted by a counterexample from reset. A mutant that is not asked for must still find its text. FOLDER is a CMake build folder: it holds the
packages that are generated from spec/. Seconds are wall clock, of all tools together.
Exit code 0: all hold; 1: one does not; 2: one could not be run."""
import argparse
import concurrent.futures
import json
import re
import sys
import tempfile
import tomllib
import xml.etree.ElementTree
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import engines  # noqa: E402
import model  # noqa: E402


METHODS = ("induction", "exhaustive", "bounded")


@dataclass
class Result:
    name: str
    statement: str
    method: str
    depth: int
    reader: str
    solver: str
    holds: bool = False
    covers: int = 0
    covers_reached: int = 0
    mutants: int = 0
    mutants_killed: int = 0
    proof_asked: bool = True
    proof_seconds: float = 0.0
    mutant_seconds: float = 0.0
    ran: bool = True
    message: str = ""
    notes: list = field(default_factory=list)

    @property
    def good(self):
        proved = self.holds and self.covers_reached == self.covers > 0
        asked = self.proof_asked or self.mutants > 0
        return self.ran and asked and (proved or not self.proof_asked) and self.mutants_killed == self.mutants


def cases(entry):
    """The entry once for each of its lanes, with LANE, or the entry alone: it holds if each does."""
    if "lanes" not in entry:
        return [entry]
    return [entry | {"case": f"_{lane}", "defines": entry["defines"] | {"LANE": lane}} for lane in range(entry["lanes"])]


def inherited(entries):
    """`like` names an earlier proof whose keys an entry has unless it gives its own."""
    known = {}
    for entry in entries:
        if "like" in entry:
            if str(entry["like"]) not in known:
                sys.exit(f"prove.py: proofs.toml: {entry.get('name', '?')}: like {entry['like']}, which is no earlier proof")
            entry |= known[str(entry["like"])] | entry
        known[str(entry.get("name"))] = entry
    return entries


def prove(entry, build, folder):
    """One entry of the table: proof, covers, mutants."""
    result = Result(entry["name"], entry["statement"], entry["method"], entry["depth"],
                    model.READERS[entry.get("reader", "yosys")], entry.get("solver", "abc"), mutants=len(entry["mutants"]),
                    proof_asked=entry.get("proof_asked", True))
    limit = entry.get("timeout", model.TIMEOUT)
    clock = model.Clock(limit)
    try:
        for mutant in entry.get("mutants_left_out", []):
            model.changed(entry, build, mutant)
        for case in cases(entry) if result.proof_asked else []:
            engine = engines.engine(case)
            made = model.make(case, build, folder / f"proof{case.get('case', '')}", clock)
            failed = engine.holds(made, clock)
            result.message = result.message or failed or ""
            covers, reached = engine.covers(made, case.get("cover_depth", case["depth"]), clock)
            result.covers, result.covers_reached = result.covers + covers, result.covers_reached + reached
        result.holds = result.proof_asked and not result.message
        if result.proof_asked and (result.covers_reached < result.covers or result.covers == 0):
            result.message += f" {result.covers_reached} of {result.covers} covers reached"
        result.proof_seconds = clock.seconds
        clock = model.Clock(limit)
        for index, mutant in enumerate(entry["mutants"]):
            for case in reversed(cases(entry)):
                # a counterexample from reset, not only an induction that fails
                depth = 1 if entry["method"] == "exhaustive" else mutant.get("depth", case["depth"])
                made = model.make(case, build, folder / f"mutant{index}{case.get('case', '')}", clock, mutant)
                by = engines.engine(case).counterexample(made, depth, clock, mutant.get("first", 0), mutant.get("by", ""))
                if by is not None:
                    break
            result.notes.append({key: mutant[key] for key in ("file", "find", "replace")} | {"by": by})
            result.mutants_killed += by is not None
            if by is None:
                result.message += f" mutant {index} survives: {mutant['replace']}"
        result.mutant_seconds = clock.seconds
    except model.CannotRun as error:
        result.ran, result.message = False, str(error)
    return result


def states(name, build, folder, texts):
    """None, or why not: what the proof of this name states holds of an RTL in which these sources, {name: text}, are others."""
    entry, = (e for e in inherited(tomllib.loads((model.HERE / "proofs.toml").read_text())["proof"]) if e["name"] == name)
    unused = set(texts) - set(entry["sources"])
    if unused:
        raise model.CannotRun(f"{name} reads no {', '.join(sorted(unused))}")
    clock = model.Clock(entry.get("timeout", model.TIMEOUT))
    for case in cases(entry):
        made = model.make(case | {"texts": texts}, build, folder / f"{name}{case.get('case', '')}", clock)
        failed = engines.engine(case).holds(made, clock)
        if failed:
            return f"{name}{case.get('case', '')}: {failed}"
    return None


KEYS = {"name": str, "statement": str, "method": str, "depth": int, "top": str, "sources": list, "mutants": list}


def check_table(entries):
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        sys.exit("prove.py: proofs.toml: entries [[proof]] are expected")
    names = [entry.get("name") for entry in entries]
    for entry in entries:
        for key, kind in KEYS.items():
            if not isinstance(entry.get(key), kind):
                sys.exit(f"prove.py: proofs.toml: {entry.get('name', '?')}: no {key}, or no {kind.__name__}")
        if entry["method"] not in METHODS:
            sys.exit(f"prove.py: proofs.toml: {entry['name']}: method is one of {', '.join(METHODS)}")
        if ";" in entry["statement"] or not entry["mutants"]:
            sys.exit(f"prove.py: proofs.toml: {entry['name']}: at least one mutant, and no semicolon in the statement (CMake)")
        if entry["method"] == "exhaustive" and entry["depth"] != 1:
            sys.exit(f"prove.py: proofs.toml: {entry['name']}: exhaustive has depth 1")
        if names.count(entry["name"]) != 1:
            sys.exit(f"prove.py: proofs.toml: two proofs are named {entry['name']}")


def level(entry):
    """Who runs it: scripts/test (always), CI behind it (gate), or the nightly regression."""
    return "nightly" if entry.get("nightly") else "gate" if entry.get("gate") else "always"


def table(results):
    """Rows of the printed table."""
    head = ["name", "property", "method", "depth", "solver", "covers", "seconds", "mutants killed"]
    rows = [[r.name, r.statement, r.method, str(r.depth), r.solver, f"{r.covers_reached}/{r.covers}",
             f"{r.proof_seconds:.1f}", f"{r.mutants_killed}/{r.mutants}"] for r in results]
    return head, rows


def page_with_table(page, entries):
    """README.md with the table of all entries between its marks: what follows from proofs.toml alone."""
    lines = ["| proof | holds | method, depth | read by | solver | mutants |", "|---|---|---|---|---|---|"]
    lines += [f"| `{e['name']}` | {e['statement']} | {e['method']}, {e['depth']}{'' if level(e) == 'always' else f', {level(e)}'} | {model.READERS[e.get('reader', 'yosys')]} | "
              f"{e.get('solver', 'abc')} | {len(e['mutants'])} |" for e in entries]
    new, count = re.subn(r"(<!-- table -->\n).*?(<!-- end -->)", lambda m: m[1] + "\n".join(lines) + "\n" + m[2], page,
                         flags=re.S)
    if count != 1:
        sys.exit("prove.py: the page has no marks <!-- table --> and <!-- end -->")
    return new


def write_junit(path, results):
    suite = xml.etree.ElementTree.Element("testsuite", name="formal", tests=str(len(results)),
                                          failures=str(sum(r.ran and not r.good for r in results)),
                                          errors=str(sum(not r.ran for r in results)))
    for r in results:
        case = xml.etree.ElementTree.SubElement(suite, "testcase", classname="formal", name=r.name,
                                                time=f"{r.proof_seconds + r.mutant_seconds:.2f}")
        if not r.good:
            xml.etree.ElementTree.SubElement(case, "failure" if r.ran else "error", message=r.message.strip())
    xml.etree.ElementTree.ElementTree(suite).write(path, encoding="unicode", xml_declaration=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=model.ROOT / "build", help="CMake build folder, default: build")
    parser.add_argument("--proofs", type=Path, default=model.HERE / "proofs.toml", help="default: proofs.toml of this folder")
    parser.add_argument("--list", action="store_true", help="print name, always, gate or nightly, number of mutants, and statement of each proof, with tabs between, and end")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these proofs, not all")
    parser.add_argument("--mutants", choices=("all", "first", "none"), default="all", help="refute all mutants of a proof, the first alone, or none; default: all")
    parser.add_argument("--no-proof", action="store_true", help="refute mutants alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results, - for standard output")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")
    parser.add_argument("--table", type=Path, metavar="PAGE", help="write the table of proofs between the page's marks and end")
    parser.add_argument("--check-table", type=Path, metavar="PAGE", help="fail if the page's table is not current")
    parser.add_argument("--jobs", type=int, default=1, help="proofs at a time, default: 1")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep scripts, lowered sources and SMT-LIB files there")
    arguments = parser.parse_args()

    try:
        entries = tomllib.loads(arguments.proofs.read_text()).get("proof", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        sys.exit(f"prove.py: {arguments.proofs}: {error}")
    entries = inherited(entries) if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries) else entries
    check_table(entries)
    if arguments.list:
        print("\n".join(f"{e['name']}\t{level(e)}\t{len(e['mutants'])}\t{e['statement']}" for e in entries))
        return 0
    page = arguments.table or arguments.check_table
    if page:
        old = page.read_text()
        new = page_with_table(old, entries)
        if arguments.table:
            page.write_text(new)
        elif new != old:
            sys.exit(f"prove.py: the table of {page} is not current: prove.py --table {page}")
        return 0
    if arguments.only:
        unknown = set(arguments.only) - {entry["name"] for entry in entries}
        if unknown:
            sys.exit(f"prove.py: no proof named {', '.join(sorted(unknown))}; --list prints them")
        entries = [entry for entry in entries if entry["name"] in arguments.only]
    count = {"all": None, "first": 1, "none": 0}[arguments.mutants]
    if count is not None:
        entries = [entry | {"mutants": entry["mutants"][:count], "mutants_left_out": entry["mutants"][count:]} for entry in entries]
    if arguments.no_proof:
        if arguments.mutants == "none":
            sys.exit("prove.py: --no-proof with --mutants none asks for nothing")
        entries = [entry | {"proof_asked": False} for entry in entries]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.keep or scratch).resolve()

        def tell(entry):
            result = prove(entry, arguments.build.resolve(), folder / entry["name"])
            state = ("holds" if result.proof_asked else "refutes") if result.good else "FAILS" if result.ran else "ERROR"
            print(f"{state}  {result.name}: {result.statement}  [{result.method} {result.depth}, {result.solver}, "
                  f"{result.proof_seconds:.1f} s, covers {result.covers_reached}/{result.covers}, "
                  f"mutants {result.mutants_killed}/{result.mutants} in {result.mutant_seconds:.1f} s] {result.message}",
                  file=sys.stderr, flush=True)
            return result

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            results = list(pool.map(tell, entries))
    if arguments.json:
        text = json.dumps([asdict(r) | {"good": r.good} for r in results], indent=2)
        print(text) if str(arguments.json) == "-" else arguments.json.write_text(text + "\n")
    if arguments.junit:
        write_junit(arguments.junit, results)
    if str(arguments.json) != "-":
        head, rows = table(results)
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        for row in [head, *rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        print(f"{sum(r.holds for r in results)} of {sum(r.proof_asked for r in results)} proofs hold, "
              f"{sum(r.mutants_killed for r in results)} of {sum(r.mutants for r in results)} mutants killed, "
              f"{sum(r.proof_seconds + r.mutant_seconds for r in results):.0f} s")
    return 0 if all(r.good for r in results) else 1 if all(r.ran for r in results) else 2


if __name__ == "__main__":
    sys.exit(main())
