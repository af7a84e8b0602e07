#!/usr/bin/python3
"""A second reading of vfio-user, of PCI and of docs/reference against weft-sim: all cases beside this file."""
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def load_tests(loader, _tests, _pattern):
    suite = unittest.TestSuite()
    for path in sorted(HERE.glob("*_cases.py")):
        found = loader.loadTestsFromName(path.stem)
        if found.countTestCases() == 0 and not loader.testNamePatterns:  # with -k those of one file may be meant
            raise SystemExit(f"{path.name} has no cases")
        suite.addTests(found)
    if suite.countTestCases() == 0:
        raise SystemExit("no case has such a name")
    return suite


if __name__ == "__main__":
    unittest.main()
