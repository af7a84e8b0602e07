#!/usr/bin/env python3
"""What english.py finds, and what it leaves alone."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from english import broken_banners, comments, findings, prose  # noqa: E402


class English(unittest.TestCase):
    def lines(self, name, text, read):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(text)
            return list(read(path))

    def page(self, text):
        return [number for number, _, _ in findings(None, self.lines("a.md", text, prose))]

    def source(self, text):
        return [number for number, _, _ in findings(None, self.lines("a.hpp", text, comments))]

    def test_each_turn_is_found_in_a_page(self):
        for text in ("Who looks on while it runs changes no cycle.", "It is told. Whoever asks is answered.", "The answer is for who asks.", "It wakes whoever waits.",
                     "What has none is a wait of the host.", "It holds a record that is none.", "All of them but for the last.", "There is one ring a queue.", "A socket a chip.",
                     "It costs 64 bytes a command.", "It is text.\nWhat is read is\nchecked."):
            with self.subTest(text=text):
                self.assertEqual(len(self.page(text)), 1)

    def test_a_phrase_may_go_over_the_end_of_a_line(self):
        self.assertEqual(self.page("all of them but\nfor the last"), [2])
        self.assertEqual(self.source("// all of them but\n// for the last\n"), [2])
        self.assertEqual(self.source("int a;  // all of them but\nint b;\nint c;  // for the last\n"), [])

    def test_what_is_english_is_left_alone(self):
        for text in ("## Who it is for", "Who owns it?", "The page says who waits for whom.", "It is the same, whoever opens it.", "What one process does costs the others nothing.",
                     "If there is none, it is 0.", "Two rows a cycle, once a second.", "0 on a chip that stands alone.", "`but for` is code.", "```text\nbut for\n```", "**What is checked**"):
            with self.subTest(text=text):
                self.assertEqual(self.page(text), [])

    def test_comments_are_read_and_code_is_not(self):
        self.assertEqual(self.source('/* All\n * but for one. */\nauto x = "but for";  // one ring a queue\n'), [2, 3])
        self.assertEqual(self.source("/// What is wrong with the option; empty: nothing.\n"), [])
        self.assertEqual(self.source("/// A page. What is wrong gets an error.\n"), [1])

    def test_a_banner_that_a_formatter_has_broken_is_found(self):
        self.assertEqual(len(self.lines("a.h", "/* ---- Queues\n * ------------- */\n", broken_banners)), 1)
        self.assertEqual(self.lines("a.h", "/* Queues\n * ------ */\n/* ---- Queues ---- */\n", broken_banners), [])


if __name__ == "__main__":
    unittest.main()
