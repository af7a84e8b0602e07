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
PROOF = '''[waiver.proof]
top = "small"
'''
GOOD, CLAIMED = GOOD + PROOF, GOOD


class WaiverFile(unittest.TestCase):
    def read(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "waivers.toml"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            return waivers.read(path)

    def test_a_waiver_fits_the_mutant_it_names_wherever_its_line_is(self):
        mutants = number([Change("rtl/small/a.sv", 1, 2, "swap", "a", "x")], {"rtl/small/a.sv": "\nabc"})
        self.assertEqual(list(waivers.resolve(self.read(GOOD), mutants)), [mutants[0].id])

    def test_a_waiver_without_its_mutant_is_stale(self):
        mutants = number([Change("rtl/small/a.sv", 1, 2, "swap", "b", "x")], {"rtl/small/a.sv": "\nabc"})
        with self.assertRaisesRegex(waivers.WaiverError, "does not exist"):
            waivers.resolve(self.read(GOOD), mutants)

    def test_a_waiver_of_two_mutants_is_refused_until_it_picks_one(self):
        mutants = number([Change("rtl/small/a.sv", 0, 1, "swap", "a", "x"), Change("rtl/small/a.sv", 2, 3, "swap", "a", "x")],
                         {"rtl/small/a.sv": "a+a"})
        one = GOOD.replace('"abc"', '"a+a"')
        with self.assertRaisesRegex(waivers.WaiverError, "2 mutants"):
            waivers.resolve(self.read(one), mutants)
        picked = one.replace("[waiver.proof]", "place = 2\n[waiver.proof]")
        self.assertEqual(list(waivers.resolve(self.read(picked), mutants)), [mutants[1].id])

    def test_what_is_said_to_be_equal_needs_a_proof(self):
        with self.assertRaisesRegex(waivers.WaiverError, "needs a proof"):
            self.read(CLAIMED)
        with self.assertRaisesRegex(waivers.WaiverError, "needs a proof"):
            self.read(CLAIMED.replace('"equivalent"', '"unobservable"'))
        self.assertIsNone(self.read(CLAIMED.replace('"equivalent"', '"unproven"'))[0].proof)
        with self.assertRaisesRegex(waivers.WaiverError, "has no proof"):
            self.read(GOOD.replace('"equivalent"', '"unproven"'))

    def test_a_proof_of_testbench_formal_is_enough(self):
        formal = GOOD.replace('top = "small"', 'formal = ["fifo_order"]')
        self.assertEqual(self.read(formal)[0].proof.formal, ("fifo_order",))
        for name, content in {"no such proof": formal.replace("fifo_order", "nothing"), "none": formal.replace('"fifo_order"', ""),
                              "what a top needs": formal + 'chip = "nano"\n'}.items():
            with self.subTest(name), self.assertRaises(waivers.WaiverError):
                self.read(content)

    def test_each_wrong_proof_is_refused(self):
        wrong = {"no top": GOOD.replace('top = "small"\n', 'chip = "nano"\n'), "unknown field": GOOD + 'depth = "1"\n',
                 "wrong type": GOOD + 'cut = "a"\n', "a change of nothing": GOOD + 'changes = [{ file = "a", find = "", replace = "b" }]\n',
                 "no changes": GOOD + 'changes = "a"\n', "no texts": GOOD + "cut = [1]\n",
                 "a contract from nowhere": GOOD + 'bind = { small = "wire contract_a = 1;" }\n',
                 "no such proof": GOOD + 'bind = { small = "wire contract_a = 1;" }\nguaranteed_by = ["nothing"]\n',
                 "a guarantee of nothing": GOOD + 'guaranteed_by = ["fifo_order"]\n',
                 "no place": GOOD.replace("[waiver.proof]", "place = -1\n[waiver.proof]")}
        for name, content in wrong.items():
            with self.subTest(name), self.assertRaises(waivers.WaiverError):
                self.read(content)

    def test_each_wrong_field_is_refused(self):
        wrong = {"a field too few": GOOD.replace('owner = "small"\n', ""), "one too many": CLAIMED + 'extra = "1"\n' + PROOF,
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
        self.assertEqual(len(waivers.resolve(own, population)), len(own))


if __name__ == "__main__":
    unittest.main()
