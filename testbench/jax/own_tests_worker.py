"""Runs tests of one file of JAX's own on Weft's plugin, and writes a line of JSON for each begin and each end.

usage: own_tests_worker.py FILE list          writes {"tests": [...]}
       own_tests_worker.py FILE run < NAMES   writes {"begin": name}, {"end": name, "state": ..., "why": ...}

Started by own_tests.py, which outlives it when it crashes. Standard output is the lines and nothing else.
"""

import importlib.util
import json
import os
import pathlib
import sys
import traceback
import unittest

# JAX's prints and the plugin's go to standard error.
OUT = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))

import jax  # noqa: E402
import numpy as np  # noqa: E402
from absl import flags  # noqa: E402
from absl.testing import parameterized  # noqa: E402
from jax import dtypes  # noqa: E402
from jax._src import test_util  # noqa: E402

TYPES = {np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, dtypes.bfloat16, np.float16, np.float32}


def with_empty_lists(parameters):
    """A test whose every case is of a type that is left out has no cases; absl refuses the file for that."""
    def decorate(*lists):
        try:
            return parameters(*lists)
        except parameterized.NoTestsError:
            return lambda function: None
    return decorate


def load(path: pathlib.Path):
    test_util.supported_dtypes = lambda: set(TYPES)  # before the file asks for lists of types
    for name in ("parameters", "named_parameters"):
        setattr(parameterized, name, with_empty_lists(getattr(parameterized, name)))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    specification.loader.exec_module(module)
    jax.config.parse_flags_with_absl()
    flags.FLAGS(sys.argv[:1])
    return module


def cases(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def name_of(test) -> str:
    """Class and method; test.id() has the parameters too, with addresses that change from run to run."""
    return f"{type(test).__name__}.{test._testMethodName}"


class Result(unittest.TestResult):
    """Several failures of one test (its subtests) count as one, with the reason of the first."""

    def startTest(self, test):  # noqa: N802
        super().startTest(test)
        self.state, self.why = "passed", ""
        say(begin=name_of(test))

    def stopTest(self, test):  # noqa: N802
        super().stopTest(test)
        say(end=name_of(test), state=self.state, why=self.why)

    def fail(self, error):
        if self.state == "failed":
            return
        self.state = "failed"
        text = "".join(traceback.format_exception_only(error[0], error[1])).strip()
        self.why = text[:2000]

    def addError(self, test, error):  # noqa: N802
        self.fail(error)

    addFailure = addError  # noqa: N815

    def addSubTest(self, test, subtest, error):  # noqa: N802
        if error is not None:
            self.fail(error)

    def addSkip(self, test, reason):  # noqa: N802
        if self.state == "passed":
            self.state, self.why = "skipped", reason

    def addExpectedFailure(self, test, error):  # noqa: N802
        pass

    def addUnexpectedSuccess(self, test):  # noqa: N802
        self.state, self.why = "failed", "unexpected success"


def say(**event):
    print(json.dumps(event), file=OUT, flush=True)


def main() -> int:
    path, what = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    tests = {name_of(test): test for test in cases(unittest.defaultTestLoader.loadTestsFromModule(load(path)))}
    if what == "list":
        say(tests=list(tests))
        return 0
    names = sys.stdin.read().split("\n")
    for name in filter(None, names):
        unittest.TestSuite([tests[name]]).run(Result())
    return 0


if __name__ == "__main__":
    sys.exit(main())
