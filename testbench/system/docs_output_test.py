#!/usr/bin/python3
"""Every command that README.md, docs/ and the READMEs of the folders show runs as it stands there, and prints what stands there (transcripts.py
tells how a page marks them).

usage: docs_output_test.py [--slow] [--update] [PAGE ...]      default: all pages, without blocks marked slow
--update writes what the commands print now into the pages. Environment as weft_command.py has it. Exit code 0: all equal; 1: not."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.dont_write_bytecode = True
from transcripts import difference, read_page, replace_outputs, updated  # noqa: E402
from weft_command import BUILD, SOURCE  # noqa: E402

PATIENCE_S = 600
KEPT_LINES = 60  # of a command that should have succeeded
SHOWN_FOLDER = "/tmp/weft"  # of sockets in the pages; each page gets one of its own
SHOWN_HOME = "/home/me/weft"  # of the checkout
MARK = "<<<end of command>>>"


class Shell:
    """A bash in a folder of its own, which runs a page's commands one after the other and says what each printed."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="weft-docs-"))
        for path in SOURCE.iterdir():
            if not path.name.startswith(("build", ".")):
                (self.folder / path.name).symlink_to(path)
        (self.folder / "build").symlink_to(BUILD)
        self.sockets = self.folder / "tmp" / "weft"
        self.sockets.parent.mkdir()
        random = np.random.default_rng(1)
        np.save(self.folder / "A.npy", random.uniform(-1, 1, (64, 96)).astype(np.float32))
        np.save(self.folder / "B.npy", random.uniform(-1, 1, (96, 32)).astype(np.float32))
        np.save(self.folder / "x.npy", random.uniform(0, 1, (50, 64)).astype(np.float32))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_") or name == "WEFT_SIM"}
        environment |= {"PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(self.folder / "tmp"), "WEFT_REPORT_DIR": str(self.folder / "tmp")}
        self.bash = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=self.folder, env=environment, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, command):
        """Exit code and lines of a command. Paths of this run read as the pages show them."""
        command = command.replace(SHOWN_FOLDER, str(self.sockets)).replace(SHOWN_HOME, str(self.folder))
        self.bash.stdin.write(f"{command}\nstatus=$?; echo; echo '{MARK}' $status\n")
        self.bash.stdin.flush()
        guard = threading.Timer(PATIENCE_S, self.close)
        guard.start()
        lines = []
        for line in self.bash.stdout:
            if line.startswith(MARK):
                guard.cancel()
                if lines and not lines[-1]:
                    lines.pop()
                return int(line.split()[-1]), lines
            lines.append(line.rstrip("\n").replace(str(self.sockets), SHOWN_FOLDER).replace(str(self.folder), SHOWN_HOME).replace(str(SOURCE), SHOWN_HOME))
        guard.cancel()
        return -1, [*lines, f"(the shell ended, or the command ran for more than {PATIENCE_S} s)"]

    def close(self):
        """Ends what the page has left running."""
        try:
            os.killpg(self.bash.pid, 15)
        except ProcessLookupError:
            pass

    def remove(self):
        self.close()
        self.bash.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def check(page, slow, update):
    """Name, number of commands, number of blocks left out, and errors of a page."""
    text = (SOURCE / page).read_text()
    read = read_page(text, slow)
    errors, outputs = list(read.errors), {}
    if read.steps and not errors:
        shell = Shell()
        try:
            for step in read.steps:
                code, lines = shell.run(step.command)
                if step.shown is None:
                    wrong = "\n    ".join([f"exit code {code}, its last lines:", *lines[-KEPT_LINES:]]) if code else None
                else:
                    wrong = difference(step.shown, lines, step.live)
                    if wrong:
                        outputs[step.line] = updated(step, lines)
                if wrong and not (update and step.shown is not None and code >= 0):
                    errors.append(f"line {step.line}: {step.command}\n  {wrong}")
                if code < 0:
                    break
        finally:
            shell.remove()
    if update and outputs:
        (SOURCE / page).write_text(replace_outputs(text, outputs))
    return page, len(read.steps), read.left_out, errors


def pages():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
    return [page for page in listed if page != "CHANGELOG.md"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    arguments = parser.parse_args()
    found = arguments.pages or pages()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda page: check(page, arguments.slow, arguments.update), found))
    failed = 0
    for page, steps, left_out, errors in results:
        failed += len(errors)
        if steps or errors or left_out:
            print(f"{page}: {steps} commands, {len(errors)} differ" + (f", {left_out} blocks left out" if left_out else ""))
        for error in errors:
            print(f"{page}, {error}")
    commands = sum(steps for _, steps, _, _ in results)
    print(f"docs: {failed} of {commands} commands on {len(found)} pages differ from what they print now")
    if not commands and not arguments.pages:
        print("docs: no page shows a command: nothing was compared")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
