"""Puts failures that are alike together: the line that tells what is wrong, without its numbers, is the bucket."""
import re
from dataclasses import dataclass, field

# What a line of output must hold to tell the reason; the first kind that occurs decides.
REASONS = (re.compile(r"\b[A-Z]\w*_A\b"),                                          # an assertion of the RTL
           re.compile(r"mismatch|differ", re.IGNORECASE),                          # golden model
           re.compile(r"\b(AddressSanitizer|UndefinedBehaviorSanitizer|runtime error)\b"),
           re.compile(r"^\s*(REQUIRE|CHECK|FAIL)\w*\(", re.MULTILINE),             # Catch2
           re.compile(r"\berror\b|\bfailed\b|Error:", re.IGNORECASE))
NUMBERS = ((re.compile(r"\b0x[0-9a-fA-F]+\b"), "#"), (re.compile(r"/[\w./+-]*/"), ""), (re.compile(r"\d+(\.\d+)?"), "#"), (re.compile(r"\s+"), " "))
WIDTH = 160


@dataclass
class Bucket:
    reason: str
    cases: list = field(default_factory=list)


def reason_of(case):
    """The line that tells what is wrong, as it stands."""
    for pattern in REASONS:
        for line in case.output.splitlines():
            if pattern.search(line):
                return line.strip()
    lines = [line.strip() for line in case.output.splitlines() if line.strip()]
    return lines[-1] if lines else case.message or "failed without a word"


def alike(line):
    for pattern, replacement in NUMBERS:
        line = pattern.sub(replacement, line)
    return line.strip()[:WIDTH]


def buckets(cases):
    """Buckets of the failed cases, the fullest first."""
    found = {}
    for case in cases:
        if case.status == "failed":
            reason = reason_of(case)
            found.setdefault(alike(reason), Bucket(reason)).cases.append(case)
    return sorted(found.values(), key=lambda bucket: (-len(bucket.cases), bucket.reason))
