#!/usr/bin/python3
"""Pages and outputs that transcripts.py must tell apart."""
import sys
import unittest

sys.dont_write_bytecode = True
from docs_output_test import Shell
from transcripts import Step, difference, read_page, replace_outputs, updated


class Pages(unittest.TestCase):
    def test_a_transcript_is_commands_with_their_outputs(self):
        page = read_page("```console\n$ a\n1\n2\n$ b\n```\n")
        self.assertEqual([(s.line, s.command, s.shown) for s in page.steps], [(2, "a", ["1", "2"]), (5, "b", [])])
        self.assertEqual(page.errors, [])

    def test_hidden_commands_and_sh_blocks_have_no_output(self):
        page = read_page("<!-- run: x & -->\n```sh\na \\\n  b\n# a comment\nc\n```\n")
        self.assertEqual([(s.command, s.shown) for s in page.steps], [("x &", None), ("a   b", None), ("c", None)])

    def test_an_output_without_its_command_is_refused(self):
        for text in ("```\noutput\n```\n", "```console\noutput\n```\n", "```text\n$ weft info\n```\n", "```console\n$ a\n", "```sh manual\na\n```\n"):
            with self.subTest(text=text):
                self.assertEqual(len(read_page(text).errors), 1)

    def test_a_block_by_indentation_is_refused(self):
        for text in ("Commands:\n\n    weft info\n    weft info\n", "\tweft info\n", "- item\n\nText.\n\n    weft info\n"):
            with self.subTest(text=text):
                self.assertEqual(len(read_page(text).errors), 1)
        for text in ("- item\n\n    more of it\n", "1. item\n\n    more of it\n", "a line\n    that goes on\n", "```text\n\n    x\n```\n", "a\n\n    \nb\n"):
            with self.subTest(text=text):
                self.assertEqual(read_page(text).errors, [])

    def test_slow_blocks_are_left_to_nightly(self):
        text = "```console slow\n$ a\n```\n```sh manual: installs packages\nb\n```\n"
        self.assertEqual((read_page(text).steps, read_page(text).left_out), ([], 2))
        self.assertEqual(len(read_page(text, slow=True).steps), 1)


class Differences(unittest.TestCase):
    def test_equal_outputs_are_equal(self):
        self.assertIsNone(difference(["a 1", "b"], ["a 1", "b", ""]))

    def test_a_number_a_line_more_or_less_and_no_output_differ(self):
        for shown, printed in ((["2160 to validate"], ["2192 to validate"]), (["a"], ["a", "b"]), (["a", "b"], ["a"]), ([], ["a"]), (["a"], [])):
            with self.subTest(shown=shown, printed=printed):
                self.assertIsNotNone(difference(shown, printed))

    def test_an_elision_stands_for_lines_and_not_for_the_lines_around_it(self):
        self.assertIsNone(difference(["a", "...", "d"], ["a", "b", "c", "d"]))
        self.assertIsNone(difference(["a", "..."], ["a", "b"]))
        self.assertIsNotNone(difference(["a", "...", "e"], ["a", "b", "c", "d"]))
        self.assertIsNotNone(difference(["...", "c"], ["a", "c", "d"]))

    def test_live_outputs_may_differ_in_numbers_and_in_nothing_else(self):
        self.assertIsNone(difference(["up  0  500 KiB  3.5 %"], ["up 10  1.63 MiB 11.7 %"], live=True))
        self.assertIsNotNone(difference(["up  0  500 KiB"], ["down  0  500 KiB"], live=True))
        self.assertIsNotNone(difference(["LAUNCH 0x1002 waits"], ["COPY 0x1002 waits"], live=True))

    def test_how_a_killed_process_was_noticed_is_not_compared(self):
        ended, reset = "the device has closed its connection", "the connection to the device is closed: receiving reply header: Connection reset by peer"
        self.assertIsNone(difference([f"DEVICE_LOST: {ended}; x"], [f"DEVICE_LOST: {reset}; x"]))
        self.assertIsNotNone(difference([f"DEVICE_LOST: {ended}; x"], ["DEVICE_LOST: no reply header for 30000 ms; x"]))

    def test_process_ids_and_wall_time_are_not_compared(self):
        self.assertIsNone(difference(["weft-sim 12, cycle 5", "  wall time           1.0 s"], ["weft-sim 99, cycle 5", "  wall time           2.0 s"]))
        self.assertIsNotNone(difference(["weft-sim 12, cycle 5"], ["weft-sim 12, cycle 6"]))

    def test_an_update_keeps_lines_that_differ_in_volatile_words_alone(self):
        step = Step(1, "a", ["cycles 5", "  wall time           1.0 s"])
        self.assertEqual(updated(step, ["cycles 6", "  wall time           9.0 s"]), ["cycles 6", "  wall time           1.0 s"])
        self.assertEqual(updated(step, ["cycles 6"]), ["cycles 6"])

    def test_an_update_replaces_outputs_but_those_with_an_elision(self):
        text = "```console\n$ a\nold\n$ b\nold\n...\n```\nend"
        self.assertEqual(replace_outputs(text, {2: ["new", "more"], 4: ["new"]}), "```console\n$ a\nnew\nmore\n$ b\nold\n...\n```\nend")


class Commands(unittest.TestCase):
    def test_a_command_has_its_own_exit_code_and_output(self):
        shell = Shell()
        self.addCleanup(shell.remove)
        for command, code, lines in (("true", 0, []), ("false", 1, []), ("echo a; (exit 3)", 3, ["a"]), ("nothing-of-this-name 2>/dev/null", 127, []),
                                     ("echo b", 0, ["b"])):
            self.assertEqual(shell.run(command), (code, lines), command)


if __name__ == "__main__":
    unittest.main()
