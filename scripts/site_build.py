"""Stages the pages of the tree for mkdocs and builds the site. Called by scripts/site.

Pages are written for readers of the tree: links go to files and folders of it, fences say how a test runs them. The stage has what a site
needs instead: fences with a language alone, files that pages link to, an index of each folder that they link to, and pictures."""
import argparse
import functools
import http.server
import logging
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote

from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "testbench" / "docs"), str(ROOT / "testbench" / "lint")]
from pages import links_of, slug  # noqa: E402
from site_pictures import write_pictures  # noqa: E402
from sources import known  # noqa: E402

FENCE = re.compile(r"^(\s*)```(\w+)[^`]*$")
HIDDEN = re.compile(r"^<!-- .* -->$")
LIST_ITEM = re.compile(r"^([-*+]|\d+[.)]) ")
TABLE_ROW = re.compile(r"^\|")
STYLE = """
.rst-content pre code, .rst-content .wy-table-responsive table td { white-space: pre; }
.rst-content .wy-table-responsive table td { white-space: normal; }
.wy-nav-content { max-width: 1100px; }
.rst-content img { background: #fff; }
"""


def for_site(text):
    """The text of a page as python-markdown reads it: fences with their language alone, lists and tables behind an empty line."""
    lines, fenced, before = [], False, ""
    for line in text.split("\n"):
        fence = FENCE.match(line) if not fenced else None
        if fence:
            line = f"{fence[1]}```{fence[2]}"
        if line.lstrip().startswith("```"):
            fenced = not fenced
            if fenced and before.strip():
                lines.append("")
        elif not fenced:
            if HIDDEN.match(line):
                continue
            for begins in (LIST_ITEM, TABLE_ROW):
                if begins.match(line) and before.strip() and not begins.match(before) and not before.startswith(" "):
                    lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)


def title_of(page):
    match = re.search(r"^# +(.+)$", page.read_text(), flags=re.M)
    return match[1].replace("`", "") if match else page.stem


def linked(page):
    """What a page links to within the tree."""
    for _, target in links_of(page):
        name = unquote(target.partition("#")[0])
        if name and not re.match(r"[a-z][a-z0-9+.-]*:", target):
            yield (page.parent / name).resolve()


def folder_index(folder, pages):
    """The page of a folder without a README: what of it is on the site."""
    inside = sorted(p for p in pages if p.parent == folder)
    rows = [f"- [{title_of(p)}]({p.name})" for p in inside] or [f"- `{p.name}`" for p in sorted(folder.iterdir()) if not p.name.startswith(".")]
    return f"# {folder.relative_to(ROOT)}\n\n" + "\n".join(rows) + "\n"


def stage_pages(stage):
    """Copies pages and what they link to; the index of a folder is README.md, as mkdocs has it."""
    pages = [p for p in known(ROOT) if p.suffix == ".md"]
    for page in pages:
        to = stage / page.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(for_site(page.read_text()))
    folders, files = set(), set()
    for page in pages:
        for target in linked(page):
            if target.is_dir():
                folders.add(target)
            elif target.suffix != ".md" and target.is_file():
                files.add(target)
    for folder in sorted(folders):
        index = stage / folder.relative_to(ROOT) / "README.md"
        if not index.exists():
            index.parent.mkdir(parents=True, exist_ok=True)
            index.write_text(folder_index(folder, pages))
    for file in sorted(files):
        to = stage / file.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        # A file without a suffix, or of a kind that a browser would only offer to save, is shown as text.
        shutil.copyfile(file, to if to.suffix in (".html", ".svg", ".png") else to.with_name(to.name + ".txt"))
    for page in pages:
        to = stage / page.relative_to(ROOT)
        to.write_text(links_for_site(to.read_text(), page, folders, files))
    return pages


def links_for_site(text, page, folders, files):
    """Links to folders lead to their index, those to sources to the copy that is shown as text."""
    def mend(match):
        name, anchor = match[2].partition("#")[::2]
        if not name or re.match(r"[a-z][a-z0-9+.-]*:", match[2]):
            return match[0]
        target = (page.parent / unquote(name)).resolve()
        if target in folders:
            return f"{match[1]}{name.rstrip('/')}/README.md{match[3]}"
        if target in files and target.suffix not in (".html", ".svg", ".png"):
            return f"{match[1]}{name}.txt{match[3]}"
        return f"{match[1]}{name}{'#' + anchor if anchor else ''}{match[3]}"
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else re.sub(r"(\]\()([^)\s]+)(\))", mend, part) for part in parts)


def navigation(stage, pages):
    """Chapters in the order of docs/README.md, every page once."""
    docs = ROOT / "docs"
    names = {p: str(p.relative_to(ROOT)) for p in pages}
    listed = list(dict.fromkeys(p for p in linked(docs / "README.md") if p in names))
    chapter = lambda inside: [{title_of(p): names[p]} for p in inside]  # noqa: E731
    here = lambda folder: sorted(p for p in pages if p.parent == docs / folder)  # noqa: E731
    start = [p for p in listed if p.parent == docs / "start"]
    alone = [p for p in listed if p.parent == docs]
    alone += sorted(p for p in pages if p.parent == docs and p not in alone and p.name != "README.md")
    rest = sorted(p for p in pages if docs not in p.parents and p.parent != ROOT)
    top = sorted(p for p in pages if p.parent == ROOT and p.name != "README.md")
    nav = [{"Weft": "README.md"}, {"Pictures": "docs/pictures.md"}, {"Start": chapter(start + [p for p in here("start") if p not in start])},
           {"Pages": [{"All pages": "docs/README.md"}, *chapter(alone)]},
           {"Reference": chapter(here("reference"))}, {"Decisions": chapter(here("decisions"))},
           {"Folders": chapter(rest)}, {"Project": chapter(top)}]
    generated = sorted(str(p.relative_to(stage)) for p in stage.rglob("*.md") if ROOT / p.relative_to(stage) not in names and p.name != "pictures.md")
    return nav + [{"Contents of folders": generated}]


class Complaints(logging.Handler):
    """What mkdocs warns of, and what it says of links in passing."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.found = []

    def emit(self, record):
        text = record.getMessage()
        if record.levelno >= logging.WARNING or "link" in text or "not included in the \"nav\"" in text:
            self.found.append(text)


def anchors_unique(name, used, *_):
    """As GitHub numbers headings of one text: name, name-1, name-2."""
    number, chosen = 0, name
    while chosen in used or not chosen:
        number += 1
        chosen = f"{name}-{number}"
    used.add(chosen)
    return chosen


def build_site(folder):
    """The site in `folder`; returns the complaints."""
    import markdown.extensions.toc as toc
    toc.unique = anchors_unique
    stage, settings = folder.with_name(folder.name + ".pages"), folder.with_name(folder.name + ".yml")
    for old in (stage, folder):
        shutil.rmtree(old, ignore_errors=True)
    pages = stage_pages(stage)
    write_pictures(ROOT, stage / "docs")
    (stage / "site.css").write_text(STYLE)
    complaints = Complaints()
    log = logging.getLogger("mkdocs")
    log.setLevel(logging.INFO)
    log.addHandler(complaints)
    settings.write_text("site_name: Weft\n")
    config = load_config(
        config_file=str(settings), docs_dir=str(stage), site_dir=str(folder), site_name="Weft", strict=False,
        theme={"name": "readthedocs", "highlightjs": False},  # highlighting is a script of another host
        extra_css=["site.css"], nav=navigation(stage, pages), use_directory_urls=False, plugins=["search"],
        markdown_extensions=["tables", "fenced_code", "sane_lists", {"toc": {"slugify": lambda text, _: slug(text), "permalink": True}}],
        validation={"nav": {"omitted_files": "warn", "not_found": "warn"}, "links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"}})
    build(config)
    log.removeHandler(complaints)
    return complaints.found


def main():
    parser = argparse.ArgumentParser(prog="scripts/site", description="Builds the pages as a site.")
    parser.add_argument("--serve", action="store_true", help="also shows it on http://127.0.0.1:8000")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / "sitemap.xml").exists():
        print(f"scripts/site: {folder} holds something else than a site", file=sys.stderr)
        return 1
    folder.parent.mkdir(parents=True, exist_ok=True)
    found = build_site(folder)
    print(*found, sep="\n", file=sys.stderr)
    print(f"{len(list(folder.rglob('*.html')))} pages in {folder}, {len(found)} warnings")
    if not found and arguments.serve:
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler) as server:
            print("http://127.0.0.1:8000", flush=True)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                pass
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
