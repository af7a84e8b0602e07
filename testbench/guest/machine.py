"""A simulator and a virtual machine that sees its functions as PCI functions."""
import base64
import signal
import subprocess
import time
from pathlib import Path

FIRST_SLOT = 5  # PCI slot of function 0
# An emulated timer on a busy machine may fail the kernel's own test of it, which then panics.
APPEND = "console=ttyS0 quiet panic=-1 intel_iommu=on iommu=nopt no_timer_check"
PATIENCE_S = 30  # for a simulator to listen, and to end


class Failed(Exception):
    """A guest or a simulator that did not do what it should."""


def address(function):
    """Where the guest sees a function."""
    return f"0000:00:{FIRST_SLOT + function:02x}.0"


class Simulator:
    """weft-sim with some functions, listening in `folder`. Ends with the context."""

    def __init__(self, weft_sim, folder, chip, core, functions, log, options=()):
        self.folder, self.functions, self.log = Path(folder), functions, log
        self.command = [weft_sim, "--chip", chip, "--core", core, "--functions", str(functions), "--allow-inject", "--listen", folder, *options]
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(list(map(str, self.command)), stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        end = time.monotonic() + PATIENCE_S
        while not all(self.socket(function).exists() for function in range(self.functions)):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"weft-sim does not listen in {self.folder} (its exit code: {self.process.poll()})")
            time.sleep(0.02)
        return self

    def __exit__(self, *reason):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed("weft-sim did not end") from None
        if code != 0 and reason[0] is None:
            raise Failed(f"weft-sim ended with {code}")

    def socket(self, function):
        return self.folder / f"function{function}.sock"


class Result:
    """What a test of the guest left: exit code, seconds since its kernel began, standard output and error."""

    def __init__(self, line):
        _, self.name, code, seconds, out, err = (line.split(" ") + ["", ""])[:6]
        self.code, self.seconds = int(code), float(seconds)
        self.out, self.err = (base64.b64decode(text if text != "-" else "").decode(errors="replace") for text in (out, err))


class Guest:
    """QEMU with an image. Its console goes to console.log of `folder`, results to results.log; `accel` is tcg or kvm."""

    def __init__(self, qemu, kernel, image, simulator, folder, accel="tcg", memory_mib=1024):
        folder = Path(folder)
        self.console, self.results, self.errors = folder / "console.log", folder / "results.log", folder / "qemu.log"
        initrd = folder / "initramfs"
        initrd.write_bytes(image)
        self.environment = qemu.environment
        self.command = [*qemu.command, "-machine", "q35,memory-backend=memory,kernel-irqchip=split" if accel == "kvm" else "q35,memory-backend=memory", "-accel", accel, "-cpu",
                        "max" if accel == "tcg" else "host", "-m", str(memory_mib), "-object", f"memory-backend-memfd,id=memory,size={memory_mib}M,share=on", "-display", "none",
                        "-nodefaults", "-no-reboot", "-kernel", kernel.image, "-initrd", initrd, "-append", APPEND,
                        "-serial", f"file:{self.console}", "-serial", f"file:{self.results}", "-device", "intel-iommu,intremap=on,caching-mode=on"]
        for function in range(simulator.functions):
            self.command += ["-device", '{"driver":"vfio-user-pci","socket":{"type":"unix","path":"%s"},"addr":"%02x.0"}' % (simulator.socket(function), FIRST_SLOT + function)]
        self.process = None
        self.began = 0

    def start(self):
        for file in (self.console, self.results):
            file.unlink(missing_ok=True)
        self.began = time.monotonic()
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(list(map(str, self.command)), stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=self.environment)
        return self

    def lines(self):
        """Results that are whole so far."""
        text = self.results.read_text(errors="replace") if self.results.exists() else ""
        return [line for line in text.split("\n")[:-1] if line.startswith("result ")]

    def ended(self, limit_s):
        """Waits for the power-off. Returns results by name, and seconds from QEMU's start to the last. Raises Failed."""
        last, seconds = 0, 0.0
        while self.process.poll() is None:
            now = time.monotonic() - self.began
            if len(self.lines()) > last:
                last, seconds = len(self.lines()), now
            if now > limit_s:
                self.kill()
                raise Failed(f"the guest did not end within {limit_s} s; its console: {self.tail()}")
            time.sleep(0.05)
        results = [Result(line) for line in self.lines()]
        if not results or results[-1].name != "end":
            raise Failed(f"the guest ended before its tests did (QEMU: {self.process.returncode}, {self.errors.read_text().strip()[-300:]}); its console: {self.tail()}")
        return {result.name: result for result in results[:-1]}, seconds

    def kill(self):
        self.process.kill()
        self.process.wait()

    def tail(self):
        text = self.console.read_text(errors="replace") if self.console.exists() else ""
        return text.strip()[-600:]
