#!/usr/bin/env python3
"""What a program that was built with the weft.h of the last tag finds changed in the weft.h of this tree: calls, structures and
constants that weft.h's calls reach, as clang sees them on this machine.

usage: abi.py SOURCE [--against TAG]      default: the last tag v* before HEAD
Allowed are new calls, new constants, and new fields behind the old ones of a structure that begins with its size. What else differs
breaks programs: it needs another minor version (another major one from 1.0 on), and its name in the CHANGELOG's topmost version.
Exit code 0: nothing breaks, or it is announced; 1: what breaks; 77: there is no such tag in this clone."""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CLANG = "clang-16"
NO_TAG = 77
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
        moved = [f"{words} at {offset}" for offset, words in fields if (offset, words) not in [tuple(field) for field in new_fields]]
        sized = fields[:1] and fields[0][0] == 0 and fields[0][1].split()[-1] == "size"
        if moved:
            broken[name] = f"{name} has no longer: {', '.join(moved)}"
        elif new_size < size or (new_size > size and not sized):
            broken[name] = f"{name} has {new_size} bytes and had {size}" + ("" if sized else ", and does not begin with its size")
        elif len(new_fields) > len(fields) and min(offset for offset, _ in new_fields[len(fields):]) < fields[-1][0]:
            broken[name] = f"{name} has new fields before its old ones"
    return broken


def version_of(text):
    return tuple(int(re.search(rf"WEFT_VERSION_{part} (\d+)", text)[1]) for part in ("MAJOR", "MINOR"))


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


def headers_of_tag(source, tag, folder):
    """The include folders of a tag, made in `folder`."""
    archive = run("git", "-C", source, "archive", tag, "driver/include", "spec", "scripts/spec")
    run("tar", "-x", "-C", folder, input=archive)
    run(sys.executable, folder / "scripts/spec/generate.py", "--spec", folder / "spec", "--out", folder / "generated")
    return [folder / "driver/include", folder / "generated/include"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--against", metavar="TAG")
    arguments = parser.parse_args()
    source, tag = arguments.source.resolve(), arguments.against
    if tag is None:
        found = subprocess.run(["git", "-C", source, "describe", "--tags", "--abbrev=0", "--match", "v*"], capture_output=True, text=True)
        if found.returncode != 0:
            print("skipped: this clone has no tag v*, so there is no released ABI to compare with")
            return NO_TAG
        tag = found.stdout.strip()
    with tempfile.TemporaryDirectory(prefix="weft-abi-") as name:
        folder = Path(name)
        run(sys.executable, source / "scripts/spec/generate.py", "--spec", source / "spec", "--out", folder / "now")
        old_includes = headers_of_tag(source, tag, folder)
        new_includes = [source / "driver/include", folder / "now/include"]
        old, new = describe(old_includes), describe(new_includes)
        broken = compare(old, new)
        versions = [version_of((includes[0] / "weft/weft.h").read_text()) for includes in (old_includes, new_includes)]
    wrong = judge(broken, *versions, (source / "CHANGELOG.md").read_text())
    print(f"{tag}: {len(old['calls'])} calls, {len(old['structures'])} structures, {len(old['constants'])} constants; {len(broken)} of them break programs")
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong or not old["calls"] or not old["structures"] or not old["constants"] else 0


if __name__ == "__main__":
    sys.exit(main())
