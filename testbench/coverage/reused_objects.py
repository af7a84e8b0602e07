#!/usr/bin/env python3
"""Objects that the build with coverage takes from the preset release's build, instead of compiling them again: only models count coverage, so
what is around them, a third of the compilation, is the same in both.

usage: reused_objects.py PLAN COMPILER ARGUMENT ...     a compiler launcher (CMAKE_CXX_COMPILER_LAUNCHER)

write_plan() writes into PLAN which objects may be taken: those that both builds compile from the same files by the same command, folders apart.
The launcher compares what was generated, once it is there: if any generated file that went into the other build's object differs in this build,
or if PLAN does not exist, the compiler runs."""
import json
import os
import re
import sys


def plain(command, folder):
    """A command of compile_commands.json without what may differ: the build folder, and where the models' headers are, because a build of fewer
    cores has fewer of them. The launcher compares those that were read."""
    command = re.sub(re.escape(folder) + r"(?=[/\s]|$)", "{build}", command)
    return re.sub(r" -isystem \{build\}/verilated/\S+", "", command)


def same_commands(here, there):
    """Objects that both builds compile by the same command. Each argument: a build folder and what its compile_commands.json holds."""
    def commands(folder, entries):
        return {match[1]: plain(entry["command"], folder) for entry in entries if (match := re.search(r" -o (\S+)", entry["command"]))}
    ours, theirs = commands(*here), commands(*there)
    return {name for name in ours if ours[name] == theirs.get(name)}


def inputs_of(text, folder):
    """{object: files that went into it}, from the output of `ninja -t deps`: those below `folder`, which are generated, relative to it; the others
    absolute, without the system's. A precompiled header does not count as an include: its command and what it includes are compared. Objects whose record is not valid
    any more are left out."""
    inputs, files = {}, []
    for line in text.splitlines():
        if not line.startswith(" "):
            match = re.fullmatch(r"(\S+): #deps .*\(VALID\)", line)
            files = inputs.setdefault(match[1], []) if match else []
            continue
        path = os.path.normpath(os.path.join(folder, line.strip()))
        if not path.startswith("/usr/") and not path.endswith(".pch"):
            files.append(path[len(folder) + 1:] if path.startswith(folder + "/") else path)
    return inputs


def write_plan(path, there, objects, text):
    """`objects` may be taken from the build folder `there`; text: its `ninja -t deps`."""
    inputs = inputs_of(text, there)
    taken = {name: inputs[name] for name in sorted(objects) if name in inputs}
    files = sorted({file for name in taken for file in taken[name]})
    number = {file: index for index, file in enumerate(files)}
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"folder": there, "files": files, "objects": {name: [number[file] for file in taken[name]] for name in taken}}, out)


def bytes_of(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def same_input(file, there, made_at):
    """Whether a file is what the object of the build folder `there` was made from at that time."""
    if not os.path.isabs(file):
        other = bytes_of(os.path.join(there, file))
        return other is not None and other == bytes_of(file)
    return os.path.exists(file) and os.stat(file).st_mtime_ns <= made_at


def take(plan, arguments):
    """Whether the object that these arguments make was taken. Its file of dependences names where it was taken from, and what went into it."""
    if "-o" not in arguments[:-1] or "-MF" not in arguments[:-1]:
        return False
    name, dependences = arguments[arguments.index("-o") + 1], arguments[arguments.index("-MF") + 1]
    there = os.path.join(plan["folder"], name)
    made = bytes_of(there) if name in plan["objects"] else None
    if made is None:
        return False
    files = [plan["files"][number] for number in plan["objects"][name]]
    made_at = os.stat(there).st_mtime_ns
    if not all(same_input(file, plan["folder"], made_at) for file in files):
        return False
    with open(name, "wb") as out:
        out.write(made)
    with open(dependences, "w", encoding="utf-8") as out:
        out.write(name + ": " + " ".join(os.path.abspath(file).replace(" ", "\\ ") for file in [there, *files]) + "\n")
    return True


def main(arguments):
    plan = bytes_of(arguments[0])
    if plan and take(json.loads(plan), arguments[1:]):
        return
    os.execvp(arguments[1], arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
