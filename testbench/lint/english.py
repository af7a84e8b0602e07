#!/usr/bin/env python3
"""Turns of phrase that make a reader ask "who?": in pages, and in comments of C and C++ (CONTRIBUTING.md).

usage: english.py SOURCE_FOLDER [FILE ...]      default: every page, and the folders of COMMENTS
Exit code 0: no finding; 1: file, line, the words, and what to write instead."""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from sources import known  # noqa: E402

# Folders whose comments are looked at; the others follow one by one.
COMMENTS = ("base/", "driver/", "host/tools/", "host/reference/", "host/runtime/", "host/examples/")
# Pages made from texts of spec/ and of the commands.
GENERATED = ("docs/reference/", "docs/cli.md")

VERBS = "is|has|are|was|were|can|cannot|must|may|needs|comes|goes|fails|ends|stands|reads|writes|waits|does|do|no"
NOUNS = ("argument|bank|block|byte|channel|chip|class|client|column|command|connection|core|device|direction|engine|entry|event|file|folder|function|group|heading|job|"
         "kernel|kind|lane|launch|layer|line|link|look|message|module|multiplier|opcode|operation|page|part|port|process|program|queue|register|request|ring|row|run|"
         "seed|segment|slice|socket|source|stage|tenant|term|test|thread|tile|unit|wait|word")
# Words between a number and "a chip" of which there are not so many per chip.
BETWEEN = ("queue|above|after|and|are|as|at|before|behind|beside|below|but|by|for|from|gives|has|if|in|into|is|like|means|names|needs|of|off|on|or|over|per|takes|than|that|then|"
           "through|to|under|unless|until|when|where|with|within|without|makes|read|reads|write|writes|was|were|ends|shorten")
RULES = (
    (re.compile(r"(?:^|[.;:!] +)Who(?:ever)? (?![^.]*\?)"), "a sentence begins with Who: name the observer, the owner, the receiver"),
    (re.compile(r"\b(?:for|to|than|by|from) who\b(?! may)"), "who without a noun: name the observer, the owner, the receiver"),
    (re.compile(r"(?<!, )\bwhoever\b"), "whoever as a subject or an object: name it, `any process that`"),
    (re.compile(rf"(?:^|[.!] +|[:;] )What (?:{VERBS}) (?![^.]*\?)"), "a sentence begins with What and a verb: name the thing"),
    (re.compile(r"(?<!there )\b(?:is|are) none\b"), "`is none`: say what it is not"),
    (re.compile(r"\bbut for\b"), "`but for`: except"),
    (re.compile(rf"\b(?:one|two|three|four|[0-9]+|[Aa]n?|single) (?!(?:{BETWEEN})\b)[a-z-]+s? an? (?:{NOUNS})\b"), "`one X a Y`: per"),
)
BANNER = re.compile(r"^/\* -{2,} .*[^/]$")
RULE = re.compile(r"^ \* -{4,} \*/$")


def prose(page):
    """(number, line) of a page: without code, headings and the outputs of commands."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if re.match(r"\s*```", line):
            inside = not inside
        elif not inside and not line.startswith("#") and not line.startswith("<!-- run"):
            yield number, re.sub(r"`[^`]*`", "`x`", line).lstrip("-|> ")


def comments(source):
    """(number, text) of the comments of C and C++. The first words of a comment may be what the thing below it is: "What is wrong with the option"."""
    inside, last = False, -1
    for number, line in enumerate(source.read_text().splitlines(), 1):
        begin = "" if last == number - 1 else "x "
        if inside:
            text = line.strip().removeprefix("*")
            inside = "*/" not in line
            yield number, text.split("*/")[0].strip()
        elif (match := re.search(r"(?<![:\"'])//[/!]?<? ?(.*)$", line)):
            yield number, begin + match[1]
        elif "/*" in line:
            text = line.split("/*", 1)[1]
            inside = "*/" not in text
            yield number, "x " + text.split("*/")[0].lstrip("*< ").strip()
        else:
            continue
        last = number


def findings(path, lines):
    """(number, words, what to write instead). A phrase may go over the end of a line."""
    found, before, last = [], "", 0
    for number, line in lines:
        joined = f"{before} {line}" if before and line and last == number - 1 else line
        for pattern, advice in RULES:
            for match in pattern.finditer(joined):
                if match.end() > len(joined) - len(line):  # else it stands on the line before
                    found.append((number, match[0].strip(" .:;!"), advice))
        before, last = line, number
    return found


def broken_banners(source):
    lines = source.read_text().splitlines()
    return [(number, line, "a banner that a formatter has broken: one line")
            for number, (line, following) in enumerate(zip(lines, lines[1:], strict=False), 1) if BANNER.match(line) and RULE.match(following)]


def main():
    root = Path(sys.argv[1]).resolve()
    files = [Path(name).resolve() for name in sys.argv[2:]] or known(root)
    looked, wrong = 0, 0
    for path in files:
        name = str(path.relative_to(root))
        if path.suffix == ".md" and not name.startswith(GENERATED):
            found = findings(path, prose(path))
        elif path.suffix in (".h", ".hpp", ".c", ".cpp") and (name.startswith(COMMENTS) or len(sys.argv) > 2):
            found = findings(path, comments(path)) + broken_banners(path)
        else:
            continue
        looked += 1
        wrong += len(found)
        for number, words, advice in found:
            print(f"{name}:{number}: {words!r}: {advice}", file=sys.stderr)
    print(f"{looked} files looked at, {wrong} findings")
    return 1 if wrong or not looked else 0


if __name__ == "__main__":
    sys.exit(main())
