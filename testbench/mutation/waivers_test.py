"""Tests of waivers.py."""
import random
import tempfile
import unittest
from pathlib import Path

import mutate
import waivers
from mutant import Change, number

GOOD = '''[[waiver]]
file = "rtl/small/a.sv"
source = "abc"
kind = "swap"
change = "a -> x"
owner = "small"
class = "equivalent"
reason = "a and x are the same value in every state"
'''


class WaiverFile(unittest.TestCase):
    def read(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "waivers.toml"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            return waivers.read(path)

    def test_a_waiver_fits_the_mutant_it_names_wherever_its_line_is(self):
        mutants = number([Change("rtl/small/a.sv", 1, 2, "swap", "a", "x")], {"rtl/small/a.sv": "\nabc"})
        self.assertEqual(waivers.stale(self.read(GOOD), mutants), [])

    def test_a_waiver_without_its_mutant_is_stale(self):
        mutants = number([Change("rtl/small/a.sv", 1, 2, "swap", "b", "x")], {"rtl/small/a.sv": "\nabc"})
        self.assertEqual(len(waivers.stale(self.read(GOOD), mutants)), 1)

    def test_each_wrong_field_is_refused(self):
        wrong = {"a field too few": GOOD.replace('owner = "small"\n', ""), "one too many": GOOD + 'extra = "1"\n',
                 "no kind": GOOD.replace('"swap"', '"swop"'), "no class": GOOD.replace('"equivalent"', '"hard"'),
                 "no text": GOOD.replace('"small"', "7"), "an empty one": GOOD.replace('"small"', '" "'),
                 "no reason": GOOD.replace("a and x are the same value in every state", "ok"), "twice": GOOD + GOOD,
                 "another table": GOOD + "[other]\n", "no table": "waiver = 3\n"}
        for name, content in wrong.items():
            with self.subTest(name), self.assertRaises(waivers.WaiverError):
                self.read(content)

    def test_garbage_is_refused_and_nothing_else_happens(self):
        generator = random.Random(7)
        for round_number in range(300):
            damaged = bytearray(GOOD.encode())
            for _ in range(generator.randrange(1, 30)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            with self.subTest(round_number):
                try:
                    self.read(bytes(damaged))
                except waivers.WaiverError:
                    pass

    def test_the_waivers_of_this_repository_name_mutants_that_exist(self):
        with tempfile.TemporaryDirectory() as folder:
            population, _ = mutate.design.population(mutate.ROOT, mutate.generated_packages(Path(folder)))
        own = waivers.read(Path(mutate.__file__).parent / "waivers.toml")
        self.assertEqual([f"{w.file}: {w.change}" for w in waivers.stale(own, population)], [])


if __name__ == "__main__":
    unittest.main()
