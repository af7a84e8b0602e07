#!/usr/bin/python3
"""A slice that mpirun's ranks simulate (weft-sim --mpi): the bits and cycles of one process, on one machine and on two; the end when a rank or mpirun dies; what is refused."""
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from trace_events import launched
from weft_command import WEFT_SIM, WeftTest, wait_for

RANK_LOST, USAGE, CANNOT_START = 7, 2, 3
DEAD_RANK_S = 5
COLLECTIVES = ("all-gather", "reduce-scatter", "all-reduce", "broadcast", "all-to-all", "permute", "barrier")
MPIRUN = ("mpirun", "--oversubscribe", *(("--allow-run-as-root",) if os.geteuid() == 0 else ()))
# Messages by TCP, as between machines, over the one interface that every machine has.
BY_TCP = ("--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo")
# In place of ssh: the command runs here, on a machine that has another name.
AGENT = """#!/bin/bash
host=$1; shift
exec unshare --uts bash -c "hostname $host; exec bash -c \\"\\$0\\"" "$*"
"""


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Mpi(WeftTest):
    def simulators(self, listens):
        """Processes that simulate the slice of that folder, by rank."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                arguments = (folder / "cmdline").read_bytes().split(b"\0")
                environment = dict(line.partition(b"=")[::2] for line in (folder / "environ").read_bytes().split(b"\0"))
            except OSError:  # ended meanwhile
                continue
            if arguments[0].endswith(b"weft-sim") and listens.encode() in arguments:
                found[int(environment[b"OMPI_COMM_WORLD_RANK"])] = int(folder.name)
        return found

    def mpirun(self, *arguments):
        run = self.start(*arguments, program=MPIRUN[0])
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        return run

    def serve(self, ranks, *how, folder="slice", options=()):
        run = self.mpirun(*MPIRUN[1:], *how, "-n", ranks, WEFT_SIM, "--mpi", "--slice", "nano-2x2", "--listen", self.path(folder), *options)

        def listens():
            self.assertIsNone(run.poll(), run.stderr.read() if run.poll() is not None else "")
            return os.path.exists(self.path(f"{folder}/chip3-function0.sock"))

        wait_for(listens, "sockets of the slice")
        self.assertEqual(sorted(self.simulators(self.path(folder))), list(range(ranks)))
        return run

    def cycles(self, collectives=COLLECTIVES, folder="slice"):
        """Of no collective an element may differ."""
        found = {}
        for collective in collectives:
            run = self.weft_json("collective", collective, "--listen", folder, "--axis", "xy", "--bytes", 32768)
            self.assertEqual(run["differing"], 0, collective)
            found[collective] = run["device_cycles"]
        return found

    def end(self, folder, run):
        """The ranks end together, and well, when one of them is asked to, and take their sockets along."""
        os.kill(self.simulators(self.path(folder))[0], signal.SIGTERM)
        self.assertEqual(run.wait(30), 0, run.stderr.read())
        self.assertEqual(os.listdir(self.path(folder)), [])

    def serve_by_one_process(self, *options):
        simulator = self.start("--slice", "nano-2x2", "--listen", self.path("one"), *options, program=WEFT_SIM)
        self.addCleanup(simulator.communicate)
        self.addCleanup(simulator.kill)
        wait_for(lambda: os.path.exists(self.path("one/chip3-function0.sock")), "sockets of the slice")
        return simulator

    def test_every_collective_takes_the_cycles_of_one_process(self):
        self.serve_by_one_process()
        one = self.cycles(folder="one")
        for ranks, how, collectives in ((1, (), ("all-reduce",)), (2, (), COLLECTIVES), (4, BY_TCP, COLLECTIVES)):
            run = self.serve(ranks, *how)
            self.assertEqual(self.cycles(collectives), {name: one[name] for name in collectives}, f"{ranks} ranks")
            self.end("slice", run)

    def test_a_trace_is_that_of_one_process(self):
        simulator = self.serve_by_one_process("--trace", self.path("one.json"))
        self.cycles(("all-reduce",), folder="one")
        simulator.terminate()
        self.assertEqual(simulator.wait(30), 0)
        run = self.serve(3, *BY_TCP, options=("--trace", self.path("three.json")))
        self.cycles(("all-reduce",))
        self.end("slice", run)
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.json*")), ["one.json", "three.json"])
        self.assertEqual(launched(self.folder / "three.json"), launched(self.folder / "one.json"))

    def test_a_recording_is_replayed_in_one_process(self):
        for ranks, how in ((2, ()), (3, BY_TCP)):
            name = f"recorded-{ranks}"
            run = self.serve(ranks, *how, options=("--record", self.path(name)))
            self.cycles(("all-reduce",))
            self.end("slice", run)
            self.assertEqual(sorted(os.listdir(self.path(name))), [f"chip{chip}.weftrec" for chip in range(4)])
            report = self.weft_json("replay", name)
            self.assertEqual([report[key] for key in ("identical", "cycles_compared", "ending", "slice")], [True, True, "complete", "nano-2x2"])

    def test_two_machines(self):
        if subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode != 0:
            self.skipTest("no right to give a process another host name")
        agent = self.folder / "agent"
        agent.write_text(AGENT)
        agent.chmod(0o755)
        run = self.serve(3, *BY_TCP, "--mca", "plm_rsh_agent", agent, "-H", "east:2,west:1")
        self.assertEqual(self.weft_json("collective", "all-reduce", "--listen", "slice", "--bytes", 16384)["differing"], 0)
        ranks = self.simulators(self.path("slice"))
        os.kill(ranks[2], signal.SIGKILL)
        run.wait(DEAD_RANK_S)
        wait_for(lambda: not any(map(is_there, ranks.values())), "end of all ranks", DEAD_RANK_S)
        self.assertRegex(run.stderr.read(), rf"rank 2 (\(process|with PID) {ranks[2]} on (node )?west\W")  # mpirun says so, the other ranks if they come to it

    def test_a_dead_rank_is_told_of_and_ends_the_others(self):
        run = self.serve(4)
        client = self.start("collective", "all-reduce", "--listen", "slice", "--bytes", 4 << 20)
        ranks = self.simulators(self.path("slice"))
        time.sleep(0.3)
        begin = time.monotonic()
        os.kill(ranks[1], signal.SIGKILL)
        self.assertNotEqual(run.wait(DEAD_RANK_S), 0)
        wait_for(lambda: not any(map(is_there, ranks.values())), "end of all ranks", DEAD_RANK_S)
        self.assertLess(time.monotonic() - begin, DEAD_RANK_S)
        self.assertRegex(run.stderr.read(), rf"weft-sim: rank 1 \(process {ranks[1]} on .*\) has died or does not answer; it simulated chips 1 to 1 |mpirun noticed that process rank 1 ")
        out, err = client.communicate(timeout=60)
        self.assertEqual(client.returncode, 4, out + err)  # the device is gone

    def test_no_rank_outlives_mpirun(self):
        run = self.serve(3)
        ranks = self.simulators(self.path("slice"))
        run.kill()
        wait_for(lambda: not any(map(is_there, ranks.values())), "end of all ranks", DEAD_RANK_S)

    def refused(self, words, *arguments, code=USAGE):
        run = self.mpirun(*MPIRUN[1:], *arguments)
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, code, err)
        self.assertIn(words, err)
        self.assertEqual(err.count("weft-sim: "), 1, err)  # one of them says it
        self.assertFalse(os.path.exists(self.path("slice")))

    def test_ranks_that_do_not_go_together(self):
        slice_of_four = ("--mpi", "--slice", "nano-2x2", "--listen", self.path("slice"))
        self.refused("5 ranks for the 4 chips of slice 'nano-2x2'", "-n", 5, WEFT_SIM, *slice_of_four)
        self.refused("%p would be another folder for each process", "-n", 1, WEFT_SIM, *slice_of_four, "--record", self.path("r%p"))
        self.refused("was started with other options than rank 0", "-n", 1, WEFT_SIM, *slice_of_four, ":", "-n", 1, WEFT_SIM, *slice_of_four, "--core", "rtl")
        other = self.folder / "bin/weft-sim"
        other.parent.mkdir()
        shutil.copy(WEFT_SIM, other)
        with open(other, "ab") as file:
            file.write(b"another build")
        (other.parent / "weft-mpi.so").symlink_to(Path(WEFT_SIM).resolve().parent / "weft-mpi.so")
        self.refused("rank 1 (process ", "-n", 1, WEFT_SIM, *slice_of_four, ":", "-n", 1, other, *slice_of_four)
        self.refused("runs another build than rank 0", "-n", 1, other, *slice_of_four, ":", "-n", 1, WEFT_SIM, *slice_of_four)
        (other.parent / "weft-mpi.so").unlink()
        code, _, err = self.run_weft(*slice_of_four, program=str(other))
        self.assertEqual((code, "was built without MPI" in err), (CANNOT_START, True), err)

    def test_options_that_do_not_go_together(self):
        listen = ("--listen", self.path("slice"))
        for arguments, words in ((("--chip", "nano", *listen), "it needs --slice"), (("--slice", "nano-2x2", "--fd", 0), "it needs --listen"),
                                 (("--slice", "nano-2x2", "--processes", 2, *listen), "mpirun says how many")):
            code, _, err = self.run_weft("--mpi", *arguments, program=WEFT_SIM)
            self.assertEqual(code, USAGE, err)
            self.assertIn(words, err)


if __name__ == "__main__":
    unittest.main()
