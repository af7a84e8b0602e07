"""What synthesis.py refuses: each module of refused/ for its reason, and nothing of accepted/."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent


def synthesise(path):
    done = subprocess.run(["/usr/bin/python3", HERE / "synthesis.py", "--read", path, "--top", path.stem], capture_output=True, text=True, timeout=200)
    return done.returncode, done.stdout + done.stderr


class Refusals(unittest.TestCase):
    def test_each_broken_module_is_refused_for_its_reason(self):
        reasons = {"latch": "latch ", "two_drivers": "multiple conflicting drivers", "loop": "logic loop", "undriven": "middle is used but has no driver",
                   "black_box": "black box unknown_cell"}
        self.assertEqual({path.stem for path in (HERE / "refused").glob("*.sv")}, set(reasons))
        for name, reason in reasons.items():
            code, text = synthesise(HERE / "refused" / f"{name}.sv")
            self.assertEqual(code, 1, text)
            self.assertIn(reason, text)

    def test_a_register_is_accepted_and_counted(self):
        code, text = synthesise(HERE / "accepted" / "register.sv")
        self.assertEqual(code, 0, text)
        self.assertIn("| register | 1 | 2 | 4 | 0 |", text)

    def test_garbage_is_refused_and_names_the_place(self):
        garbage = HERE / "refused" / "latch.sv"
        code, text = subprocess.getstatusoutput(f"/usr/bin/python3 {HERE}/synthesis.py --read {garbage} --top no_such_module")
        self.assertNotEqual(code, 0)
        self.assertIn("no_such_module", text)


if __name__ == "__main__":
    unittest.main()
