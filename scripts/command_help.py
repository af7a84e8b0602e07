"""What a command's --help says, as data: the text that CLI11 prints for `weft`, `weft COMMAND` and `weft-sim`.

A row of it holds a term in its first 30 columns and what it means behind them; a longer term has its meaning on the next line:
  -o,--output TEXT            write C to this .npy file
  --chip TEXT=v5e-1mxu Excludes: --slice
                              chip preset
"""
import re
from dataclasses import dataclass, field

TERM_COLUMNS = 30
EXIT_CODES = "Exit codes: "


@dataclass
class Option:
    """An option or a positional argument. Text is empty where the help says nothing."""
    names: list  # ["-o", "--output"], or the one name of a positional
    value: str = ""  # TEXT, UINT, ...; empty: a flag
    limits: str = ""  # {a,b}, "in [1 - 16]", NONNEGATIVE
    default: str = ""
    environment: str = ""  # the variable that sets it too
    repeated: bool = False
    required: bool = False
    needs: list = field(default_factory=list)
    excludes: list = field(default_factory=list)
    meaning: str = ""


@dataclass
class Help:
    description: list  # its lines
    usage: str
    positionals: list = field(default_factory=list)
    options: list = field(default_factory=list)
    subcommands: list = field(default_factory=list)  # of (name, meaning)
    exit_codes: list = field(default_factory=list)  # of (number, meaning)
    example: str = ""


class Unreadable(Exception):
    """A text that is not what CLI11 prints; the message names the line."""


def rows(lines):
    """(term, meaning) of the rows of a section."""
    found, at = [], 0
    while at < len(lines):
        line = lines[at]
        if not line.startswith("  ") or line.startswith(" " * TERM_COLUMNS):
            raise Unreadable(f"no row of a help: {line!r}")
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if len(line) >= TERM_COLUMNS and following.startswith(" " * TERM_COLUMNS):
            found.append((line.strip(), following.strip()))
            at += 2
        elif len(line) > TERM_COLUMNS and line[TERM_COLUMNS - 1] == " ":
            found.append((line[:TERM_COLUMNS].strip(), line[TERM_COLUMNS:].strip()))
            at += 1
        else:
            raise Unreadable(f"a term without a meaning: {line!r}")
    return found


def option(term, meaning):
    """The option of a row: NAMES VALUE:LIMITS=DEFAULT ... REQUIRED (Env:X) Needs: A B Excludes: C"""
    result = Option([], meaning=meaning)
    rest, _, excluded = term.partition(" Excludes: ")
    rest, _, needed = rest.partition(" Needs: ")
    result.excludes, result.needs = excluded.split(), needed.split()
    variable = re.search(r" \(Env:(\w+)\)$", rest)
    if variable:
        result.environment, rest = variable[1], rest[:variable.start()]
    if rest.endswith(" REQUIRED"):
        result.required, rest = True, rest.removesuffix(" REQUIRED")
    if rest.endswith(" ..."):
        result.repeated, rest = True, rest.removesuffix(" ...")
    names, _, value = rest.partition(" ")
    result.names = names.split(",")
    value, _, result.default = value.partition("=")
    result.value, _, limits = value.partition(":")
    result.limits = limits.removeprefix(result.value).removeprefix("INT ").strip() if " in [" in limits else limits
    if result.default.startswith("["):  # of an argument that may be repeated
        result.default = result.default[1:-1]
    if not re.fullmatch(r"[A-Za-z]*", result.value) or not all(re.fullmatch(r"-{0,2}[A-Za-z][\w-]*", name) for name in result.names):
        raise Unreadable(f"no option of a help: {term!r}")
    return result


def read_help(text):
    """The Help that a text is. Raises Unreadable."""
    lines = text.rstrip("\n").split("\n")
    try:
        usage = next(i for i, line in enumerate(lines) if line.startswith("Usage: "))
    except StopIteration:
        raise Unreadable(f"no usage in a help that begins {lines[0]!r}") from None
    words = lines[usage].removeprefix("Usage: ").split(" ")
    result = Help(lines[:usage], " ".join([words[0].rpartition("/")[2], *words[1:]]))  # a program names itself by its path
    for paragraph in "\n".join(lines[usage + 1:]).strip("\n").split("\n\n"):
        head, *body = paragraph.split("\n")
        if head == "Positionals:":
            result.positionals = [option(*row) for row in rows(body)]
        elif head == "Options:":
            result.options = [option(*row) for row in rows(body)]
        elif head == "Subcommands:":
            result.subcommands = rows(body)
        elif head.startswith(EXIT_CODES):
            codes = " ".join([head, *body]).removeprefix(EXIT_CODES).removesuffix(".").split("; ")
            result.exit_codes = [tuple(code.split(" ", 1)) for code in codes]
        elif head.startswith("weft ") and not body:
            result.example = head
        else:
            raise Unreadable(f"no section of a help: {head!r}")
    if not result.options:
        raise Unreadable(f"no options in the help of: {result.usage}")
    return result
