#!/usr/bin/env python3
"""Jobs that cannot be: exit 2, and one line that names file, node and field. Nothing else ever happens, whatever the bytes are."""
import random
import unittest

from chakra_schema import Node, collective, compute, node, receive, send, to_bytes
from replay_files import WRONG_INPUT, ReplayTest


class Garbage(ReplayTest):
    def test_nodes_that_cannot_be_are_named(self):
        cyclic = [compute(1, 1, (3,)), compute(2, 1, (1,)), compute(3, 1, (2,))]
        self.refuse([cyclic], "job.0.et: node 1 (\"compute 1\")", "cycle: 1 after 3 after 2 after 1")
        self.refuse([[compute(1, 1, (9,))]], "job.0.et: node 1", "there is no node 9")
        self.refuse([[compute(1, 1)], [compute(1, 1), compute(1, 2)]], "job.1.et: node 1", "id:")
        strange = compute(4, 1)
        strange.type = 99
        self.refuse([[strange]], "job.0.et: node 4", "type: 99")
        self.refuse([[node(1, "COMM_COLL_NODE", comm_type=77, comm_size=1)]], "job.0.et: node 1", "comm_type: 77")
        self.refuse([[node(1, "COMM_COLL_NODE", comm_type=0)]], "job.0.et: node 1", "without comm_size")
        self.refuse([[collective(1, "ALL_REDUCE", 2 ** 63)]], "job.0.et: node 1", "comm_size: 9223372036854775808")
        self.refuse([[compute(1, 2 ** 64 - 1)]], "job.0.et: node 1", "duration_micros: 18446744073709551615")
        self.refuse([[compute(1, 0, num_ops=2 ** 64 - 1)]], "job.0.et: node 1", "num_ops", "more than an hour")
        self.refuse([[send(1, 7, 5)]], "job.0.et: node 1", "comm_dst: rank 7 of a job of 1 ranks")
        self.refuse([[send(1, 1, 5)], [receive(1, 0, 6)]], "job.1.et: node 1", "comm_size: 6", "sends 5")
        self.refuse([[send(1, 1, 5)], []], "job.0.et: node 1", "COMM_RECV_NODE")
        self.refuse([[receive(1, 1, 5), send(2, 1, 5, (1,))], [receive(1, 0, 5), send(2, 0, 5, (1,))]], "node 1", "which never begins")
        self.refuse([[collective(1, "ALL_REDUCE", 5, pg_name="rows")]], "job.0.et: node 1", "pg_name: there is no group rows")
        named = compute(1, 1, (9,))
        named.name = "line\nfeed\x1b[31m"
        self.refuse([[named]], "node 1 (\"line?feed?[31m\")")

    def test_files_that_are_none_are_named(self):
        whole = to_bytes([compute(1, 5), compute(2, 5, (1,))])
        self.refuse([b""], "job.0.et: empty")
        self.refuse([b"\x1f\x8b\x08\x00"], "job.0.et", "gzip")
        self.refuse([b"{\"nodes\": []}\n" * 10], "job.0.et")
        self.refuse([whole[:-1]], "job.0.et: message 2", "are left in the file")
        self.refuse([whole + b"\xff\xff\xff\x7f"], "job.0.et: message 3", "67108864 may be")
        code, _, err = self.run_replay("nothing")
        self.assertEqual((code, err), (WRONG_INPUT, "ici_replay: nothing.0.et: no such file\n"))

    def test_wrong_words_on_the_command_line_are_told(self):
        job = self.write([[compute(1, 1)], [compute(1, 1)]])
        for arguments, words in ((("--slice", "v5e-3x99"), "v5e-3x99"), (("--chips", "0-"), "--chips '0-'"), (("--chips", "0,4", "--slice", "v5e-2x2"), "--chips '0,4'"),
                                 (("--chips", "0-3", "--slice", "v5e-2x2"), "2 ranks on 4 chips"), (("--slice", "v5e-1x1"), "no room on v5e-1x1"),
                                 (("--groups", "none.json"), "none.json: cannot be read"), (("--chips", "0,1", "--chips", "2,3"), "more --chips than jobs")):
            code, out, err = self.run_replay(job, *arguments)
            self.assertEqual((code, out), (WRONG_INPUT, ""), err)
            self.assertIn(words, err)

    def test_random_changes_of_a_job_are_replayed_or_refused(self):
        seed = 20261126
        print(f"seed {seed}")
        draw = random.Random(seed)
        ranks = [[compute(1, 5), collective(2, "ALL_REDUCE", 4096, (1,)), send(3, 1, 99, (2,)), node(4, "MEM_LOAD_NODE", after=(3,), tensor_size=7)],
                 [compute(1, 5), collective(2, "ALL_REDUCE", 4096, (1,)), receive(3, 0, 99, (2,))]]
        whole = [to_bytes(nodes) for nodes in ranks]
        for _ in range(60):
            changed = [bytearray(text) for text in whole]
            for _ in range(draw.randint(1, 3)):
                text = draw.choice(changed)
                text[draw.randrange(len(text))] ^= 1 << draw.randrange(8)
            job = self.write([bytes(text) for text in changed])
            code, out, err = self.run_replay(job, "--slice", "v5e-2x1", "--flows")
            self.assertIn(code, (0, WRONG_INPUT), f"{changed}: {err}")
            if code:
                self.assertTrue(out == "" and err.startswith("ici_replay: job.") and err.count("\n") == 1, f"{changed}: {err}")

    def test_what_the_schema_does_not_know_is_passed_over(self):
        first = compute(1, 5)
        first.attr.add(name="later", bytes_list={"values": [b"x"]})
        text = to_bytes([first])
        unknown = Node.FromString(first.SerializeToString() + b"\xf2\x3f\x03abc")  # field 1022
        self.assertEqual(self.replay(self.write([text]))["us"], 5)
        self.assertEqual(self.replay(self.write([[unknown]]))["us"], 5)


if __name__ == "__main__":
    unittest.main()
