#!/usr/bin/python3
"""Builds the client over the crate vfio_user and lets it attach twice to a weft-sim. Exit code 77: cargo or the crates are not to be had."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("WEFT_BUILD", ROOT / "build"))
WEFT_SIM = os.environ.get("WEFT_SIM", str(BUILD / "bin/weft-sim"))
STEPS = ("identity", "memory", "boot", "interrupt", "unmap", "reset")
SKIPPED = 77
FETCH_S, BUILD_S, RUN_S = 120, 1200, 60


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def build():
    if not shutil.which("cargo"):
        skip("cargo is not installed")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD / "rust_client")}
    try:
        fetched = subprocess.run(["cargo", "fetch", "--locked"], cwd=HERE, env=environment, capture_output=True, text=True, timeout=FETCH_S)
    except subprocess.TimeoutExpired:
        skip("the crates do not come")
    if fetched.returncode != 0:
        skip(f"the crates cannot be had: {fetched.stderr.strip().splitlines()[-1]}")
    subprocess.run(["cargo", "build", "--locked", "--offline", "--quiet"], cwd=HERE, env=environment, check=True, timeout=BUILD_S)
    return BUILD / "rust_client/debug/rust_client"


def main():
    client = build()
    with tempfile.TemporaryDirectory(prefix="weft-rust-") as folder:
        socket = Path(folder) / "chip/function0.sock"
        simulator = subprocess.Popen([WEFT_SIM, "--chip", "nano", "--core", "fast", "--functions", "1", "--listen", socket.parent], stdin=subprocess.DEVNULL)
        try:
            end = time.monotonic() + RUN_S
            while not socket.exists():
                assert simulator.poll() is None and time.monotonic() < end, "weft-sim does not listen"
                time.sleep(0.01)
            for attempt in (1, 2):  # the second finds the device that the first has left
                done = subprocess.run([client, socket], capture_output=True, text=True, timeout=RUN_S)
                print(done.stdout, end="")
                assert done.returncode == 0, f"attempt {attempt}: {done.stderr}"
                assert tuple(line.split(":")[0] for line in done.stdout.splitlines()) == STEPS, f"attempt {attempt}: other steps than {STEPS}"
            assert simulator.poll() is None, "weft-sim has ended"
        finally:
            simulator.terminate()
            simulator.wait(RUN_S)
    assert simulator.returncode == 0, f"weft-sim ended with {simulator.returncode}"


if __name__ == "__main__":
    main()
