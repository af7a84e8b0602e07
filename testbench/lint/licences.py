#!/usr/bin/env python3
"""Every file has a copyright holder and a licence whose text is in LICENSES/ (REUSE.toml), by the tool of reuse.software.

usage: licences.py SOURCE_FOLDER      (reuse stands in .venv: scripts/packages)
Exit code 0: every file has; 1: what the tool says; 2: it is missing."""
import json
import subprocess
import sys
from pathlib import Path


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
    return 1 if done.returncode != 0 or not files or not report["summary"]["compliant"] else 0


if __name__ == "__main__":
    sys.exit(main())
