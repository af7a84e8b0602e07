"""The plugin's tests on each release of jaxlib that the wheel is for, in virtual environments that go afterwards.

usage: versions_test.py [--version VERSION ..] [--test FILE ..]      default: all of host/python/jax_versions.txt but the installed one
environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY

What JAX needs beside jaxlib is that of the Python that runs this. Exit code 0: all passed; 1: not so; 77: a release cannot be fetched.
"""

import argparse
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE.parents[1] / "host" / "python" / "jax_versions.txt"
TESTS = ("plugin_test", "programs_test", "serialized_test", "callbacks_test", "errors_test", "devices_test")
SKIPPED = 77


def listed() -> list[str]:
    return [line.strip() for line in LIST.read_text().splitlines() if line.strip() and not line.startswith("#")]


def environment_of(version: str, folder: pathlib.Path) -> pathlib.Path | None:
    """A Python with that release; None: it cannot be fetched."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    fetched = subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", f"jax=={version}", f"jaxlib=={version}"], check=False)
    if fetched.returncode != 0:
        return None
    packages = next((folder / "lib").glob("python3*/site-packages"))
    (packages / "rest_of_the_test.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin" / "python"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="append")
    parser.add_argument("--test", action="append")
    options = parser.parse_args()
    installed = importlib.metadata.version("jaxlib")
    if installed not in listed():
        print(f"{LIST.name} lacks {installed}, which is installed and which CI runs")
        return 1
    versions = options.version or [version for version in listed() if version != installed]
    failed = []
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="weft-jaxlib-") as folder:
            python = environment_of(version, pathlib.Path(folder))
            if python is None:
                print(f"skipped: jaxlib {version} cannot be fetched")
                return SKIPPED
            told = subprocess.run([python, "-c", "import jaxlib; print(jaxlib.__version__)"], capture_output=True, text=True, check=True).stdout.strip()
            if told != version:
                print(f"the environment for {version} has {told}")
                return 1
            for test in options.test or TESTS:
                done = subprocess.run([python, "-B", HERE / f"{test}.py"], capture_output=True, text=True, cwd=HERE, env=dict(os.environ), check=False)
                print(f"jaxlib {version}: {test} {'passed' if done.returncode == 0 else 'FAILED'}", flush=True)
                if done.returncode != 0:
                    print(done.stdout[-4000:], done.stderr[-4000:], sep="")
                    failed.append((version, test))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
