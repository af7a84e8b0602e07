"""What runs in a guest, and beside one: commands by name, and what of their reports must be equal."""
import json
import re
import shlex
import subprocess
from pathlib import Path

from machine import Failed, address

CHIP = "nano"
FUNCTIONS = 8
DIGITS = "/digits"  # in the guest
ROOT = Path(__file__).resolve().parents[2]
# Reports of these programs, but for what depends on the machine's speed or names where a device is.
# From a descriptor's fetch to its validation pass 5,938 cycles in a function's first session and in each of a guest, 14,678 in later ones of this machine.
UNEQUAL = ("wall_seconds", "macs_per_second", "simulated_macs_per_second", "message", "interrupts", "fetched_to_validated", "doorbell_to_completion")
# The kernel resets a function more often than a driver does; a reset took 21,168 cycles in a guest and 23,132 outside, or the same.
RESETS = re.compile(r"\bgeneration [0-9]+ in [0-9]+ cycles")
# Differed between runs, in a guest and outside: which commands the second read of host memory lets fail; how often a bad doorbell was rung before the
# caller saw its queue halted, and so which later commands completed with the error. That the caller's speed decides it was not measured.
UNORDERED = {"fault_host_memory": ("commands",), "fault_doorbell": ("acted", "completions")}
SHAPES = (("gemm small", "64x64x64", "bf16"), ("gemm", "256x256x256", "bf16"), ("gemm int8", "96x200x72", "int8"))
# One fault of each class that one function can have for itself. What ends the firmware or the chip ends it for all functions of a simulator:
# no function's reset brings that back. Name, schedule, the status that the first caller sees who does not see OK.
FAULTS = (("descriptor", 'kind = "host_read_flip"\nnth = 1\nvalue = 77', "BAD_DESCRIPTOR"),
          ("doorbell", 'kind = "doorbell_value"\nqueue = 1\nvalue = 100\ncount = "for ever"', "BAD_DOORBELL"),
          ("host memory", 'kind = "host_read_error"\nnth = 2', "DMA_FAULT"),
          ("HBM", 'kind = "hbm_read_error"\nnth = 1', "DMA_FAULT"),
          ("completion", 'kind = "completion_lost"\nqueue = 1\nnth = 3', "TIMEOUT_WAIT"),
          ("interrupt", 'kind = "interrupt_lost"\nvector = 1\ncount = "for ever"', "OK"),
          ("compute", 'kind = "core_vmem_flip"\naddress = 0\ndata = 3\ncommand = 1', "COMPUTE_FAULT"),
          ("engine", 'kind = "core_not_done"\nqueue = "mxu"\ncommand = 1', "DEVICE_HUNG"),
          ("link", 'kind = "core_raise"\nqueue = "vpu"\ncommand = 1\ncode = "ICI"', "ICI_FAULT"))


def word(name):
    return name.replace(" ", "_")


class Case:
    """A command of a program of the build. `device` stands for the words that name the device; `files` are what it writes: their sum is part of its result."""

    def __init__(self, name, *words, files=()):
        self.name, self.words, self.files = word(name), words, files

    def shell(self, device):
        return " ".join(shlex.quote(str(text)) for text in (*self.words, *device))


def faults_file(name):
    return f"/faults/{word(name)}.toml"


def compared():
    """Cases whose report in the guest must be the one that the same command gives outside."""
    yield Case("selftest", "weft", "selftest", "--chip", CHIP, "--hbm-mib", 1, "--json")
    for name, shape, precision in SHAPES:
        yield Case(name, "weft", "gemm", "--shape", shape, "--precision", precision, "--chip", CHIP, "--verify", "--json", "-o", "c.npy", files=("c.npy",))
    yield Case("digits", "digits", "--chip", CHIP, "--data", DIGITS, "--json")
    for name, _, _ in FAULTS:
        yield Case(f"fault {name}", "weft", "inject", faults_file(name), "--json")


def script(weft_id):
    """The guest's /tests: sourced by init, which has `run` and `result`."""
    device = ("--open", f"pci:{address(0)}")
    lines = [f"WEFT_ID={weft_id}", "cd /tmp", "run unbound weft list --json", "run refused weft gemm --shape 8x8x8 " + " ".join(device), "bind", "run list weft list --json"]
    for case in compared():
        sums = "".join(f"; sha256sum {file}" for file in case.files)
        lines.append(f"run {case.name} sh -c {shlex.quote(case.shell(device) + ' && true' + sums)}" if sums else f"run {case.name} {case.shell(device)}")
    lines += [f"run reset sh -c 'cat /sys/bus/pci/devices/{address(0)}/reset_method && echo 1 > /sys/bus/pci/devices/{address(0)}/reset'",
              f"run after_reset sh -c {shlex.quote(next(c for c in compared() if c.name == 'gemm').shell(device) + ' && sha256sum c.npy')}",
              # One process for each function, all at once, and meanwhile a second one on the first function.
              "for i in 0 1 2 3 4 5 6 7; do (mkdir -p /tmp/$i; cd /tmp/$i; weft gemm --shape 128x96x64 --seed $i --chip nano --verify --json -o c.npy "
              "--open pci:0000:00:0$(printf %x $((5 + i))).0 > /tmp/eight_$i.out 2> /tmp/eight_$i.err; code=$?; sha256sum c.npy >> /tmp/eight_$i.out; echo $code > code) & done",
              "wait", "for i in 0 1 2 3 4 5 6 7; do result eight_$i $(cat /tmp/$i/code); done",
              f"weft gemm --shape 768x768x768 {' '.join(device)} --chip nano > /tmp/long.out 2>&1 &",
              "owner=$!; sleep 1; run busy weft gemm --shape 8x8x8 " + " ".join(device), "run interrupts grep vfio-msix /proc/interrupts",
              "run listed_busy weft list --json", "wait $owner"]
    return "\n".join(lines) + "\n"


def reports(text):
    """The JSON at the beginning of an output, and the lines behind it."""
    value, end = json.JSONDecoder().raw_decode(text)
    return value, text[end:].strip().splitlines()


def comparable(value, without=()):
    if isinstance(value, dict):
        return {key: comparable(item, without) for key, item in value.items() if key not in UNEQUAL and key not in without}
    if isinstance(value, list):
        return [comparable(item, without) for item in value]
    return RESETS.sub("reset", value) if isinstance(value, str) else value


def unequal(inside, expected, place="report"):
    """Places where two reports differ, a sentence each."""
    if isinstance(inside, dict) and isinstance(expected, dict) and inside.keys() == expected.keys():
        return [sentence for key in inside for sentence in unequal(inside[key], expected[key], f"{place}.{key}")]
    if isinstance(inside, list) and isinstance(expected, list) and len(inside) == len(expected):
        return [sentence for i, item in enumerate(inside) for sentence in unequal(item, expected[i], f"{place}[{i}]")]
    return [] if inside == expected else [f"{place}: {json.dumps(inside)[:200]} in the guest, {json.dumps(expected)[:200]} outside"]


def differences(case, guest, outside):
    """What differs between the results of a case, a sentence each."""
    if guest.code != outside.code:
        return [f"{case}: exit code {guest.code} in the guest, {outside.code} outside: {guest.err.strip()[-300:]}"]
    inside, sums = reports(guest.out)
    expected, expected_sums = reports(outside.out)
    found = [] if sums == expected_sums else [f"{case}: {sums} in the guest, {expected_sums} outside"]
    inside, expected = (comparable(report, UNORDERED.get(case, ())) for report in (inside, expected))
    return found + [f"{case}: {sentence}" for sentence in unequal(inside, expected)]


class Outside:
    """Runs cases on this machine against a simulator's first function."""

    class Result:
        def __init__(self, code, out, err):
            self.code, self.out, self.err = code, out, err

    def __init__(self, build, folder, faults):
        self.build, self.folder = Path(build), Path(folder)
        for name, text in faults.items():
            (self.folder / name.strip("/")).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name.strip("/")).write_text(text)

    def here(self, word):
        """A word of a command of the guest, on this machine."""
        if word == DIGITS:
            return ROOT / "host/examples/digits"
        return self.folder / word.strip("/") if str(word).startswith("/faults/") else word

    def run(self, case, socket, limit_s=120):
        words = [self.build / "bin" / case.words[0], *map(self.here, case.words[1:]), "--open", f"vfio-user:{socket}"]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=limit_s, cwd=self.folder, check=False)
        out = done.stdout
        if case.files:
            out += subprocess.run(["sha256sum", *case.files], capture_output=True, text=True, cwd=self.folder, check=True).stdout
        return self.Result(done.returncode, out, done.stderr)


def fault_files():
    return {faults_file(name): f"[[fault]]\n{text}\n" for name, text, _ in FAULTS}


def expect(true, sentence):
    if not true:
        raise Failed(sentence)
