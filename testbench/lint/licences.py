#!/usr/bin/env python3
"""Every file has a copyright holder and a licence whose text is in LICENSES/ (REUSE.toml), by the tool of reuse.software. The texts are whole: that of
Apache-2.0 is LICENSE, that of CC-BY-4.0 is Creative Commons' own plain text, numbers of its sections and all, as the package license-expression has it.

usage: licences.py SOURCE_FOLDER      (reuse stands in .venv: scripts/packages)
Exit code 0: every file has; 1: what the tool says; 2: it is missing."""
import json
import subprocess
import sys
from pathlib import Path


def wrong_texts(root):
    """Sentences on the texts of LICENSES/ that are not those of their source."""
    sources = {"Apache-2.0": [root / "LICENSE"], "CC-BY-4.0": list(root.glob(".venv/lib/python3*/site-packages/license_expression/data/cc-by-4.0.LICENSE"))}
    texts = {path.stem: path.read_text() for path in (root / "LICENSES").glob("*.txt")}
    wrong = [f"LICENSES/{name}.txt: what its text is compared with is not known: add it here" for name in sorted(texts.keys() - sources.keys())]
    for name, found in sources.items():
        if len(found) != 1:
            wrong.append(f"{name}: {len(found)} texts to compare with")
        elif texts.get(name) != found[0].read_text():
            wrong.append(f"LICENSES/{name}.txt is not the text of {found[0].relative_to(root)}")
    return wrong


def main():
    root = Path(sys.argv[1]).resolve()
    reuse = root / ".venv" / "bin" / "reuse"
    if not reuse.is_file():
        print(f"{reuse} is missing: run scripts/packages", file=sys.stderr)
        return 2
    done = subprocess.run([reuse, "--root", root, "lint", "--json"], capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.stderr.write(done.stdout + done.stderr)
        return 1
    files = report["summary"]["files_total"]
    print(f"{files} files looked at, licences: {', '.join(report['summary']['used_licenses'])}")
    if done.returncode != 0:
        print(json.dumps(report["non_compliant"], indent=2), file=sys.stderr)
    wrong = wrong_texts(root)
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong or done.returncode != 0 or not files or not report["summary"]["compliant"] else 0


if __name__ == "__main__":
    sys.exit(main())
