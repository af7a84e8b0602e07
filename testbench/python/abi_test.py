#!/usr/bin/env python3
"""The generated form of the C API against the C compiler's own reading of the headers: sizes, offsets, constants, calls."""
import ctypes
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from weft_package import BUILD, ROOT

from weft import _abi, _library
from weft._library import library

INCLUDES = [ROOT / "driver/include", ROOT / "host/tools/include", ROOT / "host/runtime/include", BUILD / "generated/include"]


def compiled(text):
    """The numbers that a C program prints."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "ask.c", Path(folder) / "ask"
        source.write_text(text)
        subprocess.run(["cc", *(f"-I{path}" for path in INCLUDES), "-o", program, source], check=True)
        return [int(word) for word in subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()]


class Abi(unittest.TestCase):
    def structures(self):
        return {name: value for name, value in vars(_abi).items() if isinstance(value, type) and issubclass(value, ctypes.Structure)}

    def test_structures_lie_as_the_compiler_lays_them(self):
        structures = self.structures()
        self.assertGreater(len(structures), 40)
        asked = [f"sizeof({name})" for name in structures] + [f"offsetof({name}, {field})" for name, s in structures.items() for field, _ in s._fields_]
        known = [ctypes.sizeof(s) for s in structures.values()] + [getattr(s, field).offset for s in structures.values() for field, _ in s._fields_]
        rows = "".join(f'  printf("%zu\\n", {expression});\n' for expression in asked)
        found = compiled(f'#include <stdio.h>\n#include "weft/model.h"\n#include "weft/collective.h"\nint main(void) {{\n{rows}}}\n')
        self.assertEqual(list(zip(asked, known, strict=True)), list(zip(asked, found, strict=True)))

    def test_numbers_are_those_of_the_compiler(self):
        numbers = {f"WEFT_{name}": value for name, value in vars(_abi).items() if name.isupper() and isinstance(value, int)}
        self.assertGreater(len(numbers), 100)
        rows = "".join(f'  printf("%llu\\n", (unsigned long long){name});\n' for name in numbers)
        found = compiled(f'#include <stdio.h>\n#include "weft/model.h"\n#include "weft/collective.h"\nint main(void) {{\n{rows}}}\n')
        self.assertEqual(list(numbers.values()), found)

    def test_every_call_of_the_headers_is_there_and_in_the_library(self):
        command = ["clang-16", "-std=c11", "-fsyntax-only", "-x", "c", *(f"-I{path}" for path in INCLUDES), "-Xclang", "-ast-dump", "-"]
        tree = subprocess.run(command, input="#include <weft/model.h>\n#include <weft/collective.h>\n", check=True, capture_output=True, text=True).stdout
        self.assertEqual(set(re.findall(r"FunctionDecl .* (weft_\w+) '", tree)), set(_abi.CALLS))
        for name in _abi.CALLS:
            self.assertTrue(hasattr(library(), name), name)

    def test_what_the_generator_cannot_read_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            header, out = Path(folder) / "odd.h", Path(folder) / "out.py"
            for text in ("typedef union weft_odd { int a; } weft_odd;", "int weft_odd(long double a);", "typedef struct weft_odd { int bits : 3; } weft_odd;"):
                header.write_text(text)
                done = subprocess.run([ROOT / "scripts/python_abi", "--out", out, header], capture_output=True, text=True)
                self.assertEqual(done.returncode, 1, text)
                self.assertIn("cannot read", done.stderr)
                self.assertFalse(out.exists())

    def test_a_library_of_another_version_is_refused(self):
        _library.library.cache_clear()
        self.addCleanup(_library.library.cache_clear)
        self.addCleanup(setattr, _abi, "VERSION_MINOR", _abi.VERSION_MINOR)
        _abi.VERSION_MINOR += 1
        with self.assertRaisesRegex(ImportError, "is of version"):
            _library.library()


if __name__ == "__main__":
    unittest.main()
