"""The guest test set: boots, runs every case in the guest and outside, compares; and guests that are killed."""
import json
import random
import re
import tempfile
import time
from pathlib import Path

import cases
import initramfs
import packages
from cases import CHIP, FUNCTIONS, ROOT, expect
from machine import Failed, Guest, Simulator, address

LIMIT_S = 1800  # of one guest, beside whatever else the machine does
PROGRAMS = ("weft", "digits")
KILL_SECONDS = 15  # a guest that is killed has lived for at most so long


def weft_id():
    """Vendor and device, as sysfs writes them: "0x1ae1:0x7ef7"."""
    text = (ROOT / "spec/host_interface.toml").read_text()
    return ":".join(f"0x{int(re.search(rf'^{name}_id = (0x[0-9a-f]+)', text, re.MULTILINE)[1], 16):04x}" for name in ("vendor", "device"))


def image(kernel, build, script):
    out = initramfs.Image()
    out.add_kernel(kernel)
    for program in PROGRAMS:
        out.add_program(f"/bin/{program}", build / "bin" / program)
    for file in ("digits.onnx", "optdigits.csv"):
        out.add_file(f"{cases.DIGITS}/{file}", ROOT / "host/examples/digits" / file)
    for path, text in cases.fault_files().items():
        out.add(path, text.encode())
    out.add_file("/init", Path(__file__).with_name("init"))
    out.add("/tests", script.encode())
    return out.archive()


class TestSet:
    """One boot with eight functions. `report` gets figures; findings are sentences."""

    def __init__(self, build, qemu, kernel, accel, core, options=(), say=print):
        self.build, self.qemu, self.kernel, self.accel, self.core, self.options, self.say = Path(build), qemu, kernel, accel, core, options, say
        self.findings = []
        self.report = {"accel": accel, "qemu": ".".join(map(str, qemu.version)), "core": core}

    def check(self, true, sentence):
        if not true:
            self.findings.append(sentence)
            self.say(f"FAIL  {sentence}")
        return true

    def run(self, folder):
        folder = Path(folder)
        with (folder / "weft-sim.log").open("w") as log:
            with Simulator(self.build / "bin/weft-sim", folder / "guest", CHIP, self.core, FUNCTIONS, log, self.options) as simulator:
                results, seconds = Guest(self.qemu, self.kernel, image(self.kernel, self.build, cases.script(weft_id())), simulator, folder, self.accel).start().ended(LIMIT_S)
                self.after(simulator, folder)
            with Simulator(self.build / "bin/weft-sim", folder / "outside", CHIP, self.core, FUNCTIONS, log) as simulator:
                self.compare(results, simulator, folder)
        self.look(results)
        self.report.update(seconds=round(seconds, 1), boot_seconds=results["unbound"].seconds, cases=len(results), findings=len(self.findings))
        return not self.findings

    def after(self, simulator, folder):
        """What a guest had is free once it has ended, and works."""
        outside = cases.Outside(self.build, folder, {})
        case = next(c for c in cases.compared() if c.name == "gemm_small")
        done = outside.run(case, simulator.socket(0))
        self.check(done.code == 0, f"after the guest's end its function does not serve this machine: {done.err.strip()}")

    def compare(self, results, simulator, folder):
        outside = cases.Outside(self.build, folder, cases.fault_files())
        compared, cycles = 0, 0
        for case in cases.compared():
            if not self.check(case.name in results, f"{case.name}: the guest has no result"):
                continue
            expected = outside.run(case, simulator.socket(0))
            found = cases.differences(case.name, results[case.name], expected)
            for sentence in found:
                self.check(False, sentence)
            if not found:
                compared += 1
                report = json.JSONDecoder().raw_decode(results[case.name].out)[0]
                if isinstance(report, dict) and "device_cycles" in report:
                    cycles += report["device_cycles"]
                    self.check(report.get("differing", 0) == 0, f"{case.name}: {report.get('differing')} elements differ")
                self.say(f"pass  {case.name}: as outside")
        for name, _, status in cases.FAULTS:
            result = results.get(cases.word(f"fault {name}"))
            if result and result.code == 0:
                trial = json.loads(result.out)[0]
                self.check(trial["status"] == status, f"fault {name}: {trial['status']}, not {status}")
                self.check(trial["acted"] > 0 and not trial["broken"], f"fault {name}: acted {trial['acted']}, broken: {trial['broken']}")
        self.report.update(compared=compared, of=sum(1 for _ in cases.compared()), device_cycles=cycles)

    def look(self, results):
        """Cases of the guest alone."""
        def ok(name):
            return self.check(name in results and results[name].code == 0, f"{name}: exit code {results[name].code}: {results[name].err.strip()[-300:]}" if name in results else f"{name}: no result")

        def functions(name):
            return [entry for entry in json.loads(results[name].out) if entry["name"].startswith("pci:")]

        if ok("unbound"):
            listed = functions("unbound")
            self.check(len(listed) == FUNCTIONS and all("not bound to vfio-pci" in entry["obstacle"] for entry in listed), f"weft list before the functions are bound: {listed}")
        self.check("not bound to vfio-pci" in results["refused"].err and results["refused"].code != 0, f"a function that is not bound opens, or says why not: {results['refused'].err}")
        if ok("list"):
            self.check([entry["name"] for entry in functions("list") if not entry["obstacle"] and not entry["busy"]] == [f"pci:{address(i)}" for i in range(FUNCTIONS)],
                       f"weft list: {functions('list')}")
        if ok("reset"):
            self.report["reset_method"] = results["reset"].out.strip()
            self.check("flr" in results["reset"].out, f"the kernel's way to reset is '{results['reset'].out.strip()}', not flr")
        if ok("after_reset"):
            for sentence in cases.differences("gemm after the kernel's reset", results["after_reset"], results["gemm"]):
                self.check(False, sentence)
        eight = [f"eight_{i}" for i in range(FUNCTIONS)]
        if all([ok(name) for name in eight]):
            values = [cases.reports(results[name].out) for name in eight]
            self.check(all(report["differing"] == 0 for report, _ in values), "eight processes: an element differs")
            self.check(len({sums[0] for _, sums in values}) == FUNCTIONS, "eight processes with eight seeds: two have one result")
        self.check("BUSY" in results["busy"].err and "belongs to process" in results["busy"].err, f"a function that another process has: {results['busy'].err}")
        if ok("listed_busy"):
            first = functions("listed_busy")[0]
            self.check(first["busy"] and first["owner"] > 0, f"weft list of a function in use: {first}")
        if ok("interrupts"):
            self.check("vfio-msix[0](" in results["interrupts"].out, "/proc/interrupts has no MSI-X vector of the device")


def killed_guests(build, qemu, kernel, accel, core, count, seed, folder, say=print):
    """Guests that die at any moment; after each its functions serve the next, and a last one runs to its end. Raises Failed."""
    draw = random.Random(seed)
    folder = Path(folder)
    device = f"--open pci:{address(0)}"
    work = image(kernel, build, f"WEFT_ID={weft_id()}\nbind\nwhile true; do run gemm weft gemm --shape 96x96x96 --chip {CHIP} --verify --json {device} || break; done\n")
    last = image(kernel, build, f"WEFT_ID={weft_id()}\nbind\nrun gemm weft gemm --shape 96x96x96 --chip {CHIP} --verify --json {device}\n")
    used = 0
    with (folder / "weft-sim.log").open("w") as log, Simulator(Path(build) / "bin/weft-sim", folder / "guest", CHIP, core, 1, log) as simulator:
        for number in range(count):
            guest = Guest(qemu, kernel, work, simulator, folder, accel).start()
            time.sleep(draw.uniform(0.1, KILL_SECONDS))
            expect(guest.process.poll() is None, f"guest {number} of seed {seed} ended by itself ({guest.process.returncode}): {guest.errors.read_text().strip()[-300:]} {guest.tail()}")
            lines = guest.lines()
            guest.kill()
            used += bool(lines)
            expect(all(line.split()[2] == "0" for line in lines), f"guest {number} of seed {seed}: a product failed: {guest.tail()}")
            expect(simulator.process.poll() is None, f"weft-sim ended with guest {number} of seed {seed}")
            if (number + 1) % 10 == 0:
                say(f"{number + 1} guests killed, {used} of them after a product")
        results, _ = Guest(qemu, kernel, last, simulator, folder, accel).start().ended(LIMIT_S)
        expect(results["gemm"].code == 0, f"the guest after {count} that were killed: {results['gemm'].err.strip()}")
    return {"killed": count, "after_a_product": used, "served": True, "seed": seed}


def with_folder(work, keep=None):
    """Runs `work` in a folder of its own; `keep` names one that stays."""
    if keep:
        Path(keep).mkdir(parents=True, exist_ok=True)
        return work(Path(keep))
    with tempfile.TemporaryDirectory(prefix="weft-guest-") as folder:
        return work(Path(folder))


__all__ = ["Failed", "TestSet", "killed_guests", "packages", "with_folder"]
