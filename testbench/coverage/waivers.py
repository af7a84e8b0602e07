"""The waivers of waivers.toml: what does not have to be covered, who says so, and why.

[[waiver]]
owner = "mxu"                      # who answers for it: a block or a role
reason = "one sentence"
kind = "line" | "branch" | "toggle" | "bin"
line, branch:  file = "rtl/core/issue.sv", text = "default: state_d", and for a branch also: branch = "case"
toggle:        port = "dma.mrd_addr_o" (module.port, * and ? match), bits = "63:40" or "40+" or "all", text = "[63:0]"
               of a struct that a package of rtl/ declares: port = "retire.fault_o.code" (module.port.field), bits and text of
               the field, in every element if the port is an array
bin:           name = "Commands_Wait_W0_P1" (* and ? match)

`text` ties a waiver to the source: it has to stand in the line of every point, or in the declaration of every port or field,
that the waiver names. It is an error if a waiver names nothing, if its text is not there, or if all it names is covered.
"""
from __future__ import annotations

import dataclasses
import fnmatch
import pathlib
import tomllib


class WaiverError(ValueError):
    """A waiver is wrong or stale."""


REQUIRED = {
    "line": {"file", "text"},
    "branch": {"file", "text", "branch"},
    "toggle": {"port", "bits", "text"},
    "bin": {"name"},
}


@dataclasses.dataclass
class Waiver:
    kind: str
    owner: str
    reason: str
    where: dict[str, str]
    matched: int = 0        # points it names
    needed: int = 0         # of these, not covered

    def __str__(self) -> str:
        return f"{self.kind} " + " ".join(f"{key}={value!r}" for key, value in self.where.items())

    def low_bit(self) -> tuple[int, int | None]:
        """First and last bit of a toggle waiver; None: all above."""
        return parse_bits(self.where["bits"])

    def matches_port(self, name: str) -> bool:
        """`name`: module.port, or module.port.field of a struct."""
        return fnmatch.fnmatchcase(name, self.where["port"])

    def matches_port_of_field(self, name: str) -> bool:
        """`name`: module.port, of which the waiver names a field that need not exist."""
        port = self.where["port"].rpartition(".")[0]
        return "." in port and fnmatch.fnmatchcase(name, port)

    def matches_bin(self, name: str) -> bool:
        return fnmatch.fnmatchcase(name, self.where["name"])


def parse_bits(text: str) -> tuple[int, int | None]:
    if text == "all":
        return 0, None
    if text.endswith("+") and text[:-1].isdigit():
        return int(text[:-1]), None
    high, colon, low = text.partition(":")
    if high.isdigit() and (low.isdigit() if colon else True):
        first, last = int(low) if colon else int(high), int(high)
        if first <= last:
            return first, last
    raise WaiverError(f"bits {text!r}: expected \"7:4\", \"7\", \"8+\" or \"all\"")


def parse(document: dict) -> list[Waiver]:
    unknown = set(document) - {"waiver"}
    if unknown:
        raise WaiverError(f"unknown table {sorted(unknown)[0]!r}")
    entries = document.get("waiver", [])
    if not isinstance(entries, list):
        raise WaiverError("[[waiver]] is no list of tables")
    waivers = []
    for number, entry in enumerate(entries, 1):
        name = f"waiver {number}"
        if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
            raise WaiverError(f"{name}: every value is a text")
        kind = entry.get("kind", "")
        if kind not in REQUIRED:
            raise WaiverError(f"{name}: kind {kind!r} is none of {', '.join(REQUIRED)}")
        wanted = REQUIRED[kind] | {"kind", "owner", "reason"}
        if set(entry) != wanted:
            difference = sorted(set(entry) ^ wanted)
            raise WaiverError(f"{name}: {', '.join(difference)}: a waiver of kind {kind} has exactly {', '.join(sorted(wanted))}")
        if not entry["owner"].strip() or len(entry["reason"].split()) < 3:
            raise WaiverError(f"{name}: an owner and a reason of a sentence are needed")
        waiver = Waiver(kind, entry["owner"], entry["reason"], {key: entry[key] for key in sorted(REQUIRED[kind])})
        if kind == "toggle":
            try:
                waiver.low_bit()
            except WaiverError as error:
                raise WaiverError(f"{name}: {error}") from None
        waivers.append(waiver)
    return waivers


def read(path: pathlib.Path) -> list[Waiver]:
    try:
        return parse(tomllib.loads(path.read_text()))
    except (WaiverError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WaiverError(f"{path}: {error}") from None


def problems(waivers: list[Waiver], whole: bool = True) -> list[str]:
    """After measure(): the waivers that are stale. whole: all test programs have run; else what a waiver is for may be left out."""
    found = []
    for waiver in waivers:
        if waiver.matched == 0:
            found.append(f"stale waiver, names nothing: {waiver}")
        elif waiver.needed == 0 and whole:
            found.append(f"stale waiver, all it names is covered: {waiver}")
    return found
