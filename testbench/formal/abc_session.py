"""One berkeley-abc that answers a thousand questions: it computes tables as it starts, which take longer than most answers of a split induction."""
import os
import re
import signal
import subprocess
import time

from model import CannotRun, confined

_PROMPT = re.compile(rb"abc \d+> $")


class Session:
    """A context. One thread at a time. The table's limit is of all its questions together."""

    def __init__(self, folder, clock):
        self.clock = clock
        self.process = subprocess.Popen(confined(["berkeley-abc", "-s"], clock.limit), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def ask(self, commands):
        """What ABC prints, up to its next prompt. CannotRun: it has ended, or the limit is over."""
        started = time.monotonic()
        try:
            self.process.stdin.write(f"{commands}\n".encode())
            self.process.stdin.flush()
            return self._answer()
        except BrokenPipeError:
            return self._answer()
        finally:
            self.clock.seconds += time.monotonic() - started

    def _answer(self):
        said = b""
        while not (prompt := _PROMPT.search(said[-16:])):
            read = os.read(self.process.stdout.fileno(), 1 << 16)
            if not read:
                code = self.process.wait()
                if code in (-signal.SIGXCPU, -signal.SIGKILL):
                    raise CannotRun(f"berkeley-abc: the table's limit of {self.clock.limit} s of processor time is over")
                words = said.decode(errors="replace").strip()
                raise CannotRun(f"abc ended with {code}{': ' + words.splitlines()[-1] if words else ''}")
            said += read
        return said[:-len(prompt[0])].decode(errors="replace")
