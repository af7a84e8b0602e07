"""Makes the model of a proof: sources of the RTL, changed and bound as the table says, read and flattened by Yosys."""
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import aiger
import lowering
import yosys_slang

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIMEOUT = 300  # seconds of processor time of one tool's run, if the table says nothing
READERS = {"yosys": "Yosys 0.23", "slang": "Yosys 0.70, slang"}

PREPARE = """\
prep -run begin:check -flatten -nordff -top {top}
{lower}async2sync
chformal -assume -early
memory_map
opt_clean
setundef -undriven -anyseq
opt -fast
opt_clean
{check}"""
SMT = """\
dffunmap
opt_clean
write_smt2 -wires model.smt2
"""
# Nothing is optimised among the gates: ABC does it when it reads them, in a fraction of the time. Assertions and covers are mapped once.
GATES = """\
{covers}
opt_clean
delete -output
simplemap
techmap
dffunmap
simplemap
setundef -undriven -anyseq
aigmap
write_aiger -I -B -L -zinit all.aig
tee -q -o all.names select -list t:$assert
"""
COVERS = "tee -q -o covers.names select -list t:$cover\ntechmap -map cover_to_assert.v"
NO_COVERS = "chformal -cover -remove"


class CannotRun(Exception):
    """The proof says nothing: bad table, unreadable source, a tool that is missing, a solver that gave up."""


def confined(command, limit):
    """Nothing of it outlives the runner, however that ends; `limit` seconds of processor time, so that a busy machine changes no verdict."""
    if shutil.which(command[0]) is None:
        raise CannotRun(f"no program {command[0]}: scripts/packages installs it")
    return ["prlimit", f"--cpu={limit}", "setpriv", "--pdeathsig", "KILL", *command]


class Clock:
    """Runs tools, and adds up the seconds that they took."""

    def __init__(self, limit):
        self.limit, self.seconds = int(limit), 0.0

    def run(self, command, folder):
        """Returns exit code and output."""
        command = confined(command, self.limit)
        started = time.monotonic()
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.seconds += time.monotonic() - started
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            raise CannotRun(f"{Path(command[5]).name}: the table's limit of {self.limit} s of processor time is over")
        return done.returncode, done.stdout


def source(name, build):
    base = {"generated": build / "generated", "properties": HERE / "properties"}.get(name.split("/")[0])
    path = base.parent / name if base else ROOT / name
    if not path.is_file():
        raise CannotRun(f"no source {path}" + (": build the target weft_spec_generate" if "generated" in name else ""))
    return path


def changed(entry, build, mutant):
    """{name: text} of the sources, with the table's changes and one mutant. entry["texts"]: what stands in a source instead."""
    texts = {name: source(name, build).read_text() for name in entry["sources"]} | entry.get("texts", {})
    for change in entry.get("changes", []) + ([mutant] if mutant else []):
        found = texts[change["file"]].count(change["find"])
        if found != change.get("times", 1):
            raise CannotRun(f"{change['file']}: \"{change['find']}\" occurs {found} times, not {change.get('times', 'once')}")
        texts[change["file"]] = texts[change["file"]].replace(change["find"], change["replace"])
    return texts


def bound(entry, build, texts):
    """The properties stand in front of their module's endmodule."""
    for module, properties in entry.get("bind", {}).items():
        name = [name for name, text in texts.items() if re.search(rf"\bmodule {module}\b", text)]
        if len(name) != 1:
            raise CannotRun(f"bind: module {module} is in {len(name)} sources, not in one")
        texts[name[0]] = lowering.bind(texts[name[0]], module, source(properties, build).read_text())
    return texts


def lowered(texts):
    packages, functions, result = {}, {}, {}
    for text in texts.values():
        functions.update(lowering.void_functions(text))
    for name, text in texts.items():
        try:
            result[name] = lowering.void_calls(lowering.lower(text, packages), functions)
        except lowering.LoweringError as error:
            raise CannotRun(f"{name}: {error}") from error
    return result


def make(entry, build, folder, clock, mutant=None):
    """Writes asserts.aig and covers.aig (a mutant's covers are no question), or model.smt2 for an SMT solver, into the folder."""
    folder.mkdir(parents=True)
    texts = changed(entry, build, mutant)
    slang = entry.get("reader", "yosys") == "slang"
    texts = bound(entry, build, texts if slang else lowered(texts))
    files = []
    for index, (name, text) in enumerate(texts.items()):
        files.append(f"{index}_{Path(name).name}")
        (folder / files[-1]).write_text(text)
    defines = " ".join(f"-D{key}={value}" for key, value in entry.get("defines", {}).items())
    parameters = entry.get("parameters", {}).items()
    if slang:
        (folder / "free_values.sv").write_text((HERE / "free_values.sv").read_text())
        given = " ".join(f"-G {key}={value}" for key, value in parameters)
        script = (f"read_slang --threads 1 --top {entry['top']} {defines} {given} --allow-use-before-declare --ignore-initial "
                  f"--blackboxed-module any_const --blackboxed-module any_seq free_values.sv {' '.join(files)}\n"
                  "chtype -set $anyconst t:any_const\nchtype -set $anyseq t:any_seq\n")
        if entry.get("free_results"):
            (folder / "free_results.v").write_text((HERE / "free_results.v").read_text())
            script += "techmap -map free_results.v\n"
    else:
        script = f"read_verilog -sv -formal {defines} {' '.join(files)}\n"
        script += "".join(f"chparam -set {key} {value} {entry['top']}\n" for key, value in parameters)
    script += PREPARE.format(top=entry["top"], lower="chformal -lower\n" if slang else "",
                             # of Yosys 0.70 it takes minutes on a multiplier; loops are found when gates are written, too
                             check="" if slang else "check -assert\n")
    if entry.get("solver", "abc") != "abc":
        script += SMT
    else:
        script += GATES.format(covers=NO_COVERS if mutant else COVERS)
        (folder / "cover_to_assert.v").write_text((HERE / "cover_to_assert.v").read_text())
    (folder / "model.ys").write_text(script)
    code, log = clock.run(yosys_slang.command("model.ys") if slang else ["yosys", "-q", "-s", "model.ys"], folder)
    (folder / "yosys.log").write_text(log)
    if code != 0:
        errors = [line for line in log.splitlines() if "rror" in line]
        raise CannotRun(f"yosys: {errors[0] if errors else code}")
    if (folder / "all.aig").exists():
        part(folder)
    return folder


def part(folder):
    """The model of all assertions and covers as one with the assertions and one with the covers as bad outputs, with their names in the same order."""
    names, covers = (file.read_text().splitlines() if file.exists() else [] for file in (folder / "all.names", folder / "covers.names"))
    if not set(covers) <= set(names):
        raise CannotRun("a cover is not among the model's outputs")
    data = (folder / "all.aig").read_bytes()
    for name, wanted in (("asserts", False), ("covers", True)):
        kept = [index for index, output in enumerate(names) if (output in covers) == wanted]
        (folder / f"{name}.aig").write_bytes(aiger.with_outputs(data, kept))
        (folder / f"{name}.names").write_text("".join(f"{names[index]}\n" for index in kept))
