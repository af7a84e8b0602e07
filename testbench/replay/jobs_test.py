#!/usr/bin/env python3
"""Several jobs on one slice: what they cost each other, by hand."""
import unittest

from chakra_schema import collective, compute, receive, send
from replay_files import WRONG_INPUT, ReplayTest

LINK, HOP = 45e3, 1.0  # bytes a us, us


class Jobs(ReplayTest):
    def run_jobs(self, *arguments):
        found = self.replay(*arguments)
        return [(job["us"], job["alone_us"], job["slowdown"]) for job in found["jobs"]], found

    def check(self, job, us, alone, delta):
        self.assertAlmostEqual(job[0], us, delta=delta)
        self.assertAlmostEqual(job[1], alone, delta=delta)
        self.assertAlmostEqual(job[2], us / alone, delta=delta / alone * 2)

    def transfer(self, name, size, first=()):
        return self.write([[*first, send(2, 1, size, [n.id for n in first])], [receive(1, 0, size)]], name)

    def test_jobs_on_chips_of_their_own_cost_each_other_nothing(self):
        for name in "ab":
            self.write([[collective(1, "ALL_REDUCE", 1 << 20)]] * 8, name)
        for grain in ((), ("--packets",)):
            jobs, found = self.run_jobs("a", "b", "--slice", "v5e-4x4", "--chips", "0-7", "--chips", "8-15", *grain)
            self.assertEqual([job[2] for job in jobs], [1, 1])
            self.assertEqual(jobs[0][0], jobs[1][0])
            self.assertEqual(found["us"], jobs[0][0])
        # without --chips they lie one behind the other
        self.assertEqual(self.run_jobs("a", "b", "--slice", "v5e-4x4")[0], self.run_jobs("a", "b", "--slice", "v5e-4x4", "--chips", "0-7", "--chips", "8-15")[0])

    def test_jobs_that_share_a_link_share_its_bandwidth(self):
        size = 9_000_000  # 200 us
        self.transfer("a", size)
        self.transfer("b", size)
        where = ("--slice", "v5e-1x4", "--chips", "0,3", "--chips", "1,2")
        # packets: each chip that sends gets half of the link from 1 to 2
        jobs, found = self.run_jobs("a", "b", *where, "--packets")
        self.check(jobs[0], 400 + 3 * HOP, 200 + 3 * HOP, 15)
        self.check(jobs[1], 400 + HOP, 200 + HOP, 15)
        self.assertEqual((found["links"][0]["chip"], found["links"][0]["port"]), (1, "+y"))
        self.assertAlmostEqual(found["links"][0]["busy_us"], 400, delta=0.1)
        self.assertGreater(found["links"][0]["share"], 0.98)
        # flows: what has the longer way goes first
        jobs, _ = self.run_jobs("a", "b", *where)
        self.check(jobs[0], 200 + 3 * HOP, 200 + 3 * HOP, 0.1)
        self.check(jobs[1], 400 + HOP, 200 + HOP, 0.1)

    def test_two_rings_of_every_other_chip_halve_each_other(self):
        size = 64 << 20
        for name in "ab":
            self.write([[collective(1, "ALL_REDUCE", size)]] * 8, name)
        even, odd = (",".join(str(chip) for chip in range(first, 16, 2)) for first in (0, 1))
        alone = 2 * (size * 7 / 8 / (2 * LINK) + 4 * 2 * HOP)
        together = 2 * (2 * size * 7 / 8 / (2 * LINK) + 4 * 2 * HOP)
        for grain in ((), ("--packets",)):
            jobs, _ = self.run_jobs("a", "b", "--slice", "v5e-1x16", "--chips", even, "--chips", odd, *grain)
            for job in jobs:
                self.check(job, together, alone, 0.03 * together)

    def test_a_job_that_computes_meanwhile_feels_nothing(self):
        self.transfer("a", 4_500_000)                        # its link is busy from 0 to 100 us
        self.transfer("b", 4_500_000, (compute(1, 150),))    # needs it from 150 on
        self.transfer("c", 4_500_000, (compute(1, 50),))     # from 50 on
        where = ("--slice", "v5e-1x4", "--chips", "1,2")
        jobs, _ = self.run_jobs("b", "a", *where, "--chips", "0,3")
        self.assertEqual([round(job[2], 6) for job in jobs], [1, 1])
        jobs, _ = self.run_jobs("c", "a", *where, "--chips", "0,3")
        self.check(jobs[0], 201, 151, 0.1)  # it waits from 50 to 100: flows by longer ways go first
        self.assertAlmostEqual(jobs[1][2], 1, delta=1e-6)

    def test_groups_are_those_of_their_own_job_and_traces_are_written_by_job(self):
        (self.folder / "a.json").write_text('{"g": [0, 1]}')
        (self.folder / "b.json").write_text('{"g": [1, 2]}')
        self.write([[collective(1, "BARRIER", 0, pg_name="g")], [collective(1, "BARRIER", 0, pg_name="g")], []], "a")
        self.write([[], [collective(1, "BARRIER", 0, pg_name="g")], [collective(1, "BARRIER", 0, pg_name="g")]], "b")
        self.run_jobs("a", "b", "--slice", "v5e-4x4", "--groups", "a.json", "--groups", "b.json", "--write", "out")
        self.assertEqual(sorted(path.name for path in self.folder.glob("out.*")), [f"out.{job}.{rank}.et" for job in (0, 1) for rank in (0, 1, 2)])

    def test_two_jobs_on_one_chip_are_refused(self):
        for name in "ab":
            self.write([[compute(1, 1)]] * 4, name)
        code, out, err = self.run_replay("a", "b", "--slice", "v5e-4x4", "--chips", "0-3", "--chips", "3-6")
        self.assertEqual((code, out, err), (WRONG_INPUT, "", "ici_replay: b: chip 3 has a rank already\n"))
        code, out, err = self.run_replay("a", "b", "a", "--slice", "v5e-2x4")
        self.assertEqual((code, out, err), (WRONG_INPUT, "", "ici_replay: a: 4 ranks from chip 8 on have no room on v5e-2x4 of 8 chips\n"))


if __name__ == "__main__":
    unittest.main()
