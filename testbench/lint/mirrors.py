#!/usr/bin/env python3
"""Every source of driver, host, model and firmware has a unit test that mirrors it, or stands in mirrors.toml with what tests it in its place. No
source of the tree has more than 500 lines but those that the same file names.

usage: mirrors.py SOURCE_FOLDER
Exit code 0: so it is; 1: sources, entries of the list, files."""
import re
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

sys.dont_write_bytecode = True
from sources import known  # noqa: E402

FOLDERS = ("base", "driver", "host", "model", "firmware")
LIMIT = 500
# Files that people write line by line. Specifications, data and pages are as long as what they hold.
WRITTEN = (".c", ".h", ".cpp", ".hpp", ".sv", ".svh", ".v", ".py", ".sh", ".cmake")


def mirrors_of(source):
    """Names that the unit test of a source may have, below testbench/unit."""
    parts = Path(source).parts
    stem = Path(source).stem
    if parts[0] in ("base", "driver", "firmware"):
        folders = [Path(*parts[:-1])]
    elif parts[:2] == ("host", "examples"):
        folders = [Path(*parts[2:-1])]
    elif parts[:2] == ("model", "core"):
        folders = [Path("model_core"), Path("fast_core")]
    else:
        folders = [Path(*parts[1:-1])]
    return [f"testbench/unit/{folder.as_posix()}/{stem}_test{suffix}" for folder in folders for suffix in (".cpp", ".c")]


def check_mirrors(files, groups):
    """files: names of the tree. Sentences on what is wrong, the number of sources, and of those with a mirror."""
    there = set(files)
    folders = {parent.as_posix() for name in files for parent in Path(name).parents}
    sources = [name for name in files if Path(name).parts[0] in FOLDERS and Path(name).suffix in (".c", ".cpp")]
    alone = [name for name in sources if not any(mirror in there for mirror in mirrors_of(name))]
    wrong = []
    for name in alone:
        fitting = [number for number, group in enumerate(groups, 1) if any(fnmatchcase(name, pattern) for pattern in group["sources"])]
        if len(fitting) != 1:
            wrong.append(f"{name}: no unit test mirrors it, and it stands in {len(fitting)} groups of mirrors.toml" + (f": {fitting}" if fitting else ""))
    for group in groups:
        if len(group["why"]) < 40:
            wrong.append(f"mirrors.toml: {group['why']!r} is no reason")
        if not group["tests"]:
            wrong.append(f"mirrors.toml: {group['why']!r} names no test")
        wrong += [f"mirrors.toml: there is no {test}" for test in group["tests"] if test not in there and test not in folders]
        for pattern in group["sources"]:
            if not any(fnmatchcase(name, pattern) for name in alone):
                wrong.append(f"mirrors.toml: {pattern} fits no source without a mirror")
    return wrong, len(sources), len(sources) - len(alone)


def check_lengths(lengths, large):
    """lengths: {name: lines}."""
    allowed = {entry["file"]: entry["lines"] for entry in large}
    wrong = [f"{name}: {lines} lines, {allowed.get(name, LIMIT)} may be" for name, lines in lengths.items() if lines > allowed.get(name, LIMIT)]
    return wrong + [f"mirrors.toml: {name} is not there, or has {LIMIT} lines or less" for name in allowed if lengths.get(name, 0) <= LIMIT]


def written(path):
    if path.suffix in WRITTEN or path.name == "CMakeLists.txt":
        return True
    return not path.suffix and re.match(rb"#!.*(python|sh)", path.read_bytes()[:80]) is not None


def main():
    root = Path(sys.argv[1]).resolve()
    listed = tomllib.loads((Path(__file__).resolve().parent / "mirrors.toml").read_text())
    paths = known(root)
    wrong, sources, mirrored = check_mirrors([path.relative_to(root).as_posix() for path in paths], listed["group"])
    lengths = {path.relative_to(root).as_posix(): path.read_bytes().count(b"\n") for path in paths if written(path)}
    wrong += check_lengths(lengths, listed["large"])
    print(f"{sources} sources, {mirrored} with a unit test that mirrors them; {len(lengths)} files, {len(listed['large'])} with more than {LIMIT} lines")
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong or not sources or not lengths else 0


if __name__ == "__main__":
    sys.exit(main())
