#!/usr/bin/env python3
"""What is written is read by Python's protobuf and the public schema, and says what has been run."""
import json
import os
import subprocess
import unittest

from chakra_schema import NODE_TYPES, attributes_of, collective, compute, from_bytes, receive, send
from replay_files import ReplayTest

ICI_COLLECTIVE = os.environ["ICI_COLLECTIVE"]


class Record(ReplayTest):
    def read(self, name):
        return from_bytes((self.folder / name).read_bytes())

    def test_a_replay_with_its_times(self):
        ranks = [[compute(1, 7), send(2, 1, 45_000, (1,), tag=3), collective(3, "ALL_REDUCE", 1000, (2,))], [receive(9, 0, 45_000, tag=3), collective(8, "ALL_REDUCE", 1000, (9,))]]
        found = self.replay(self.write(ranks), "--slice", "v5e-2x1", "--write", "out")
        metadata, nodes = self.read("out.0.et")
        self.assertEqual(metadata.version, "0.0.4")
        self.assertEqual([(n.id, NODE_TYPES[n.type], list(n.data_deps), n.start_time_micros, n.duration_micros) for n in nodes[:2]], [(1, "COMP_NODE", [], 0, 7), (2, "COMM_SEND_NODE", [1], 7, 2)])
        sent = attributes_of(nodes[1])
        # the types that public readers look for
        self.assertEqual({key: sent[key] for key in ("is_cpu_op", "comm_dst", "comm_size", "comm_tag")},
                         {"is_cpu_op": ("bool", False), "comm_dst": ("int32", 1), "comm_size": ("int64", 45_000), "comm_tag": ("int32", 3)})
        summed = attributes_of(nodes[2])
        self.assertEqual((summed["comm_type"], summed["comm_size"]), (("int64", 0), ("int64", 1000)))
        self.assertAlmostEqual((summed["start_fs"][1] + summed["duration_fs"][1]) / 1e9, found["us"], delta=1e-6)
        self.assertEqual(self.read("out.1.et")[1][1].data_deps, [9])
        again = self.replay("out", "--slice", "v5e-2x1")
        self.assertEqual(again["us"], found["us"])

    def test_a_collective(self):
        for kind, number, share in (("all-reduce", 0, 1), ("all-gather", 2, 4), ("reduce-scatter", 7, 1)):
            out = subprocess.run([ICI_COLLECTIVE, kind, "--slice", "v5e-2x2", "--bytes", "65536", "--write", "sum", "--json"], cwd=self.folder, capture_output=True, text=True, timeout=60, check=True)
            us = json.loads(out.stdout)["us"]
            for rank in range(4):
                _, nodes = self.read(f"sum.{rank}.et")
                written = attributes_of(nodes[0])
                self.assertEqual((len(nodes), NODE_TYPES[nodes[0].type], written["comm_type"][1], written["comm_size"][1]), (1, "COMM_COLL_NODE", number, 65536 // share))
                self.assertAlmostEqual(written["duration_fs"][1] / 1e9, us, delta=1e-6)
        for more in (("--axis", "x"), ("--slices", "2")):
            done = subprocess.run([ICI_COLLECTIVE, "all-reduce", "--slice", "v5e-2x2", "--write", "sum", *more], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()
