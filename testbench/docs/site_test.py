#!/usr/bin/env python3
"""The site of scripts/site: it builds without a warning, and its HTML, read again by other means, has no dead link. Trees with defects do not.

Python of .venv, which has mkdocs."""
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock
from urllib.parse import unquote, urlsplit

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import site_build  # noqa: E402
import site_pictures  # noqa: E402


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors, self.shown, self.tags = [], [], set(), [], {}
        self.code = 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.code += tag in ("code", "pre", "script", "style")
        if found.get("id"):
            self.anchors.add(found["id"])
        self.loaded += [found[key] for key in ("href", "src") if found.get(key) and tag in ("script", "link", "img", "iframe")]
        self.links += [found[key] for key in ("href", "src") if found.get(key)]

    def handle_endtag(self, tag):
        self.code -= tag in ("code", "pre", "script", "style")

    def handle_data(self, data):
        if not self.code:
            self.shown.append(data)


def dead_links(folder):
    """(page, link) of each link to nothing, and the number of links looked at. 404.html is served for any address: its links are absolute."""
    pages = {path: Page(path.read_text()) for path in folder.rglob("*.html") if path.name != "404.html"}
    dead, seen = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            seen += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
                dead.append((str(path.relative_to(folder)), link))
    return pages, dead, seen


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name).resolve() / "site"
        cls.complaints = site_build.build_site(cls.folder)
        cls.pages, cls.dead, cls.seen = dead_links(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_mkdocs_warns_of_nothing(self):
        self.assertEqual(self.complaints, [])

    def test_no_link_is_dead(self):
        self.assertEqual(self.dead, [])
        self.assertGreater(self.seen, 5000)

    def test_pages_load_nothing_from_other_hosts(self):
        for path, page in self.pages.items():
            with self.subTest(page=str(path.relative_to(self.folder))):
                self.assertEqual([link for link in page.loaded if urlsplit(link).netloc], [])

    def test_every_page_of_the_tree_is_there_and_in_the_navigation(self):
        home = {unquote(urlsplit(link).path) for link in self.pages[self.folder / "index.html"].links}
        pages = [page for page in site_build.known(ROOT) if page.suffix == ".md"]
        for page in pages:
            name = page.relative_to(ROOT)
            shown = name.with_name("index.html") if name.name == "README.md" else name.with_suffix(".html")
            with self.subTest(page=str(name)):
                self.assertIn(self.folder / shown, self.pages)
                self.assertIn(str(shown) if str(shown) != "index.html" else "index.html", home | {"index.html"})
        self.assertGreater(len(pages), 100)

    def test_tables_blocks_and_lists_are_no_plain_text(self):
        for path, page in self.pages.items():
            with self.subTest(page=str(path.relative_to(self.folder))):
                self.assertNotIn("```", "".join(page.shown))
                self.assertNotIn("|---", "".join(page.shown))
        self.assertGreater(sum(page.tags.get("table", 0) for page in self.pages.values()), 100)

    def test_pictures_can_be_read_and_hold_the_baselines(self):
        pictures = sorted((self.folder / "docs").glob("*.svg"))
        self.assertEqual([p.name for p in pictures], ["architecture.svg", "cycles.svg", "roofline_nano.svg", "roofline_v5e-1mxu.svg"])
        for picture in pictures:
            texts = [element.text for element in xml.etree.ElementTree.parse(picture).iter() if element.tag.endswith(("text", "title"))]
            self.assertGreater(len(texts), 10, picture.name)
        rows = site_pictures.read_rows((ROOT / site_pictures.BASELINES).read_text())
        cycles = rows[("weft gemm --shape 1024x1024x1024 --chip v5e-1mxu", "rtl")]["device"]
        self.assertIn(f"{cycles:,} cycles", (self.folder / "docs" / "roofline_v5e-1mxu.svg").read_text())
        self.assertIn(f"{cycles:,}", (self.folder / "docs" / "cycles.svg").read_text())


class Roof(unittest.TestCase):
    def test_no_product_is_above_the_roof(self):
        sys.path.insert(0, str(ROOT / "scripts" / "spec"))
        from model import Spec
        chips = {chip["name"]: chip for chip in Spec(ROOT / "spec").chips}
        seen = 0
        for chip, m, k, n, size, cycles in site_pictures.products(site_pictures.read_rows((ROOT / site_pictures.BASELINES).read_text())):
            peak = chips[chip]["peak_macs_per_cycle"] * (2 if size == 1 else 1)  # int8 goes at twice the rate
            bandwidth = chips[chip]["hbm_bytes_per_second"] / chips[chip]["clock_hz"]
            least = max(m * k * n / peak, (size * (m * k + k * n) + 4 * m * n) / bandwidth)
            with self.subTest(chip=chip, shape=(m, k, n), size=size):
                self.assertGreaterEqual(cycles, least)
            seen += 1
        self.assertGreater(seen, 20)


class Defects(unittest.TestCase):
    GOOD = {"README.md": "# Weft\n[docs](docs/README.md#more-words)\n", "docs/README.md": "# Docs\n## More words\n[code](../x.cpp) [folder](../d)\n",
            "x.cpp": "int x;\n", "d/y.cpp": "int y;\n", "docs/list.md": "# List\nText:\n- one\n- two\n```console live\n$ x\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n"}

    def complaints(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve() / "tree"
            for name, text in (self.GOOD | changes).items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            picture = lambda _, to: (to / "pictures.md").write_text("# Pictures\n")  # noqa: E731
            with mock.patch.object(site_build, "ROOT", root), mock.patch.object(site_build, "write_pictures", picture):
                site = root.with_name("site")
                found = site_build.build_site(site)
                self.html = (site / "docs" / "list.html").read_text()
                return found, dead_links(site)[1]

    def test_a_good_tree_has_none(self):
        self.assertEqual(self.complaints({}), ([], []))
        for part in ("<li>one</li>", "<table", '<code class="language-console">$ x'):
            self.assertIn(part, self.html)

    def test_a_link_to_nothing_and_one_to_no_heading_are_told(self):
        for text in ("# Weft\n[docs](docs/nowhere.md)\n", "# Weft\n[docs](docs/README.md#no-words)\n", "# Weft\n![picture](nowhere.png)\n"):
            with self.subTest(text=text):
                found, dead = self.complaints({"README.md": text})
                self.assertNotEqual(found, [])
                self.assertNotEqual(dead, [])


if __name__ == "__main__":
    unittest.main()
