#!/usr/bin/python3
"""docs/hang_report.md: its command leaves a report whose rerun line makes waves; docs_output_test.py compares the report with the page."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
from transcripts import read_page  # noqa: E402

SOURCE, BUILD = Path(os.environ["WEFT_SOURCE"]), Path(os.environ["WEFT_BUILD"])
PAGE = (SOURCE / "docs" / "hang_report.md").read_text()


def shell(command, folder, **variables):
    environment = {**os.environ, "WEFT_REPORT_DIR": str(folder), **variables}
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=300, env=environment)


class Page(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        (self.folder / "build").symlink_to(BUILD)

    def test_the_rerun_line_of_the_example(self):
        run = shell(read_page(PAGE).steps[0].command, self.folder)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        reports = sorted(self.folder.glob("weft-hang-*.txt"))
        self.assertTrue(reports, "the command of the page leaves no report")
        text = reports[0].read_text()
        self.assertEqual(json.loads(reports[0].with_suffix(".json").read_text())["weft_hang_report"], 1)
        rerun = re.search(r"^rerun\s+(.*)$", text, re.MULTILINE).group(1)
        again = shell(rerun, self.folder)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        waves = Path(re.search(r"WEFT_WAVE=(\S+)", rerun).group(1))
        self.assertGreater(waves.stat().st_size, 0)

    def test_every_name_of_the_page_exists(self):
        header = (SOURCE / "driver" / "include" / "weft" / "weft.h").read_text()
        sources = "".join(path.read_text() for path in (SOURCE / "driver").rglob("*.cpp"))
        structures = (SOURCE / "spec" / "state_page.toml").read_text()
        for name in set(re.findall(r"`(weft_\w+)`", PAGE)):
            self.assertTrue(name in header + sources or f'"{name.removeprefix("weft_")}"' in structures, name)
        for name in set(re.findall(r"`(WEFT_[A-Z_]+)", PAGE)):
            self.assertIn(name, sources + header)


if __name__ == "__main__":
    unittest.main()
