#!/usr/bin/python3
"""weft collective --trace: one Chrome trace of all chips and links of a slice."""
import collections
import json
import subprocess
import sys
import unittest

from weft_command import SOURCE, WeftTest

RUN = ("collective", "all-reduce", "--slice", "nano-2x2", "--dtype", "f32", "--bytes", 65536)
CANNOT_WRITE = 2
ROUNDING_US = 0.0002  # engines' times have four digits, and a span's length is rounded by itself


class SliceTrace(WeftTest):
    def traced(self):
        result = self.weft_json(*RUN, "--trace", "t.json")
        self.assertEqual(result["differing"], 0)
        return result, json.loads((self.folder / "t.json").read_text())

    def test_every_chip_is_a_process_with_engines_and_links_that_worked(self):
        _, events = self.traced()
        self.assertLessEqual({e["ph"] for e in events}, set("MXstf"))
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
        chips = {arrow[0]["pid"] for (category, _), arrow in arrows.items() if category == "completion"}
        self.assertEqual(chips, {0, 1, 2, 3})

    def test_a_page_is_made_of_it_and_it_costs_no_cycle(self):
        traced, _ = self.traced()
        self.assertEqual(traced["device_cycles"], self.weft_json(*RUN)["device_cycles"])
        subprocess.run([sys.executable, SOURCE / "scripts/link_map", self.path("t.json"), self.path("t.html")], check=True, timeout=60)
        self.assertIn("+x", (self.folder / "t.html").read_text())

    def test_a_file_that_cannot_be_written_and_a_standing_slice_are_refused(self):
        code, _, err = self.run_weft(*RUN, "--trace", "nowhere/t.json")
        self.assertEqual(code, CANNOT_WRITE, err)
        self.assertIn("nowhere/t.json", err)
        code, _, err = self.run_weft("collective", "barrier", "--listen", "slice", "--trace", "t.json")
        self.assertEqual(code, 1, err)
        self.assertIn("--trace", err)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
