#!/usr/bin/python3
"""A slice that several processes simulate (weft-sim --processes): the bits and cycles of one process, and its end when one of them dies."""
import argparse
import json
import os
import random
import re
import signal
import socket
import sys
import time
import unittest

from trace_events import launched
from weft_command import BUILD, SOURCE, WEFT_SIM, WeftTest, children, wait_for

RANK_LOST, USAGE = 7, 2
DEAD_RANK_S = 5
COLLECTIVES = ("all-gather", "reduce-scatter", "all-reduce", "broadcast", "all-to-all", "permute", "barrier")
TRAIN = BUILD / "bin/digits_train"
LINK_FAULTS = ("link_down", "link_flap", "link_dark", "link_bit_errors", "link_credit_late", "chip_cut")
SEEDED = {"seeds": range(1, 5), "storms": range(1, 3)}


class Ranks(WeftTest):
    def run_in(self, processes, *arguments, program=None):
        options = {} if program is None else {"program": str(program)}
        process = self.start(*arguments, "--json", environment={"WEFT_PROCESSES": str(processes)}, **options)
        out, err = process.communicate(timeout=300)
        self.assertEqual((process.returncode, err), (0, ""), f"{processes} processes: {arguments}")
        return json.loads(out)

    def cycles_of(self, processes, *arguments):
        """Device cycles of a collective of which no element differs."""
        found = self.run_in(processes, "collective", *arguments)
        self.assertEqual(found["differing"], 0, f"{processes} processes: {arguments}")
        return found["device_cycles"]

    def test_every_collective_takes_the_cycles_of_one_process(self):
        for collective in COLLECTIVES:
            arguments = (collective, "--slice", "nano-2x2", "--axis", "xy", "--bytes", 65536)
            one = self.cycles_of(1, *arguments)
            for processes in (2, 3, 4):
                self.assertEqual(self.cycles_of(processes, *arguments), one, f"{collective}, {processes} processes")

    def test_sixteen_chips_by_one_to_sixteen_processes(self):
        arguments = ("all-reduce", "--slice", "nano-4x4", "--axis", "xy", "--bytes", 32768)
        self.assertEqual({self.cycles_of(processes, *arguments) for processes in (1, 2, 8, 16)}, {self.cycles_of(4, *arguments)})

    def test_rtl_cores(self):
        arguments = ("all-reduce", "--slice", "nano-2x2", "--core", "rtl", "--bytes", 8192)
        self.assertEqual(self.cycles_of(2, *arguments), self.cycles_of(1, *arguments))

    def test_collectives_drawn_by_seed(self):
        for seed in SEEDED["seeds"]:
            draw = random.Random(seed)
            name = draw.choice(("nano-2x2", "nano-4x4", "nano-1x16", "v5e-4x4"))
            collective = draw.choice(COLLECTIVES)
            algorithms = ("auto", "direct") if collective in ("all-to-all", "permute", "barrier") else ("auto", "neighbor", "direct")
            arguments = (collective, "--slice", name, "--axis", "xy" if name != "nano-1x16" else "y", "--bytes", 16 * draw.randint(1, 8192),
                         "--dtype", draw.choice(("f32", "bf16", "i32")), "--algorithm", draw.choice(algorithms), "--seed", seed)
            processes = draw.choice((2, 3, 4) if name == "nano-2x2" else (2, 3, 5, 8, 16))
            self.assertEqual(self.cycles_of(processes, *arguments), self.cycles_of(1, *arguments), f"seed {seed}: {processes} processes, {arguments}")

    def test_training_gives_the_same_losses_and_cycles(self):
        arguments = ("--data", SOURCE / "host/examples/digits", "--slice", "nano-2x2", "--steps", 3, "--verify", "--goal", 0)
        runs = [self.run_in(processes, *arguments, program=TRAIN) for processes in (1, 2, 4)]
        for run in runs:
            self.assertEqual([run[key] for key in ("losses", "device_cycles", "differing", "elements")],
                             [runs[0][key] for key in ("losses", "device_cycles", "differing", "elements")])
        self.assertEqual(runs[0]["differing"], 0)

    def test_a_trace_is_that_of_one_process(self):
        for collective in ("all-reduce", "all-to-all"):
            told = []
            for processes in (1, 2, 3, 4):
                found = self.run_in(processes, "collective", collective, "--slice", "nano-2x2", "--axis", "xy", "--bytes", 16384, "--trace", self.path("t.json"))
                self.assertEqual(found["differing"], 0)
                self.assertEqual(os.listdir(self.folder), ["t.json"])
                told.append(launched(self.folder / "t.json"))
            self.assertGreater(len(told[0]), 300)
            for other in told[1:]:
                self.assertEqual(other, told[0], collective)

    def serve(self, processes, folder="slice", name="nano-2x2"):
        simulator = self.start("--slice", name, "--processes", processes, "--listen", self.path(folder), program=WEFT_SIM)
        self.addCleanup(simulator.communicate)
        self.addCleanup(simulator.kill)
        last = {"nano-2x2": 3, "nano-4x4": 15}[name]
        wait_for(lambda: os.path.exists(self.path(f"{folder}/chip{last}-function0.sock")), "sockets of the slice")
        return simulator

    def test_one_client_after_the_other(self):
        simulator = self.serve(2)
        cycles = {self.weft_json("collective", "all-reduce", "--listen", "slice", "--bytes", 16384)["device_cycles"] for _ in range(3)}
        self.assertEqual(len(cycles), 1)
        simulator.terminate()
        self.assertEqual(simulator.wait(DEAD_RANK_S), 0)
        self.assertEqual(os.listdir(self.path("slice")), [])

    def test_a_dead_process_is_told_of_and_ends_the_others(self):
        for busy in (False, True):
            folder = f"slice-{busy}"
            simulator = self.serve(4, folder)
            ranks = children(simulator.pid, "weft-sim")
            self.assertEqual(len(ranks), 4)
            client = self.start("collective", "all-reduce", "--listen", folder, "--bytes", 4 << 20) if busy else None
            if busy:
                time.sleep(0.5)
            os.kill(ranks[2], signal.SIGKILL)
            begin = time.monotonic()
            self.assertEqual(simulator.wait(DEAD_RANK_S), RANK_LOST)
            self.assertLess(time.monotonic() - begin, DEAD_RANK_S)
            self.assertRegex(simulator.stderr.read(), rf"weft-sim: rank 2 \(process {ranks[2]} on .*\) was ended by signal 9 \(Killed\); it simulated chips 2 to 2")
            self.assertEqual([pid for pid in ranks if os.path.exists(f"/proc/{pid}")], [])
            if client is not None:
                out, err = client.communicate(timeout=60)
                self.assertEqual(client.returncode, 4, out + err)  # the device is gone

    def test_no_process_outlives_the_one_that_was_started(self):
        simulator = self.serve(3)
        ranks = children(simulator.pid, "weft-sim")
        simulator.kill()
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in ranks), "end of all processes", DEAD_RANK_S)

    def ask(self, request, folder):
        with socket.socket(socket.AF_UNIX) as observer:
            observer.settimeout(60)
            observer.connect(self.path(f"{folder}/management.sock"))
            observer.sendall((json.dumps({"weft_management": 1, **request}) + "\n").encode())
            with observer.makefile() as lines:
                return json.loads(lines.readline())

    def test_one_management_socket_answers_for_all_chips(self):
        def retired(state):
            return {name: count for name, count in state["counters"].items() if name.endswith("_retired")}

        told = []
        for processes in (1, 2, 4):
            folder = f"managed-{processes}"
            self.serve(processes, folder)
            collective = ("collective", "all-reduce", "--listen", folder, "--axis", "xy", "--bytes", 16384)
            found = [self.weft_json(*collective)["device_cycles"], self.ask({"request": "links"}, folder)["links"]]
            for chip in range(4):
                state = self.ask({"request": "state", "chip": chip}, folder)
                self.assertLessEqual(state["counters_cycle"], state["cycle"])
                found.append([state["chip"]["number"], state["chip"]["chips"], retired(state), state["functions"][0]["state"], state["engines"]["traffic"]])
                page = self.ask({"request": "function", "chip": chip, "function": 0, "entries": 4}, folder)
                found.append([page["chip"]["number"], page["function"]["function"], len(page["state_page"])])
            found.append([self.ask(request, folder)["error"] for request in ({"request": "state", "chip": 4}, {"request": "nothing"})])
            found.append(self.ask({"request": "inject", "chip": 2, "kind": "link_down", "port": 0, "nth": 1, "count": 1, "value": 0}, folder))
            found.append(self.ask({"request": "reset", "chip": 3, "function": 0, "force": False}, folder)["reset"]["reset_generation"])
            found.append(self.weft_json(*collective)["device_cycles"])
            found.append([link["state"] for link in self.ask({"request": "links"}, folder)["links"]])
            told.append(found)
        self.assertIn("down", told[0][-1])
        self.assertNotEqual(told[0][0], told[0][-2])
        self.assertEqual(told[1], told[0])
        self.assertEqual(told[2], told[0])

    def storm(self, seed, processes):
        """What a slice of 16 chips tells of collectives, while links die, flap and lose bits, chips are cut off and functions are reset, as a seed draws it."""
        folder, draw, turns = f"storm-{seed}-{processes}", random.Random(seed), 5
        self.serve(processes, folder, "nano-4x4")  # a mesh
        links = [(chip, port) for chip in range(16) for port, there in enumerate((chip % 4 < 3, chip % 4 > 0, chip < 12, chip >= 4)) if there]
        told = []
        for turn in range(turns):
            for _ in range(draw.randint(2, 4)):
                chip, port = draw.choice(links)
                kind = draw.choices(LINK_FAULTS, weights=(3, 5, 1, 3, 3, 1 if turn == turns - 1 else 0))[0]
                value = {"link_flap": draw.randint(1_000, 60_000), "link_bit_errors": draw.randint(1, 20_000_000), "link_credit_late": draw.randint(1, 5_000)}.get(kind, 0)
                told.append(self.ask({"request": "inject", "chip": chip, "kind": kind, "port": port, "nth": draw.randint(1, 6), "count": draw.randint(1, 3), "value": value}, folder))
            if draw.random() < 0.3:
                told.append(self.ask({"request": "reset", "chip": draw.randrange(16), "function": 0, "force": False}, folder)["reset"]["reset_generation"])
            collective = draw.choice(COLLECTIVES[:-1])
            code, out, err = self.run_weft("collective", collective, "--listen", folder, "--axis", "xy", "--bytes", 16 * draw.randint(256, 2048), "--seed", turn, "--json")
            found = json.loads(out) if code == 0 else {}
            told.append([turn, collective, code, found.get("device_cycles"), found.get("differing"), re.sub(r"cycle \d+", "cycle", err)])
            told.append(self.ask({"request": "links"}, folder)["links"])
        self.assertGreater(sum(link["state"] == "down" for link in told[-1]), 0, f"seed {seed}: no link died")
        return told

    def test_storms_of_faults_leave_the_books_of_one_process(self):
        for seed in SEEDED["storms"]:
            one = self.storm(seed, 1)
            for processes in (2, 4):
                for turn, (other, expected) in enumerate(zip(self.storm(seed, processes), one, strict=True)):
                    self.assertEqual(other, expected, f"seed {seed}, {processes} processes, {turn}")

    def test_observers_beside_a_collective_change_no_cycle(self):
        self.serve(2)
        collective = ("collective", "all-reduce", "--listen", "slice", "--bytes", 262144)
        cycles = self.weft_json(*collective)["device_cycles"]
        client = self.start(*collective, "--json")
        asked = 0
        while client.poll() is None:
            self.assertEqual(self.ask({"request": "state", "chip": asked % 4}, "slice")["chip"]["number"], asked % 4)
            asked += 1
        out, err = client.communicate()
        self.assertEqual((json.loads(out)["device_cycles"], json.loads(out)["differing"], err), (cycles, 0, ""), f"{asked} questions")
        self.assertGreater(asked, 0)

    def test_training_with_a_pulled_link(self):
        for seed in range(1, 4):
            draw = random.Random(seed)
            arguments = ("--data", SOURCE / "host/examples/digits", "--slice", "nano-2x2", "--steps", 3, "--verify", "--goal", 0,
                         "--pull-link", draw.choice(("0:+x", "1:-x", "2:+x", "3:-x", "0:+y", "2:-y", "1:+y", "3:-y")), "--pull-at", draw.randint(1, 60))
            runs = [self.run_in(processes, *arguments, program=TRAIN) for processes in (1, 2, 3, 4)]
            found = {(run["device_cycles"], run["differing"], *run["losses"]) for run in runs}
            self.assertEqual(found, {(runs[0]["device_cycles"], 0, *runs[0]["losses"])}, f"seed {seed}: {arguments}")

    def test_what_does_not_go_together(self):
        for arguments, words in ((("--chip", "nano", "--processes", 2), "it needs --slice"), (("--slice", "nano-2x2", "--processes", 5), "has 4 chips"),
                                 (("--slice", "nano-2x2", "--processes", 2, "--trace", self.path("none/t.json")), "none/t.json"), (("--slice", "nano-2x2", "--processes", 0), "--processes")):
            code, _, err = self.run_weft(*arguments, "--listen", self.path("slice"), program=WEFT_SIM)
            self.assertEqual(code, USAGE, err)
            self.assertIn(words, err)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, help="only the collectives that are drawn by so many seeds")
    parser.add_argument("--storms", type=int, help="only so many storms of faults")
    parser.add_argument("--from-seed", type=int, default=1)
    known, rest = parser.parse_known_args()
    if known.storms is not None:
        SEEDED["storms"] = range(known.from_seed, known.from_seed + known.storms)
        rest += ["Ranks.test_storms_of_faults_leave_the_books_of_one_process"]
    if known.seeds is not None:
        SEEDED["seeds"] = range(known.from_seed, known.from_seed + known.seeds)
        rest += ["Ranks.test_collectives_drawn_by_seed"]
    unittest.main(argv=[sys.argv[0], *rest])
