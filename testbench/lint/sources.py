#!/usr/bin/env python3
"""Python by ruff, shell by shellcheck, words by codespell, on every file that git knows.

usage: sources.py python|shell|words SOURCE_FOLDER
Exit code 0: no finding; 1: the findings, as the tool prints them; 2: the tool is missing (scripts/packages installs it)."""
import subprocess
import sys
from pathlib import Path

# Words of the field, of the source and of abc that codespell takes for slips.
WORDS = "atack,copyin,copys,dependant,fillin,fro,hart,harts,inout,iprove,kinf,kno,kown,queu,sems,twon,unexpect,withinn"
# Inputs that are meant to be wrong, and data.
NO_WORDS = ("testbench/fuzz/corpora/", "host/examples/digits/data/")
RUFF = ("check", "--select", "F,E7,E9,B", "--ignore", "E731", "--no-cache", "--quiet")  # a lambda with a name is a short function here


def known(root):
    """Files of the tree. Outside of a checkout by git: all that are no product of a build."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [root / name for name in listed.stdout.splitlines() if (root / name).is_file()]
    return [f for f in root.rglob("*") if f.is_file() and not f.relative_to(root).parts[0].startswith((".", "build"))]


def first_line(path):
    with path.open("rb") as file:
        return file.readline(200)


def is_text(path):
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def main():
    what, root = sys.argv[1], Path(sys.argv[2]).resolve()
    files = known(root)
    if what == "python":
        chosen = [f for f in files if f.suffix == ".py" or b"python" in first_line(f) and first_line(f).startswith(b"#!")]
        command = ["ruff", *RUFF]
    elif what == "shell":
        chosen = [f for f in files if first_line(f).startswith((b"#!/usr/bin/env bash", b"#!/bin/bash", b"#!/bin/sh"))]
        command = ["shellcheck"]
    elif what == "words":
        chosen = [f for f in files if not str(f.relative_to(root)).startswith(NO_WORDS) and is_text(f)]
        command = ["codespell", "--ignore-words-list", WORDS]
    else:
        print(__doc__, file=sys.stderr)
        return 2
    tool = root / ".venv/bin" / command[0]
    if not tool.is_file():
        print(f"{tool} is missing: run scripts/packages", file=sys.stderr)
        return 2
    if not chosen:
        print("no file was looked at", file=sys.stderr)
        return 1
    done = subprocess.run([str(tool), *command[1:], *map(str, chosen)])
    print(f"{len(chosen)} files looked at")
    return 1 if done.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
