#!/usr/bin/python3
"""Tenants of a standing weft-sim: whose its folder and sockets are, and what processes may do to each other."""
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import unittest

from weft_command import WEFT_SIM, WeftTest, wait_for

WRONG_USAGE, CANNOT_START = 2, 3
OTHER_USER, OTHER_GROUP = 61234, 61235

ASK = """
import os, socket, sys
os.setgroups([int(sys.argv[2])] if sys.argv[2] else [])
os.setgid(int(sys.argv[2] or sys.argv[1]))
os.setuid(int(sys.argv[1]))
client = socket.socket(socket.AF_UNIX)
try:
    client.connect(sys.argv[3])
except OSError as error:
    print(error.strerror)
    sys.exit()
client.sendall(sys.argv[4].encode() + b"\\n")
print(client.makefile().readline() or "closed", end="")
"""


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class Tenants(WeftTest):
    def start_simulator(self, *arguments, folder="chip", functions=4):
        of = ("--slice", "nano-2x2") if functions == 0 else ("--chip", "nano", "--core", "fast", "--functions", str(functions))
        simulator = subprocess.Popen([WEFT_SIM, *of, "--listen", self.path(folder), *arguments], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, umask=0)
        self.addCleanup(simulator.stdout.close)
        self.addCleanup(simulator.wait)
        self.addCleanup(simulator.kill)
        last = "chip3-function0" if functions == 0 else f"function{functions - 1}"
        wait_for(lambda: os.path.exists(self.path(f"{folder}/{last}.sock")), "sockets")
        return simulator

    def end(self, simulator):
        """Its sockets go with it."""
        simulator.terminate()
        simulator.wait()
        self.assertEqual(os.listdir(self.path("chip")), [])

    def refused(self, *arguments):
        done = subprocess.run([WEFT_SIM, "--chip", "nano", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.returncode, done.stderr

    def management(self, request, folder="chip"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.path(f"{folder}/management.sock"))
            client.sendall(json.dumps({"weft_management": 1, **request}).encode() + b"\n")
            return json.loads(client.makefile().readline())

    def as_other_user(self, request, user=OTHER_USER, group=""):
        os.chmod(self.folder, 0o755)
        request = json.dumps({"weft_management": 1, **request})
        return subprocess.run([sys.executable, "-c", ASK, str(user), str(group), self.path("chip/management.sock"), request],
                              capture_output=True, text=True, check=True).stdout.strip()

    def start_client(self, function):
        client = self.start("gemm", "--shape", "768x768x768", "--socket", f"chip/function{function}.sock", "--json")
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        wait_for(lambda: self.management({"request": "state"})["functions"][function]["state"] == "ready", "client")
        return client

    def test_folder_and_sockets_are_the_users_alone(self):
        self.start_simulator(folder="a/b/chip")
        self.assertEqual(mode(self.path("a/b/chip")), 0o700)
        names = sorted(os.listdir(self.path("a/b/chip")))
        self.assertEqual(names, [*(f"function{i}.sock" for i in range(4)), "management.sock"])
        self.assertEqual({mode(self.path(f"a/b/chip/{name}")) for name in names}, {0o600})
        owner = self.start("gemm", "--shape", "768x768x768", "--socket", "a/b/chip/function0.sock")
        self.addCleanup(owner.communicate)
        self.addCleanup(owner.kill)
        wait_for(lambda: os.path.exists(self.path("a/b/chip/function0.sock.owner")), "owner's file")
        self.assertEqual(mode(self.path("a/b/chip/function0.sock.owner")), 0o600)

    def test_a_folder_that_could_hold_somebody_elses_files_is_refused(self):
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        os.mkdir(self.path("real"), 0o700)
        os.symlink(self.path("real"), self.path("link"))
        for name, words in (("open", "others may write"), ("link", "symbolic link")):
            code, err = self.refused("--listen", self.path(name))
            self.assertEqual(code, CANNOT_START)
            self.assertIn(self.path(name), err)
            self.assertIn(words, err)
        if os.geteuid() == 0:
            os.mkdir(self.path("theirs"), 0o700)
            os.chown(self.path("theirs"), OTHER_USER, OTHER_GROUP)
            code, err = self.refused("--listen", self.path("theirs"))
            self.assertEqual(code, CANNOT_START)
            self.assertIn(f"belongs to user {OTHER_USER}", err)
        code, err = self.refused("--listen", self.path("x"), "--group", "no such group")
        self.assertEqual(code, WRONG_USAGE)
        self.assertIn("no such group", err)

    def test_the_owners_file_follows_no_link(self):
        self.start_simulator()
        with open(self.path("precious"), "w", encoding="ascii") as file:
            file.write("mine")
        os.symlink(self.path("precious"), self.path("chip/function0.sock.owner"))
        self.weft("gemm", "--shape", "8x8x8", "--socket", "chip/function0.sock")
        with open(self.path("precious"), encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_another_user_asks_nothing_without_the_group_and_only_reads_with_it(self):
        simulator = self.start_simulator()
        self.assertIn("denied", self.as_other_user({"request": "state"}))
        self.end(simulator)
        simulator = self.start_simulator("--group", str(OTHER_GROUP))
        self.assertEqual((mode(self.path("chip")), mode(self.path("chip/function0.sock"))), (0o750, 0o660))
        self.start_client(1)
        reset = {"request": "reset", "function": 1, "force": True}
        self.assertIn("denied", self.as_other_user({"request": "state"}))  # not of the group
        state = json.loads(self.as_other_user({"request": "state"}, group=OTHER_GROUP))
        self.assertEqual(len(state["functions"]), 4)
        refusal = json.loads(self.as_other_user(reset, group=OTHER_GROUP))
        self.assertEqual(refusal["error"], "BUSY")
        self.assertIn("--allow-reset", refusal["message"])
        refusal = json.loads(self.as_other_user({"request": "inject", "kind": "link_down", "port": 0}, group=OTHER_GROUP))
        self.assertEqual(refusal["error"], "UNSUPPORTED")
        self.assertIn("--allow-inject", refusal["message"])
        self.assertEqual(self.management({"request": "state"})["functions"][1]["reset_generation"], 0)
        self.assertIn("reset", self.management(reset))  # the simulator's user
        self.end(simulator)
        self.start_simulator("--group", str(OTHER_GROUP), "--allow-reset", "--allow-inject")
        self.start_client(1)
        self.assertIn("reset", json.loads(self.as_other_user(reset, group=OTHER_GROUP)))
        alone = json.loads(self.as_other_user({"request": "inject", "kind": "link_down", "port": 0}, group=OTHER_GROUP))
        self.assertEqual(alone["error"], "INVALID_ARGUMENT")  # it has no links

    def test_firmware_that_one_tenant_has_killed_or_deafened_comes_back_for_all(self):
        """Only the chip can help: no function's reset reaches such firmware. The neighbour computes as before, in the same cycles."""
        self.start_simulator("--allow-inject")

        def neighbour():
            return self.weft_json("gemm", "--shape", "8x8x8", "--socket", "chip/function0.sock")["device_cycles"]

        before = neighbour()
        for kind in ("firmware_dead", "firmware_deaf"):
            with open(self.path("fault.toml"), "w", encoding="ascii") as file:
                file.write(f'[[fault]]\nkind = "{kind}"\nnth = 2\n')
            done = self.weft("inject", self.path("fault.toml"), "--open", f"vfio-user:{self.path('chip/function1.sock')}")
            self.assertIn("acted 1", done)
            self.assertIn("recovery: reset", done)
            self.assertEqual(neighbour(), before)

    def test_a_client_whose_socket_gets_the_number_of_one_that_has_just_left_is_heard(self):
        simulator = subprocess.Popen([WEFT_SIM, "--slice", "v4-4x4x8", "--listen", self.path("many")], stdin=subprocess.DEVNULL)
        self.addCleanup(simulator.wait)
        self.addCleanup(simulator.kill)
        wait_for(lambda: os.path.exists(self.path("many/chip127-function0.sock")), "sockets", 60)
        with socket.socket(socket.AF_UNIX) as leaves, socket.socket(socket.AF_UNIX) as comes:
            leaves.connect(self.path("many/chip3-function0.sock"))
            for _ in range(3):  # it has been looked at in several turns by then
                self.assertEqual(self.management({"request": "state", "chip": 3}, "many")["functions"][0]["owner"]["pid"], os.getpid())
            os.kill(simulator.pid, signal.SIGSTOP)  # so that it finds both in one turn
            leaves.close()
            comes.connect(self.path("many/chip5-function0.sock"))
            os.kill(simulator.pid, signal.SIGCONT)
            self.management({"request": "state", "chip": 5}, "many")
            comes.sendall(struct.pack("<HHIII", 7, 1, 16, 0, 0))  # VERSION, without what belongs to it
            comes.settimeout(60)
            self.assertEqual(struct.unpack_from("<H", comes.recv(16)), (7,))

    def test_a_slice_works_beside_another_tenant_though_it_cannot_hold_time(self):
        self.start_simulator("--functions", "2", folder="slice", functions=0)
        alone = self.weft_json("collective", "all-reduce", "--listen", "slice", "--bytes", 65536)
        # holds chip 2 for 7 million cycles: 2 million without progress are a hang where chips are not shared
        other = self.start("gemm", "--shape", "768x768x768", "--socket", "slice/chip2-function1.sock", "--json")
        self.addCleanup(other.communicate)
        self.addCleanup(other.kill)
        wait_for(lambda: json.loads(self.weft("smi", "slice", "--json", "--interval", 0.01))[2]["engines"]["core"]["command"], "launch of the other tenant")
        beside = self.weft_json("collective", "all-reduce", "--listen", "slice", "--bytes", 65536)
        self.assertEqual((alone["differing"], beside["differing"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
