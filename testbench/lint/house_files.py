#!/usr/bin/env python3
"""The files by which editors and services know the tree (.pre-commit-config.yaml, .github/workflows, .devcontainer) can be read, and the
programs of the tree that they call exist.

usage: house_files.py SOURCE_FOLDER      (Python of .venv, which has PyYAML)
Exit code 0: all of it; 1: what is not."""
import json
import os
import re
import sys
from pathlib import Path

import yaml

PROGRAM = re.compile(r"(?<![\w./-])((?:scripts|testbench|\.ci)/[\w./-]+)")


def main():
    root = Path(sys.argv[1]).resolve()
    calls = []
    for hook in [hook for repo in yaml.safe_load((root / ".pre-commit-config.yaml").read_text())["repos"] for hook in repo["hooks"]]:
        calls.append((".pre-commit-config.yaml", hook["entry"]))
    for path in sorted((root / ".github" / "workflows").glob("*.yml")):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            calls += [(path.name, step["run"]) for step in job["steps"] if "run" in step]
    calls.append(("devcontainer.json", json.loads((root / ".devcontainer" / "devcontainer.json").read_text())["onCreateCommand"]))
    programs = [(where, program) for where, call in calls for program in PROGRAM.findall(call)]
    wrong = [f"{where}: {program} is no program of the tree" for where, program in programs if not os.access(root / program, os.X_OK)]
    print(f"{len(calls)} calls, {len(programs)} programs of the tree")
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong or len({where for where, _ in programs}) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
