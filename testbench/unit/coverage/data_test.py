"""data.py: the collector's files, whole and damaged."""
import pathlib
import random
import tempfile
import unittest

import data

HEAD = "# SystemC::Coverage-3\n"
PORTS = "# weft port toggles 1: module port width rose fell both\n"


def point(file="rtl/a.sv", line=3, column=5, page="v_line/a", comment="block", lines="3-4,9", hits=7) -> str:
    keys = {"f": file, "l": line, "n": column, "page": page, "o": comment, "S": lines}
    return "C '" + "".join(f"\x01{k}\x02{v}" for k, v in keys.items() if v != "") + f"' {hits}\n"


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name: str, text: str | bytes) -> pathlib.Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


class PointTest(Folder):
    def test_a_point_is_read_with_its_lines(self):
        coverage = data.Coverage()
        data.read_points(self.write("a.dat", HEAD + point()), coverage)
        self.assertEqual(coverage.hits, {data.Point("rtl/a.sv", 3, 5, "line", "block", (3, 4, 9)): 7})

    def test_the_same_point_of_two_parameterisations_and_processes_is_one(self):
        self.write("a.dat", HEAD + point(page="v_line/a__W4", hits=2) + point(page="v_line/a__W8", hits=3))
        self.write("b.dat", HEAD + point(hits=5))
        coverage = data.read_folder(self.folder)
        self.assertEqual(list(coverage.hits.values()), [10])
        self.assertEqual(coverage.files, 2)

    def test_branches_of_one_line_stay_apart(self):
        self.write("a.dat", HEAD + point(page="v_branch/a", comment="if") + point(page="v_branch/a", comment="else", column=6, lines=""))
        self.assertEqual(len(data.read_folder(self.folder).hits), 2)

    def test_the_name_of_a_user_point_is_unescaped(self):
        self.write("a.dat", HEAD + point(page="v_user/a", comment="Baz___05Fx_C"))
        self.assertEqual([p.comment for p in data.read_folder(self.folder).hits], ["Baz__x_C"])

    def test_damaged_files_are_refused_with_their_place(self):
        for text in ("", "garbage\n", HEAD + "C 'x' 1\n", HEAD + point()[:-1], HEAD + point(hits="-1"), HEAD + point(hits=""),
                     HEAD + point(lines="4-3"), HEAD + point(lines="1-99999999"), HEAD + point(line="x"),
                     HEAD + point(page="v_toggle/a"), HEAD + point().replace("\x01n\x025", ""), b"\xff\xfe\x00"):
            with self.subTest(text=text):
                path = self.write("a.dat", text)
                with self.assertRaisesRegex(data.DataError, "a.dat"):
                    data.read_points(path, data.Coverage())

    def test_random_bytes_never_end_in_anything_but_a_data_error(self):
        seed = 20240601
        generator = random.Random(seed)
        good = (HEAD + point() + point(comment="if", page="v_branch/a")).encode()
        for _ in range(2000):
            damaged = bytearray(good)
            for _ in range(generator.randint(1, 4)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            try:
                data.read_points(self.write("a.dat", bytes(damaged)), data.Coverage())
            except data.DataError:
                pass


class PortTest(Folder):
    def test_a_bit_is_covered_only_if_one_instance_saw_both_edges(self):
        self.write("a.dat", HEAD)
        self.write("a.ports", PORTS + "m x_i 4 0000000f 0000000c 00000004\n")
        self.write("b.ports", PORTS + "m x_i 8 00000080 000000c1 00000080\n")
        bits = data.read_folder(self.folder).ports["m", "x_i"]
        self.assertEqual((bits.width, bits.rose, bits.fell, bits.both), (8, 0x8f, 0xcd, 0x84))

    def test_fields_of_structs_have_their_own_lines(self):
        self.write("a.dat", HEAD)
        self.write("a.ports", PORTS + "m x_i.a 4 0000000f 0000000c 00000004\nm y_i[12].b 1 00000001 00000001 00000000\n")
        self.assertEqual(sorted(data.read_folder(self.folder).ports), [("m", "x_i.a"), ("m", "y_i[12].b")])

    def test_impossible_ports_are_refused(self):
        for line in ("m x_i 0 0 0 0", "m x_i 4 10 0 0", "m x_i 4 1 2 1", "m x_i 4 1 1", "m x_i 4 1 1 g", "m x-i 4 1 1 1", "\x00"):
            with self.subTest(line=line):
                path = self.write("a.ports", PORTS + line + "\n")
                with self.assertRaisesRegex(data.DataError, "a.ports:2"):
                    data.read_ports(path, data.Coverage())


class FolderTest(Folder):
    def test_no_data_is_an_error(self):
        with self.assertRaisesRegex(data.DataError, "no coverage data"):
            data.read_folder(self.folder)

    def test_a_half_written_file_is_an_error(self):
        self.write("a.dat", HEAD)
        self.write("b.dat.partial", HEAD)
        with self.assertRaisesRegex(data.DataError, "ended while it wrote"):
            data.read_folder(self.folder)


if __name__ == "__main__":
    unittest.main()
