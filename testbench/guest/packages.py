"""QEMU, a kernel and a busybox: those that are installed, else Debian's packages, unpacked into a folder. Nothing on the machine changes."""
import os
import re
import shutil
import subprocess
from pathlib import Path

NEEDED = (10, 1)  # QEMU's first release with a vfio-user client
QEMU_SUITES = ("trixie-backports", "trixie")  # the oldest of Debian's that has it
KERNEL_SUITES = ("bookworm",)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LIMIT_S = 600


class NotToBeHad(Exception):
    """What is missing, and why it cannot be fetched: a reason to skip."""


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, **options)


def version_of(command, environment=None):
    """(10, 1) of "QEMU emulator version 10.1.2 (Debian ...)"; (0, 0): it does not start."""
    try:
        found = re.search(r"version (\d+)\.(\d+)", run([*command, "--version"], env=environment).stdout)
    except OSError:
        return 0, 0
    return (int(found[1]), int(found[2])) if found else (0, 0)


class Qemu:
    """How a QEMU is started: words, and the environment that its modules are found by."""

    def __init__(self, command, environment=None):
        self.command = command
        self.environment = {**os.environ, **(environment or {})}
        self.version = version_of(command, self.environment)

    def knows_vfio_user(self):
        return self.version >= NEEDED and "vfio-user-pci" in run([*self.command, "-device", "help"], env=self.environment).stdout


def installed_qemu():
    path = shutil.which("qemu-system-x86_64")
    qemu = Qemu([path]) if path else None
    return qemu if qemu and qemu.knows_vfio_user() else None


def mirror():
    """Where this machine has its Debian packages from."""
    if not shutil.which("apt-get") or not Path(KEYRING).exists():
        raise NotToBeHad("no Debian: neither apt-get nor its keyring is here")
    listed = run(["apt-get", "indextargets", "--format", "$(LABEL) $(COMPONENT) $(REPO_URI)"]).stdout
    for line in listed.splitlines():
        label, component, address = line.split()
        if (label, component) == ("Debian", "main"):
            return address
    raise NotToBeHad("this machine knows no mirror of Debian's packages (apt-get update)")


class Archive:
    """Suites of a mirror, with lists and a status of its own in `folder`: apt sees an empty machine."""

    def __init__(self, folder, address, suites):
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text("".join(f"deb [signed-by={KEYRING}] {address} {suite} main\n" for suite in suites))
        self.options = [f"-oDir::Etc::sourcelist={folder}/sources.list", "-oDir::Etc::sourceparts=-", f"-oDir::State::lists={folder}/lists",
                        f"-oDir::State::status={folder}/status", f"-oDir::Cache={folder}/cache", "-oDebug::NoLocking=1", "-oAPT::Architecture=amd64",
                        "-oAcquire::Languages=none", "-oAcquire::Retries=2", *(["-oAPT::Sandbox::User=root"] if os.getuid() == 0 else [])]
        self.suites = suites
        self.apt("apt-get", "update")

    def apt(self, *words, **options):
        done = run([words[0], *self.options, *words[1:]], **options)
        if done.returncode != 0:
            raise NotToBeHad(f"{' '.join(words)} of {', '.join(self.suites)}: {done.stderr.strip().splitlines()[-1:] or ['no answer']}")
        return done.stdout

    def fetch_with_dependencies(self, package):
        """The package files of all that it needs."""
        self.apt("apt-get", "install", "-y", "--no-install-recommends", "--download-only", "-t", self.suites[0], package)
        return sorted((self.folder / "cache/archives").glob("*.deb"))

    def fetch(self, *packages):
        folder = self.folder / "packages"
        folder.mkdir(exist_ok=True)
        self.apt("apt-get", "download", *packages, cwd=folder)
        return sorted(folder.glob("*.deb"))

    def depends(self, package):
        return re.findall(r"Depends: (\S+)", self.apt("apt-cache", "depends", package))


def unpack(files, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        done = run(["dpkg", "-x", file, folder])
        if done.returncode != 0:
            raise NotToBeHad(f"dpkg -x {file.name}: {done.stderr.strip()}")


def once(folder, make):
    """Makes a folder unless it has been made to its end before."""
    stamp = folder / "complete"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        stamp.touch()
    return folder


def unpacked_qemu(cache):
    def make(folder):
        archive = Archive(folder / "apt", mirror(), QEMU_SUITES)
        unpack(archive.fetch_with_dependencies("qemu-system-x86"), folder / "root")
        shutil.rmtree(folder / "apt")

    root = once(cache / "qemu", make) / "root"
    libraries = ":".join(str(root / path) for path in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/pulseaudio"))
    loader = next((path for path in (root / "usr/lib64/ld-linux-x86-64.so.2", root / "lib64/ld-linux-x86-64.so.2", root / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
                   if path.exists()), None)
    if loader is None:
        raise NotToBeHad("QEMU's packages have no loader for x86-64")
    qemu = Qemu([str(loader), "--library-path", libraries, str(root / "usr/bin/qemu-system-x86_64"), "-L", str(root / "usr/share/qemu"), "-L", str(root / "usr/share/seabios"),
                 "-L", str(root / "usr/lib/ipxe/qemu")], {"QEMU_MODULE_DIR": str(root / "usr/lib/x86_64-linux-gnu/qemu")})
    if not qemu.knows_vfio_user():
        raise NotToBeHad(f"QEMU {'.'.join(map(str, qemu.version))} of {QEMU_SUITES[0]} does not start here, or has no vfio-user client")
    return qemu


def find_qemu(cache, fetch=True):
    """A QEMU that can attach to a vfio-user server. Raises NotToBeHad."""
    found = installed_qemu()
    if found:
        return found
    if not fetch and not (cache / "qemu/complete").exists():
        raise NotToBeHad(f"no QEMU of {'.'.join(map(str, NEEDED))} or newer is installed")
    return unpacked_qemu(cache)


class Kernel:
    """A Linux that virtual machines can boot, its modules by name, and a busybox that needs no library."""

    def __init__(self, image, modules, busybox):
        self.image, self.busybox = image, busybox
        self.modules = {re.sub(r"\.ko(\.xz)?$", "", path.name): path for path in modules.glob("**/*.ko*") if path.suffix in (".ko", ".xz")}


def installed_kernel():
    """This machine's own, if its modules for VFIO are there and a static busybox is installed."""
    busybox = shutil.which("busybox")
    if not busybox or "not a dynamic executable" not in run(["ldd", busybox]).stderr:
        return None
    for image in sorted(Path("/boot").glob("vmlinuz-*"), reverse=True):
        modules = Path("/lib/modules") / image.name.removeprefix("vmlinuz-")
        if os.access(image, os.R_OK) and modules.is_dir():
            kernel = Kernel(image, modules, Path(busybox))
            if "vfio-pci" in kernel.modules:
                return kernel
    return None


def unpacked_kernel(cache):
    def make(folder):
        archive = Archive(folder / "apt", mirror(), KERNEL_SUITES)
        images = [name for name in archive.depends("linux-image-cloud-amd64") if name.startswith("linux-image-")]
        unpack(archive.fetch(*images[:1], "busybox-static"), folder / "root")
        shutil.rmtree(folder / "apt")

    root = once(cache / "kernel", make) / "root"
    image = next(iter(sorted(root.glob("boot/vmlinuz-*"))), None)
    if image is None or not (root / "bin/busybox").exists():
        raise NotToBeHad("Debian's packages of kernel and busybox have no kernel or no busybox")
    return Kernel(image, root / "lib/modules", root / "bin/busybox")


def find_kernel(cache, fetch=True):
    """A kernel for the guest. Raises NotToBeHad."""
    found = installed_kernel()
    if found:
        return found
    if not fetch and not (cache / "kernel/complete").exists():
        raise NotToBeHad("no kernel for a guest is installed")
    return unpacked_kernel(cache)
