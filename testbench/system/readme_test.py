#!/usr/bin/python3
"""Every weft command of the README runs as it stands there, in a clone with its build beside it."""
import os
import re
import subprocess
import unittest

import numpy as np

from weft_command import BUILD, SOURCE, WeftTest


def readme_commands():
    """Lines of the README's code blocks that call a program of build/bin, variables before it or not, continuation lines joined."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ").strip() for line in lines if re.match(r"(\$ )?(\w+=\S+ )*build/bin/", line)]


class Readme(WeftTest):
    def setUp(self):
        super().setUp()
        for name in ("host", "docs", "scripts", "spec"):
            (self.folder / name).symlink_to(SOURCE / name)
        (self.folder / "build").symlink_to(BUILD)
        random = np.random.default_rng(1)
        np.save(self.path("A.npy"), random.uniform(-1, 1, (64, 96)).astype(np.float32))
        np.save(self.path("B.npy"), random.uniform(-1, 1, (96, 32)).astype(np.float32))
        np.save(self.path("x.npy"), random.uniform(0, 1, (4, 64)).astype(np.float32))

    def test_commands(self):
        commands = [c for c in readme_commands() if not c.startswith("build/bin/weft-sim")]
        self.assertTrue(commands, "README.md shows no command of build/bin")
        for command in commands:
            with self.subTest(command=command):
                run = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=300, env={**os.environ})
                self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)


if __name__ == "__main__":
    unittest.main()
