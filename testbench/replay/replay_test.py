#!/usr/bin/env python3
"""Small jobs whose time can be worked out by hand, replayed by packets and by flows. v5e: 45 GB/s a link and way, 1 us a hop, lines of less than 16 chips.

usage: ICI_REPLAY=build/bin/ici_replay .venv/bin/python -m unittest replay_test"""
import json
import unittest

from chakra_schema import COLLECTIVES, collective, compute, node, receive, send
from replay_files import ReplayTest

LINK, HOP = 45e3, 1.0  # bytes a us, us


def line_gather(whole, chips):
    """An all-gather along a line: the end of the line gets all others' blocks over one link."""
    return whole * (chips - 1) / chips / LINK + (chips - 1) * HOP


def ring_gather(whole, chips):
    return whole * (chips - 1) / chips / (2 * LINK) + chips // 2 * HOP


class Replay(ReplayTest):
    def us(self, ranks, *arguments, name="job"):
        return self.replay(self.write(ranks, name), *arguments)["us"]

    def both(self, ranks, expected, *arguments, packets=0.02):
        """By flows within 0.1 %, by packets within 2 % or so."""
        self.assertAlmostEqual(self.us(ranks, *arguments), expected, delta=1e-3 * expected)
        self.assertAlmostEqual(self.us(ranks, *arguments, "--packets"), expected, delta=packets * expected)

    def test_one_message_takes_its_bytes_and_its_hops(self):
        self.both([[send(1, 1, 4_500_000)], [receive(1, 0, 4_500_000)]], 100 + HOP, "--slice", "v5e-2x1")
        # two links on, by both ways at once: 16 MiB from corner to corner, which is published as E1
        self.both([[send(1, 1, 16 << 20)], [receive(1, 0, 16 << 20)]], (16 << 20) / 2 / LINK + 6 * HOP, "--slice", "v5e-4x4", "--chips", "0,15")

    def test_a_message_over_an_optical_link_takes_what_it_takes(self):
        # from the end of one cube to the beginning of the next: one hop, 45 GB/s on its one way
        ranks = [[send(1, 1, 4_500_000)], [receive(1, 0, 4_500_000)]]
        for us, options in ((HOP, ()), (7.5, ("--optical-us", 7.5))):
            self.both(ranks, 100 + us, "--slice", "v4-4x4x12", "--chips", "48,64", *options)
        self.both(ranks, 100 + HOP, "--slice", "v4-4x4x12", "--chips", "64,80", "--optical-us", 7.5)  # within a cube
        for us, slice_, words in ((3, "v5e-4x4", "ici_replay: --optical-us: slice v5e-4x4 is not made of cubes"), (0.5, "v4-4x4x4", "ici_replay: --optical-us: 0.5 us: an optical link takes 1 us")):
            code, out, err = self.run_replay("job", "--slice", slice_, "--optical-us", us)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(words, err)

    def test_collectives_of_a_whole_slice_take_their_closed_forms(self):
        size = 16 << 20
        for kind, per_rank, expected in (("ALL_REDUCE", size, 2 * ring_gather(size, 16)), ("ALL_GATHER", size // 16, ring_gather(size, 16)), ("REDUCE_SCATTER", size, ring_gather(size, 16)),
                                         ("REDUCE_SCATTER_BLOCK", size, ring_gather(size, 16)), ("ALL_TO_ALL", size // 16, size / 8 / LINK + HOP),
                                         ("BROADCAST", size, size / LINK + 8 * HOP), ("BARRIER", 0, 16 * HOP)):
            with self.subTest(kind):
                self.both([[collective(1, kind, per_rank)]] * 16, expected, "--slice", "v5e-1x16", packets=0.04)

    def test_a_collective_with_a_root_is_bound_by_the_roots_links(self):
        size = 1 << 20
        # a line of 4 whose root is the end: each of the other three sends 1 MiB over the root's only link
        self.both([[collective(1, "GATHER", size, root=0)]] * 4, 3 * size / LINK + HOP, "--slice", "v5e-1x4", packets=0.03)
        self.both([[collective(1, "SCATTER", 4 * size, root=3)]] * 4, 3 * size / LINK + HOP, "--slice", "v5e-1x4", packets=0.03)
        # a reduce-scatter, then the other three's sums to the root
        self.both([[collective(1, "REDUCE", 4 * size, root=0)]] * 4, line_gather(4 * size, 4) + 3 * size / LINK + HOP, "--slice", "v5e-1x4", packets=0.03)

    def test_groups_run_side_by_side_where_they_share_no_link(self):
        size = 4 << 20
        rows = {str(y): [4 * y + x for x in range(4)] for y in range(4)}
        (self.folder / "groups.json").write_text(json.dumps(rows))
        ranks = [[collective(1, "ALL_REDUCE", size, pg_name=str(rank // 4))] for rank in range(16)]
        self.both(ranks, 2 * line_gather(size, 4), "--slice", "v5e-4x4", "--groups", "groups.json")
        # the same by the metadata that PyTorch writes
        for rank in range(16):
            first = node(7, "METADATA_NODE", "## process_group:init ##")
            first.inputs.values = str([json.dumps([{"pg_name": name, "ranks": members} for name, members in rows.items()])])
            ranks[rank] = [first, collective(8, "ALL_REDUCE", size, (7,), pg_name=str(rank // 4))]
        self.both(ranks, 2 * line_gather(size, 4), "--slice", "v5e-4x4")

    def test_groups_that_are_half_an_axis_a_stride_or_a_way_round(self):
        size = 4 << 20
        around = size / 2 / 2 / LINK + HOP + size / 2 / 4 / LINK + HOP  # all of a 2 x 2 mesh: half of the array along each axis, then the other one
        for members, slice_name, chips, expected in ((range(8), "v5e-1x16", 16, 2 * line_gather(size, 8)), ((0, 4, 8, 12), "v5e-1x16", 16, 2 * (size * 3 / 4 / (2 * LINK) + 2 * 4 * HOP)),
                                                     ((0, 1, 3, 2), "v5e-2x2", 4, 2 * around)):
            (self.folder / "groups.json").write_text(json.dumps({"some": list(members)}))
            ranks = [[collective(1, "ALL_REDUCE", size, pg_name="some")] if rank in members else [compute(1, 1)] for rank in range(chips)]
            with self.subTest(slice_name):
                self.both(ranks, expected, "--slice", slice_name, "--groups", "groups.json")

    def test_dependences_are_kept_and_a_chip_computes_one_node_at_a_time(self):
        chain = [compute(1, 10), compute(2, 20, (1,)), compute(3, 30, (2,))]
        self.assertEqual(self.us([chain]), 60)
        self.assertEqual(self.us([[compute(1, 10), compute(2, 20)]]), 30)
        # a host's nodes, and memory's, run beside the chip's
        self.assertEqual(self.us([[compute(1, 10), compute(2, 25, is_cpu_op=True), node(3, "MEM_LOAD_NODE", micros=5)]]), 25)
        # of those that are ready, the lowest id first: 5 delays what waits for 2
        self.assertEqual(self.us([[compute(5, 100), compute(2, 10), compute(9, 50, (2,), is_cpu_op=True)]]), 110)
        # control dependences count too, and nodes that take no time pass them on
        chained = compute(4, 7)
        chained.ctrl_deps.append(3)
        self.assertEqual(self.us([[compute(1, 10), node(3, "INVALID_NODE", after=(1,)), chained]]), 17)
        hundred = [node(i, "INVALID_NODE", after=(i - 1,) if i else ()) for i in range(100_000)]
        self.assertEqual(self.us([[*hundred, compute(100_000, 3, (99_999,))]]), 3)

    def test_communication_behind_computation_is_hidden_and_the_rest_exposed(self):
        def rank(other, first):
            transfer = (send if first else receive)(1, other, 4_500_000)
            return [transfer, compute(2, 60), compute(3, 20, (1, 2))]
        found = self.replay(self.write([rank(1, True), rank(0, False)]), "--slice", "v5e-2x1")
        self.assertAlmostEqual(found["us"], 101 + 20, delta=0.1)
        for times in found["jobs"][0]["by_rank"]:
            for key, expected in (("working_us", 80), ("communicating_us", 101), ("hidden_us", 60), ("exposed_us", 41), ("host_us", 0)):
                self.assertAlmostEqual(times[key], expected, delta=0.1, msg=key)

    def test_a_late_rank_holds_its_group_and_a_late_receive_finds_its_message(self):
        size = 4 << 20
        ranks = [[compute(1, 100 * rank), collective(2, "ALL_REDUCE", size, (1,))] for rank in range(4)]
        found = self.replay(self.write(ranks), "--slice", "v5e-1x4")
        self.assertAlmostEqual(found["us"], 300 + 2 * line_gather(size, 4), delta=0.3)
        self.assertAlmostEqual(found["jobs"][0]["by_rank"][0]["exposed_us"], found["us"], delta=1e-6)  # rank 0 has nothing to compute
        self.assertAlmostEqual(self.us([[send(1, 1, 45_000)], [compute(1, 50), receive(2, 0, 45_000, (1,)), compute(3, 5, (2,))]], "--slice", "v5e-2x1"), 55, delta=1e-6)

    def test_sends_of_one_tag_are_received_in_their_order_and_others_by_their_tags(self):
        self.assertAlmostEqual(self.us([[send(1, 1, 45_000, tag=7), send(2, 1, 90_000, tag=7), send(3, 1, 135_000, tag=8)],
                                        [receive(1, 0, 135_000, tag=8), receive(2, 0, 45_000, tag=7), receive(3, 0, 90_000, tag=7)]], "--slice", "v5e-2x1"), 7, delta=1e-3)

    def test_what_computing_costs_where_the_trace_has_no_duration(self):
        peak, hbm = 2 * 65536 * 1.5e9, 810e9
        work = compute(1, 0, num_ops=10 ** 12, tensor_size=10 ** 6)
        self.assertAlmostEqual(self.us([[work]]), 1e18 / peak, delta=1e-3)
        self.assertAlmostEqual(self.us([[compute(1, 0, num_ops=1, tensor_size=10 ** 9)]]), 1e15 / hbm, delta=1e-3)
        self.assertAlmostEqual(self.us([[work]], "--tera-ops", 100), 10_000, delta=1e-3)
        self.assertAlmostEqual(self.us([[node(1, "MEM_STORE_NODE", tensor_size=10 ** 9)]], "--hbm-gb", 1000), 1000, delta=1e-3)
        recorded = compute(1, 5, num_ops=10 ** 12)
        self.assertEqual(self.us([[recorded]]), 5)
        self.assertAlmostEqual(self.us([[recorded]], "--durations", "cost"), 1e18 / peak, delta=1e-3)

    def test_numbers_of_every_type_of_the_schema_are_read(self):
        for scalar in ("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"):
            kinds = dict.fromkeys(("comm_size", "comm_dst", "comm_tag"), scalar)
            with self.subTest(scalar):
                ranks = [[node(1, "COMM_SEND_NODE", comm_dst=1, comm_size=4_500_000, comm_tag=3, kinds=kinds)], [receive(1, 0, 4_500_000, tag=3)]]
                self.assertAlmostEqual(self.us(ranks, "--slice", "v5e-2x1"), 101, delta=1e-3)

    def test_the_most_loaded_links_are_told(self):
        found = self.replay(self.write([[send(1, 3, 9_000_000)], [send(1, 3, 4_500_000)], [], [receive(1, 0, 9_000_000), receive(2, 1, 4_500_000)]]), "--slice", "v5e-1x4", "--links", 2)
        self.assertEqual([(link["chip"], link["port"], link["neighbor"]) for link in found["links"]], [(1, "+y", 2), (2, "+y", 3)])
        self.assertEqual(found["links_used"], 3)
        for link in found["links"]:
            self.assertAlmostEqual(link["busy_us"], 300, delta=1e-3)
            self.assertAlmostEqual(link["bytes"], 13_500_000, delta=100)
            self.assertAlmostEqual(link["share"], 300 / found["us"], delta=1e-6)
        text = self.run_replay("job", "--slice", "v5e-1x4", "--no-framing", "--flows")[1]
        self.assertIn("1 +y to    2      300.00 us busy", text)

    def test_every_collective_ends_on_every_kind_of_group(self):
        (self.folder / "groups.json").write_text(json.dumps({"block": [0, 1, 4, 5], "some": [3, 9, 14], "one": [7], "all": list(range(16))}))
        for kind in COLLECTIVES:
            for group, members in (("block", (0, 1, 4, 5)), ("some", (3, 9, 14)), ("one", (7,)), ("all", range(16))):
                for size in (1, 100_003):
                    ranks = [[collective(1, kind, size, root=members[-1], pg_name=group)] if rank in members else [] for rank in range(16)]
                    for grain in ("--packets", "--slice"):
                        with self.subTest(kind=kind, group=group, size=size, grain=grain):
                            us = self.us(ranks, "--slice", "v5e-4x4", "--groups", "groups.json", *(["--packets"] if grain == "--packets" else []))
                            self.assertEqual(us > 0, len(members) > 1)


if __name__ == "__main__":
    unittest.main()
