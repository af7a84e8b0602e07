"""An initial RAM file system: programs of the build with the libraries that they need, kernel modules, a busybox, and scripts."""
import lzma
import re
import subprocess
import tempfile
from pathlib import Path

# In the order in which they go in: each needs those before it. A kernel has some of them built in.
MODULES = ("irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci")
LOADER = "/lib64/ld-linux-x86-64.so.2"
DIRECTORY, FILE, LINK = 0o040755, 0o100644, 0o120777
EXECUTABLE = 0o100755


def libraries(program):
    """Paths of what the program's loader would load, itself included."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"=> (/\S+)", listed)) | {LOADER}
    missing = re.findall(r"^\s*(\S+) => not found", listed, re.MULTILINE)
    if missing:
        raise FileNotFoundError(f"{program} needs {', '.join(missing)}")
    return found


class Image:
    """Files by their path in the guest; written as the archive that the kernel unpacks (cpio, form "newc")."""

    def __init__(self):
        self.entries = {}

    def add(self, path, content, mode=FILE):
        path = path.strip("/")
        for parent in [p for p in reversed(Path(path).parents) if str(p) != "."]:
            self.entries.setdefault(str(parent), (DIRECTORY, b""))
        self.entries[path] = (mode, content)

    def add_file(self, path, source):
        source = Path(source)
        self.add(path, source.read_bytes(), EXECUTABLE if source.stat().st_mode & 0o100 else FILE)

    def add_program(self, path, source):
        """A program, stripped, and its libraries at the paths at which they lie here."""
        self.add(path, stripped(source), EXECUTABLE)
        for library in libraries(source):
            self.add(library, stripped(library), EXECUTABLE)

    def add_kernel(self, kernel):
        self.add_file("/bin/busybox", kernel.busybox)
        for name in MODULES:
            if name in kernel.modules:
                packed = kernel.modules[name].read_bytes()
                self.add(f"/modules/{name}.ko", lzma.decompress(packed) if kernel.modules[name].suffix == ".xz" else packed)
        self.add("/modules/order", "".join(f"{name}\n" for name in MODULES if name in kernel.modules).encode())

    def archive(self):
        out = bytearray()
        for number, (path, (mode, content)) in enumerate([*self.entries.items(), ("TRAILER!!!", (0, b""))], 1):
            name = path.encode() + b"\0"
            fields = (number, mode, 0, 0, 2 if mode == DIRECTORY else 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
            out += b"070701" + b"".join(b"%08x" % field for field in fields) + name
            out += bytes(-len(out) % 4) + content
            out += bytes(-len(out) % 4)
        return bytes(out)


def stripped(path):
    """Without symbols: a guest has little memory."""
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(["strip", "-o", out.name, path], capture_output=True, check=False)
        return Path(out.name if done.returncode == 0 else path).read_bytes()
