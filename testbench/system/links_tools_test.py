#!/usr/bin/python3
"""weft links, weft preflight and faults of links from outside, on a standing slice."""
import json
import os
import socket
import subprocess
import unittest

from weft_command import WEFT_SIM, WeftTest, wait_for

WRONG_INPUT, CHECK_FAILED = 2, 4


class Links(WeftTest):
    def setUp(self):
        super().setUp()
        self.simulator = subprocess.Popen([WEFT_SIM, "--slice", "nano-2x2", "--listen", self.path("slice")],
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.simulator.stdout.close)
        self.addCleanup(self.simulator.wait)
        self.addCleanup(self.simulator.kill)
        wait_for(lambda: os.path.exists(self.path("slice/chip3-function0.sock")), "sockets of the slice")

    def links(self):
        """By (chip, port), those that have a neighbour."""
        document = self.weft_json("links", "slice", "--interval", 0.01)
        self.assertEqual((document["chips"], document["size"]), (4, [2, 2, 1]))
        self.assertEqual(len(document["links"]), 24)
        return {(link["chip"], link["port"]): link for link in document["links"] if link["neighbor"] is not None}

    def arm(self, chip, **fault):
        (self.folder / "fault.toml").write_text("[[fault]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in fault.items()))
        return self.weft("inject", "fault.toml", "--listen", "slice", "--on-chip", chip)

    def preflight(self, *arguments, code=0):
        status, out, err = self.run_weft("preflight", "--listen", "slice", "--json", *arguments)
        self.assertEqual((status, err), (code, ""), out)
        return json.loads(out)

    def test_every_link_with_its_neighbour_and_what_it_has_carried(self):
        links = self.links()
        self.assertEqual({place: link["neighbor"] for place, link in links.items()},
                         {(0, "+x"): 1, (1, "-x"): 0, (2, "+x"): 3, (3, "-x"): 2, (0, "+y"): 2, (2, "-y"): 0, (1, "+y"): 3, (3, "-y"): 1})
        self.assertEqual({(link["state"], link["packets"]) for link in links.values()}, {("up", 0)})
        self.weft("collective", "all-reduce", "--listen", "slice", "--bytes", 65536)
        links = self.links()
        self.assertGreaterEqual(links[0, "+x"]["payload_bytes"], 65536)
        self.assertTrue(0 < links[0, "+x"]["use"] < 1)
        self.assertEqual(links[0, "+y"]["packets"], 0)
        text = self.weft("links", "slice")
        self.assertIn("nano 2x2x1, 4 chips, 2 GB/s a link and way", text)
        self.assertIn("all links are up", text)

    def test_watch_repeats_on_one_line_each(self):
        lines = self.weft("links", "slice", "--watch", 0.05, "--count", 3, "--json").splitlines()
        self.assertEqual(len([json.loads(line) for line in lines]), 3)

    def test_looking_on_changes_no_cycle_of_a_collective(self):
        def cycles():
            return self.weft_json("collective", "all-reduce", "--listen", "slice", "--bytes", 65536)["device_cycles"]

        alone = [cycles() for _ in range(2)]
        watcher = self.start("links", "slice", "--watch", "0.05", "--json")
        self.addCleanup(watcher.communicate)
        self.addCleanup(watcher.kill)
        self.assertEqual([cycles() for _ in range(3)] + alone, 5 * [alone[0]])

    def test_a_link_that_is_pulled_from_beside_is_shown_and_gone_round(self):
        before = self.weft_json("collective", "all-reduce", "--listen", "slice", "--bytes", 65536)
        self.assertEqual(self.arm(0, kind="link_down", port="+x", nth=5), "armed on chip 0: link_down of port +x, occasion 5\n")
        after = self.weft_json("collective", "all-reduce", "--listen", "slice", "--bytes", 65536)
        self.assertEqual((before["differing"], after["differing"]), (0, 0))
        self.assertGreater(after["device_cycles"], before["device_cycles"])
        self.assertEqual([(place, link["downs"]) for place, link in self.links().items() if link["state"] == "down"],
                         [((0, "+x"), 1), ((1, "-x"), 1)])
        self.assertIn("0 +x to 1 is down", self.weft("links", "slice"))

    def test_preflight_passes_a_good_slice(self):
        result = self.preflight("--link-kib", 64)
        self.assertTrue(result["passed"])
        self.assertEqual([check["name"] for check in result["checks"]], ["neighbours", "links", "HBM", "all-reduce"])
        self.assertEqual(len(result["links"]), 8)
        for link in result["links"]:
            self.assertEqual((link["passed"], link["differing_bytes"], link["frame_errors"]), (True, 0, 0))
            self.assertAlmostEqual(link["bit_error_rate_bound"], 2.9957 / (8 * link["wire_bytes"]), delta=1e-9)
        self.assertIn("4 checks passed", self.weft("preflight", "--slice", "nano-2x1", "--link-kib", 8))

    def test_preflight_names_a_link_that_flips_bits_with_its_rate(self):
        self.arm(2, kind="link_bit_errors", port="-y", count="for ever", value=1_000_000)  # 1e-6
        result = self.preflight("--link-kib", 1024, code=CHECK_FAILED)
        bad = [link for link in result["links"] if not link["passed"]]
        self.assertEqual([(link["chip"], link["port"], link["neighbor"], link["differing_bytes"]) for link in bad], [(2, "-y", 0, 0)])
        self.assertGreater(bad[0]["frame_errors"], 0)
        self.assertTrue(1e-7 < bad[0]["bit_error_rate"] < 1e-5)
        self.assertTrue(bad[0]["bit_error_rate"] < bad[0]["bit_error_rate_bound"])
        text = next(check["text"] for check in result["checks"] if not check["passed"])
        self.assertIn("2 -y to 0: bit errors", text)
        self.preflight("--rate-limit", "1e-4")

    def test_preflight_names_a_link_that_is_down_and_a_chip_that_is_cut_off(self):
        self.arm(1, kind="link_down", port="+y")
        result = self.preflight("--link-kib", 64, code=CHECK_FAILED)
        self.assertEqual([(link["chip"], link["port"]) for link in result["links"] if not link["passed"]], [(1, "+y"), (3, "-y")])
        self.assertEqual([check["name"] for check in result["checks"] if not check["passed"]], ["links"])
        self.arm(3, kind="chip_cut", port="-x")
        result = self.preflight("--link-kib", 64, code=CHECK_FAILED)
        text = next(check["text"] for check in result["checks"] if not check["passed"])
        for word in ("2 +x to 3 is down", "3 -x to 2 is down"):
            self.assertIn(word, text)

    def test_wrong_requests_are_told_and_the_slice_lives(self):
        for arguments, words in ((("links", "nowhere"), ["nowhere", "no weft-sim listens"]),
                                 (("preflight", "--listen", "nowhere"), ["nowhere"]),
                                 (("inject", "none.toml", "--listen", "slice"), ["none.toml"])):
            code, out, err = self.run_weft(*arguments)
            self.assertNotEqual(code, 0)
            self.assertEqual(out, "")
            for word in words:
                self.assertIn(word, err)
        for fault, words in (({"kind": "link_down", "port": "-x"}, ["chip 0 refused link_down at port -x"]),
                             ({"kind": "link_flap", "port": "+x"}, ["refused", "value 0"]),
                             ({"kind": "simulator_exit", "queue": 1}, ["simulator_exit", "only faults of links"])):
            (self.folder / "fault.toml").write_text("[[fault]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in fault.items()))
            code, out, err = self.run_weft("inject", "fault.toml", "--listen", "slice")
            self.assertEqual((code, out), (WRONG_INPUT, ""))
            for word in words:
                self.assertIn(word, err)
        for line in (b"\xff\x00\n", b'{"weft_management":1,"request":"links","chip":1}\n', b'{"weft_management":1,"request":"inject"}\n',
                     b'{"weft_management":1,"request":"inject","chip":4,"kind":"link_down","port":0}\n'):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.path("slice/management.sock"))
                client.sendall(line)
                self.assertIn("error", json.loads(client.makefile().readline()))
        self.assertEqual({link["state"] for link in self.links().values()}, {"up"})


if __name__ == "__main__":
    unittest.main()
