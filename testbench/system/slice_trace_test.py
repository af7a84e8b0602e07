#!/usr/bin/python3
"""weft trace on a slice: one Chrome trace of all chips and links, and the page of link use over time."""
import collections
import json
import re
import unittest

import numpy as np

from weft_command import DIGITS, WeftTest

RUN = ("collective", "all-reduce", "--slice", "nano-2x2", "--dtype", "f32", "--bytes", 65536)
WRONG_USAGE = 1
WRONG_INPUT = 2
ROUNDING_US = 0.0002  # engines' times have four digits, and a span's length is rounded by itself


class SliceTrace(WeftTest):
    def traced(self):
        result = self.weft_json("trace", "-o", "t.json", "--heat-map", "t.html", "--", *RUN)
        self.assertEqual(result["differing"], 0)
        return result, self.events()

    def events(self):
        return json.loads((self.folder / "t.json").read_text())

    def test_every_chip_is_a_process_with_engines_and_links_that_worked(self):
        _, events = self.traced()
        self.assertLessEqual({e["ph"] for e in events}, set("MXstfi"))
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertEqual(names, {0: "chip 0 (0,0,0)", 1: "chip 1 (1,0,0)", 2: "chip 2 (0,1,0)", 3: "chip 3 (1,1,0)"})
        tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        spans = collections.defaultdict(list)
        for e in events:
            if e["ph"] == "X":
                self.assertGreaterEqual(e["dur"], 0)
                spans[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
        self.assertLessEqual(spans.keys(), tracks.keys(), "spans on a track without a name")
        for chip, port in enumerate(("+x", "-x", "+x", "-x")):
            used = {tracks[track].lower() for track in spans if track[0] == chip}
            self.assertLessEqual({"manager", f"link {port} out", f"link {port} in"}, used)
            self.assertTrue(any("dma" in track for track in used), used)
        for track, list_of_track in spans.items():
            self.assertEqual(list_of_track, sorted(list_of_track), f"{tracks[track]} of chip {track[0]} goes back in time")

    def test_every_arrow_has_two_ends_that_lie_in_spans(self):
        _, events = self.traced()
        spans, arrows = collections.defaultdict(list), collections.defaultdict(list)
        for e in events:
            if e["ph"] == "X":
                spans[e["pid"], e["tid"]].append((e["ts"] - ROUNDING_US, e["ts"] + e["dur"] + ROUNDING_US))
            elif e["ph"] in "stf":
                arrows[e["cat"], e["id"]].append(e)
        self.assertEqual({category for category, _ in arrows}, {"packet", "completion"})
        for arrow in arrows.values():
            arrow.sort(key=lambda e: e["ts"])
            self.assertEqual((arrow[0]["ph"], arrow[-1]["ph"], {e["ph"] for e in arrow[1:-1]} - {"t"}), ("s", "f", set()), arrow)
            for e in arrow:
                self.assertTrue(any(first <= e["ts"] <= last for first, last in spans[e["pid"], e["tid"]]), f"no span at {e}")
        # a host's command, and no other span, has one arrow of completion; a launch's goes by way of an engine
        commands = collections.Counter((e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X" and "command" in e["args"])
        completions = [arrow for (category, _), arrow in arrows.items() if category == "completion"]
        self.assertEqual(collections.Counter((arrow[0]["pid"], arrow[0]["tid"], arrow[0]["ts"]) for arrow in completions), commands)
        launches = {(e["pid"], e["ts"]) for e in events if e["ph"] == "X" and e["name"] == "LAUNCH"}
        self.assertEqual({chip for chip, _ in launches}, {0, 1, 2, 3})
        self.assertEqual({(arrow[0]["pid"], arrow[0]["ts"]) for arrow in completions if len(arrow) == 3}, launches)

    def test_times_are_microseconds_of_device_time(self):
        result, events = self.traced()
        for e in events:
            if e["ph"] == "X" and "cycle_start" in e["args"]:  # nano: 1 GHz
                self.assertAlmostEqual(e["ts"], e["args"]["cycle_start"] / 1000, delta=ROUNDING_US)
                self.assertAlmostEqual(e["ts"] + e["dur"], e["args"]["cycle_end"] / 1000, delta=ROUNDING_US)
        links = [e for e in events if e["ph"] == "X" and "packet" in e["args"]]
        self.assertLess(max(e["ts"] for e in links) - min(e["ts"] for e in links), result["microseconds"])

    def test_a_page_is_made_of_it_and_it_costs_no_cycle(self):
        traced, _ = self.traced()
        self.assertEqual(traced["device_cycles"], self.weft_json(*RUN)["device_cycles"])
        page = (self.folder / "t.html").read_text()
        self.assertIn("<title>collective all-reduce --slice nano-2x2", page)
        data = json.loads(re.search(r"const d=(\{.*\});\n", page).group(1))
        self.assertEqual((data["size"], len(data["links"]), len(data["total"])), ([2, 2, 1], 8, 120))
        self.assertTrue(all((link["packets"] > 0) == (link["port"][1] == "x") for link in data["links"]), "the groups lie along x")
        self.assertEqual(self.weft("trace", "--from", "t.json", "--heat-map", "again.html", "--title", "again", "--steps", 7), "")
        self.assertIn("<title>again</title>", (self.folder / "again.html").read_text())

    def test_a_sharded_model_is_traced_with_the_names_that_the_compiler_gave(self):
        np.save(self.path("x.npy"), np.random.default_rng(1).uniform(0, 1, (8, 64)).astype(np.float32))
        run = ("run", DIGITS, "--input", f"pixels={self.path('x.npy')}", "--slice", "nano-2x2", "--sharding", "weights=n:xy", "--core", "fast")
        cycles = self.weft_json(*run)["device_cycles"]
        self.assertEqual(self.weft_json("trace", "-o", "t.json", *run)["device_cycles"], cycles)
        named = {e["pid"] for e in self.events() if e["ph"] == "X" and "opcode" in e["args"]}
        self.assertEqual(named, {0, 1, 2, 3})
        spans = collections.Counter((e["pid"], e["tid"], e["name"]) for e in self.events() if e["ph"] == "X" and e["tid"] != 0)
        self.weft(*run, "--trace", "t.json")
        self.assertEqual(collections.Counter((e["pid"], e["tid"], e["name"]) for e in self.events() if e["ph"] == "X" and e["tid"] != 0), spans)

    def test_what_cannot_be_traced_is_refused(self):
        for code, words, arguments in ((WRONG_INPUT, ["nowhere/t.json"], ("-o", "nowhere/t.json", "--", *RUN)),
                                       (WRONG_INPUT, ["nowhere/t.html"], ("--heat-map", "nowhere/t.html", "--", *RUN)),
                                       (WRONG_USAGE, ["--trace"], ("--", "collective", "barrier", "--listen", "slice")),
                                       (WRONG_INPUT, ["'info' cannot", "collective"], ("info",)),
                                       (WRONG_INPUT, ["'trace' cannot"], ("--", "trace", *RUN)),
                                       (WRONG_INPUT, ["'nothing' cannot"], ("--", "nothing")),
                                       (WRONG_INPUT, ["-o"], ("--", *RUN, "--trace", "u.json")),
                                       (WRONG_USAGE, ["behind --"], ()),
                                       (WRONG_USAGE, ["--heat-map"], ("--from", "t.json")),
                                       (WRONG_INPUT, ["t.json"], ("--from", "t.json", "--heat-map", "t.html")),
                                       (WRONG_USAGE, ["--steps"], ("--from", "t.json", "--heat-map", "t.html", "--steps", 0))):
            with self.subTest(arguments=arguments):
                got, out, err = self.run_weft("trace", *arguments)
                self.assertEqual((got, out), (code, ""), err)
                for word in words:
                    self.assertIn(word, err)
                self.assertEqual(self.files(), [])

    def test_a_page_of_a_chip_alone_is_refused_and_its_trace_kept(self):
        code, _, err = self.run_weft("trace", "-o", "t.json", "--heat-map", "t.html", "--", "gemm", "--shape", "8x8x8", "--chip", "nano", "--core", "fast")
        self.assertEqual(code, WRONG_INPUT)
        self.assertIn("not of a slice", err)
        self.assertEqual(self.files(), ["t.json"])


if __name__ == "__main__":
    unittest.main()
