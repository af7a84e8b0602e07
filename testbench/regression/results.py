"""What came out: test cases read from JUnit files, and one JUnit file of all of them."""
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
KEPT_OUTPUT = 8000  # characters of a failed test's output that are kept
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class ResultsError(Exception):
    """A JUnit file is missing or is none."""


@dataclass
class Case:
    job: str
    name: str
    status: str
    seconds: float = 0.0
    message: str = ""  # of a failure, one line
    output: str = ""   # of a failure, its end


def seconds_of(text):
    try:
        return max(0.0, float(text))
    except (TypeError, ValueError):
        return 0.0


def read_case(job, element):
    name = element.get("name") or "?"
    problem = element.find("failure")
    problem = problem if problem is not None else element.find("error")
    # ctest counts a test that it could not start as skipped, with status notrun: that is a failure here
    status = FAILED if problem is not None or element.get("status") in ("fail", "notrun") else SKIPPED if element.find("skipped") is not None else PASSED
    case = Case(job, name, status, seconds_of(element.get("time")))
    if status == FAILED:
        out = element.findtext("system-out") or ""
        text = (problem.text or "") if problem is not None else ""
        case.message = ((problem.get("message") if problem is not None else "") or element.get("status") or "failed").strip()
        case.output = (text + "\n" + out).strip()[-KEPT_OUTPUT:]
    return case


def read_junit(job, path):
    """The test cases of a JUnit file. Raises ResultsError."""
    try:
        root = xml.parse(path).getroot()
    except (OSError, xml.ParseError) as error:
        raise ResultsError(f"{path}: {error}") from None
    if root.tag not in ("testsuite", "testsuites"):
        raise ResultsError(f"{path}: not a JUnit file: its root is {root.tag}")
    return [read_case(job, element) for element in root.iter("testcase")]


def write_junit(path, name, cases):
    """All cases as one file, a suite for each job."""
    root = xml.Element("testsuites", name=name, tests=str(len(cases)), failures=str(sum(case.status == FAILED for case in cases)),
                       time=f"{sum(case.seconds for case in cases):.3f}")
    for job in dict.fromkeys(case.job for case in cases):
        mine = [case for case in cases if case.job == job]
        suite = xml.SubElement(root, "testsuite", name=job, tests=str(len(mine)), failures=str(sum(case.status == FAILED for case in mine)),
                               skipped=str(sum(case.status == SKIPPED for case in mine)), time=f"{sum(case.seconds for case in mine):.3f}")
        for case in mine:
            element = xml.SubElement(suite, "testcase", name=case.name, classname=job, time=f"{case.seconds:.3f}")
            if case.status == FAILED:
                xml.SubElement(element, "failure", message=NOT_XML.sub("?", case.message)).text = NOT_XML.sub("?", case.output)
            elif case.status == SKIPPED:
                xml.SubElement(element, "skipped")
    xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
