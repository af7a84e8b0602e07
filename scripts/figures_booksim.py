"""Uniform traffic on a 16x16 torus beside what BookSim2 accepts, both with the same router."""
from figures_tools import row

GOAL_BOOKSIM = 0.10
# BookSim2 (28f43299): topology = torus; k = 16; n = 2; routing_function = dim_order; num_vcs = 2; vc_buf_size = 8; packet_size = 1; traffic = uniform; sim_type = throughput; injection_rate_uses_flits = 1;
# seed = 1; warmup_periods = 2; max_samples = 3; sample_period = 3000; all else as it comes. What a point changes, flits per node and cycle that are accepted, and the same of ours.
ROUTER = ("--crossbar", "--ingress", "--injection-queues", 2, "--first-come", "--datelines-ahead", "--hop-cycles", 4)
BOOKSIM = (
    ("injection_rate = 0.05", 0.0501, ("--offered", 0.05)),
    ("injection_rate = 0.1", 0.1000, ("--offered", 0.1)),
    ("injection_rate = 0.2", 0.0723, ("--offered", 0.2)),
    ("injection_rate = 0.5", 0.0682, ("--offered", 0.5)),
    ("injection_rate = 0.5, vc_buf_size = 4", 0.0644, ("--offered", 0.5, "--buffers", 4)),
    ("injection_rate = 0.5, vc_buf_size = 64", 0.0695, ("--offered", 0.5, "--buffers", 64)),
    ("injection_rate = 0.5, routing_delay = 0", 0.0938, ("--offered", 0.5, "--head-cycles", 1)),
    ("injection_rate = 0.5, speculative = 1", 0.1020, ("--offered", 0.5, "--head-cycles", 1, "--channel-cycles", 0)),
    ("injection_rate = 0.5, routing_delay = 0, speculative = 1", 0.1671, ("--offered", 0.5, "--head-cycles", 0, "--channel-cycles", 0)),
    ("injection_rate = 0.2, packet_size = 8, vc_buf_size = 64", 0.2003, ("--offered", 0.2, "--flits", 8)),
    ("injection_rate = 0.5, packet_size = 8, vc_buf_size = 64", 0.1503, ("--offered", 0.5, "--flits", 8)),
)
DEFAULTS = {"--buffers": 8, "--head-cycles": 2, "--channel-cycles": 1}  # routing and allocation of a channel take a cycle each; a channel that is given back can be taken a cycle later


def booksim(tools):
    """Uniform traffic on v5e-16x16 in two channels, along x first, by a router with BookSim2's limits; then by an ideal one, at the point that loads it most."""
    rows = []

    def accepted(*arguments):
        return tools.run_json("ici_saturation", "uniform", "--slice", "v5e-16x16", "--x-first", 1, "--cycles", 12_000, *arguments, timeout=1800)["accepted"]

    for point, theirs, changes in BOOKSIM:
        options = [value for name, value in DEFAULTS.items() if name not in changes for value in (name, value)]
        ours = accepted(*ROUTER, *options, *changes)
        off = ours / theirs - 1
        rows.append(row(f"16x16 uniform, {point}", 100 * off, f"% off what BookSim2 accepts: {ours:.4f} flits per chip and cycle against {theirs:.4f}", f"within {100 * GOAL_BOOKSIM:g} %", abs(off) <= GOAL_BOOKSIM))
    ideal = accepted("--hop-cycles", 4, "--buffers", 8, "--offered", 0.5)
    rows.append(row("16x16 uniform, ideal routers", ideal, "flits per chip and cycle, the same channels and buffers", f">= {BOOKSIM[3][1]:g}", ideal >= BOOKSIM[3][1]))
    return rows
