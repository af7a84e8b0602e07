"""jax.profiler writes what the chips did, launch by launch and operator by operator, as Perfetto reads it.

environment: WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY
"""

import collections
import gzip
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
os.environ["JAX_PLATFORMS"] = "weft"
os.environ["WEFT_CHIPS"] = "nano-2x2"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import weft  # noqa: E402
from jax.sharding import Mesh  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

CLOCK_MHZ = 1000  # of nano
X, W = (np.random.default_rng(seed).standard_normal((64, 64)).astype(np.float32) for seed in (1, 2))


@jax.jit
def layer(x, w):
    return jax.nn.softmax(jnp.tanh(x @ w) @ w)


class Trace:
    """Of what runs while it is made: by device its lines, by line its events, in order."""

    def __init__(self, run):
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder, create_perfetto_trace=True):
                run()
            (path,) = pathlib.Path(folder).glob("plugins/profile/*/perfetto_trace.json.gz")
            with gzip.open(path) as file:
                events = json.load(file)["traceEvents"]
        processes, lines = {}, {}
        self.devices = collections.defaultdict(lambda: collections.defaultdict(list))
        for event in events:
            if event.get("name") == "process_name":
                processes[event["pid"]] = event["args"]["name"]
            if event.get("name") == "thread_name":
                lines[event["pid"], event["tid"]] = event["args"]["name"]
        for event in events:
            if event.get("ph") == "X" and "Weft" in processes.get(event["pid"], ""):
                self.devices[processes[event["pid"]]][lines[event["pid"], event["tid"]]].append(event)


class Traces(unittest.TestCase):
    def test_launches_and_operators_have_the_cycles_that_weft_profile_tells(self):
        layer(X, W).block_until_ready()
        with weft.profile() as profile:
            layer(X, W).block_until_ready()
        trace = Trace(lambda: [layer(X, W).block_until_ready() for _ in range(3)])
        (lines,) = trace.devices.values()
        launches, operators = lines["Programs"], lines["Operators"]
        (program,) = profile.programs
        self.assertEqual([int(launch["args"]["cycles"]) for launch in launches], [program.launches[0].cycles] * 3)
        told = [(operator.name, operator.cycles) for operator in program.operators if operator.cycles]
        self.assertEqual([(o["name"], int(o["args"]["cycles"])) for o in operators], told * 3)
        self.assertGreater(len(told), 1)
        for event in launches + operators:
            self.assertAlmostEqual(event["dur"], int(event["args"]["cycles"]) / CLOCK_MHZ, places=3)

    def test_operators_lie_within_their_launches_and_none_before_the_last_one_has_ended(self):
        trace = Trace(lambda: [layer(X, W).block_until_ready() for _ in range(2)])
        (lines,) = trace.devices.values()
        ends = 0.0
        for event in lines["Operators"]:
            self.assertGreaterEqual(event["ts"], ends - 1e-3)
            ends = event["ts"] + event["dur"]
        self.assertLessEqual(ends, lines["Programs"][-1]["ts"] + lines["Programs"][-1]["dur"] + 1e-3)

    def test_each_chip_has_its_own_lines(self):
        mesh = Mesh(np.array(jax.devices()), ("i",))
        step = jax.jit(jax.shard_map(lambda x, w: jax.lax.psum(jnp.tanh(x @ w), "i"), mesh=mesh, in_specs=(P("i"), P()), out_specs=P()))
        step(X, W).block_until_ready()
        trace = Trace(lambda: step(X, W).block_until_ready())
        self.assertEqual(len(trace.devices), 4)
        launches = [[event["name"] for event in lines["Programs"]] for _, lines in sorted(trace.devices.items())]
        self.assertTrue(launches[0])
        self.assertEqual(launches, [launches[0]] * 4)

    def test_nothing_that_ran_is_a_trace_without_devices(self):
        self.assertEqual(dict(Trace(lambda: None).devices), {})

    def test_a_second_recording_is_refused_and_the_first_goes_on(self):
        with weft.profile(operators=False) as profile:
            trace = Trace(lambda: layer(X, W).block_until_ready())
        self.assertEqual(dict(trace.devices), {})
        self.assertEqual([program.calls for program in profile.programs], [1])


if __name__ == "__main__":
    unittest.main()
