#!/usr/bin/env python3
"""Which sources of a target are compiled together (cmake/Unity.cmake, docs/decisions/unity-builds.md), and the units that do so.

usage: unity_groups.py SIZE BUILD < lines of FOLDER|TARGET|SOURCE, in the order of the targets; without TARGET: a source that one of its targets compiles alone
Writes BUILD/<folder>/Unity/<target>_<number>.cpp for each group and prints FOLDER|TARGET,..|UNIT|SOURCE for each source that is in one.

A group has at most SIZE sources, of one folder where possible, which say the same `using namespace`, and have no macros and no conditions. A unit
includes first what all of them include. A name that a source declares for itself (in an unnamed namespace, static, or as an alias) and that another
one writes is given the source's own name behind it by a macro, as long as that source is read: together they mean what they mean alone. Where that
cannot be, as the source writes the name of a member or namespace too, or one of its headers has it, the two are not together.
The scan is of words and not of C++: what it misses is a compiler's error, or is found by the build without groups."""
import collections
import functools
import re
import sys
import typing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOISE = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\'')
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(define|undef|if|ifdef|ifndef|pragma(?!\s+once))\b", re.MULTILINE)
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
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*("[^"\n]+"|<[^>\n]+>)', re.MULTILINE)
WORD = re.compile(r"(?<![\w.])(?<!->)(?<!::)[A-Za-z_]\w*")
SCOPED = re.compile(r"\benum\s+(?:class|struct)\b[^{;]*\{[^}]*\}")  # its names are written behind its own
HEADER_WORD = re.compile(r"\b([A-Za-z_]\w*)(\s*[({<])?")
BUILT_IN = re.compile(r"u?int\d+_t|size_t|void|bool|char|short|int|long|float|double|auto|const|unsigned|signed|operator")  # `enum : int`, `int (*f)()`
MEMBER = re.compile(r"(?:\.|->|::)\s*([A-Za-z_]\w*)")
SPACE = re.compile(r"\b([A-Za-z_]\w*)(?=\s*::)|\bnamespace\s+(\w+)")
INSIDE = re.compile(r"\w::~?\w+\s*\([^;{}]*\)[^;{}()]*\{|\b(?:struct|class)\s+\w+\s*(?:final\s*)?:[^:]|\busing enum\b")  # of a header's class, perhaps
USED = re.compile(r"\busing\s+[\w:]+::(\w+)\s*;")
BRACKETS = re.compile(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]")
FURTHER = re.compile(r"\s*[*&]*\s*(\w+)\s*(?:=[^=].*)?$")
ENUM = re.compile(r"enum\b(?!\s+(?:class|struct)\b)")
ENUMERATOR = re.compile(r"(?:^|,)\s*(\w+)")
ALIKE = re.compile(r"(?:using|namespace) (\w+) = (.+)$")


def names_of(statement, unnamed):
    """(The names that a declaration of a namespace gives to its own source, what they are: "type", "function", "variable" or "namespace")."""
    text = TEMPLATE.sub("", " ".join(statement.split()))
    if match := ALIAS.match(text):
        return {match[1] or match[2] or match[3]}, "namespace" if match[3] else "type"
    if not unnamed and not LOCAL.match(text):
        return set(), ""
    head = re.split(r"(?<![=!<>])=(?!=)", text)[0].strip()
    if "(" not in text and (match := TYPE.search(text)):
        return {match[1]}, "type"
    called = [name for name in CALLED.findall(head) if name not in NOT_CALLED]
    if called and called[0].isupper():  # a macro: TEST_CASE
        return set(), ""
    if called:
        return {called[0]} if "::" not in called[0] else set(), "function"
    match = VARIABLE.search(head)
    if not match or " " not in head:
        return set(), ""
    while (inner := BRACKETS.sub("", text)) != text:
        text = inner
    return {match[1]} | {further[1] for piece in text.split(",")[1:] if (further := FURTHER.match(piece))}, "variable"


def own_names(text):
    """(Names that a source declares for itself and what they are, its aliases: name, what it stands for, is it in an unnamed namespace, its
    using-declarations); text: without comments, literals and directives."""
    names, aliases, used, scopes, statement, enumerates = {}, set(), set(), [], "", False
    for piece in PIECE.findall(text):
        inside = "body" in scopes
        if enumerates and piece not in "{}":
            names.update(dict.fromkeys(ENUMERATOR.findall(" ".join(piece.split())), "variable"))
        if piece == "{":
            words = " ".join(statement.split())
            if inside or not NAMESPACE.match(words):
                scopes.append("body")
            else:
                scopes.append("unnamed" if words == "namespace" else "namespace")
            enumerates = not inside and "unnamed" in scopes and ENUM.match(words) is not None
        if not inside and piece in "{;" and (piece == ";" or scopes[-1] == "body"):
            found, kind = names_of(statement, "unnamed" in scopes)
            names.update((name, "function" if names.get(name) == "function" else kind) for name in found)
            if match := ALIKE.match(" ".join(statement.split())):
                aliases.add((match[1], match[2], "unnamed" in scopes))
            used |= set(USED.findall(statement + ";"))
        if piece == "}" and scopes:
            scopes.pop()
        enumerates = enumerates and piece != "}"
        statement = "" if piece in "{};" else piece
    return {name: kind for name, kind in names.items() if not BUILT_IN.fullmatch(name)}, aliases, used


def quiet(text):
    """A source without comments and literals."""
    return NOISE.sub(lambda match: ' "" ' if match[0][0] in 'R"' else " ", text)


class Header(typing.NamedTuple):
    words: frozenset  # those of its macros too; of those in small letters only what is called, made or given arguments: others are variables
    includes: tuple


@functools.cache
def header(name):
    """A header of the project."""
    try:
        text = (ROOT / name).read_text(encoding="utf-8")
    except OSError:  # generated, or a library's
        return Header(frozenset(), ())
    return Header(frozenset(word for word, applied in HEADER_WORD.findall(SCOPED.sub("", quiet(text))) if applied or not word.islower()), included(text))


def included(text):
    """What a text includes of the project, and perhaps of libraries in quotes."""
    return tuple(name.strip('"') for name in INCLUDE.findall(text) if name[0] == '"')


def words_of_headers(text):
    """The words of all headers of the project that a source includes, directly or not."""
    found, more = set(), list(included(text))
    while more:
        name = more.pop()
        if name not in found:
            found.add(name)
            more += header(name).includes
    return frozenset().union(*(header(name).words for name in found))


def headers_of(text, folder):
    """The headers that a source includes; one beside it by its whole path. What it reads in its middle (.inc) is none."""
    names = [name for name in INCLUDE.findall(text) if not name.endswith('.inc"')]
    return tuple(f'"{beside}"' if name[0] == '"' and (beside := folder / name.strip('"')).is_file() else name for name in names)


class Scan(typing.NamedTuple):
    names: set  # that the source declares for itself
    fixed: set  # of these, what keeps its name: it may be that of a member, of a namespace, or of a function or variable of a header too
    words: set  # that may mean a name of another source
    aliases: set  # (name, what it stands for, is it in an unnamed namespace)
    used: set  # names that its using-declarations take from other namespaces
    using: frozenset
    includes: tuple  # of headers, as a unit writes them


def scan(path):
    """What a source has to do with others; None: it has macros or conditions."""
    whole = Path(path).read_text(encoding="utf-8")
    text = quiet(whole)
    if CONDITIONAL.search(text):
        return None
    text = DIRECTIVE.sub("", text)
    kinds, aliases, used = own_names(text)
    names = set(kinds)
    types = {name for name, kind in kinds.items() if kind == "type"}
    hidden = types if INSIDE.search(text) else {name for name, kind in kinds.items() if kind != "function"}  # the source's own come first
    headers = words_of_headers(whole) - hidden
    spaces = {name for match in SPACE.findall(text) for name in match} - types
    return Scan(names | used, names & (set(MEMBER.findall(text)) | spaces | headers) | used, set(WORD.findall(text)), aliases, used, frozenset(USING.findall(text)), headers_of(whole, Path(path).parent))


def taken(one, other):
    """The names of a source that another one writes, and could mean if it were read behind it."""
    alike = {name for name, _, _ in one.aliases & other.aliases} | (one.used - (other.names - other.used))
    return (one.names & (other.words | other.names)) - alike


def fits(sources, group, scanned):
    pairs = ((scanned[one], scanned[other]) for one in sources for other in group)
    return all(one.using == other.using and not taken(one, other) & one.fixed and not taken(other, one) & other.fixed for one, other in pairs)


def groups_of(sources, size, scanned):
    """Lists of at least two sources that are compiled together. scanned: is filled."""
    scanned.update((source, found) for source in sources if (found := scan(source)))
    groups = []
    for source in scanned:
        for group in groups:
            if len(group) < size and Path(group[0]).parent == Path(source).parent and fits([source], group, scanned):
                group.append(source)
                break
        else:
            groups.append([source])
    joined = []  # of several folders
    for group in groups:
        for other in joined:
            if len(other) + len(group) <= size and fits(group, other, scanned):
                other += group
                break
        else:
            joined.append(group)
    return [group for group in joined if len(group) > 1]


def unit(group, scanned):
    """The text of a unit."""
    lines = [f"#include {name}" for name in dict.fromkeys(name for source in group for name in scanned[source].includes)]
    for source in group:
        own = sorted(set().union(*(taken(scanned[source], scanned[other]) for other in group if other != source)))
        lines += [f"#define {name} {name}_of_{re.sub(r'[^A-Za-z0-9]', '_', Path(source).stem)}" for name in own]
        lines += [f'#include "{source}"', *(f"#undef {name}" for name in own)]
    return "\n".join(lines) + "\n"


def main():
    size, build = int(sys.argv[1]), Path(sys.argv[2])
    users = {}  # (folder of a CMakeLists.txt, source) -> its targets: a source's group is the same in all of them
    for line in sys.stdin.read().splitlines():
        folder, target, source = line.split("|")
        users.setdefault((folder, source), []).append(target)
    together = {}
    for (folder, source), targets in users.items():
        if "" in targets:
            continue
        together.setdefault((folder, *sorted(targets)), []).append(source)
    units = collections.Counter()
    for (folder, *targets), sources in together.items():
        scanned = {}
        for group in groups_of(sources, size, scanned):
            name = f"{targets[0]}_{units[folder, targets[0]]}.cpp"
            units[folder, targets[0]] += 1
            path = build / Path(folder).relative_to(ROOT) / "Unity" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = unit(group, scanned)
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
            for source in group:
                print(f"{folder}|{','.join(targets)}|{path}|{source}")


if __name__ == "__main__":
    main()
