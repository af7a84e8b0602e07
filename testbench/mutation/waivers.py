"""Survivors that are explained: waivers.toml. A waiver names its mutants by what stands in the source, not by a line number.

    [[waiver]]
    file = "rtl/dma/dma.sv"
    source = "assign a = b && c;"       # the line, stripped
    kind = "logical"
    change = "b && c -> (b) || (c)"     # as the report prints it
    owner = "dma"
    class = "equivalent"                # or "unobservable": the block's outputs are equal; "unproven": counts as a survivor
    reason = "c implies b: ..."
    place = 1                           # which of several such mutants, from 1; needed if there are several
    [waiver.proof]                      # not if "unproven"; equality.py proves it: by one of the next two, or both
    top = "dma"                         # the module that is compared with its mutant
    formal = ["fifo_order"]             # proofs of testbench/formal/proofs.toml that say all that matters, of the mutant
    parameters = { Depth = "4" }        # and all below: optional
    cut = ["vmem"]                      # modules whose instances give anything, the same to both
    chip = "nano"                       # chip_pkg; "array-of-2" is that of testbench/formal
    loose = ["count_q[63]"]             # registers that may differ, as long as wires alike_<name> do not
    registers = true                    # memories are compared word by word, not by what is written to them
    changes = [{ file = "rtl/dma/dma.sv", find = "a", replace = "b" }]   # of both: loops as Yosys unrolls them
    bind = { dma = "wire invariant_level = level_q <= 2;" }   # also wires contract_<name>: what holds of the inputs,
    guaranteed_by = ["dma_check_in"]    # and the proofs of testbench/formal/proofs.toml that it follows from
"""
from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from equality import Proof
from mutant import KINDS, Mutant

FIELDS = ("file", "source", "kind", "change", "owner", "class", "reason")
OPTIONAL = ("place", "proof")
PROVEN = ("equivalent", "unobservable")
UNPROVEN = "unproven"
CLASSES = (*PROVEN, UNPROVEN)
PROOFS = Path(__file__).resolve().parents[1] / "formal/proofs.toml"
SHORTEST_REASON = 20


class WaiverError(Exception):
    """The waiver file is not what it must be."""


@dataclass(frozen=True)
class Waiver:
    file: str
    source: str
    kind: str
    change: str
    owner: str
    category: str
    reason: str
    place: int = 0                # 0: the only one
    proof: Proof | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.source, self.kind, self.change


def read(path: Path) -> list[Waiver]:
    try:
        document = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WaiverError(f"{path}: {error}") from error
    entries = document.get("waiver", [])
    if set(document) - {"waiver"} or not isinstance(entries, list):
        raise WaiverError(f"{path}: holds something else than [[waiver]]")
    result = []
    for index, entry in enumerate(entries, 1):
        where = f"{path}: waiver {index}"
        if not isinstance(entry, dict) or not set(FIELDS) <= set(entry) <= {*FIELDS, *OPTIONAL}:
            raise WaiverError(f"{where}: needs {', '.join(FIELDS)}, and may have {', '.join(OPTIONAL)}")
        bad = [name for name in FIELDS if not isinstance(entry[name], str) or not entry[name].strip()]
        if bad:
            raise WaiverError(f"{where}: {bad[0]} is no text")
        if entry["kind"] not in KINDS:
            raise WaiverError(f"{where}: no kind of mutant: {entry['kind']}")
        if entry["class"] not in CLASSES:
            raise WaiverError(f"{where}: class is one of {', '.join(CLASSES)}")
        if len(entry["reason"].strip()) < SHORTEST_REASON:
            raise WaiverError(f"{where}: the reason explains nothing: {entry['reason']!r}")
        place = entry.get("place", 0)
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise WaiverError(f"{where}: place is no number from 1")
        if (entry["class"] in PROVEN) != ("proof" in entry):
            raise WaiverError(f"{where}: class {entry['class']} {'needs a proof' if entry['class'] in PROVEN else 'has no proof'}")
        proof = proof_of(where, entry["proof"]) if "proof" in entry else None
        result.append(Waiver(*(entry[name] for name in FIELDS), place, proof))
    keys = [(waiver.key, waiver.place) for waiver in result]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise WaiverError(f"{path}: waived twice: {twice.pop()}")
    return result


def proof_of(where: str, table) -> Proof:
    """The entry `proof` of a waiver."""
    texts = {"top": str, "chip": str, "registers": bool, "parameters": dict, "bind": dict, "cut": list, "loose": list,
             "guaranteed_by": list, "formal": list}
    if not isinstance(table, dict) or not (table.get("top") or table.get("formal")):
        raise WaiverError(f"{where}: a proof has at least a top or formal")
    if "top" not in table and set(table) != {"formal"}:
        raise WaiverError(f"{where}: proof: without a top, formal is all there is")
    table = dict(table)
    changes = table.pop("changes", [])
    if not isinstance(changes, list):
        raise WaiverError(f"{where}: proof: changes is no list")
    changes = tuple(change_of(where, change) for change in changes)
    for name, value in table.items():
        if name not in texts or not isinstance(value, texts[name]):
            raise WaiverError(f"{where}: proof: {name} is no field, or no {texts.get(name, str).__name__}")
        parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
        if not all(isinstance(part, str) for part in parts):
            raise WaiverError(f"{where}: proof: {name} holds something else than texts")
    contracts = any("contract_" in items for items in table.get("bind", {}).values())
    if contracts != bool(table.get("guaranteed_by")):
        raise WaiverError(f"{where}: proof: a wire contract_<name> and guaranteed_by need one another")
    known = {proof["name"] for proof in tomllib.loads(PROOFS.read_text())["proof"]}
    unknown = {*table.get("guaranteed_by", []), *table.get("formal", [])} - known
    if unknown:
        raise WaiverError(f"{where}: proof: no proof {min(unknown)} in testbench/formal/proofs.toml")
    return Proof(table.get("top", ""), tuple(table.get("parameters", {}).items()), tuple(table.get("cut", [])),
                 tuple(table.get("bind", {}).items()), table.get("chip", "nano"), tuple(table.get("loose", [])),
                 changes, table.get("registers", False), tuple(table.get("formal", [])))


def key_of(mutant: Mutant) -> tuple[str, str, str, str]:
    return mutant.change.file, mutant.source, mutant.change.kind, mutant.what


def change_of(where: str, table) -> tuple[str, str, str, int]:
    """As in testbench/formal/proofs.toml: file, find, replace, and times, which is 1 if it is left out."""
    if not isinstance(table, dict) or not {"file", "find", "replace"} <= set(table) <= {"file", "find", "replace", "times"} \
            or not all(isinstance(table[name], str) and table[name] for name in ("file", "find", "replace")) \
            or type(table.get("times", 1)) is not int:
        raise WaiverError(f"{where}: proof: a change has file, find, replace and perhaps times")
    return table["file"], table["find"], table["replace"], table.get("times", 1)


def mutants_of(waiver: Waiver, population: list[Mutant]) -> list[Mutant]:
    """The mutants that have the waiver's key, or the one that `place` picks of them."""
    found = [mutant for mutant in population if key_of(mutant) == waiver.key]
    return found[waiver.place - 1:waiver.place] if waiver.place else found


def resolve(waivers: list[Waiver], population: list[Mutant]) -> dict[str, Waiver]:
    """The waiver of each waived mutant, by the mutant's id; a waiver names exactly one."""
    result = {}
    for waiver in waivers:
        found = mutants_of(waiver, population)
        if len(found) != 1:
            what = f"{len(found)} mutants: it needs a place" if found else "a mutant that does not exist"
            raise WaiverError(f"waiver of {what}: {waiver.file}: {waiver.kind}: {waiver.change}")
        if found[0].id in result:
            raise WaiverError(f"waived twice: {found[0].id}")
        result[found[0].id] = waiver
    return result
