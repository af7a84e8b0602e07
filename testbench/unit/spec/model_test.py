#!/usr/bin/env python3
"""The specification's checks: a copy of spec/ in which one thing is wrong is refused, and the message names it."""
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts" / "spec"))
import c_header  # noqa: E402
import markdown  # noqa: E402
import vfio_user  # noqa: E402
from model import Spec, SpecError, field_mask  # noqa: E402


class Changed(unittest.TestCase):
    def check(self, file, old, new, says):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "spec", folder, dirs_exist_ok=True)
            path = Path(folder) / file
            text = path.read_text()
            self.assertEqual(text.count(old), 1, f"{file}: {old}")
            path.write_text(text.replace(old, new))
            with self.assertRaisesRegex(SpecError, re.escape(says)):
                Spec(folder)

    def test_fields_of_a_register_overlap(self):
        self.check("core_csr.toml", '{ name = "unit",  low = 8, bits = 8', '{ name = "unit",  low = 7, bits = 8', "core_csr.FAULT_CODE: code and unit overlap at bit 7")

    def test_a_field_leaves_its_register(self):
        self.check("host_interface.toml", '{ name = "chips",  low = 16, bits = 16', '{ name = "chips",  low = 17, bits = 16', "host_interface.ICI_CHIP.chips: bit 32 is outside of 32 bits")

    def test_fields_of_a_message_overlap(self):
        self.check("vfio_user.toml", '{ name = "error",      offset = 12', '{ name = "error",      offset = 10', "header: flags and error overlap at byte 10")

    def test_a_message_has_a_gap(self):
        self.check("vfio_user.toml", 'name = "irq_set"\nbytes = 20', 'name = "irq_set"\nbytes = 24', "vfio_user.irq_set: the fields have not 24 bytes together")

    def test_two_commands_have_one_number(self):
        self.check("vfio_user.toml", "dma_write = 12", "dma_write = 11", "vfio_user.command: dma_read and dma_write share value = 11")


class Generated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spec = Spec(ROOT / "spec")

    def test_masks_of_fields(self):
        self.assertEqual(field_mask({"low": 0, "bits": 1}), 1)
        self.assertEqual(field_mask({"low": 32, "bits": 16}), 0xffff00000000)
        header = c_header.spec_h(self.spec)
        self.assertIn("#define WEFT_CSR_STATUS_STOPPED 0x4u\n", header)
        self.assertIn("#define WEFT_CSR_FAULT_CODE_TAG UINT64_C(0xffff00000000)\n", header)

    def test_pages_tell_the_fields(self):
        page = markdown.registers_md(self.spec)
        self.assertIn("47:32 `tag`: of its command", page)
        self.assertIn("0 `busy`: ", page)

    def test_messages_have_their_layout(self):
        header = vfio_user.vfio_user_hpp(self.spec)
        self.assertIn("static_assert(offsetof(RegionAccess, count) == 12);", header)
        self.assertIn("kDeviceReset = 13,", header)
        self.assertIn("| 12 | 4 | `count` | bytes of data |", vfio_user.vfio_user_md(self.spec))


if __name__ == "__main__":
    unittest.main()
