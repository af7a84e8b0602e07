#!/usr/bin/env python3
"""Links of the pages: each leads to a file of the tree and to a heading of it; each page of docs/ is linked from another one. Terms of the
glossary: each once, in alphabetical order. Versions: CHANGELOG.md's newest is that of CMake, weft.h and the pages. Errors: each status code of
spec/errors.toml has its section of docs/errors.md, in whose output the code stands, or its reason in the table of the last section.

usage: pages.py links|glossary|versions|errors SOURCE_FOLDER
Exit code 0: all is well; 1: what is not, page and line. Addresses on the net are not looked at."""
import re
import sys
import tomllib
import unicodedata
from pathlib import Path
from urllib.parse import unquote

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lint"))
from sources import known  # noqa: E402

FENCE = re.compile(r"^\s*```")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
HEADING = re.compile(r"^#{1,6} +(.*?)(?: +#+)?$")
ELSEWHERE = "Elsewhere"  # section of docs/errors.md with the codes that have no example there, of which there may be so many:
REASONS = 2
TERM = re.compile(r"^\| ([^|]+) \|")


def lines_of(page):
    """(number, line) outside of code blocks."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def slug(heading):
    """The anchor that GitHub gives to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    kept = "".join(c for c in text if c in " -_" or unicodedata.category(c)[0] in "LN")
    return kept.replace(" ", "-")


def anchors_of(page):
    found = {}
    for _, line in lines_of(page):
        heading = HEADING.match(line)
        if heading:
            name = slug(heading[1])
            found[name] = found.get(name, -1) + 1
    return {name if not number else f"{name}-{number}" for name, last in found.items() for number in range(last + 1)}


def links_of(page):
    for number, line in lines_of(page):
        # A link's text may be code; code with brackets is no link.
        for match in LINK.finditer(CODE.sub(lambda code: "x" * len(code[0]), line)):
            yield number, match[1]


def check_links(root):
    pages = [path for path in known(root) if path.suffix == ".md"]
    wrong, linked, seen, anchors = [], set(), 0, {}
    for page in pages:
        for number, target in links_of(page):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            seen += 1
            name, _, anchor = target.partition("#")
            path = (page.parent / unquote(name)).resolve() if name else page
            where = f"{page.relative_to(root)}:{number}: {target}"
            if not path.exists() or root not in [path, *path.parents]:
                wrong.append(f"{where}: there is no such file")
                continue
            if path != page:
                linked.add(path)
            if anchor and path.suffix == ".md" and anchor not in anchors.setdefault(path, anchors_of(path)):
                wrong.append(f"{where}: the page has no such heading")
    for page in pages:
        listed = page.parent != root / "docs" and page.parent in linked  # as a folder of many: docs/decisions
        if root / "docs" in page.parents and page not in linked and not listed:
            wrong.append(f"{page.relative_to(root)}: no other page links to it")
    print(f"{len(pages)} pages, {seen} links within the tree")
    return wrong if seen else ["no link was found"]


def check_glossary(root):
    page = root / "docs" / "glossary.md"
    terms = [(number, match[1]) for number, line in lines_of(page) if (match := TERM.match(line)) and match[1] not in ("term", "---")]
    order = [(name.lower(), number) for number, name in terms]
    wrong = [f"docs/glossary.md:{number}: {name!r} stands before {before!r} in the alphabet, or twice"
             for (before, _), (name, number) in zip(order, order[1:], strict=False) if name <= before]
    print(f"{len(terms)} terms")
    return wrong if terms else ["docs/glossary.md: no term was found"]


def check_versions(root):
    """Each place tells the version of CMakeLists.txt; a place that tells none is wrong too."""
    def said(name, pattern):
        match = re.search(pattern, (root / name).read_text(), flags=re.M)
        return ".".join(match.groups()) if match else "nothing"
    version = said("CMakeLists.txt", r"^project\(weft VERSION (\d+)\.(\d+)\.(\d+) ")
    print(f"version {version}")
    minor = version.rpartition(".")[0]
    places = (("CHANGELOG.md", r"^## (\d+)\.(\d+)\.(\d+)$", version), ("docs/install.md", r"find_package\(weft (\d+)\.(\d+) REQUIRED\)", minor),
              ("driver/include/weft/weft.h", r"_MAJOR (\d+)\n.*_MINOR (\d+)\n.*_PATCH (\d+)\n", version),
              ("testbench/packaging/consumer/CMakeLists.txt", r"find_package\(weft (\d+)\.(\d+)", minor))
    wrong = [f"{name} says {said(name, pattern)}, CMakeLists.txt {expected}" for name, pattern, expected in places if said(name, pattern) != expected]
    return wrong + (["CMakeLists.txt tells no version"] if version == "nothing" else [])


def outputs_of(section):
    """Lines of the console blocks of a section, without their commands."""
    blocks = re.findall(r"^```console[^\n]*\n(.*?)^```$", section, flags=re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if not line.startswith("$ ")]


def check_errors(root):
    codes = [error["name"] for error in tomllib.loads((root / "spec" / "errors.toml").read_text())["error"]]
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", (root / "docs" / "errors.md").read_text(), flags=re.M | re.S))
    reasons = re.findall(r"^\| ([A-Z_]+) \| [^|]{20,} \|$", sections.get(ELSEWHERE, ""), flags=re.M)
    wrong = []
    for code in codes:
        # A command may tell an error by its message alone: then the section's name stands for the code.
        shown = any(code in line or line.startswith("weft: ") for line in outputs_of(sections.get(code, "")))
        if shown == (code in reasons):
            wrong.append(f"docs/errors.md: {code} has " + ("an example, and a reason to have none" if shown else "no output that shows it, and no reason"))
    wrong += [f"docs/errors.md: {name} is no status code of spec/errors.toml" for name in [*sections, *reasons] if name.isupper() and name not in codes]
    if len(reasons) > REASONS:
        wrong.append(f"docs/errors.md: {len(reasons)} status codes without an example, {REASONS} may be")
    print(f"{len(codes)} status codes, {len(codes) - len(reasons)} with an example")
    return wrong if codes else ["spec/errors.toml has no status code"]


CHECKS = {"links": check_links, "glossary": check_glossary, "versions": check_versions, "errors": check_errors}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(sys.argv[2]).resolve()
    wrong = CHECKS[sys.argv[1]](root)
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
