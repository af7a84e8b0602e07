#!/usr/bin/env python3
"""weft.devices, weft.open, and what becomes of a device that is closed, forked, or never was."""
import contextlib
import json
import os
import select
import subprocess
import tempfile
import threading
import time
import unittest

from weft_package import python, weft_command

import weft


@contextlib.contextmanager
def listening():
    """The folder of a simulator that runs by itself."""
    with tempfile.TemporaryDirectory(prefix="weft-python-") as folder:
        simulator = subprocess.Popen([os.environ["WEFT_SIM"], "--chip", "nano", "--core", "fast", "--functions", "2", "--listen", folder], stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while not os.path.exists(f"{folder}/management.sock"):
                assert time.monotonic() < deadline and simulator.poll() is None, "the simulator does not listen"
                time.sleep(0.02)
            yield folder
        finally:
            simulator.terminate()
            simulator.wait()


class Devices(unittest.TestCase):
    def test_the_list_is_that_of_weft_list(self):
        with listening() as folder:
            rows = json.loads(weft_command("list", "--listen", folder, "--json"))
            found = weft.devices(folder)
        names = {weft.CoreKind.UNKNOWN: "", weft.CoreKind.RTL: "rtl", weft.CoreKind.FAST: "fast", weft.CoreKind.LOCKSTEP: "lockstep"}
        told = [dict(name=e.name, preset=e.preset, core=names[e.core], busy=e.busy, owner=e.owner, obstacle=e.obstacle) for e in found]
        self.assertEqual(told, rows)
        self.assertEqual(found[0].name, f"vfio-user:{folder}/function0.sock")
        self.assertIn("sim:nano", [entry.name for entry in found])

    def test_a_function_that_is_taken_is_busy_and_its_owner_is_told(self):
        with listening() as folder:
            name = f"vfio-user:{folder}/function0.sock"
            with weft.open(name):
                entry = weft.devices(folder)[0]
                self.assertEqual((entry.busy, entry.owner), (True, os.getpid()))
                with self.assertRaises(weft.Error) as caught:
                    weft.open(name)
                self.assertEqual(caught.exception.status, weft.Status.BUSY)
                self.assertIn(str(os.getpid()), str(caught.exception))
            self.assertFalse(weft.devices(folder)[0].busy)

    def test_a_folder_in_which_nothing_listens_is_told(self):
        with self.assertRaises(weft.Error) as caught:
            weft.devices("/nowhere")
        self.assertEqual(caught.exception.status, weft.Status.DEVICE_LOST)
        self.assertIn("/nowhere", str(caught.exception))

    def test_wrong_names_are_errors_in_the_librarys_words(self):
        for name, options, words in (("sim:none", {}, "none"), ("nano", {"core": "quick"}, "quick"), ("nano", {"no_such": 1}, "no-such"), ("vfio-user:/nowhere", {}, "nowhere"),
                                     ("x" * 5000, {}, ""), ("sim:nano\0", {}, "zero byte")):
            with self.subTest(name=name[:20], options=options), self.assertRaises(weft.Error) as caught:
                weft.open(name, **options)
            self.assertRegex(str(caught.exception), r"^[A-Z_]+: ")
            self.assertIn(words, str(caught.exception))


class Device(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.device = weft.open("nano", core="fast")
        cls.addClassCleanup(cls.device.close)

    def test_it_tells_what_it_is(self):
        info = self.device.info
        self.assertEqual((info.preset, info.core, info.state), ("nano", weft.CoreKind.FAST, weft.DeviceState.READY))
        self.assertGreater(info.hbm_bytes, 1 << 20)
        self.assertLessEqual(info.hbm_free_bytes, info.hbm_bytes)
        self.assertGreater(self.device.cycle, 0)
        self.assertEqual(set(self.device.counters()), set(weft.Counter))

    def test_counters_count_a_product(self):
        import numpy as np

        before = self.device.counters()
        self.device.gemm(np.ones((16, 32), np.float32), np.ones((32, 8), np.float32))
        self.assertGreaterEqual(self.device.counters()[weft.Counter.MXU_MACS] - before[weft.Counter.MXU_MACS], 16 * 32 * 8)

    def test_its_descriptor_is_readable_when_a_command_has_ended(self):
        with self.device.queue() as queue:
            event = queue.nop()
            while not event.done:
                self.assertTrue(select.select([self.device.fileno()], [], [], 10)[0])
                self.device.process()
            self.assertIsNone(event.error)

    def test_a_reset_ends_queues_and_programs_and_leaves_the_device(self):
        import numpy as np

        queue = self.device.queue()
        self.device.reset()
        with self.assertRaises(weft.Error) as caught:
            queue.nop()
        self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE)
        self.assertEqual(self.device.gemm(np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)).tolist(), np.eye(4).tolist())


class Closed(unittest.TestCase):
    def test_everything_of_a_closed_device_raises_and_nothing_ends_the_process(self):
        import numpy as np

        device = weft.open("nano")
        queue, buffer, host = device.queue(), device.buffer(64), device.buffer(64, weft.Memory.HOST)
        event, view = queue.nop().wait(), host.view()
        device.close()
        device.close()
        self.assertTrue(device.closed)
        one = np.ones((2, 2), np.float32)
        for call in (lambda: device.info, lambda: device.cycle, device.counters, device.queue, lambda: device.buffer(4), device.reset, device.fileno, device.process,
                     lambda: device.gemm(one, one), lambda: device.load(b""), lambda: device.put(one), queue.nop, lambda: buffer.write(one), lambda: buffer.read(np.uint8, (4,)),
                     lambda: buffer.device_address, lambda: queue.copy(buffer, host, 4)):
            with self.assertRaises(weft.Error) as caught:
                call()
            self.assertEqual(caught.exception.status, weft.Status.INVALID_STATE, str(caught.exception))
        self.assertTrue(event.done)
        view[:] = 1  # memory of this process, and there as long as the view
        host.release()
        self.assertEqual(int(view.sum()), 64)
        queue.release()
        buffer.release()

    def test_a_close_while_other_threads_compute_ends_with_errors_or_results(self):
        import numpy as np

        device = weft.open("nano")
        one = np.eye(8, dtype=np.float32)
        ends = []

        def work():
            try:
                for _ in range(200):
                    np.testing.assert_array_equal(device.gemm(one, one), one)
                ends.append("all")
            except weft.Error as error:
                ends.append(error.status)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        device.close()
        for thread in threads:
            thread.join()
        self.assertEqual(len(ends), 3)
        self.assertLessEqual(set(ends), {"all", weft.Status.INVALID_STATE, weft.Status.CANCELLED})

    def test_a_forked_child_has_none_of_it_and_may_open_its_own(self):
        import numpy as np

        device = weft.open("nano")
        self.addCleanup(device.close)
        buffer, one = device.buffer(64), np.eye(2, dtype=np.float32)
        child = os.fork()
        if child == 0:
            try:
                for call in (lambda: device.info, lambda: device.gemm(one, one), lambda: buffer.device_address):
                    try:
                        call()
                        os._exit(1)
                    except weft.Error as error:
                        if error.status != weft.Status.INVALID_STATE:
                            os._exit(2)
                with weft.open("nano") as own:
                    os._exit(0 if (own.gemm(one, one) == one).all() else 3)
            finally:
                os._exit(4)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        np.testing.assert_array_equal(device.gemm(one, one), one)

    def test_a_process_that_forgets_to_close_ends_well(self):
        code = "import numpy, weft\nd = weft.open('nano')\nq = d.queue()\nb = d.put(numpy.ones(4))\ne = q.nop()\nprint(d)"
        done = python(code)
        self.assertEqual((done.stdout.strip(), done.stderr), ("<weft.Device sim:nano?core=fast>", ""))

    def test_a_simulator_that_is_not_there_is_told(self):
        code = "import weft\ntry: weft.open('nano')\nexcept weft.Error as e: print(e.status.name, e)"
        out = python(code, WEFT_SIM="/nowhere/weft-sim").stdout
        self.assertIn("INVALID_STATE", out)
        self.assertIn("/nowhere/weft-sim", out)

    def test_a_library_that_is_not_there_is_told(self):
        done = python("import weft\nweft.devices()", expected=1, WEFT_PJRT_LIBRARY="/nowhere/lib.so")
        self.assertIn("looked for /nowhere/lib.so", done.stderr)


if __name__ == "__main__":
    unittest.main()
