"""Jobs in files, and ici_replay on them."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import chakra_schema

ICI_REPLAY = os.environ["ICI_REPLAY"]
WRONG_INPUT = 2


class ReplayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, ranks, name="job"):
        """ranks: nodes, or bytes, of each rank. Returns the prefix of the job."""
        for path in self.folder.glob(f"{name}.*.et"):
            path.unlink()
        for rank, nodes in enumerate(ranks):
            (self.folder / f"{name}.{rank}.et").write_bytes(nodes if isinstance(nodes, bytes) else chakra_schema.to_bytes(nodes))
        return name

    def run_replay(self, *arguments):
        done = subprocess.run([ICI_REPLAY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def replay(self, *arguments):
        """Of flows without framing unless it says --packets."""
        packets = "--packets" in arguments
        arguments = [a for a in arguments if a != "--packets"]
        code, out, err = self.run_replay(*arguments, "--no-framing", *(() if packets else ("--flows",)), "--json")
        self.assertEqual((code, err), (0, ""), out)
        return json.loads(out)

    def refuse(self, ranks, *words, arguments=()):
        code, out, err = self.run_replay(self.write(ranks), "--slice", "v5e-2x2", *arguments)
        self.assertEqual((code, out), (WRONG_INPUT, ""), err)
        for word in words:
            self.assertIn(word, err)
        self.assertEqual(err.count("\n"), 1)
