"""The best that shortest ways can do: the load of the busiest link if every chip sends every other one unit, as a linear program.

Slices are built here anew: neighbours from their definition, distances by breadth-first search, flows on the links that lead nearer to their
destination, split at will. Where every axis is a ring the slice looks alike from every chip; then the flows to one chip tell all (the
mean over all translations of a best solution is a best solution), and the links of a direction are loaded alike."""
import collections
import itertools
import json

import numpy
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

# sizes, which axes are rings, twisted
SLICES = {
    "v5e-4x4": ((4, 4, 1), (False, False, False), False),
    "v5e-8x8": ((8, 8, 1), (False, False, False), False),
    "v4-4x4x4": ((4, 4, 4), (True, True, True), False),
    "v4-4x4x8": ((4, 4, 8), (True, True, True), False),
    "v4-4x4x8_twisted": ((4, 4, 8), (True, True, True), True),
}


def links_of(size, rings, twisted):
    """{(chip, direction): chip}. A twisted torus of k and 2k: the ring of an axis of k closes k places on along the axes of 2k."""
    chips = list(itertools.product(*map(range, size)))
    number = {chip: i for i, chip in enumerate(chips)}
    k = min(size)
    links = {}
    for chip in chips:
        for axis, step in itertools.product(range(3), (1, -1)):
            at = list(chip)
            at[axis] += step
            closes = not 0 <= at[axis] < size[axis]
            if size[axis] == 1 or (closes and not rings[axis]):
                continue
            at[axis] %= size[axis]
            if closes and twisted and size[axis] == k:
                at = [(place + k) % length if length == 2 * k else place for place, length in zip(at, size, strict=True)]
            links[number[chip], (axis, step)] = number[tuple(at)]
    return len(chips), links


def distances(links, to):
    before = collections.defaultdict(list)
    for (chip, _), neighbor in links.items():
        before[neighbor].append(chip)
    found, queue = {to: 0}, collections.deque([to])
    while queue:
        chip = queue.popleft()
        for neighbor in before[chip]:
            if neighbor not in found:
                found[neighbor] = found[chip] + 1
                queue.append(neighbor)
    return found


def largest_load(name):
    """Units over the busiest link under the best shortest ways, all pairs of chips sending one."""
    size, rings, twisted = SLICES[name]
    chips, links = links_of(size, rings, twisted)
    alike = all(ring or length == 1 for ring, length in zip(rings, size, strict=True))
    balance, entries, loads = 0, [], collections.defaultdict(list)  # equations of flow in = flow out; (row, column, value)
    columns = 0
    for to in [0] if alike else range(chips):
        away = distances(links, to)
        row_of = {chip: balance + i for i, chip in enumerate(chip for chip in range(chips) if chip != to)}
        balance += len(row_of)
        for (chip, direction), neighbor in links.items():
            if away[chip] != away[neighbor] + 1:
                continue
            entries.append((row_of[chip], columns, 1.0))
            if neighbor != to:
                entries.append((row_of[neighbor], columns, -1.0))
            loads[direction if alike else (chip, direction)].append(columns)
            columns += 1
    rows, places, values = zip(*entries, strict=True)
    equal = coo_matrix((values, (rows, places)), shape=(balance, columns + 1)).tocsr()
    limits = [(row, column, 1.0) for row, flows in enumerate(loads.values()) for column in flows] + [(row, columns, -1.0) for row in range(len(loads))]
    rows, places, values = zip(*limits, strict=True)
    most = coo_matrix((values, (rows, places)), shape=(len(loads), columns + 1)).tocsr()
    cost = numpy.zeros(columns + 1)
    cost[columns] = 1
    solved = linprog(cost, A_ub=most, b_ub=numpy.zeros(len(loads)), A_eq=equal, b_eq=numpy.ones(balance), method="highs")
    if not solved.success:
        raise RuntimeError(f"{name}: {solved.message}")
    return solved.fun


if __name__ == "__main__":
    print(json.dumps({name: largest_load(name) for name in SLICES}, indent=2))
