"""Models as gates, in the binary form of AIGER 1.9, which Yosys writes and ABC reads."""
from dataclasses import dataclass


@dataclass
class Aiger:
    """A model in AIGER 1.9. A literal is 2 x variable + 1 if negated; variables: inputs, latches, gates, from 1."""
    inputs: int
    next_states: list
    bad: list
    constraints: list
    gates: list  # (literal, literal) of each and


def read(data):
    """Of the binary form."""
    end = data.index(b"\n")
    header = [int(word) for word in data[:end].split()[1:]] + [0, 0]
    inputs, latches, outputs, gates, bad, constraints = header[1:7]
    at = end + 1

    def line():
        nonlocal at
        end = data.index(b"\n", at)
        text, at = data[at:end], end + 1
        return int(text.split()[0])

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    next_states = [line() for _ in range(latches)]
    outs = [line() for _ in range(outputs)]
    bads = [line() for _ in range(bad)]
    model = Aiger(inputs, next_states, bads or outs, [line() for _ in range(constraints)], [])
    for index in range(gates):
        first = 2 * (inputs + latches + index + 1) - number()
        model.gates.append((first, first - number()))
    return model


def with_outputs(data, kept):
    """The same model with those of its bad outputs alone whose numbers `kept` holds, in their order. What only the others need stays."""
    header = data[:data.index(b"\n")].split()
    latches, outputs, bad = int(header[3]), int(header[4]), int(header[6])
    if outputs:
        raise ValueError("a model with outputs that are not bad")
    lines = data.split(b"\n", 1 + latches + bad)
    bads = lines[1 + latches:-1]
    header[6] = b"%d" % len(kept)
    return b"\n".join([b" ".join(header), *lines[1:1 + latches], *(bads[index] for index in kept), lines[-1]])
