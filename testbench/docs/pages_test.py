#!/usr/bin/env python3
"""What pages.py finds in a tree of pages, and what it leaves alone."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from pages import check_errors, check_glossary, check_links, check_versions, slug  # noqa: E402

GOOD = {"README.md": "# Weft\n[docs](docs/README.md), [a heading](docs/a.md#the-weft-command), [the same](docs/a.md#the-weft-command-1), [net](https://nowhere)\n",
        "docs/README.md": "[a](a.md) `[no](link.md)`\n```text\n[no](link.md)\n```\n",
        "docs/a.md": "## The `weft` command\n## The weft command\n[self](#the-weft-command) [folder](../docs)\n"}


class Tree(unittest.TestCase):
    def found(self, check, changes):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve() / "tree"
            for name, text in (GOOD | changes).items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check(root)

    def test_a_good_tree_has_nothing_to_mend(self):
        self.assertEqual(self.found(check_links, {}), [])

    def test_a_missing_file_a_missing_heading_and_a_page_that_nothing_links_to_are_found(self):
        for changes, text in (({"README.md": "[docs](docs/README.md) [b](docs/b.md)\n"}, "README.md:1: docs/b.md: there is no such file"),
                              ({"docs/README.md": "[a](a.md#nowhere)\n"}, "docs/README.md:1: a.md#nowhere: the page has no such heading"),
                              ({"docs/README.md": "[a](../../etc) [b](a.md)\n"}, "docs/README.md:1: ../../etc: there is no such file"),
                              ({"docs/b.md": "alone\n"}, "docs/b.md: no other page links to it")):
            with self.subTest(changes=changes):
                self.assertEqual(self.found(check_links, changes), [text])

    def test_a_tree_without_links_is_no_success(self):
        self.assertEqual(self.found(check_links, dict.fromkeys(GOOD, "")), ["no link was found"])

    def test_terms_are_in_order_and_once(self):
        head = "| term | meaning |\n|---|---|\n"
        self.assertEqual(self.found(check_glossary, {"docs/glossary.md": head + "| ACC | x |\n| bar | y |\n"}), [])
        for rows in ("| bar | y |\n| ACC | x |\n", "| ACC | x |\n| acc | y |\n", ""):
            with self.subTest(rows=rows):
                self.assertEqual(len(self.found(check_glossary, {"docs/glossary.md": head + rows})), 1)

    def test_a_place_with_another_version_or_none_is_found(self):
        tree = {"CMakeLists.txt": "project(weft VERSION 0.2.1 LANGUAGES C)\n", "CHANGELOG.md": "# Changelog\n## 0.2.1\n## 0.1.0\n",
                "docs/install.md": "find_package(weft 0.2 REQUIRED)\n", "testbench/packaging/consumer/CMakeLists.txt": "find_package(weft 0.2 REQUIRED)\n",
                "driver/include/weft/weft.h": "#define WEFT_VERSION_MAJOR 0\n#define WEFT_VERSION_MINOR 2\n#define WEFT_VERSION_PATCH 1\n"}
        self.assertEqual(self.found(check_versions, tree), [])
        for name, text in tree.items():
            for changed in (text.replace("0.2", "0.3").replace("MINOR 2", "MINOR 3"), ""):
                with self.subTest(name=name, changed=changed):
                    self.assertNotEqual(self.found(check_versions, tree | {name: changed}), [])

    def test_an_error_without_an_example_or_a_reason_is_found(self):
        spec = '[[error]]\nname = "OK"\n[[error]]\nname = "BUSY"\n[[error]]\nname = "INTERNAL"\n'
        ok, busy = "## OK\n```console\n$ ./ok\nOK\n```\n", "## BUSY\n```console live\n$ weft run BUSY\nweft: all are in use\n```\n"
        rest = "## Elsewhere\n| status | why |\n|---|---|\n| INTERNAL | a defect, which nobody can provoke |\n"
        for page, errors in ((ok + busy + rest, 0), (ok + rest, 1), (ok + busy.replace("weft: all are in use\n", "") + rest, 1), (ok + busy, 1),
                             (ok + busy + rest + "| BUSY | a second word on what has one |\n", 1), (ok + busy + rest.replace("a defect, which nobody can provoke", "why not"), 1),
                             (ok + busy + rest + "## STRANGE\n", 1), (busy + rest + "| OK | nobody wants to see that one |\n", 0), ("", 3)):
            with self.subTest(page=page):
                self.assertEqual(len(self.found(check_errors, {"spec/errors.toml": spec, "docs/errors.md": page})), errors)

    def test_anchors_are_those_of_github(self):
        self.assertEqual(slug("One job, from call to answer"), "one-job-from-call-to-answer")
        self.assertEqual(slug("`weft smi` (a [link](x.md))"), "weft-smi-a-link")


if __name__ == "__main__":
    unittest.main()
