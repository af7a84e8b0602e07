#!/usr/bin/env python3
"""What scripts/command_pages makes of the help of a command, and what it refuses."""
import importlib.machinery
import importlib.util
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from command_help import Unreadable, read_help  # noqa: E402

loader = importlib.machinery.SourceFileLoader("command_pages", str(SCRIPTS / "command_pages"))
command_pages = importlib.util.module_from_spec(importlib.util.spec_from_loader("command_pages", loader))
loader.exec_module(command_pages)

HELP = """does things with a <file>
Usage: /somewhere/weft thing [OPTIONS] FILE [folder...]

Positionals:
  FILE TEXT REQUIRED          the .thing file
  folder TEXT=[/tmp/weft] ... folder in which weft-sim listens

Options:
  -h,--help                   Print this help message and exit
  -o,--output TEXT=trace.json Excludes: --from
                              write the trace to this JSON file
  --no-overlap Needs: --slice results travel when all are there
  --core TEXT:{rtl,fast}=fast (Env:WEFT_CORE)
                              who computes | and how
  --batch UINT:UINT in [1 - 16]=1
                              rows
  --rate FLOAT:FLOAT in [0 - 1]=1e-09
                              of errors
  --fd INT:NONNEGATIVE ... Excludes: --group --replay
                              .sockets, as 'inherited'
  --wave-to UINT=the end      last device cycle

Exit codes: 0 ok; 2 wrong input or not
supported.
"""
WEFT = """Weft: a TPU that anyone can run.
Usage: weft [OPTIONS] SUBCOMMAND

Options:
  -h,--help                   Print this help message and exit

Subcommands:
  thing                       does things

Exit codes: 0 ok; 2 wrong input or not
supported.
"""


class Reading(unittest.TestCase):
    def setUp(self):
        self.help = read_help(HELP)
        self.options = {option.names[-1]: option for option in self.help.options}

    def test_every_row_becomes_an_option_with_all_that_stands_there(self):
        self.assertEqual(list(self.options), ["--help", "--output", "--no-overlap", "--core", "--batch", "--rate", "--fd", "--wave-to"])
        output, core = self.options["--output"], self.options["--core"]
        self.assertEqual((output.names, output.value, output.default, output.excludes, output.meaning),
                         (["-o", "--output"], "TEXT", "trace.json", ["--from"], "write the trace to this JSON file"))
        self.assertEqual((core.limits, core.default, core.environment), ("{rtl,fast}", "fast", "WEFT_CORE"))
        self.assertEqual((self.options["--no-overlap"].needs, self.options["--no-overlap"].meaning), (["--slice"], "results travel when all are there"))
        self.assertEqual((self.options["--fd"].repeated, self.options["--fd"].excludes), (True, ["--group", "--replay"]))
        self.assertEqual(self.options["--batch"].limits, "in [1 - 16]")
        self.assertEqual(self.options["--wave-to"].default, "the end")

    def test_arguments_usage_and_exit_codes_are_read(self):
        self.assertEqual([(p.names, p.required, p.repeated, p.default) for p in self.help.positionals],
                         [(["FILE"], True, False, ""), (["folder"], False, True, "/tmp/weft")])
        self.assertEqual(self.help.usage, "weft thing [OPTIONS] FILE [folder...]")
        self.assertEqual(self.help.exit_codes, [("0", "ok"), ("2", "wrong input or not supported")])

    def test_what_is_no_help_is_refused(self):
        for text in ("", "no usage\n", "a\nUsage: b\n", HELP.replace("Options:", "Choices:"), HELP.replace("  --rate FLOAT:FLOAT in [0 - 1]=1e-09\n", ""),
                     HELP.replace("  --wave-to UINT=the end      last device cycle", "  --wave-to UINT=the end")):
            with self.subTest(text=text), self.assertRaises(Unreadable):
                read_help(text)


class Writing(unittest.TestCase):
    def setUp(self):
        self.helps = {"weft": read_help(WEFT), "weft thing": read_help(HELP), "weft-sim": read_help(WEFT.replace("weft [", "weft-sim ["))}

    def test_the_page_has_every_option_with_its_conditions(self):
        page = command_pages.markdown("1.2.3", self.helps)
        for row in ("| `-o`, `--output` `TEXT` | write the trace to this JSON file | default `trace.json`; not with `--from` |",
                    "| `--core` `TEXT` | who computes \\| and how | one of `rtl`, `fast`; default `fast`; also by the variable `WEFT_CORE` |",
                    "| `--batch` `VALUE` | rows | an integer from 1 to 16; default `1` |", "| `--rate` `VALUE` | of errors | a number from 0 to 1; default `1e-09` |",
                    "| `--no-overlap` | results travel when all are there | only with `--slice` |", "does things with a &lt;file>",
                    "| [`weft thing`](#weft-thing) | does things |", "| 2 | wrong input or not supported |"):
            self.assertIn(row, page)

    def test_a_man_page_is_what_troff_prints_without_a_warning(self):
        page = command_pages.man_page("weft thing", "1.2.3", self.helps)
        self.assertIn(".TH WEFT\\-THING 1", page)
        self.assertIn("\n\\&.sockets", page)  # a dot at the start of a line would be a macro
        printed = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-cbou"], input=page, capture_output=True, text=True)
        self.assertEqual((printed.returncode, printed.stderr), (0, ""))
        text = " ".join(printed.stdout.split())
        for part in ("weft-thing - does things with a <file>", "-o, --output TEXT write the trace to this JSON file. Default trace.json. Not with --from.",
                     "2 wrong input or not supported.", "SEE ALSO weft(1), weft-sim(1)"):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
