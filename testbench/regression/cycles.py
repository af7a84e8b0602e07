"""Device cycles of a set of programs against committed baselines."""
import json
import subprocess
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"command", "chip", "slice", "cores", "shapes", "arguments", "networks"}
MEASURES = {"device": "first command accepted to last write visible", "launch": "doorbell to completion; of one chip only"}
LIMIT_S = 300


class CyclesError(Exception):
    """The list of programs or the baselines cannot be used."""


@dataclass(frozen=True)
class Program:
    name: str  # as a user would type it
    core: str
    command: tuple
    network: str = ""  # arguments of host/examples/networks/make.py, whose model and inputs the command is given


def read_programs(path):
    """The programs of cycle_programs.toml, one for each shape, line of arguments, network and core. Raises CyclesError."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("program", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CyclesError(f"{path}: {error}") from None
    programs = []
    for index, entry in enumerate(entries):
        unknown = sorted(set(entry) - KEYS)
        where = [[f"--{key}", entry[key]] for key in ("chip", "slice") if entry.get(key)]
        if unknown or not entry.get("command") or len(where) != 1 or not entry.get("cores"):
            raise CyclesError(f"{path.name}: program {index + 1}: needs command, chip or slice, cores; " + (f"unknown key {unknown[0]}" if unknown else "one is missing, or both chip and slice are there"))
        more = [["--shape", shape] for shape in entry.get("shapes", [])] + [line.split() for line in entry.get("arguments", [])]
        for arguments in more or [[]]:
            words = [*entry["command"], *arguments, *where[0]]
            for network in entry.get("networks", [""]):
                name = " ".join([*words[:2], network, *words[2:]] if network else words)
                programs += [Program(name, core, (*words, "--core", core, "--json"), network) for core in entry["cores"]]
    if len({(program.name, program.core) for program in programs}) != len(programs):
        raise CyclesError(f"{path.name}: a program is there twice")
    if not programs:
        raise CyclesError(f"{path.name}: no program")
    return programs


def image_compiler():
    """What compiles the firmware's image, whose instructions are cycles: its first line of --version; "" if there is none."""
    try:
        return subprocess.run(["riscv64-unknown-elf-g++", "--version"], capture_output=True, text=True, timeout=LIMIT_S).stdout.split("\n")[0]
    except (OSError, subprocess.TimeoutExpired):
        return ""


def read_compiler(path):
    """The image's compiler of the baselines; "" if they do not say. Raises CyclesError as read_baselines does."""
    if not path.exists():
        return ""
    try:
        return next((str(row["compiler"]) for row in json.loads(path.read_text(encoding="utf-8")) if "compiler" in row), "")
    except (OSError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise CyclesError(f"{path}: not a list of baselines: {error!r}") from None


def read_baselines(path):
    """{(program, core): {measure: cycles}}; empty if there is no file. Raises CyclesError."""
    if not path.exists():
        return {}
    try:
        rows = [row for row in json.loads(path.read_text(encoding="utf-8")) if "compiler" not in row]
        return {(row["program"], row["core"]): {"device": int(row["device"]), **({"launch": int(row["launch"])} if "launch" in row else {})} for row in rows}
    except (OSError, UnicodeDecodeError, ValueError, TypeError, KeyError) as error:
        raise CyclesError(f"{path}: not a list of baselines: {error!r}") from None


def write_baselines(path, measured, compiler=""):
    """A line for each program, so that a change of one is a change of one line; before them the image's compiler."""
    rows = [json.dumps({"compiler": compiler})] if compiler else []
    rows += [json.dumps({"program": program, "core": core, **cycles}) for (program, core), cycles in sorted(measured.items())]
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


def make_network(network, folder):
    """Arguments of `weft run` that give it the network: the model, and an array for each input. Raises CyclesError."""
    name, *sizes = network.split()
    command = [str(ROOT / ".venv" / "bin" / "python"), "-B", str(ROOT / "host" / "examples" / "networks" / "make.py"), name, str(folder), *sizes]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CyclesError(f"{network}: {error}") from None
    if done.returncode:
        raise CyclesError(f"{network}: make.py: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    inputs = [f"{array.stem.removeprefix(f'{name}_')}={array}" for array in sorted(folder.glob(f"{name}_*.npy"))]
    return [str(folder / f"{name}.onnx"), *(["--input", *inputs] if inputs else [])]


def make_networks(programs, folder, pool):
    """{network: arguments, or the CyclesError why there are none} of all that the programs name."""
    def one(numbered):
        number, network = numbered
        try:
            return network, make_network(network, folder / str(number))
        except CyclesError as error:
            return network, error

    return dict(pool.map(one, enumerate(sorted({program.network for program in programs if program.network}))))


def measure(program, build, network=()):
    """{measure: cycles} of one run; network: of make_network(), or a CyclesError. Raises CyclesError."""
    if isinstance(network, CyclesError):
        raise CyclesError(f"{program.name} ({program.core}): {network}")
    command = [str(build / "bin" / program.command[0]), *program.command[1:], *network]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CyclesError(f"{program.name} ({program.core}): {error}") from None
    try:
        if done.returncode:
            raise ValueError(f"exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        report = json.loads(done.stdout)
        cycles = {"device": int(report["device_cycles"])}
        return cycles if "--slice" in program.command else {**cycles, "launch": int(report["launch_latency"]["doorbell_to_completion"])}
    except (ValueError, KeyError, TypeError) as error:
        raise CyclesError(f"{program.name} ({program.core}): {error}") from None


def measure_all(programs, build, jobs):
    """({(program, core): cycles}, [problem])."""
    measured, problems = {}, []

    def one(program):
        try:
            return program, measure(program, build, networks.get(program.network, ())), None
        except CyclesError as error:
            return program, None, str(error)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        networks = make_networks(programs, Path(folder), pool)
        for program, cycles, problem in pool.map(one, programs):
            if problem:
                problems.append(problem)
            else:
                measured[program.name, program.core] = cycles
    return measured, problems


def compare(baselines, measured):
    """A row for each program, core and measure: {program, core, measure, baseline, cycles}; None where one side has none."""
    sides = {key: (baselines.get(key, {}), measured.get(key, {})) for key in sorted({*baselines, *measured})}
    return [{"program": program, "core": core, "measure": name, "baseline": before.get(name), "cycles": now.get(name)}
            for (program, core), (before, now) in sides.items() for name in MEASURES if name in before or name in now]
