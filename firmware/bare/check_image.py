"""Checks the bare firmware image: nothing undefined, no heap, within its budgets; prints size and stack use.

usage: check_image.py IMAGE DIRECTORY_OF_STACK_USAGE_FILES
"""
import pathlib
import shutil
import subprocess
import sys

IMAGE_BUDGET = 48 * 1024
FRAME_BUDGET = 4 * 1024
FRAMES_SHOWN = 10
FORBIDDEN = ("malloc", "calloc", "realloc", "free", "sbrk", "_sbrk", "_Znwj", "_Znaj", "_ZdlPv", "_ZdaPv", "_ZdlPvj",
             "_ZdaPvj", "__cxa_throw", "__cxa_allocate_exception", "__cxa_guard_acquire", "__cxa_atexit", "__dso_handle")


def run(tool, *arguments):
    path = shutil.which(f"riscv64-unknown-elf-{tool}")
    if path is None:
        sys.exit(f"riscv64-unknown-elf-{tool} is missing")
    return subprocess.run([path, *arguments], check=True, capture_output=True, text=True).stdout


def main():
    image, stack_directory = sys.argv[1:3]
    problems = []
    undefined = run("nm", "-u", image).split()
    if undefined:
        problems.append(f"undefined symbols: {' '.join(undefined)}")
    names = {line.split()[-1] for line in run("nm", image).splitlines()}
    heap = sorted(names.intersection(FORBIDDEN))
    if heap:
        problems.append(f"heap or exception symbols: {' '.join(heap)}")

    sizes = {}
    for line in run("size", "-A", image).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[0].startswith("."):
            sizes[fields[0]] = int(fields[1])
    total = sum(sizes.get(section, 0) for section in (".text", ".rodata", ".data"))
    print(f"image {total} of {IMAGE_BUDGET} bytes: text {sizes.get('.text', 0)}, rodata {sizes.get('.rodata', 0)}, "
          f"data {sizes.get('.data', 0)}; state {sizes.get('.bss', 0)}, stack {sizes.get('.stack', 0)}")
    if total == 0 or total > IMAGE_BUDGET:
        problems.append(f"image of {total} bytes is over its budget of {IMAGE_BUDGET}")

    frames = []
    for path in pathlib.Path(stack_directory).glob("*.su"):
        for line in path.read_text().splitlines():
            place, size, kind = line.rsplit("\t", 2)
            frames.append((int(size), place.split(":", 3)[-1], kind))
            if kind != "static":
                problems.append(f"stack use of {place} is not static: {kind}")
    frames.sort(reverse=True)
    print("largest stack frames:")
    for size, name, _ in frames[:FRAMES_SHOWN]:
        print(f"  {size:5d}  {name}")
    if not frames or frames[0][0] > FRAME_BUDGET:
        problems.append(f"largest frame is over its budget of {FRAME_BUDGET} bytes" if frames else "no stack usage files")

    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
