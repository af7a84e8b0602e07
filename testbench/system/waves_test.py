"""Waves of the RTL: each name that docs/waves.md gives is in the FST file, with what the program put there. Needs .venv (pywellen)."""
import bisect
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import unittest.mock

import numpy
import pywellen
from weft_command import BUILD, SOURCE, WEFT, WeftTest

SCOPE = "weft_core.weft_core.u_units.u_mxus.gen_unit[0].u_mxu."
CHIPS = {"nano": (8, 1), "nano-4mxu": (8, 1), "nano-pe3": (8, 3), "mini": (16, 1), "small": (32, 1), "v5e-1mxu": (128, 1)}   # N and PeLatency
ROWS, SEED = 5, 20


def documented():
    """{signal: bits as the page says} of docs/waves.md."""
    page = (SOURCE / "docs/waves.md").read_text()
    table = re.search(r"<!-- names -->\n(.*?)<!-- end -->", page, flags=re.S)[1]
    names = dict(re.findall(r"^\| `([^`]+)` \|([^|]*)\|", table, flags=re.M))
    if not names:
        raise AssertionError("docs/waves.md names no signal")
    return names


def built(key):
    """The presets whose RTL this build has; or, for a run on others, those of the environment, which setUpModule builds."""
    if key in os.environ:
        return os.environ[key].split()
    found = re.search(rf"^{key}:STRING=(.*)$", (BUILD / "CMakeCache.txt").read_text(), flags=re.M)
    return [chip for chip in found[1].split(";") if chip] if found else []


def setUpModule():
    if "WEFT_RTL_CHIPS" not in os.environ:
        return
    os.environ["WEFT_CORES"] = folder = tempfile.mkdtemp()
    unittest.addModuleCleanup(shutil.rmtree, folder)
    for key, array in (("WEFT_RTL_CHIPS", "fast"), ("WEFT_RTL_STRUCTURAL_CHIPS", "structural")):
        for chip in built(key):
            subprocess.run([WEFT, "build-chip", chip, "--array", array], check=True, stdout=subprocess.DEVNULL)


def bf16(values):
    """Bits of numbers that bf16 holds exactly."""
    return [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]


def lane(word, index, bits):
    return word >> (bits * index) & (1 << bits) - 1


class Waves(WeftTest):
    def start(self, *arguments, **options):
        """With the modules that setUpModule has built, if it has."""
        return super().start(*arguments, environment={key: value for key, value in os.environ.items() if key == "WEFT_CORES"}, **options)

    def product(self, chip, *arguments):
        """A product with small whole numbers: its operands, its result, and at_each(signal) of the waves."""
        size = CHIPS[chip][0]
        random = numpy.random.default_rng(SEED)
        a, b = (random.integers(-9, 10, shape).astype(numpy.float32) for shape in ((ROWS, size), (size, size)))
        numpy.save(self.folder / "a.npy", a)
        numpy.save(self.folder / "b.npy", b)
        self.weft("gemm", "a.npy", "b.npy", "--chip", chip, "--core", "rtl", "--wave", "w.fst", *arguments)
        waveform = pywellen.Waveform(str(self.folder / "w.fst"))
        found = {var.full_name: var for var in waveform.all_vars() if var.full_name.startswith(SCOPE)}
        for name, bits in documented().items():
            self.assertTrue(SCOPE + name in found, f"{chip}: docs/waves.md names {name}, which the waves do not have")
            var = found[SCOPE + name]
            bits = bits.strip()
            if bits:
                factor = re.fullmatch(r"(\d+)( N)?", bits)
                self.assertEqual(var.bitwidth, int(factor[1]) * (size if factor[2] else 1), f"{chip}: {name}")
        changes = {}
        for name in documented():
            changes[name] = []
            waveform.stream_changes(lambda time, _, value, to=changes[name]: to.append((time, value)), [found[SCOPE + name]])
        return a, b, changes

    def check(self, chip):
        size, latency = CHIPS[chip]
        depth = latency * size
        a, b, changes = self.product(chip)

        def at(name, cycle):
            """What stands before the clock rises at 2 cycle + 1."""
            place = bisect.bisect_right(changes[name], 2 * cycle, key=lambda change: change[0])
            return int(changes[name][place - 1][1]) if place else 0
        times = [time for name in changes for time, _ in changes[name]]
        first, last = min(times) // 2, max(times) // 2 + 2
        words = [c for c in range(first, last) if at("weight_issue", c)]
        self.assertEqual(len(words), size)
        for cycle in words:
            row, word = at("weight.row", cycle), at("weight_data", cycle)
            self.assertEqual([lane(word, j, 16) for j in range(size)], bf16(b[row]), f"{chip}: cycle {cycle}: weights of PE row {row}")
        rows = [c for c in range(first, last) if at("row_issue", c)]
        self.assertEqual(len(rows), ROWS)
        begin = at("row.acc_row", rows[0])
        for index, cycle in enumerate(rows):
            self.assertEqual([lane(at("row_masked", cycle), i, 16) for i in range(size)], bf16(a[index]), f"{chip}: cycle {cycle}: row {index} of x")
            self.assertEqual(at("row.acc_row", cycle), begin + index)
            self.assertEqual(at("seed_select", cycle), 0)
            sums = [lane(at("sum", cycle + 1 + depth + j), j, 32) for j in range(size)]
            expected = [struct.unpack("<I", struct.pack("<f", value))[0] for value in a[index] @ b]
            self.assertEqual(sums, expected, f"{chip}: sums of the row issued in cycle {cycle}")

    def test_scripts_wave_prints_the_rows_that_the_program_multiplies(self):
        a, _, _ = self.product("nano")
        done = subprocess.run([SOURCE / "scripts" / "wave", self.folder / "w.fst", SCOPE + "row_issue", SCOPE + "row_masked", SCOPE + "row_masked[31:16]"],
                              capture_output=True, text=True, check=True)
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        issued = [(row[2], row[3]) for row in rows if row[1] == "1"]
        self.assertEqual(issued, [("".join(f"{bits:04x}" for bits in reversed(bf16(row))), f"{bf16(row)[1]:04x}") for row in a])
        for arguments, text in ((["no.fst"], "No such file"), ([SOURCE / "README.md"], "is no FST file"), ([self.folder / "w.fst", "nobody"], "no signal is named nobody")):
            refused = subprocess.run([SOURCE / "scripts" / "wave", *arguments], capture_output=True, text=True)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(text, refused.stderr)

    def test_weights_rows_and_sums_of_every_preset_are_what_the_program_multiplies(self):
        chips = built("WEFT_RTL_CHIPS")
        self.assertTrue(chips)
        for chip in chips:
            with self.subTest(chip=chip):
                self.check(chip)

    def test_the_structural_array_has_the_same_names_and_values(self):
        for chip in built("WEFT_RTL_STRUCTURAL_CHIPS"):
            with self.subTest(chip=chip), unittest.mock.patch.dict(os.environ, WEFT_ARRAY="structural"):
                self.check(chip)


if __name__ == "__main__":
    unittest.main()
