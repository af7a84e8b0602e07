"""bins.py: declarations of bins, and the SystemVerilog they become."""
import os
import pathlib
import tempfile
import tomllib
import unittest

import bins

GOOD = '''
[[group]]
name = "Issue"
module = "issue"
doc = "commands"
observe = { cmd = "logic [7:0] = cmd_q", taken = "logic = cmd_taken_i" }
when = "taken"
axes = [ { A = "cmd == 1", B = "cmd == 2" }, { W0 = "cmd == 3", W1 = "cmd == 4" } ]
exclude = ["B_W1"]
exclude_reason = "not legal"
'''


class BinsTest(unittest.TestCase):
    def parse(self, text: str) -> list[bins.Group]:
        return bins.parse(tomllib.loads(text))

    def test_the_cross_product_without_what_is_excluded(self):
        group, = self.parse(GOOD)
        self.assertEqual(list(group.bins), ["Issue_A_W0", "Issue_A_W1", "Issue_B_W0"])
        self.assertEqual(group.bins["Issue_A_W1"], "(cmd == 1) && (cmd == 4)")

    def test_mistakes_are_errors(self):
        for old, new in (('module = "issue"', ""), ('"taken"', '"taken"\nnonsense = 1'), ('["B_W1"]', '["C_*"]'), ('exclude_reason = "not legal"', ""),
                         ("{ A =", "{ a ="), ('"Issue"', '"issue_x"'), ("= cmd_q", ""), ('axes = [', 'bins = { X = "1" }\naxes = [')):
            with self.subTest(new=new), self.assertRaises(bins.BinsError):
                self.parse(GOOD.replace(old, new, 1))
        with self.assertRaises(bins.BinsError):
            self.parse(GOOD + GOOD)
        with self.assertRaises(bins.BinsError):
            bins.parse({})

    def test_garbage_in_the_file_is_a_bins_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bins.toml"
            for text in ("[[group", "group = 3", "[[group]]", GOOD.replace("axes = [", "axes = 3 #"), GOOD.replace("{ A =", "3, { A =")):
                path.write_text(text)
                with self.subTest(text=text), self.assertRaises(bins.BinsError):
                    bins.read(path)

    def test_each_bin_is_one_named_cover_in_a_module_bound_to_its_target(self):
        text = bins.systemverilog(self.parse(GOOD))
        self.assertIn("bind issue issue_issue_bins u_issue_bins (.clk_i(clk_i), .cmd(cmd_q), .taken(cmd_taken_i));", text)
        for name in ("Issue_A_W0", "Issue_A_W1", "Issue_B_W0"):
            self.assertEqual(text.count(f"{name}_C: cover ("), 1)

    def test_the_projects_bins_are_legal_and_watch_modules_of_the_rtl(self):
        root = pathlib.Path(os.environ["WEFT_SOURCE"])
        groups = bins.read(root / "testbench/coverage/bins.toml")
        modules = {path.stem for path in root.glob("rtl/*/*.sv")}
        self.assertEqual([group.module for group in groups if group.module not in modules], [])
        self.assertGreater(len(bins.declared(groups, root)), 500)

    def test_covers_written_by_hand_are_declared_by_their_text(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "rtl").mkdir()
            (root / "rtl/a.sv").write_text("  Seen_C: cover property (x);\n  // Not_C: cover property (y);\n  Held_A: assert property (z);\n")
            self.assertEqual(bins.covers_in_text(root), {"Seen_C": "rtl/a.sv"})


if __name__ == "__main__":
    unittest.main()
