"""The figures of a slice that mpirun's ranks simulate: the bits and cycles of one process, by shared memory and by TCP, and the end when a rank dies."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import figures_ici
from figures_ranks import COLLECTIVES, GOAL_DEAD_S
from figures_tools import row

SLICE, CHIPS, BYTES = "nano-2x2", 4, 32 << 10
MPIRUN = ("mpirun", "--oversubscribe", *(("--allow-run-as-root",) if os.geteuid() == 0 else ()))
BY_TCP = ("--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo")
RUNS = (("1 rank", 1, ()), ("2 ranks", 2, ()), ("4 ranks", 4, ()), ("2 ranks by TCP", 2, BY_TCP), ("4 ranks by TCP", 4, BY_TCP))


@contextmanager
def served(tools, *start):
    """A slice that listens in a folder, and its process."""
    with tempfile.TemporaryDirectory(prefix="weft-mpi-") as folder:
        process = subprocess.Popen([*map(str, start), "--slice", SLICE, "--listen", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while not Path(folder, f"chip{CHIPS - 1}-function0.sock").exists():
                if time.monotonic() > end or process.poll() is not None:
                    raise tools.Failed(f"{' '.join(map(str, start))} does not listen")
                time.sleep(0.02)
            yield folder, process
        finally:
            process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()
                process.wait()


def cycles(tools, folder):
    found = [tools.run_json("weft", "collective", name, "--listen", folder, "--axis", "xy", "--bytes", BYTES) for name in COLLECTIVES]
    return [run["device_cycles"] for run in found], sum(run["differing"] for run in found)


def simulators(folder):
    """Processes of weft-sim that serve that folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().split(b"\0")
        except OSError:  # ended meanwhile
            continue
        if arguments[0].endswith(b"weft-sim") and str(folder).encode() in arguments:
            found.append(int(path.parent.name))
    return sorted(found)


def mpi(tools):
    simulator = Path(tools.program("weft-sim"))
    if shutil.which(MPIRUN[0]) is None or not (simulator.parent / "weft-mpi.so").exists():
        return [row("mpi", None, "mpirun or weft-mpi.so is not there", "the same, 0 differ", None)]
    with served(tools, simulator) as (folder, _):
        one, differing = cycles(tools, folder)
    moved, told = 0, []
    for what, ranks, how in RUNS:
        with served(tools, *MPIRUN, *how, "-n", ranks, simulator, "--mpi") as (folder, _):
            begin = time.monotonic()
            found, wrong = cycles(tools, folder)
        moved += sum(a != b for a, b in zip(found, one, strict=True))
        differing += wrong
        told.append(f"{what} {time.monotonic() - begin:.1f} s")
    rows = [row("mpi, cycles that differ from one process's", moved, f"of {len(RUNS) * len(COLLECTIVES)} collectives on {SLICE}, {differing} elements differ; " + ", ".join(told), "0, 0 differ", moved == differing == 0)]
    with served(tools, *MPIRUN, "-n", CHIPS, simulator, "--mpi") as (folder, process):
        client = subprocess.Popen([tools.program("weft"), "collective", "all-reduce", "--listen", folder, "--bytes", str(4 << 20)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=figures_ici.with_sim(tools))
        time.sleep(0.3)
        ranks = simulators(folder)
        begin = time.monotonic()
        os.kill(ranks[1], signal.SIGKILL)
        process.wait(60)
        while simulators(folder) and time.monotonic() < begin + 60:
            time.sleep(0.02)
        took, left = time.monotonic() - begin, len(simulators(folder))
        client.wait(60)
    rows.append(row("mpi, a dead rank", took, f"s until all of {len(ranks)} have ended, {left} processes left", f"<= {GOAL_DEAD_S:g}, 0 left", took <= GOAL_DEAD_S and left == 0 and len(ranks) == CHIPS))
    return rows
