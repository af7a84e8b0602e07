#!/usr/bin/env python3
"""Which sources of a target are compiled together (cmake/Unity.cmake, docs/decisions/unity-builds.md).

usage: unity_groups.py SIZE < lines of FOLDER|TARGET|SOURCE, in the order of the targets
Prints FOLDER|GROUP|SOURCE for each source that shares a translation unit with others.

A group has at most SIZE sources, of one folder where possible, which say the same `using namespace` and define no macro. No two of them declare
the same name for themselves (in an unnamed namespace, static, or as an alias), and none writes a name that another declares so: together they
mean what they mean alone. Two kinds of names may meet: an alias that both write alike, and a name in small letters that is nowhere called, made
or given arguments in the one source and stands in none of its headers: a variable or member of its own functions, which comes before the other's.
The scan is of words and not of C++: what it misses is a compiler's error, or is found by the build without groups."""
import functools
import re
import sys
import typing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOISE = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\'')
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
DEFINE = re.compile(r"^[ \t]*#[ \t]*(define|undef|pragma(?!\s+once))\b", re.MULTILINE)
USING = re.compile(r"^\s*using namespace ([\w:]+)", re.MULTILINE)
PIECE = re.compile(r"[{};]|[^{};]+")
NAMESPACE = re.compile(r'(?:inline )?namespace\b|extern ""')
TEMPLATE = re.compile(r"template ?<[^{]*?> (?=\w)")
TYPE = re.compile(r"\b(?:struct|class|enum(?: class| struct)?|union)\s+(?:\[\[.*?\]\] ?|alignas\(.*?\) ?)?(\w+)\s*(?:final\s*)?(?::[^:].*)?$")
ALIAS = re.compile(r"using (\w+) =|typedef .*?(\w+)$|namespace (\w+) =")
LOCAL = re.compile(r"(?:(?:inline|constexpr|constinit|const|\[\[[^]]*\]\]) ?)*static\b|(?:constexpr|const)\b(?![^=]*\()")
CALLED = re.compile(r"([\w:~]+)\s*\(")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
NOT_CALLED = {"alignas", "decltype", "noexcept", "requires", "sizeof", "static_assert", "__attribute__"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
WORD = re.compile(r"(?<![\w.])(?<!->)(?<!::)[A-Za-z_]\w*")
APPLIED = re.compile(r"(?<![\w.])(?<!->)(?<!::)([A-Za-z_]\w*)\s*[({<]")
ALIKE = re.compile(r"(?:using|namespace) (\w+) = (.+)$")


def name_of(statement, unnamed):
    """The name that a declaration of a namespace gives to its own source, or None."""
    text = TEMPLATE.sub("", " ".join(statement.split()))
    if match := ALIAS.match(text):
        return match[1] or match[2] or match[3]
    if not unnamed and not LOCAL.match(text):
        return None
    head = re.split(r"(?<![=!<>])=(?!=)", text)[0].strip()
    if "(" not in text and (match := TYPE.search(text)):
        return match[1]
    called = [name for name in CALLED.findall(head) if name not in NOT_CALLED]
    if called:
        return called[0] if "::" not in called[0] else None
    match = VARIABLE.search(head)
    return match[1] if match and " " in head else None


def own_names(text):
    """(Names that a source declares for itself, its aliases: name, what it stands for, is it in an unnamed namespace); text: without comments,
    literals and directives."""
    names, aliases, scopes, statement = set(), set(), [], ""
    for piece in PIECE.findall(text):
        inside = "body" in scopes
        if piece == "{":
            words = " ".join(statement.split())
            if inside or not NAMESPACE.match(words):
                scopes.append("body")
            else:
                scopes.append("unnamed" if words == "namespace" else "namespace")
        if not inside and piece in "{;" and (piece == ";" or scopes[-1] == "body"):
            names.add(name_of(statement, "unnamed" in scopes))
            if match := ALIKE.match(" ".join(statement.split())):
                aliases.add((match[1], match[2], "unnamed" in scopes))
        if piece == "}" and scopes:
            scopes.pop()
        statement = "" if piece in "{};" else piece
    return names - {None}, aliases


def quiet(text):
    """A source without comments and literals."""
    return NOISE.sub(lambda match: ' "" ' if match[0][0] in 'R"' else " ", text)


class Header(typing.NamedTuple):
    words: frozenset
    applied: frozenset  # that are called, made, or given arguments
    includes: tuple


@functools.cache
def header(name):
    """A header of the project."""
    try:
        text = (ROOT / name).read_text(encoding="utf-8")
    except OSError:  # generated, or a library's
        return Header(frozenset(), frozenset(), ())
    code = DIRECTIVE.sub("", quiet(text))
    return Header(frozenset(WORD.findall(code)), frozenset(APPLIED.findall(code)), tuple(INCLUDE.findall(text)))


def headers_of(text):
    """All headers that a source includes, directly or not."""
    found, more = set(), INCLUDE.findall(text)
    while more:
        name = more.pop()
        if name not in found:
            found.add(name)
            more += header(name).includes
    return found


class Scan(typing.NamedTuple):
    names: set  # that the source declares for itself
    words: set  # that may mean a name of another source
    applied: set  # of these, what is called, made, or given arguments
    aliases: set  # (name, what it stands for, is it in an unnamed namespace)
    using: frozenset
    headers: set


def scan(path):
    """What a source has to do with others; None: it defines a macro."""
    whole = Path(path).read_text(encoding="utf-8")
    text = quiet(whole)
    if DEFINE.search(text):
        return None
    text = DIRECTIVE.sub("", text)
    names, aliases = own_names(text)
    return Scan(names, set(WORD.findall(text)), set(APPLIED.findall(text)), aliases, frozenset(USING.findall(text)), headers_of(whole))


def takes(one, other):
    """Whether one source, or a header that the other one has not read before it, writes a name of the other and could mean it."""
    alike = {name for name, _, _ in one.aliases & other.aliases}
    for name in (other.names & one.words) - alike:
        variable = name.islower() and name not in one.names and name not in one.applied
        if not variable or any(name in header(read).words for read in one.headers):
            return True
    for read in one.headers - other.headers:
        if any(not name.islower() or name in header(read).applied for name in other.names & header(read).words):
            return True
    return False


def fits(source, group, scanned):
    one = scanned[source]
    return all(one.using == scanned[other].using and not takes(one, scanned[other]) and not takes(scanned[other], one) for other in group)


def groups_of(sources, size):
    """Lists of at least two sources that are compiled together."""
    scanned = {source: found for source in sources if (found := scan(source))}
    groups = []
    for same_folder in (True, False):
        groups = [group for group in groups if len(group) > 1]
        grouped = {source for group in groups for source in group}
        alone = [source for source in scanned if source not in grouped]
        for source in alone:
            for group in groups:
                if len(group) < size and (not same_folder or Path(group[0]).parent == Path(source).parent) and fits(source, group, scanned):
                    group.append(source)
                    break
            else:
                groups.append([source])
    return [group for group in groups if len(group) > 1]


def main():
    users = {}  # (folder of a CMakeLists.txt, source) -> its targets: a source's group is the same in all of them
    for line in sys.stdin.read().splitlines():
        folder, target, source = line.split("|")
        users.setdefault((folder, source), []).append(target)
    together = {}
    for (folder, source), targets in users.items():
        together.setdefault((folder, *sorted(targets)), []).append(source)
    for (folder, first, *_), sources in together.items():
        for number, group in enumerate(groups_of(sources, int(sys.argv[1]))):
            for source in group:
                print(f"{folder}|{first}_{number}|{source}")


if __name__ == "__main__":
    main()
