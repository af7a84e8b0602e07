"""report_text.py and report_html.py: the gate, the tables, the pages."""
import json
import pathlib
import tempfile
import unittest

import metrics
import report_html
import report_text
import waivers
from metrics import Item

THRESHOLDS = {"line": 98.0, "branch": 95.0, "toggle": 95.0, "bin": 98.0}


def items(missed_lines=0):
    waiver = waivers.Waiver("branch", "blk", "not <reachable> by design", {"file": "rtl/blk/a.sv"}, 1, 1)
    return ([Item("line", "rtl/blk/a.sv", n, "", 1) for n in range(1, 98)]
            + [Item("line", "rtl/blk/a.sv", 100 + n, "", 0) for n in range(missed_lines)]
            + [Item("branch", "rtl/blk/a.sv", 1, "if", 3), Item("branch", "rtl/blk/a.sv", 1, "else", 0, waiver)]
            + [Item("toggle", "rtl/blk/a.sv", 2, f"a.x_i[{n}]", 1) for n in range(4)] + [Item("bin", "", 0, "Group_One_C", 5, note="Group")])


class GateTest(unittest.TestCase):
    def test_all_above_the_thresholds(self):
        self.assertEqual(report_text.failures(metrics.totals(items()), THRESHOLDS), [])

    def test_one_figure_below_fails_and_is_named(self):
        failures = report_text.failures(metrics.totals(items(missed_lines=3)), THRESHOLDS)
        self.assertEqual(len(failures), 1)
        self.assertIn("line: 97.00 % is below 98 %", failures[0])

    def test_nothing_measured_is_no_success(self):
        self.assertEqual(len(report_text.failures(metrics.totals([]), THRESHOLDS)), 4)


class TextTest(unittest.TestCase):
    def test_lcov_counts_and_leaves_waived_branches_out(self):
        text = report_text.lcov(items(missed_lines=3))
        self.assertIn("SF:rtl/blk/a.sv\n", text)
        self.assertIn("LF:100\nLH:97\n", text)
        self.assertIn("BRF:1\nBRH:1\n", text)

    def test_json_has_the_same_totals(self):
        document = json.loads(json.dumps(report_text.document(items(3), THRESHOLDS, ["p"], {"level": "ci"})))
        self.assertEqual(document["totals"]["line"], {"covered": 97, "total": 100, "waived": 0, "percent": 97.0})
        self.assertEqual(document["bins"]["Group_One_C"]["hits"], 5)
        self.assertEqual(document["problems"], ["p"])

    def test_the_table_marks_what_is_below(self):
        self.assertIn("below", report_text.table(items(3), THRESHOLDS))
        self.assertNotIn("below", report_text.table(items(), THRESHOLDS))


class HtmlTest(unittest.TestCase):
    def test_a_source_page_names_bits_of_ports_and_of_fields(self):
        with tempfile.TemporaryDirectory() as name:
            (pathlib.Path(name) / "rtl/blk").mkdir(parents=True)
            (pathlib.Path(name) / "rtl/blk/a.sv").write_text("input\n")
            missed = [Item("toggle", "rtl/blk/a.sv", 1, name, 0, note="still")
                      for name in ("a.x_i[2]", "a.x_i[3]", "a.y_i[1].code[0]", "a.z_i.code[7]")]
            page = report_html.source_page("rtl/blk/a.sv", missed, metrics.Sources(pathlib.Path(name)), THRESHOLDS)
            for text in ("x_i[3:2] still", "y_i[1].code[0] still", "z_i.code[7] still"):
                self.assertIn(text, page)

    def test_the_pages_are_self_contained_and_escaped(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "rtl/blk").mkdir(parents=True)
            (root / "rtl/blk/a.sv").write_text("if (a < b && c > d)\n" * 120)
            mine = items(3)
            listed = [i.waiver for i in mine if i.waiver]
            report_html.write(root / "out", mine, listed, metrics.Sources(root), THRESHOLDS, ["a <problem>"], {}, {"level": "ci"})
            pages = {path.name: path.read_text() for path in (root / "out").glob("*.html")}
            self.assertEqual(set(pages), {"index.html", "rtl_blk_a_sv.html"})
            for text in pages.values():
                self.assertNotRegex(text, r'(src|href)="(?!index\.html|rtl_blk_a_sv\.html)')
                self.assertNotIn("<script", text)
            self.assertIn("a &lt;problem&gt;", pages["index.html"])
            self.assertIn("if (a &lt; b &amp;&amp; c &gt; d)", pages["rtl_blk_a_sv.html"])
            self.assertIn("not &lt;reachable&gt; by design", pages["rtl_blk_a_sv.html"])

    def test_bits_are_told_in_ranges(self):
        self.assertEqual(report_html.bit_ranges([(4, "still"), (3, "still"), (7, "rose only")]), "[4:3] still, [7] rose only")


if __name__ == "__main__":
    unittest.main()
