#!/usr/bin/env python3
"""clang-tidy with the checks of .clang-tidy on the C and C++ that CMake compiles. What it found in a file is kept in the build folder
(tidy/) by the content of all that was read for it, so that a second run costs only what changed.

usage: tidy.py SOURCE_FOLDER [--build FOLDER] [--jobs N] [FILE OR FOLDER ...]
  FILE OR FOLDER   only these, of SOURCE_FOLDER; a header is looked at with the source of its name
  --build          the build folder, default SOURCE_FOLDER/build: configured, and what is generated built
  --jobs           processes at once, default the processors
Exit code 0: no finding; 1: the findings, one a line, on standard error; 2: clang-tidy or the build folder is missing."""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

FINDING = re.compile(r"^(/[^:\n]+):(\d+):(\d+): (warning|error|fatal error): (.*)$", re.MULTILINE)
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
UNITY = re.compile(r'^#include "(/[^"]+)"$', re.MULTILINE)
SUFFIXES = (".c", ".cpp")
HEADERS = (".h", ".hpp")


def flags(command):
    """What clang-tidy is told of a compile command: clang-tidy is another clang than the compiler, hence no precompiled header, and the
    compiler's own warnings are the build's."""
    words = shlex.split(command)[1:]
    kept = []
    while words:
        word = words.pop(0)
        if word == "-Xclang" and len(words) >= 3 and words[0] in ("-include-pch", "-include"):
            del words[:3]
        elif word in ("-c", "-o"):  # the file that is compiled, the object
            del words[:1]
        elif word not in ("-Winvalid-pch", "-Werror"):
            kept.append(word)
    return kept


def sources(root, build):
    """{source: (folder of its compilation, flags)}, of the tree itself: nothing generated. The first command of a source stands for all."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path, given = Path(entry["file"]), flags(entry["command"])
        joined = UNITY.findall(path.read_text()) if "Unity" in path.parts and path.is_file() else []
        for name in map(Path, joined or [path]):
            if name.is_relative_to(root) and not name.is_relative_to(build) and name.suffix in SUFFIXES:
                found.setdefault(name, (entry["directory"], given))
    return found


@functools.cache
def content(path):
    """(Digest, includes as (is it quoted, name)) of a file; None if there is none."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return None
    return hashlib.sha256(data).hexdigest(), [(sign == b'"', name.decode()) for sign, name in INCLUDE.findall(data)]


def digest_of(source, given, first):
    """Digest of `first`, the flags, and the source with all headers of the project and generated ones that it may include; not of the headers of
    libraries (-isystem), which change with their package."""
    folders = [word[2:] for word in given if word.startswith("-I")]
    seen, todo = {}, [str(source)]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        digest, includes = content(path)
        seen[path] = digest
        for quoted, name in includes:
            for folder in ([os.path.dirname(path)] if quoted else []) + folders:
                inner = os.path.normpath(os.path.join(folder, name))
                if content(inner) is not None:
                    todo.append(inner)
                    break
    return hashlib.sha256(json.dumps([first, given, sorted(seen.items())]).encode()).hexdigest()


def look(tool, root, source, folder, given):
    """Findings of one run: [[file, line, column, text]], files relative to the tree."""
    done = subprocess.run([str(tool), "--quiet", f"--config-file={root / '.clang-tidy'}", str(source), "--", *given], cwd=folder, capture_output=True, text=True)
    found = []
    for path, line, column, kind, text in FINDING.findall(done.stdout):
        place = Path(os.path.realpath(path))
        name = str(place.relative_to(root)) if place.is_relative_to(root) else str(place)
        found.append([name, int(line), int(column), text if kind == "warning" else f"{kind}: {text}"])
    if done.returncode != 0 and not found:
        found.append([str(source.relative_to(root)), 0, 0, f"clang-tidy ended with {done.returncode}: {done.stderr.strip()[-300:]}"])
    return found


def chosen(files, root, names):
    """Of `files` those that are asked for; all if `names` is empty."""
    if not names:
        return sorted(files)
    wanted = set()
    for name in names:
        path = (root / name).resolve()
        wanted |= {f for f in files if f == path or f.is_relative_to(path) or path.suffix in HEADERS and f == path.with_suffix(f.suffix)}
    return sorted(wanted)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tool", type=Path)
    arguments = parser.parse_intermixed_args()
    root = arguments.root.resolve()
    build = (arguments.build or root / "build").resolve()
    tool = arguments.tool or root / ".venv" / "bin" / "clang-tidy"
    if not tool.is_file():
        print(f"{tool} is missing: run scripts/packages", file=sys.stderr)
        return 2
    if not (build / "compile_commands.json").is_file():
        print(f"{build}/compile_commands.json is missing: run scripts/build", file=sys.stderr)
        return 2
    version = subprocess.run([str(tool), "--version"], capture_output=True, text=True, check=True).stdout
    first = [version, (root / ".clang-tidy").read_text()]
    files = sources(root, build)
    kept_in = build / "tidy"
    kept_in.mkdir(exist_ok=True)
    findings, runs = set(), 0

    def result(source):
        folder, given = files[source]
        digest = digest_of(source, given, first)
        record = kept_in / (str(source.relative_to(root)).replace("/", "@") + ".json")
        if record.is_file():
            kept = json.loads(record.read_text())
            if kept["digest"] == digest:
                return kept["findings"], False
        found = look(tool, root, source, folder, given)
        fresh = record.with_suffix(".new")
        fresh.write_text(json.dumps({"digest": digest, "findings": found}))
        fresh.replace(record)
        return found, True

    looked_at = chosen(files, root, arguments.names)
    if not looked_at and not arguments.names:
        print("no file was looked at", file=sys.stderr)
        return 1
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for found, ran in pool.map(result, looked_at):
            runs += ran
            for finding in map(tuple, found):
                if finding not in findings:
                    findings.add(finding)
                    print("{}:{}:{}: {}".format(*finding), file=sys.stderr, flush=True)
    print(f"{len(looked_at)} files looked at, {runs} of them anew, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
