"""The commands and outputs that Markdown pages show, and how an output is compared with what the command prints now.

A code block of a page is one of
  ```console        a transcript: `$ command`, then its output as it is (stdout and stderr); a line `...` stands for any lines
  ```console live   the same of something that runs meanwhile: numbers, units and the width of columns may differ
  ```sh             commands without output; each must exit with 0
  ```text           a drawing or a formula: not compared, and must not show a command
and of a language (c, cpp, python, toml), which other tests compile or read. A block by indentation, which could not say which it is,
is refused. The word `slow` after console or sh leaves the block to nightly;
`manual` leaves it out, with a reason behind it: ```sh manual: installs packages.
<!-- run: command --> is a command that the reader does not see, in the place where it stands. All commands of a page go to one bash, in a
folder with the repository's folders in it and build/bin first in PATH."""
import re
from dataclasses import dataclass, field

LANGUAGES = {"c", "cpp", "python", "toml", "text"}
FENCE = re.compile(r"^(\s*)```(.*)$")
HIDDEN = re.compile(r"^<!-- run: (.*) -->$")
INDENTED = re.compile(r"^( {4}|\t)\s*\S")
LIST_ITEM = re.compile(r"^([-*+]|\d+[.)]) ")
COMMAND = "$ "
ELISION = "..."


@dataclass
class Step:
    """A command of a page. shown: its output, line by line; None: a command without output that must exit with 0."""
    line: int  # of the command, from 1
    command: str
    shown: list = None
    live: bool = False


@dataclass
class Page:
    steps: list = field(default_factory=list)
    errors: list = field(default_factory=list)  # "line N: ..."
    left_out: int = 0  # blocks left out as slow or manual


def _console(page, first, body, live):
    for offset, text in enumerate(body):
        if text.startswith(COMMAND):
            page.steps.append(Step(first + offset, text[len(COMMAND):], [], live))
        elif offset == 0:
            page.errors.append(f"line {first}: a console block begins with a command, `$ ...`")
            return
        else:
            page.steps[-1].shown.append(text)


def _commands(page, first, body):
    command = ""
    for offset, text in enumerate(body):
        command += text.removesuffix("\\")
        if text.endswith("\\"):
            continue
        if command.strip() and not command.lstrip().startswith("#"):
            page.steps.append(Step(first + offset, command.strip()))
        command = ""


def indented_blocks(text):
    """Lines at which a code block by indentation begins. Within a list item such a line goes on with the item."""
    found, fenced, listed, before = [], False, False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            if line and not line[0].isspace():
                listed = bool(LIST_ITEM.match(line))
            if INDENTED.match(line) and not listed and not before.strip():
                found.append(number)
        before = line
    return found


def read_page(text, slow=False):
    """The steps of a page in their order. slow: also those of blocks marked slow."""
    page, inside, body, first, indent = Page(), None, [], 0, ""
    page.errors += [f"line {number}: a code block begins and ends with ```, and says what it is" for number in indented_blocks(text)]
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if not fence:
            hidden = HIDDEN.match(line)
            if inside is not None:
                body.append(line.removeprefix(indent))
            elif hidden:
                page.steps.append(Step(number, hidden[1]))
            continue
        if inside is None:
            indent, inside, body, first = fence[1], fence[2].strip(), [], number + 1
            continue
        words, reason = inside.partition(":")[0].split(), inside.partition(":")[2].strip()
        kind, options = (words[0] if words else ""), set(words[1:])
        inside = None
        if kind not in LANGUAGES | {"console", "sh"} or options - {"live", "slow", "manual"}:
            page.errors.append(f"line {first - 1}: a code block is console, sh, text, c, cpp, python or toml, with live, slow or manual behind it; this is '{' '.join(words)}'")
        elif "manual" in options and not reason:
            page.errors.append(f"line {first - 1}: manual needs its reason, `manual: reason`")
        elif "manual" in options or ("slow" in options and not slow):
            page.left_out += 1
        elif kind == "console":
            _console(page, first, body, "live" in options)
        elif kind == "sh":
            _commands(page, first, body)
        elif kind == "text" and any(text.startswith(COMMAND) for text in body):
            page.errors.append(f"line {first}: a text block shows a command; a transcript is a console block")
    if inside is not None:
        page.errors.append(f"line {first - 1}: the code block does not end")
    return page


# What differs from run to run although nothing has changed. Each is as narrow as it can be.
_VOLATILE = [
    (re.compile(r"(weft-sim|process|owner) \d+"), r"\1 <pid>"),
    (re.compile(r"\b\d+ weft(-sim)?\b"), r"<pid> weft\1"),
    (re.compile(r"generation (\d+) in \d+ cycles"), r"generation \1 in <cycles>"),
    (re.compile(r"weft-hang-\d+-"), "weft-hang-<pid>-"),
    # A process that is killed closes its socket: the driver sees an end or a reset, whichever call it is in.
    (re.compile(r"the device has closed its connection|the connection to the device is closed: [a-z ]+: Connection reset by peer"), "<connection closed>"),
    (re.compile(r"golden model with \w+"), "golden model with <vectors>"),
    (re.compile(r"^(  wall time +).*"), r"\1<seconds>"),
]
_NUMBER = re.compile(r"(?<![\w.])[+-]?(0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?)(?![\w.])( ([KMG]?i?B(/s)?|ms|us|s))?(?!\w)")
_WORD = re.compile(r"(?<![\w.])[0-9a-f]{8}(?![\w.])")  # of a register, a CRC


def comparable(line, live):
    """The line without what may differ."""
    for pattern, replacement in _VOLATILE:
        line = pattern.sub(replacement, line)
    if live:
        line = _WORD.sub("#", line)
        line = re.sub(r"\s+", " ", _NUMBER.sub("#", line)).strip()
    return line.rstrip()


def difference(shown, printed, live=False):
    """None if what a page shows is what the command printed; otherwise where it is not, in a sentence."""
    while printed and not printed[-1]:
        printed = printed[:-1]
    while shown and not shown[-1]:
        shown = shown[:-1]
    if not shown and printed:
        return f"the page shows no output; the command printed {len(printed)} lines, first: {printed[0]}"
    at = 0
    for place, line in enumerate(shown):
        if line == ELISION:
            following = shown[place + 1:]
            if not following:
                return None
            wanted = comparable(following[0], live)
            while at < len(printed) and comparable(printed[at], live) != wanted:
                at += 1
            continue
        if at >= len(printed):
            return f"the command printed {len(printed)} lines; the page shows on: {line}"
        if comparable(line, live) != comparable(printed[at], live):
            return f"the page shows\n    {line}\n  the command printed\n    {printed[at]}"
        at += 1
    if at < len(printed):
        return f"the command printed {len(printed) - at} more lines than the page shows, first: {printed[at]}"
    return None


def updated(step, printed):
    """The output of a step as the page should show it: what was printed, with the shown lines that differ in volatile words alone."""
    if len(step.shown) != len(printed):
        return printed
    return [old if comparable(old, step.live) == comparable(new, step.live) else new for old, new in zip(step.shown, printed, strict=True)]


def replace_outputs(text, outputs):
    """The page with the outputs of `outputs` ({line of a command: lines}) in place of those it shows. A transcript with an elision stays as it is."""
    lines, result, at = text.split("\n"), [], 0
    while at < len(lines):
        result.append(lines[at])
        at += 1
        if at not in outputs:
            continue
        end = at
        while not lines[end].startswith(COMMAND) and not FENCE.match(lines[end]):
            end += 1
        result += lines[at:end] if ELISION in lines[at:end] else outputs[at]
        at = end
    return "\n".join(result)
