"""The step of an induction. failing(): all assertions in one question, with all that may be assumed. holds(): one assertion at a time, each with
as few assumptions as it needs. Those that were shown before may be assumed of the same cycle too, so an assertion about half of a
computation helps the one about its end. A solver may end each of these questions in a second where it does not end the one."""
from functools import cached_property

import numpy as np

_DIGITS = bytes([48, 49]) + bytes(254)  # from 0 and 1 to the characters


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
        self.depth = depth
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
        self.all_hold = gates.all(failure ^ 1 for failure in self.failures)
        self.gates = gates.list

    @cached_property
    def cones(self):
        """Of each hypothesis."""
        return [self.cone(literal) for literal in self.hypotheses]

    def cone(self, *literals):
        """Variables on which they depend, as a number whose bits they are: many are united, and compared, for each question."""
        seen, left = bytearray(self.inputs + len(self.gates) + 1), [literal >> 1 for literal in literals]
        while left:
            variable = left.pop()
            if seen[variable]:
                continue
            seen[variable] = 1
            if variable > self.inputs:
                a, b = self.gates[variable - self.inputs - 1]
                left.append(a >> 1)
                left.append(b >> 1)
        seen[0] = 0
        return int(seen[::-1].translate(_DIGITS), 2)

    def shown(self, failure, cone):
        """This assertion holds: it may be assumed of the last cycle from now on."""
        self.cones.append(cone)
        self.hypotheses.append(failure ^ 1)

    @cached_property
    def sides(self):
        """The two literals of each gate, as arrays."""
        return np.array(self.gates, dtype=np.int64).reshape(-1, 2).T

    @cached_property
    def levels(self):
        """Gates that depend on no other of the same level: their variables, and of each side the variable and whether it is inverted."""
        level = [0] * (self.inputs + 1)
        for a, b in self.gates:
            level.append(1 + max(level[a >> 1], level[b >> 1]))
        of_gate = np.array(level[self.inputs + 1:])
        order = np.argsort(of_gate, kind="stable")
        a, b = self.sides
        return [(gates + self.inputs + 1, a[gates] >> 1, (a[gates] & 1).astype(np.uint8), b[gates] >> 1, (b[gates] & 1).astype(np.uint8))
                for gates in np.split(order, np.flatnonzero(np.diff(of_gate[order])) + 1) if gates.size]

    def question(self, literals, cone):
        """(bytes in AIGER, its inputs): one output, 1 if all of these are, which depend on the variables of `cone`."""
        variables = self.inputs + len(self.gates) + 1
        bits = np.frombuffer(cone.to_bytes(variables // 8 + 1, "little"), dtype=np.uint8)
        used = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
        new = np.zeros(variables, dtype=np.int64)
        new[used] = 2 * np.arange(1, used.size + 1)
        inputs = used[:np.searchsorted(used, self.inputs, side="right")].tolist()
        gates = used[len(inputs):]
        a, b = (new[side >> 1] | (side & 1) for side in self.sides[:, gates - self.inputs - 1])
        # a is above b, here too: the new numbers are in the order of the old ones
        distances = np.stack([new[gates] - a, a - b], axis=1).ravel().tolist()
        output, own = 1, 2 * used.size
        for literal in literals:
            own += 2
            a, b = int(new[literal >> 1]) | (literal & 1), output
            distances += [own - max(a, b), abs(a - b)]
            output = own
        return b"aig %d %d 0 1 %d\n%d\n" % (own // 2, len(inputs), own // 2 - len(inputs), output) + _coded(np.array(distances)), inputs

    def values(self, ones):
        """Of all variables, if these inputs are 1 and all others 0."""
        values = np.zeros(self.inputs + len(self.gates) + 1, dtype=np.uint8)
        values[list(ones)] = 1
        for gates, a, a_inverted, b, b_inverted in self.levels:
            values[gates] = (values[a] ^ a_inverted) & (values[b] ^ b_inverted)
        return values.tolist()


def _coded(numbers):
    """Each number in groups of seven bits, the lowest first, all but its last with the eighth bit set: as AIGER has them."""
    groups = 1 + sum((numbers >> shift != 0).astype(np.int64) for shift in range(7, 63, 7))
    ends = np.cumsum(groups)
    coded = np.zeros(int(ends[-1]) if ends.size else 0, dtype=np.uint8)
    for group in range(int(groups.max(initial=0))):
        has = groups > group
        coded[(ends - groups)[has] + group] = numbers[has] >> 7 * group & 127 | np.where(groups[has] > group + 1, 128, 0)
    return coded.tobytes()


def failing(step, solve):
    """Numbers of the assertions that fail together, or none if no assertion can: one question about all, with all that may be assumed."""
    literals = [step.all_hold ^ 1, *step.hypotheses]
    made, inputs = step.question(literals, step.cone(*literals))
    found = solve(made)
    if found is None:
        return []
    values = step.values(variable for variable, bit in zip(inputs, found, strict=True) if bit == "1")
    return [index for index, literal in enumerate(step.failures) if values[literal >> 1] ^ (literal & 1)]


def holds(step, failure, solve):
    """Whether this assertion cannot fail. Assumes as little as it needs: what a counterexample violates, and what touches what is asked
    about already, is added to the question, least first. solve(aiger) gives None, or a counterexample as a string of 0 and 1."""
    assumed = set()
    own = cone = step.cone(failure)
    while True:
        literals = [failure, *(step.hypotheses[index] for index in sorted(assumed))]
        made, inputs = step.question(literals, cone)
        found = solve(made)
        if found is None:
            step.shown(failure, own)
            return True
        values = step.values(variable for variable, bit in zip(inputs, found, strict=True) if bit == "1")
        touched = cone & ((2 << step.inputs) - 1)
        violated = [index for index, literal in enumerate(step.hypotheses) if not values[literal >> 1] ^ (literal & 1)]
        violated = [index for index in violated if index not in assumed and touched & step.cones[index]] or violated
        if not violated:
            return False
        added = sorted(violated, key=lambda index: (step.cones[index] & ~cone).bit_count())[:4]
        assumed |= set(added)
        for index in added:
            cone |= step.cones[index]
