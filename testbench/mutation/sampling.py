"""Draws mutants from the population: each block and kind in proportion to its number, by a seed."""
from __future__ import annotations

import random

from mutant import Mutant


def shares(sizes: dict, count: int) -> dict:
    """`count` divided in proportion to sizes, by the largest remainder; no share exceeds its size."""
    total = sum(sizes.values())
    count = min(count, total)
    exact = {key: count * size / total for key, size in sizes.items()} if total else {}
    result = {key: int(value) for key, value in exact.items()}
    by_remainder = sorted(sizes, key=lambda key: (result[key] - exact[key], str(key)))
    for key in by_remainder[:count - sum(result.values())]:
        result[key] += 1
    return result


def sample(population: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """`count` mutants in the order of the population; all of them if there are fewer."""
    strata: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in population:
        strata.setdefault((mutant.block, mutant.change.kind), []).append(mutant)
    chosen = set()
    for key, number in sorted(shares({k: len(v) for k, v in strata.items()}, count).items()):
        generator = random.Random(f"{seed} {key}")
        chosen.update(mutant.id for mutant in generator.sample(strata[key], number))
    return [mutant for mutant in population if mutant.id in chosen]
