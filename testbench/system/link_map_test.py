#!/usr/bin/python3
"""scripts/link_map: what it reads out of a trace, and what it refuses."""
import importlib.machinery
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/link_map"
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("link_map", str(SCRIPT))
link_map = importlib.util.module_from_spec(importlib.util.spec_from_loader("link_map", loader))
loader.exec_module(link_map)


def named(process, what, name, track=0):
    return {"ph": "M", "pid": process, "tid": track, "name": what, "args": {"name": name}}


def span(process, track, begin, length):
    return {"ph": "X", "pid": process, "tid": track, "name": "data", "ts": begin, "dur": length, "args": {}}


# two chips, a link each way; the first one is busy for the first half, the second one never
TRACE = [named(0, "process_name", "chip 0 (0,0,0)"), named(1, "process_name", "chip 1 (1,0,0)"), named(0, "thread_name", "link +x out", 100),
         named(1, "thread_name", "link -x out", 101), named(1, "thread_name", "link -x in", 201), named(0, "thread_name", "MXU", 1),
         span(0, 100, 10, 5), span(0, 100, 19.5, 0.5), span(1, 201, 11, 5), span(0, 1, 0, 100)]


class LinkMap(unittest.TestCase):
    def run_script(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            trace, page = Path(folder) / "t.json", Path(folder) / "p.html"
            trace.write_text(text)
            done = subprocess.run([sys.executable, str(SCRIPT), str(trace), str(page), *arguments], capture_output=True, text=True, timeout=60)
            return done, page.read_text() if page.exists() else None

    def test_a_link_is_as_busy_as_its_packets_make_it(self):
        data = link_map.data_of(TRACE, 4)
        self.assertEqual(data["size"], [2, 1, 1])
        self.assertAlmostEqual(data["step_us"], 2.5)
        first, second = sorted(data["links"], key=lambda link: link["at"])
        self.assertEqual((first["port"], first["use"], first["packets"]), ("+x", [100, 100, 0, 20], 2))
        self.assertEqual((second["port"], second["use"], second["packets"]), ("-x", [0, 0, 0, 0], 0))
        self.assertAlmostEqual(first["mean"], 0.55)
        self.assertEqual(data["total"], [50, 50, 0, 10])

    def test_the_page_needs_nothing_from_elsewhere_and_holds_the_data(self):
        done, page = self.run_script(json.dumps(TRACE), "--steps", "4", "--title", "a <b>")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotRegex(page, r"(src|href)\s*=|url\(|https?://|@import")
        self.assertIn("<title>a &lt;b&gt;</title>", page)
        data = json.loads(re.search(r"<script>const d=(\{.*?\});\n", page).group(1))
        self.assertEqual(data["links"][0]["use"], [100, 100, 0, 20])

    def test_what_is_no_trace_of_a_slice_is_refused_with_a_reason(self):
        for text, why in (("", "t.json"), ("[1]", "array form"), ("{}", "array form"), ("[]", "no packets"), (json.dumps(TRACE[:6]), "no packets"), (json.dumps(TRACE[2:]), "process 0 has links")):
            done, page = self.run_script(text)
            self.assertEqual((done.returncode, page), (2, None), text)
            self.assertIn(why, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        done, page = self.run_script(json.dumps(TRACE), "--steps", "0")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
