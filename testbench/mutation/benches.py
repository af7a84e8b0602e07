"""Builds the benches from the mutated RTL and knows which of them contains a file.

Nothing is listed by hand: CMake's file API tells the test programs and their Verilated models, Ninja the sources of each."""
from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

STAGES = ("own", "bench", "system")      # whose tests: the block's own, other blocks', the whole core's
BENCH = [["-a", "~[small]"]]       # test cases that need the whole core of preset small: only nano's is built
SHARE = (38, 40)                  # of the bugs by hand, that the tests must kill
CHIPS = {"nano", "nano-4mxu", "nano-pe3", "small"}   # a model of another preset is not built: it costs minutes and kills nothing more
# What kills the mutants that the benches leave: the whole core, of nano with one MXU and with four, against the golden model.
SYSTEM = {"random_programs": [["--chip", "nano", "--count", "60", "--seed", "1000"],
                              ["--chip", "nano", "--count", "60", "--seed", "2000", "--illegal"],
                              ["--chip", "nano-4mxu", "--count", "60", "--seed", "3000"]],
          "rtl_core_test": [["-a", "~the same program is right on every size*"]],   # only the cores of nano are built
          "several_mxus_test": [["-a"]],
          "lockstep_core_test": [["-a", "~random commands*"]],
          "prefetch_core_test": [["-a"]],          # commands from HBM
          "slice_core_test": [["-a"]],             # straps, the ici ports
          "injection_test": [["-a"]]}              # what only an injected fault reaches: ECC, lost dones


class BuildError(Exception):
    """The mutated RTL or a bench does not build."""


@dataclass
class Program:
    """One run of a test program."""
    name: str
    path: Path
    arguments: list[str]
    folder: str                              # of its CMakeLists.txt, e.g. testbench/rtl/dma
    files: set[str] = field(default_factory=set)   # of rtl/ that its models contain
    cpu_seconds: float = 0.0                 # of the run without a mutant

    def stage(self, block: str) -> str:
        """One of STAGES, seen from a block."""
        if self.folder == f"testbench/rtl/{block}":
            return "own"
        return "bench" if self.folder.startswith("testbench/rtl/") else "system"

    @property
    def label(self) -> str:
        return " ".join([self.name] + [a for a in self.arguments if a != "-a" and not a.startswith("~")])


def has_test_cases(target: dict, names: set[str]) -> bool:
    """Whether an executable of CMake's file API, with the names of all targets that it reaches, is a Catch2 program: its main() is the package's or of the build."""
    linked = (fragment["fragment"] for fragment in target.get("link", {}).get("commandFragments", []))
    return "weft_catch_main" in names or any("Catch2WithMain" in fragment for fragment in linked)


class Build:
    """The CMake build of the mutated tree, beside the tree itself."""

    def __init__(self, root: Path, folder: Path):
        self.root, self.rtl, self.build = root, folder / "rtl", folder / "cmake"
        self.log = folder / "build.log"

    def configure(self) -> None:
        query = self.build / ".cmake/api/v1/query/codemodel-v2"
        query.parent.mkdir(parents=True, exist_ok=True)
        query.touch()
        self.run(["cmake", "--preset", "release", "-B", str(self.build), "-DWEFT_RTL_CHIPS=nano;nano-4mxu", "-DWEFT_RTL_STRUCTURAL_CHIPS=",
                  f"-DWEFT_MUTATED_RTL={self.rtl}"])

    def programs(self) -> list[Program]:
        """The test programs of testbench/rtl and those of SYSTEM that a model of the RTL is linked to."""
        reply = self.build / ".cmake/api/v1/reply"
        model = json.loads(max(reply.glob("codemodel-v2-*.json"), key=lambda f: f.stat().st_mtime).read_text())
        targets = {t["id"]: json.loads((reply / t["jsonFile"]).read_text()) for t in model["configurations"][0]["targets"]}
        found = []
        for target in targets.values():
            folder = target["paths"]["source"]
            bench = folder.startswith("testbench/rtl/")
            if target["type"] != "EXECUTABLE" or not (bench or target["name"] in SYSTEM):
                continue
            reached = closure(target["id"], targets)
            names = {targets[i]["name"] for i in reached}
            models = [targets[i] for i in reached if targets[i].get("folder", {}).get("name", "").startswith("rtl/")]
            chips = {m["folder"]["name"].removeprefix("rtl/") for m in models if m["type"] == "UTILITY"}
            if not chips or not chips <= CHIPS or (bench and not has_test_cases(target, names)):
                continue
            files = set().union(*(self.sources(m["name"].removesuffix("_verilate")) for m in models
                                  if m["type"] == "UTILITY"))
            path = self.build / target["artifacts"][0]["path"]
            for arguments in SYSTEM.get(target["name"], BENCH):
                found.append(Program(target["name"], path, arguments, folder, files))
        return found

    def sources(self, model: str) -> set[str]:
        """Files of rtl/ that a Verilated model is made of."""
        units = f"verilated/{model}/units/fast.cpp"
        lines = self.run(["ninja", "-C", str(self.build), "-t", "query", units]).splitlines()
        inputs = (line.strip() for line in lines)
        return {"rtl/" + str(Path(i).relative_to(self.rtl)) for i in inputs if i.startswith(str(self.rtl) + "/")}

    def compile(self, programs: list[Program], jobs: int) -> None:
        names = sorted({program.name for program in programs})
        self.run(["cmake", "--build", str(self.build), "-j", str(jobs), "--target", *names])

    def run(self, command: list[str]) -> str:
        done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text(done.stdout)
        if done.returncode != 0:
            raise BuildError(f"{' '.join(command[:4])} ... failed, log: {self.log}\n{done.stdout[-3000:]}")
        return done.stdout


def closure(start: str, targets: dict) -> set[str]:
    reached, open_ids = set(), [start]
    while open_ids:
        identifier = open_ids.pop()
        if identifier in reached or identifier not in targets:
            continue
        reached.add(identifier)
        open_ids += [d["id"] for d in targets[identifier].get("dependencies", [])]
    return reached


def order(programs: list[Program], file: str, until: str = "system") -> list[Program]:
    """Those that contain the file, up to a stage: stage after stage, the quick ones first."""
    return order_of(programs, (file,), until)


def order_of(programs: list[Program], files: tuple[str, ...], until: str = "system") -> list[Program]:
    """The same for several files, the first of which tells the block."""
    block = files[0].split("/")[1]
    chosen = [p for p in programs if p.files & set(files) and STAGES.index(p.stage(block)) <= STAGES.index(until)]
    return sorted(chosen, key=lambda p: (STAGES.index(p.stage(block)), p.cpu_seconds))
