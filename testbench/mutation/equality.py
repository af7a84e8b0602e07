"""Proves that a mutant equals the RTL: no state and no input tells the two apart, so nothing that is connected to them does.
Or that a proof of testbench/formal that says all that the RTL gives says it of the mutant too.

The two modules are brought to the same state and the same inputs, all there are, or all that an invariant allows, and must give
the same outputs and the same next state. An invariant is proved with them: it holds after a cycle of reset, whatever was before,
and in each cycle that follows one in which it held."""
from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import design
import netlist
from mutant import Mutant

sys.path.append(str(Path(__file__).resolve().parents[1] / "formal"))
import model  # noqa: E402
import prove as formal  # noqa: E402
import yosys_slang  # noqa: E402

ASSERTION = re.compile(r"\b\w+_[AC]\s*:\s*(?:assert|cover|assume)\s+property\b.*?;", re.S)
CPU_SECONDS = 600
HERE = Path(__file__).resolve().parent
ARRAY_OF_2 = "array-of-2"      # the chip of testbench/formal: 2 x 2 PEs


class EqualityError(Exception):
    """The proof cannot be made: a tool is missing, fails or gives up. Says nothing about the mutant."""


@dataclass(frozen=True)
class Proof:
    """How to prove a waiver: an entry `proof` of waivers.toml."""
    top: str = ""                                  # the module that is compared
    parameters: tuple[tuple[str, str], ...] = ()
    cut: tuple[str, ...] = ()                      # modules in it whose instances give anything, the same to both
    bind: tuple[tuple[str, str], ...] = ()         # module and items with wires invariant_<name>, alike_<name>, put in front of
                                                   # its endmodule; MUTANT is defined in the mutated copy
    chip: str = "nano"
    loose: tuple[str, ...] = ()                    # registers that may differ, as long as the wires alike_<name> do not
    changes: tuple[tuple[str, str, str, int], ...] = ()   # file, find, replace, times: of both, e.g. loops that Yosys unrolls
    registers: bool = False                        # memories are compared word by word, not by what is written to them
    formal: tuple[str, ...] = ()                   # proofs of testbench/formal that the mutant has to pass, too


@dataclass
class Outcome:
    equal: bool
    why: str
    seconds: float


def run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(["prlimit", f"--cpu={CPU_SECONDS}", *command], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:
        raise EqualityError(str(error)) from error
    if done.returncode != 0:
        errors = [line for line in done.stdout.splitlines() if "ERROR" in line]
        raise EqualityError(f"{Path(command[0]).name}: {errors[0] if errors else done.stdout[-400:] or done.returncode}")
    return done.stdout


def sources(root: Path, packages: Path, proof: Proof, mutant: Mutant | None) -> list[tuple[str, str]]:
    """Name and text of each file, packages first, with the mutant in its place."""
    own = [HERE / "equal" / f"{proof.top}.sv"]
    if proof.chip == ARRAY_OF_2:
        chip = [packages / "weft_pkg.sv", root / "testbench/formal/properties/chip_pkg.sv", packages / "vpu_table_pkg.sv"]
    else:
        chip = design.package_files(packages, proof.chip)
    rtl = {file.stem: file for file in (root / "rtl").glob("*/*.sv")} | {file.stem: file for file in own if file.exists()}
    if proof.top not in rtl:
        raise EqualityError(f"no module {proof.top}")
    wanted = [proof.top]
    for name in wanted:        # grows
        text = re.sub(r"//.*", "", rtl[name].read_text(encoding=design.BYTES))
        words = set(re.findall(r"^\s*(\w+)\s+(?:#\s*\(|u_\w+\s*\()", text, re.M)) | set(re.findall(r"\b\w+_pkg\b", text))
        wanted += sorted((words & set(rtl)) - set(wanted))
    files = chip + design.compile_order([rtl[name] for name in wanted])
    result = []
    for index, file in enumerate(files):
        text = file.read_text(encoding=design.BYTES)
        name = str(file.relative_to(root)) if file.is_relative_to(root / "rtl") else file.name
        if mutant is not None and name == mutant.change.file:
            text = mutant.change.apply(text)
        for where, find, new, times in proof.changes:
            if where == name:
                if text.count(find) != times:
                    raise EqualityError(f"{where}: {find!r} occurs {text.count(find)} times, not {times}")
                text = text.replace(find, new)
        text = ASSERTION.sub("", text)
        for module, items in proof.bind:
            if re.search(rf"^module\s+{module}\b", text, re.M):
                text = re.sub(r"^endmodule\b", lambda _, items=items: items + "\nendmodule", text, count=1, flags=re.M)
        result.append((f"{index}_{file.name}", text))
    return result


def elaborate(texts: list[tuple[str, str]], proof: Proof, folder: Path, define: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts:
        (folder / name).write_text(text, encoding=design.BYTES)
    given = " ".join(f"-G {key}={value}" for key, value in proof.parameters)
    boxes = " ".join(f"--blackboxed-module {name}" for name in proof.cut)
    (folder / "step.ys").write_text(
        f"read_slang --threads 1 --top {proof.top} {given} {boxes} -DSYNTHESIS -DARRAY_N=2 {define} --allow-use-before-declare --ignore-initial "
        f"{' '.join(name for name, _ in texts)}\nhierarchy -top {proof.top}\nproc\nflatten\n"
        f"{'memory_collect' + chr(10) + 'memory_map' + chr(10) if proof.registers else ''}write_rtlil step.il\n")
    run(yosys_slang.command("step.ys"), folder)
    return (folder / "step.il").read_text()


def loose_registers(step: netlist.Step, proof: Proof) -> frozenset[str]:
    found = frozenset(cell for cell in step.state if any(re.search(rf"(?<!\w){re.escape(name)}$", cell) for name in proof.loose))
    if len(found) < len(proof.loose):
        raise EqualityError(f"{proof.top}: no registers {', '.join(proof.loose)} among {', '.join(sorted(step.state))}")
    return found


def prove(root: Path, packages: Path, mutant: Mutant, proof: Proof, folder: Path) -> Outcome:
    """All that the proof asks for."""
    outcome = states(root, packages, mutant, proof, folder) if proof.formal else Outcome(True, "", 0.0)
    return compared(root, packages, mutant, proof, folder, outcome.seconds) if proof.top and outcome.equal else outcome


def states(root: Path, packages: Path, mutant: Mutant, proof: Proof, folder: Path) -> Outcome:
    """Whether the proofs of testbench/formal hold of the mutant."""
    started = time.monotonic()
    file = mutant.change.file
    text = mutant.change.apply((root / file).read_text(encoding=design.BYTES)).encode(design.BYTES).decode()
    shutil.rmtree(folder, ignore_errors=True)
    try:
        failed = [why for why in (formal.states(name, packages.parents[1], folder, {file: text}) for name in proof.formal) if why]
    except model.CannotRun as error:
        raise EqualityError(str(error)) from error
    return Outcome(not failed, "; ".join(failed), time.monotonic() - started)


def compared(root: Path, packages: Path, mutant: Mutant, proof: Proof, folder: Path, seconds: float) -> Outcome:
    """Whether a module and its mutant are equal. seconds: that went before."""
    started = time.monotonic() - seconds
    try:
        steps = [netlist.step(elaborate(sources(root, packages, proof, which), proof, folder / name,
                                        '' if which is None else '-DMUTANT'), proof.top, name)
                 for name, which in (("original", None), ("mutated", mutant))]
        (folder / "steps.il").write_text(steps[0].text + steps[1].text)
        (folder / "miter.v").write_text(netlist.wrapper(*steps, loose=loose_registers(steps[0], proof)))
    except netlist.NetlistError as error:
        raise EqualityError(str(error)) from error
    if proof.bind and not (steps[0].invariants or steps[0].alike or steps[0].contracts):
        raise EqualityError(f"{proof.top}: what is bound has no wire invariant_<name> or alike_<name>")
    (folder / "miter.ys").write_text(
        "read_rtlil steps.il\nread_verilog miter.v\nhierarchy -top miter\nflatten\nopt -full\nmemory_map\ntechmap\n"
        "setundef -anyseq\nopt\naigmap\n"
        "opt_clean\nwrite_aiger -symbols miter.aig\n")
    run(yosys_slang.command("miter.ys"), folder)
    if not satisfiable("possible", folder):
        raise EqualityError(f"{proof.top}: what is assumed never holds")
    different = satisfiable("different", folder)
    return Outcome(not different, "a state and an input tell them apart" if different else "", time.monotonic() - started)


OUTPUTS = {"different": 0, "possible": 1}


def satisfiable(output: str, folder: Path) -> bool:
    """Can the output of the miter be 1?"""
    return answer(run(["berkeley-abc", "-q", f"read_aiger miter.aig; cone -O {OUTPUTS[output]}; strash; iprove"], folder))


def answer(log: str) -> bool:
    """What ABC says: satisfiable or not."""
    if re.search(r"UNSATISFIABLE|Networks are equivalent", log):
        return False
    if re.search(r"\bSATISFIABLE|NOT EQUIVALENT", log):
        return True
    raise EqualityError(f"ABC: {log.strip().splitlines()[-1] if log.strip() else 'no answer'}")
