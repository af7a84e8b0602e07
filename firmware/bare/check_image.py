"""Checks the bare firmware image: nothing undefined, no heap, within its budgets; prints size and stack use. The worst case of the
stack is the deepest path through the call graph that the compiler writes (-fcallgraph-info=su): so no recursion and no call through
a pointer is allowed.

usage: check_image.py IMAGE DIRECTORY_OF_STACK_USAGE_AND_CALL_GRAPH_FILES
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

BUDGETS = tomllib.loads((pathlib.Path(__file__).resolve().parent.parent / "budgets.toml").read_text())
IMAGE_BUDGET, STACK_BUDGET, STATE_BUDGET = (BUDGETS[name] for name in ("image_bytes", "stack_bytes", "state_bytes"))
FRAMES_SHOWN = 10
INDIRECT = "__indirect_call"
# Of the start-up code and the compiler's own library, which no call graph shows.
OUTSIDE_BYTES = 64
FORBIDDEN = ("malloc", "calloc", "realloc", "free", "sbrk", "_sbrk", "_Znwj", "_Znaj", "_ZdlPv", "_ZdaPv", "_ZdlPvj",
             "_ZdaPvj", "__cxa_throw", "__cxa_allocate_exception", "__cxa_guard_acquire", "__cxa_atexit", "__dso_handle")


def run(tool, *arguments):
    path = shutil.which(f"riscv64-unknown-elf-{tool}")
    if path is None:
        sys.exit(f"riscv64-unknown-elf-{tool} is missing")
    return subprocess.run([path, *arguments], check=True, capture_output=True, text=True).stdout


def read_call_graph(directory):
    """{function: bytes of its frame}, {function: functions that it calls}."""
    frames, calls = {}, {}
    for path in pathlib.Path(directory).glob("*.ci"):
        text = path.read_text()
        for title, size in re.findall(r'node: { title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes \(static\)', text):
            frames[title] = int(size)
        for source, target in re.findall(r'edge: { sourcename: "([^"]+)" targetname: "([^"]+)"', text):
            calls.setdefault(source, set()).add(target)
    return frames, calls


def deepest_path(frames, calls, problems):
    """(bytes, functions) of the path with the largest sum of frames. Recursion and calls through pointers are problems."""
    known, active = {}, []

    def visit(function):
        if function in known:
            return known[function]
        if function in active:
            problems.append(f"recursion: {' -> '.join([*active[active.index(function):], function])}")
            return 0, []
        active.append(function)
        below = (0, [])
        for callee in sorted(calls.get(function, ())):
            if callee == INDIRECT:
                problems.append(f"{function} calls through a pointer: its depth is unknown")
                continue
            below = max(below, visit(callee))
        active.pop()
        known[function] = (frames.get(function, OUTSIDE_BYTES) + below[0], [function, *below[1]])
        return known[function]

    return max((visit(function) for function in sorted(frames)), default=(0, []))


def readable(names):
    """Names of C++; a function that is local to its file keeps the file in front."""
    path = shutil.which("riscv64-unknown-elf-c++filt")
    if path is None:
        return names
    split = [name.rsplit(":", 1) for name in names]
    texts = subprocess.run([path, "-p"], input="\n".join(part[-1] for part in split), check=True, capture_output=True, text=True).stdout
    return [text.replace("weft::fw::", "").replace("(anonymous namespace)::", "") for text in texts.splitlines()]


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
          f"data {sizes.get('.data', 0)}; state {sizes.get('.bss', 0)} of {STATE_BUDGET}, stack {sizes.get('.stack', 0)}")
    if not 0 < sizes.get(".bss", 0) <= STATE_BUDGET:
        problems.append(f"a state of {sizes.get('.bss', 0)} bytes is over its budget of {STATE_BUDGET}")
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
    if not frames:
        problems.append("no stack usage files")

    depth, path = deepest_path(*read_call_graph(stack_directory), problems)
    print(f"stack {depth} of {STACK_BUDGET} bytes at worst: {' > '.join(readable(path))}")
    if depth == 0 or depth > STACK_BUDGET:
        problems.append(f"a stack of {depth} bytes is over its budget of {STACK_BUDGET}" if depth else "no call graph files")

    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
