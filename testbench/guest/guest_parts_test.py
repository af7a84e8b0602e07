#!/usr/bin/python3
"""What of the guest tests needs no guest: the archive, versions, what differs between reports, results, reasons to skip."""
import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import cases
import guest_tests
import initramfs
import machine
import packages


def report(**fields):
    return json.dumps({"device_cycles": 4966, "differing": 0, "wall_seconds": 1.5, **fields}) + "\nabc  c.npy\n"


def result(out, code=0, name="gemm"):
    def text(words):
        return base64.b64encode(words.encode()).decode()
    return machine.Result(f"result {name} {code} 12.5 {text(out)} {text('oh')}")


class Archive(unittest.TestCase):
    def test_an_image_is_what_cpio_unpacks(self):
        image = initramfs.Image()
        image.add("/deep/folder/file", b"12345")
        image.add("/init", b"#!/bin/sh\n", initramfs.EXECUTABLE)
        archive = image.archive()
        self.assertEqual(archive.count(b"070701"), 5)
        self.assertEqual(len(archive) % 4, 0)
        names = [name for name in (b"deep\0", b"deep/folder\0", b"deep/folder/file\0", b"init\0", b"TRAILER!!!\0") if name in archive]
        self.assertEqual(len(names), 5)
        self.assertLess(archive.index(b"deep/folder\0"), archive.index(b"deep/folder/file\0"))
        head = archive[archive.index(b"deep/folder/file\0") - 110:]
        self.assertEqual((int(head[14:22], 16), int(head[54:62], 16), int(head[94:102], 16)), (initramfs.FILE, 5, len(b"deep/folder/file\0")))

    def test_a_program_comes_with_its_libraries(self):
        image = initramfs.Image()
        image.add_program("/bin/true", "/bin/true")
        self.assertIn("lib64/ld-linux-x86-64.so.2", image.entries)
        self.assertTrue(any(path.endswith("libc.so.6") for path in image.entries))
        with self.assertRaises((FileNotFoundError, subprocess.CalledProcessError)):
            initramfs.libraries("/nonexistent")

    def test_the_script_of_a_guest_is_a_shell_s(self):
        script = cases.script(guest_tests.weft_id())
        self.assertEqual(subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode, 0)
        self.assertRegex(script, r"WEFT_ID=0x[0-9a-f]{4}:0x[0-9a-f]{4}")
        self.assertEqual(subprocess.run(["sh", "-n", Path(__file__).with_name("init")], check=False).returncode, 0)


class Results(unittest.TestCase):
    def test_a_line_of_the_guest(self):
        found = result("out\n", 4)
        self.assertEqual((found.name, found.code, found.seconds, found.out, found.err), ("gemm", 4, 12.5, "out\n", "oh"))
        self.assertEqual(machine.Result("result end 0 0 - -").out, "")
        self.assertEqual(machine.Result("result a 0 1.5  ").out, "")

    def test_times_may_differ_and_nothing_else(self):
        self.assertEqual(cases.differences("gemm", result(report()), result(report(wall_seconds=9))), [])
        for other in (report(device_cycles=4967), report(differing=1), report(launch_latency={"a": 1}), report().replace("abc", "xyz")):
            self.assertEqual(len(cases.differences("gemm", result(other), result(report()))), 1, other)
        self.assertEqual(len(cases.differences("gemm", result("", 1), result(report()))), 1)
        nested = json.dumps([{"status": "OK", "message": "a"}])
        self.assertEqual(cases.differences("x", result(nested), result(nested.replace('"a"', '"b"'))), [])
        self.assertEqual(len(cases.differences("x", result(nested), result(nested.replace("OK", "NO")))), 1)

    def test_a_difference_names_its_place(self):
        one, other = ({"checks": [{"text": f"generation {n} in {n} cycles; {bits} bits"}]} for n, bits in ((1, 5), (2, 6)))
        self.assertEqual(cases.differences("x", result(json.dumps(one)), result(json.dumps(other))),
                         ['x: report.checks[0].text: "reset; 5 bits" in the guest, "reset; 6 bits" outside'])
        self.assertEqual(cases.differences("x", result("[1, 2]"), result("[1]")), ["x: report: [1, 2] in the guest, [1] outside"])

    def test_of_a_fault_that_meets_whom_it_meets_the_commands_may_differ_and_nothing_else(self):
        trial = json.dumps([{"status": "DMA_FAULT", "commands": [{"status": "OK"}]}])
        other = trial.replace('"OK"', '"DMA_FAULT"')
        self.assertEqual(cases.differences("fault_host_memory", result(trial), result(other)), [])
        self.assertEqual(len(cases.differences("fault_HBM", result(trial), result(other))), 1)
        self.assertEqual(len(cases.differences("fault_host_memory", result(trial), result(trial.replace('"DMA_FAULT"', '"OK"')))), 1)
        self.assertTrue(set(cases.UNORDERED) <= {case.name for case in cases.compared()})

    def test_every_fault_has_a_file_and_a_class_of_its_own_name(self):
        self.assertEqual(len(cases.fault_files()), len(cases.FAULTS))
        self.assertEqual(len({case.name for case in cases.compared()}), len(list(cases.compared())))


class Packages(unittest.TestCase):
    def qemu(self, folder, version, devices="name \"vfio-user-pci\""):
        program = Path(folder) / "qemu-system-x86_64"
        program.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'QEMU emulator version {version} (Debian)' || echo '{devices}'\n")
        program.chmod(0o755)
        return program

    def test_a_qemu_is_taken_by_its_version_and_its_client(self):
        with tempfile.TemporaryDirectory() as folder:
            for version, devices, good in (("10.1.0", "vfio-user-pci", True), ("11.1.3", "vfio-user-pci", True), ("10.0.9", "vfio-user-pci", False), ("9.2.1", "vfio-user-pci", False),
                                           ("11.0.0", "vfio-pci", False)):
                qemu = packages.Qemu([str(self.qemu(folder, version, devices))])
                self.assertEqual(qemu.knows_vfio_user(), good, version)
        self.assertEqual(packages.version_of(["/nonexistent/qemu"]), (0, 0))

    def test_without_a_qemu_and_without_fetching_there_is_a_reason_to_skip(self):
        path = os.environ["PATH"]
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PATH"] = folder
            try:
                with self.assertRaisesRegex(packages.NotToBeHad, "no QEMU of 10.1 or newer"):
                    packages.find_qemu(Path(folder), fetch=False)
                with self.assertRaisesRegex(packages.NotToBeHad, "no kernel"):
                    packages.find_kernel(Path(folder), fetch=False)
                with self.assertRaisesRegex(packages.NotToBeHad, "no Debian"):
                    packages.find_qemu(Path(folder))
            finally:
                os.environ["PATH"] = path

    def test_what_was_cut_short_is_made_again(self):
        with tempfile.TemporaryDirectory() as folder:
            made = []

            def make(place):
                made.append(place)
                (place / "file").touch()
                if len(made) == 1:
                    raise packages.NotToBeHad("cut short")

            with self.assertRaises(packages.NotToBeHad):
                packages.once(Path(folder) / "x", make)
            packages.once(Path(folder) / "x", make)
            packages.once(Path(folder) / "x", make)
            self.assertEqual(len(made), 2)


if __name__ == "__main__":
    unittest.main()
