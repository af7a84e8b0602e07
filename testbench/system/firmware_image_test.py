#!/usr/bin/python3
"""weft-sim --image: the firmware from a file. The build's own image does what the built-in one does; damaged and foreign files are refused by
name, on the simulator's command line and through the driver."""
import json
import os
import random
import struct
import unittest
import zlib
from unittest import mock

from weft_command import BUILD, WEFT_SIM, WeftTest

IMAGE = BUILD / "firmware/image/weft_firmware.image"
HEADER = "<8s6I"   # model/sim/image_file.hpp
FIELDS = ("magic", "abi", "state_address", "state_bytes", "rom_bytes", "functions_bytes", "crc")
HEADER_BYTES = struct.calcsize(HEADER)
WRONG = 2


def changed(image, rom=None, functions=None, **fields):
    """The image with other fields, ROM or functions, its sizes and its checksum made for them."""
    header = dict(zip(FIELDS, struct.unpack_from(HEADER, image), strict=True))
    code = image[HEADER_BYTES:HEADER_BYTES + header["rom_bytes"]] if rom is None else rom
    names = image[HEADER_BYTES + header["rom_bytes"]:] if functions is None else functions
    header |= {"rom_bytes": len(code), "functions_bytes": len(names)} | fields
    front = struct.pack(HEADER, *(header[name] for name in FIELDS))[:-4]
    return front + struct.pack("<I", zlib.crc32(front + code + names)) + code + names


class FirmwareImage(WeftTest):
    def setUp(self):
        super().setUp()
        clean = mock.patch.dict(os.environ)
        clean.start()
        self.addCleanup(clean.stop)
        os.environ.pop("WEFT_MANAGER", None)  # stronger than --manager
        self.image = IMAGE.read_bytes()

    def write(self, content):
        (self.folder / "fw.image").write_bytes(content)
        return "fw.image"

    def simulate(self, *arguments):
        return self.run_weft("--chip", "nano", "--socket", "s.sock", *arguments, program=WEFT_SIM)

    def refused(self, content, *said):
        code, out, err = self.simulate("--manager", "rv32", "--image", self.write(content))
        self.assertEqual((code, out), (WRONG, ""), err)
        self.assertTrue(err.startswith("weft-sim: --image fw.image: "), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        for text in said:
            self.assertIn(text, err)

    def test_the_builds_own_image_computes_the_same_in_the_same_cycles(self):
        shape = ("gemm", "--shape", "8x8x8", "--chip", "nano", "--core", "fast", "--manager", "rv32", "--verify", "-o", "C.npy")
        built_in = self.weft_json(*shape)
        with mock.patch.dict(os.environ, WEFT_IMAGE=str(IMAGE)):
            self.assertEqual(self.weft_json(*shape)["device_cycles"], built_in["device_cycles"])

    def test_another_image_runs_in_place_of_the_one_that_is_built_in(self):
        """A ROM without an instruction, which does not boot."""
        content = changed(self.image, rom=bytes(256), functions=b"")
        with mock.patch.dict(os.environ, WEFT_IMAGE=self.path(self.write(content))):
            code, out, err = self.run_weft("gemm", "--shape", "8x8x8", "--chip", "nano", "--core", "fast", "--manager", "rv32")
        self.assertEqual(out, "")
        self.assertNotIn(code, (0, WRONG), err)
        self.assertRegex(err, "BOOT_FAILED: (boot|the device has) failed with DEVICE_HUNG after (its reset, )?stage 0 .rom: waiting for BOOT_CONTROL.")

    def test_a_replay_runs_the_image_that_is_named(self):
        for manager in ("rv32", "native"):
            with mock.patch.dict(os.environ, WEFT_RECORD=self.path(manager)):
                self.weft("gemm", "--shape", "8x8x8", "--chip", "nano", "--core", "fast", "--manager", manager)
        code, out, err = self.run_weft("--replay", "rv32", "--json", "--image", IMAGE, program=WEFT_SIM)
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(json.loads(out)["cycles_compared"])
        other = self.write(changed(self.image, rom=self.image[HEADER_BYTES:HEADER_BYTES + 128] + bytes(256), functions=b""))
        code, _, err = self.run_weft("--replay", "rv32", "--json", "--image", other, program=WEFT_SIM)
        self.assertNotIn(code, (0, WRONG), err)
        code, _, err = self.run_weft("--replay", "native", "--image", IMAGE, program=WEFT_SIM)
        self.assertEqual(code, WRONG, err)
        self.assertIn("--image needs --manager rv32 or ibex", err)

    def test_a_driver_says_why_an_image_is_refused(self):
        with mock.patch.dict(os.environ, WEFT_IMAGE=self.path(self.write(b"no image"))):
            code, out, err = self.run_weft("gemm", "--shape", "8x8x8", "--chip", "nano", "--core", "fast", "--manager", "rv32")
        self.assertEqual((code, out), (WRONG, ""), err)
        self.assertIn("it is no image of Weft's firmware", err)

    def test_what_is_no_image(self):
        for content in (b"", b"W", b"WEFTIMG", b"\x7fELF" + bytes(1000), self.image[1:], bytes(70_000)):
            self.refused(content, "it is no image of Weft's firmware")

    def test_an_image_of_another_abi(self):
        abi = struct.unpack_from(HEADER, self.image)[1]
        ours = f"this simulator has {abi >> 16}.{abi & 0xffff}"
        for other in (abi + 1, abi + 0x10000, 0, 0xffffffff):
            self.refused(changed(self.image, abi=other), f"an image of ABI {other >> 16}.{other & 0xffff}; {ours}")

    def test_an_image_that_is_too_large(self):
        self.refused(changed(self.image, rom=bytes(64 * 1024 + 4)), "the firmware's image has 65540 bytes; a ROM of 65536 bytes")
        self.refused(self.image + bytes(1 << 20), "it is too large for an image of the firmware: more than 1048576 bytes")
        self.refused(changed(self.image, rom=bytes(128)), "the firmware's image has 128 bytes")

    def test_an_image_that_is_cut_off_or_has_more(self):
        for size in (HEADER_BYTES, HEADER_BYTES + 1, len(self.image) // 2, len(self.image) - 1):
            self.refused(self.image[:size], f"it has {size} bytes, and its header says {len(self.image)}: it is cut off")
        self.refused(self.image + b"\n", "it is damaged")
        for field in ("rom_bytes", "functions_bytes"):
            self.refused(changed(self.image, **{field: 0xffffffff}), "cut off, or damaged")

    def test_an_image_of_another_state(self):
        header = dict(zip(FIELDS, struct.unpack_from(HEADER, self.image), strict=True))
        for field, other in (("state_bytes", header["state_bytes"] + 8), ("state_address", header["state_address"] + 4), ("state_bytes", 0)):
            self.refused(changed(self.image, **{field: other}), "bytes of state at")

    def test_functions_that_are_none(self):
        for names in (b"80 a", b"x a\n", b"80\n", b"80 \n", b"80 a\n7f b\n", b"100000000 a\n", b"80 \x1b\n", b"80\ta\n", b"\n"):
            self.refused(changed(self.image, functions=names), "its functions' names are not of the form")

    def test_random_damage_has_a_name(self):
        generator = random.Random(13)
        for _ in range(40):
            content = bytearray(self.image)
            for _ in range(generator.randrange(1, 4)):
                content[generator.choice((generator.randrange(HEADER_BYTES), generator.randrange(len(content))))] ^= 1 << generator.randrange(8)
            if content != self.image:
                self.refused(bytes(content))

    def test_files_that_do_not_open(self):
        os.mkfifo(self.path("pipe"))
        for name, said in (("gone", "No such file"), (".", "no regular file"), ("pipe", "no regular file"), ("/dev/zero", "no regular file")):
            code, _, err = self.simulate("--manager", "rv32", "--image", name)
            self.assertEqual(code, WRONG, err)
            self.assertIn(f"--image {name}: ", err)
            self.assertIn(said.lower(), err.lower())

    def test_the_native_firmware_has_no_image(self):
        code, _, err = self.simulate("--manager", "native", "--image", self.write(self.image))
        self.assertEqual(code, WRONG, err)
        self.assertIn("--image needs --manager rv32 or ibex", err)


if __name__ == "__main__":
    unittest.main()
