#!/usr/bin/env python3
"""Every session that the system tests open on nano, on the RTL with the structural array beside what was recorded with the fast one.

usage: array_sessions.py [--build FOLDER] [--only NAME ...] [--jobs N] [--json FILE] [--keep FOLDER] [--list]

The tests run as ctest runs them, but each weft-sim of one nano records its session (docs/replay.md), and each of a slice of nanos
has the structural array in its RTL cores. Then every recording is replayed by `weft-sim --core rtl --array structural`, whichever
core it was recorded on: each host access, byte, interrupt, register read and device cycle must be the recorded one. Left out are
sessions of the fast core over more than LONG_CYCLES: hangs that wait for a budget, which no RTL ran in the test either; and counted by
themselves are recordings that already their own core does not reproduce. On other chips the tests run as they are. Exit code 0: all tests pass and no replay differs; 1: otherwise; 2: nothing ran."""
import argparse
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SELECTION = ["--test-dir", "testbench/system", "-L", "^system$", "-LE", "nightly", "-E", "with the (firmware's image|structural array)"]
TEST_LIMIT, REPLAY_LIMIT_S = 5, 3600   # a test's limit is for a machine with nothing else to do: times this
LONG_CYCLES = 2_000_000
CUT = 2                                # exit code of a replay whose file is cut off: its simulator was killed

# In the place of weft-sim. exec: the process that the tests watch, and kill, is the simulator.
STAND_IN = """\
#!/bin/sh
chip= slice= before= plain=yes
for word in "$@"; do
  case $before in
    --chip) chip=$word ;;
    --slice) slice=$word ;;
  esac
  case $word in
    --array|--record|--replay|--map-doorbells|--help|--version) plain= ;;
  esac
  before=$word
done
if [ "$plain" ] && [ "$chip" = nano ]; then set -- "$@" --record {recordings}/%p.weftrec; fi
case $plain$slice in
  yesnano-*) set -- "$@" --array structural; echo "$slice" >> {recordings}/slices ;;
esac
exec {simulator} "$@"
"""


def same(replay):
    return replay["identical"] and replay["cycles_compared"]


def system_tests(build, only):
    """Name -> {command, environment, folder, limit}."""
    done = subprocess.run(["ctest", "--show-only=json-v1", *SELECTION], cwd=build, capture_output=True, text=True, check=True)
    found = {}
    for test in json.loads(done.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if "command" in test and (not only or test["name"] in only):
            found[test["name"]] = {"command": test["command"], "environment": dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
                                   "folder": properties.get("WORKING_DIRECTORY", str(build)), "limit": float(properties.get("TIMEOUT", 1500))}
    return found


def run_test(test, simulator, recordings):
    """What it said, or None if it passed."""
    stand_in = recordings / "weft-sim"
    stand_in.write_text(STAND_IN.format(recordings=shlex.quote(str(recordings)), simulator=shlex.quote(str(simulator))))
    stand_in.chmod(0o755)
    try:
        done = subprocess.run(test["command"], cwd=test["folder"], env={**os.environ, **test["environment"], "WEFT_SIM": str(stand_in)}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=test["limit"] * TEST_LIMIT)
    except subprocess.TimeoutExpired as error:
        return f"still ran after {error.timeout:.0f} s"
    return None if done.returncode == 0 else (done.stdout + done.stderr)[-4000:]


def replay(simulator, recording):
    """What weft-sim --replay says, with the line that runs it again; `identical` is False for a file that it does not take, `out` tells why
    one is left out: long, or unlike, which its own core does not reproduce."""
    command = [str(simulator), "--replay", str(recording), "--json"]

    def run(*more):
        return subprocess.run([*command, *more], capture_output=True, text=True, timeout=REPLAY_LIMIT_S)

    try:
        done = run()
        if done.returncode == CUT:
            command.append("--partial")
            done = run()
        said = json.loads(done.stdout)
        if not said["identical"]:
            return said | {"out": "unlike", "command": shlex.join(command)}
        if said["recorded_core"] == "fast" and said["device_cycles"] > LONG_CYCLES:
            return said | {"out": "long"}
        command += ["--core", "rtl", "--array", "structural"]
        done = run()
        said = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        said = {"identical": False, "said": f"still ran after {REPLAY_LIMIT_S} s"}
    except ValueError:
        said = {"identical": False, "said": (done.stdout + done.stderr)[-1000:]}
    return said | {"command": shlex.join(command)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="CMake build folder, default: build")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these tests, not all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="replays at a time, default: one a processor")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what each test and replay said")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep recordings that differ there")
    parser.add_argument("--list", action="store_true", help="print the tests and end")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    simulator = build / "bin" / "weft-sim"
    tests = system_tests(build, arguments.only)
    if arguments.list:
        print("\n".join(tests))
        return 0
    missing = set(arguments.only or ()) - set(tests)
    if missing or not tests:
        print(f"array_sessions.py: no system test {', '.join(sorted(missing)) or 'at all'}: --list prints them", file=sys.stderr)
        return 2
    results = {}
    for index, (name, test) in enumerate(tests.items()):
        with tempfile.TemporaryDirectory(prefix="weft-sessions-") as folder:
            recordings = Path(folder)
            said = run_test(test, simulator, recordings)
            files = sorted(recordings.glob("*.weftrec"))
            with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
                all_replays = list(pool.map(lambda file: replay(simulator, file), files))
            replays = [one for one in all_replays if "out" not in one]
            out = {why: sum(one.get("out") == why for one in all_replays) for why in ("long", "unlike")}
            different = [(file, one) for file, one in zip(files, all_replays, strict=True) if one.get("out") != "long" and not same(one)]
            if arguments.keep and different:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                for file, one in different:
                    kept = arguments.keep.resolve() / f"{index}-{file.name}"
                    file.rename(kept)
                    one["command"] = one["command"].replace(str(file), str(kept))
            slices = len((recordings / "slices").read_text().split()) if (recordings / "slices").exists() else 0
        results[name] = {"passed": said is None, "said": said or "", "replays": replays, **out, "slices": slices}
        print(f"{index + 1}/{len(tests)} {name}: {'passed' if said is None else 'FAILED'}, {len(replays)} sessions replayed, "
              f"{sum(not same(one) for one in replays)} differ, {out['long']} long and {out['unlike']} unlike left out, {slices} slices", flush=True)
        for _, one in different:
            print(f"  {one.get('difference') or one.get('said')}\n  {one['command']}", flush=True)
        if said is not None:
            print("  " + said.replace("\n", "\n  "), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    replays = [one for result in results.values() for one in result["replays"]]
    failed, different = [name for name, result in results.items() if not result["passed"]], [one for one in replays if not same(one)]
    print(f"array_sessions: {len(results)} tests, {len(failed)} fail; {len(replays)} sessions, {len(different)} differ, "
          f"{sum(one.get('completions', 0) for one in replays)} completions, {sum(one.get('device_cycles', 0) for one in replays)} device cycles; "
          f"{sum(result['long'] for result in results.values())} long and {sum(result['unlike'] for result in results.values())} unlike left out, {sum(result['slices'] for result in results.values())} slices")
    if not replays:
        return 2
    return 1 if failed or different else 0


if __name__ == "__main__":
    sys.exit(main())
