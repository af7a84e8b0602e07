"""The step of an induction, one assertion at a time, each with as few assumptions as it needs. Those that were shown before may be
assumed of the same cycle too, so an assertion about half of a computation helps the one about its end.

ABC's `ind` puts all assertions into one question, and all that may be assumed: a solver then may not end where it ends each of them
in a second."""
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


def _number(value):
    coded = bytearray()
    while value > 127:
        coded.append(value & 127 | 128)
        value >>= 7
    return bytes(coded + bytes([value]))


class _Gates:
    """Ands over `inputs` inputs, each pair once."""

    def __init__(self, inputs):
        self.inputs, self.list, self.known = inputs, [], {}

    def both(self, a, b):
        a, b = max(a, b), min(a, b)
        if b == 0 or a == b ^ 1:
            return 0
        if b == 1 or a == b:
            return a
        if (a, b) not in self.known:
            self.list.append((a, b))
            self.known[a, b] = 2 * (self.inputs + len(self.list))
        return self.known[a, b]

    def all(self, literals):
        result = 1
        for literal in literals:
            result = self.both(result, literal)
        return result


class Step:
    """A model over depth + 1 cycles, the first of them in any state. `failures`: of each assertion, that it fails in the last cycle.
    `hypotheses`: what may be assumed: that all assertions held before, and all constraints in each cycle."""

    def __init__(self, model, depth):
        latches = len(model.next_states)
        self.inputs = latches + (depth + 1) * model.inputs
        gates = _Gates(self.inputs)
        self.hypotheses = []
        state = [2 * (index + 1) for index in range(latches)]
        for cycle in range(depth + 1):
            first = latches + cycle * model.inputs
            values = [0] + [2 * (first + index + 1) for index in range(model.inputs)] + state

            def value(literal, values=values):
                return values[literal >> 1] ^ (literal & 1)

            for a, b in model.gates:
                values.append(gates.both(value(a), value(b)))
            self.hypotheses += [value(literal) for literal in model.constraints]
            if cycle < depth:
                self.hypotheses += [value(literal) ^ 1 for literal in model.bad]
                state = [value(literal) for literal in model.next_states]
        self.failures = [value(literal) for literal in model.bad]
        self.gates = gates.list
        self.cones = [self.cone([literal]) for literal in self.hypotheses]

    def cone(self, literals):
        """Variables on which these depend."""
        seen, left = set(), [literal >> 1 for literal in literals]
        while left:
            variable = left.pop()
            if variable in seen or variable == 0:
                continue
            seen.add(variable)
            if variable > self.inputs:
                left += [literal >> 1 for literal in self.gates[variable - self.inputs - 1]]
        return seen

    def shown(self, failure):
        """This assertion holds: it may be assumed of the last cycle from now on."""
        self.hypotheses.append(failure ^ 1)
        self.cones.append(self.cone([failure]))

    def question(self, literals):
        """(bytes in AIGER, its inputs, its variables): one output, 1 if all of these are."""
        cone = self.cone(literals)
        used = sorted(cone)
        inputs = [variable for variable in used if variable <= self.inputs]
        new = {0: 0} | {variable: index + 1 for index, variable in enumerate(used)}
        gates = [tuple(2 * new[literal >> 1] | (literal & 1) for literal in self.gates[variable - self.inputs - 1])
                 for variable in used[len(inputs):]]
        output = 1
        for literal in literals:
            gates.append((output, 2 * new[literal >> 1] | (literal & 1)))
            output = 2 * (len(inputs) + len(gates))
        text = [b"aig %d %d 0 1 %d\n%d\n" % (len(inputs) + len(gates), len(inputs), len(gates), output)]
        for index, pair in enumerate(gates):
            own, a, b = 2 * (len(inputs) + index + 1), max(pair), min(pair)
            text.append(_number(own - a) + _number(a - b))
        return b"".join(text), inputs, cone

    def values(self, ones):
        """Of all variables, if these inputs are 1 and all others 0."""
        values = [0] * (self.inputs + 1)
        for variable in ones:
            values[variable] = 1
        for a, b in self.gates:
            values.append((values[a >> 1] ^ (a & 1)) & (values[b >> 1] ^ (b & 1)))
        return values


def holds(step, failure, solve):
    """Whether this assertion cannot fail. Assumes as little as it needs: what a counterexample violates, and what touches what is asked
    about already, is added to the question, least first. solve(aiger) gives None, or a counterexample as a string of 0 and 1."""
    assumed = set()
    while True:
        literals = [failure, *(step.hypotheses[index] for index in sorted(assumed))]
        made, inputs, cone = step.question(literals)
        found = solve(made)
        if found is None:
            step.shown(failure)
            return True
        values = step.values(variable for variable, bit in zip(inputs, found, strict=True) if bit == "1")
        touched = set(inputs)
        violated = [index for index, literal in enumerate(step.hypotheses) if not values[literal >> 1] ^ (literal & 1)]
        violated = [index for index in violated if index not in assumed and not touched.isdisjoint(step.cones[index])] or violated
        if not violated:
            return False
        assumed |= set(sorted(violated, key=lambda index: len(step.cones[index] - cone))[:4])
