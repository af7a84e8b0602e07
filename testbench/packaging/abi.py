#!/usr/bin/env python3
"""What a program that was built with the weft.h of the last release finds changed in the weft.h of this tree: calls, structures and
constants that weft.h's calls reach, as clang sees them on this machine.

usage: abi.py SOURCE                   compares with the newest release described in testbench/packaging/releases
       abi.py SOURCE --against COMMIT  compares with weft.h of another commit or tag
       abi.py SOURCE --release         describes this tree's weft.h in testbench/packaging/releases/VERSION.json: when that version gets its tag
Allowed are new calls, new constants, and new fields behind the old ones of a structure that begins with its size. What else differs
breaks programs: it needs another minor version (another major one from 1.0 on), and its name in the CHANGELOG's topmost version.
Exit code 0: nothing breaks, or it is announced; 1: what breaks, or no release is described."""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CLANG = "clang-16"
RELEASES = Path("testbench/packaging/releases")  # a file for each release, because a clone need not have its tag
NAME = re.compile(r"\bweft_\w+")


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, **more).stdout


def clang(includes, *flags):
    words = [CLANG, "-std=c11", "-fsyntax-only", "-x", "c", *(f"-I{folder}" for folder in includes), *(x for flag in flags for x in ("-Xclang", flag)), "-"]
    return run(*words, input=b"#include <weft/weft.h>\n").decode()


def layouts(text):
    """{structure: (bytes, [(offset, declaration), ..])} of clang's record layouts."""
    found = {}
    for block in text.split("*** Dumping AST Record Layout"):
        head = re.search(r"^\s*0 \| (?:struct|union) (\w+)$", block, re.M)
        size = re.search(r"\[sizeof=(\d+)", block)
        if head and size:
            found[head[1]] = (int(size[1]), [(int(offset), " ".join(words.split())) for offset, words in re.findall(r"^\s*(\d+) \|   (\S.*)$", block, re.M)])
    return found


def value_of(node):
    return node["value"] if "value" in node else next((value_of(inner) for inner in node.get("inner", ()) if value_of(inner) is not None), None)


def describe(includes):
    """{"calls": {name: type}, "structures": {name: [bytes, fields]}, "constants": {name: value}}: what weft.h's calls reach."""
    tree = json.loads(clang(includes, "-ast-dump=json"))["inner"]
    calls = {node["name"]: node["type"]["qualType"] for node in tree if node["kind"] == "FunctionDecl" and node["name"].startswith("weft_")}
    aliases = {node["name"]: node["type"]["qualType"] for node in tree if node["kind"] == "TypedefDecl"}
    enumerations = {}
    for node in tree:
        if node["kind"] != "EnumDecl":
            continue
        number = -1
        for constant in (inner for inner in node["inner"] if inner["kind"] == "EnumConstantDecl"):
            given = value_of(constant)
            number = int(given) if given is not None else number + 1
            enumerations.setdefault(node.get("name", ""), {})[constant["name"]] = number
    records = layouts(clang(includes, "-fdump-record-layouts-complete"))
    reached, todo = set(), {name for text in calls.values() for name in NAME.findall(text)}
    while todo:
        name = todo.pop()
        reached.add(name)
        texts = [aliases.get(name, "")] + [words for _, words in records.get(name, (0, ()))[1]]
        todo |= {inner for text in texts for inner in NAME.findall(text)} - reached
    return {"calls": calls, "structures": {name: records[name] for name in sorted(reached & records.keys())},
            "constants": {name: value for group in sorted(reached & enumerations.keys()) for name, value in enumerations[group].items()}}


def compare(old, new):
    """{name: sentence} of what breaks a program that was built with the old header."""
    broken = {}
    for kind in ("calls", "constants"):
        for name, was in old[kind].items():
            now = new[kind].get(name)
            if now is None:
                broken[name] = f"{name} is gone"
            elif now != was:
                broken[name] = f"{name} was {was} and is {now}"
    for name, (size, fields) in old["structures"].items():
        if name not in new["structures"]:
            broken[name] = f"{name} is gone"
            continue
        new_size, new_fields = new["structures"][name]
        moved = [f"{words} at {offset}" for offset, words in fields if (offset, words) not in map(tuple, new_fields)]
        sized = fields[:1] and fields[0][0] == 0 and fields[0][1].split()[-1] == "size"
        if moved:
            broken[name] = f"{name} has no longer: {', '.join(moved)}"
        elif new_size < size or (new_size > size and not sized):
            broken[name] = f"{name} has {new_size} bytes and had {size}" + ("" if sized else ", and does not begin with its size")
        elif len(new_fields) > len(fields) and min(offset for offset, _ in new_fields[len(fields):]) < fields[-1][0]:
            broken[name] = f"{name} has new fields before its old ones"
    return broken


def full_version(text):
    return ".".join(re.search(rf"WEFT_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def version_of(text):
    """(major, minor)"""
    return tuple(map(int, full_version(text).split(".")[:2]))


def judge(broken, old_version, new_version, changelog):
    """Sentences on what breaks and is not announced."""
    if not broken:
        return []
    top = re.split(r"^## ", changelog, flags=re.M)[1]
    wrong = [sentence for name, sentence in broken.items() if f"`{name}`" not in top]
    same = old_version[0] == new_version[0] if old_version[0] > 0 else old_version == new_version
    if same:
        wrong = [*broken.values(), f"the version is still {'.'.join(map(str, new_version))}"]
    return wrong


def headers_of_commit(source, commit, folder):
    """The include folders of a commit, made in `folder`."""
    archive = run("git", "-C", source, "archive", commit, "driver/include", "spec", "scripts/spec")
    run("tar", "-x", "-C", folder, input=archive)
    run(sys.executable, folder / "scripts/spec/generate.py", "--spec", folder / "spec", "--out", folder / "generated")
    return [folder / "driver/include", folder / "generated/include"]


def headers_of_tree(source, folder):
    run(sys.executable, source / "scripts/spec/generate.py", "--spec", source / "spec", "--out", folder / "now")
    return [source / "driver/include", folder / "now/include"]


def versioned(includes):
    """(version, description) of the weft.h in these folders."""
    return version_of((includes[0] / "weft/weft.h").read_text()), describe(includes)


def text_of(description):
    """JSON, a line for each call, structure and constant."""
    kinds = (f"{json.dumps(kind)}: {{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(what)}" for name, what in sorted(found.items())) + "\n}" for kind, found in description.items())
    return "{" + ",\n".join(kinds) + "}\n"


def last_release(source):
    """(version, description) of the newest file of releases/, whose name is its version."""
    numbers = {tuple(map(int, path.stem.split("."))): path for path in (source / RELEASES).glob("*.json")}
    if not numbers:
        return None
    newest = max(numbers)
    return newest[:2], json.loads(numbers[newest].read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--release", action="store_true")
    arguments = parser.parse_args()
    source = arguments.source.resolve()
    with tempfile.TemporaryDirectory(prefix="weft-abi-") as name:
        folder = Path(name)
        new_version, new = versioned(headers_of_tree(source, folder))
        if arguments.release:
            path = source / RELEASES / f"{full_version((source / 'driver/include/weft/weft.h').read_text())}.json"
            path.write_text(text_of(new))
            print(path)
            return 0
        old = versioned(headers_of_commit(source, arguments.against, folder)) if arguments.against else last_release(source)
    if old is None:
        print(f"{RELEASES} describes no release: abi.py --release makes its file", file=sys.stderr)
        return 1
    old_version, old = old
    broken = compare(old, new)
    wrong = judge(broken, old_version, new_version, (source / "CHANGELOG.md").read_text())
    against = arguments.against or f"release {'.'.join(map(str, old_version))}"
    print(f"{against}: {len(old['calls'])} calls, {len(old['structures'])} structures, {len(old['constants'])} constants; {len(broken)} of them break programs")
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong or not old["calls"] or not old["structures"] or not old["constants"] else 0


if __name__ == "__main__":
    sys.exit(main())
