"""Reads levels.toml: which jobs a level runs."""
import tomllib
from dataclasses import dataclass

LEVELS = ("smoke", "ci", "nightly", "release")
KEYS = {"name", "levels", "ctest", "command", "junit", "jobs", "limit_s", "why"}
DEFAULT_LIMIT_S = 600


class PlanError(Exception):
    """levels.toml cannot be used; the message names the entry."""


@dataclass(frozen=True)
class Job:
    name: str
    why: str
    ctest: tuple = ()
    command: tuple = ()
    junit: str = ""
    all_processors: bool = False
    limit_s: int = DEFAULT_LIMIT_S


def words(entry, key, where):
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise PlanError(f"{where}: {key} is not a list of strings")
    return tuple(value)


def read_job(entry, where):
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise PlanError(f"{where}: unknown key {unknown[0]}; known: {', '.join(sorted(KEYS))}")
    levels = words(entry, "levels", where)
    for level in levels:
        if level not in LEVELS:
            raise PlanError(f"{where}: unknown level {level}; known: {', '.join(LEVELS)}")
    if not levels:
        raise PlanError(f"{where}: no level runs it")
    if ("ctest" in entry) == ("command" in entry):
        raise PlanError(f"{where}: needs either ctest or command")
    limit = entry.get("limit_s", DEFAULT_LIMIT_S)
    if not isinstance(limit, int) or limit <= 0:
        raise PlanError(f"{where}: limit_s is not a positive number of seconds")
    jobs = entry.get("jobs", 1)
    if jobs not in (1, "all"):
        raise PlanError(f"{where}: jobs is neither 1 nor \"all\"")
    if not isinstance(entry.get("why"), str):
        raise PlanError(f"{where}: why is missing")
    return levels, Job(entry["name"], entry["why"], words(entry, "ctest", where), words(entry, "command", where), entry.get("junit", ""),
                       "ctest" in entry or jobs == "all", limit)


def read_plan(path, level, only="", skip=""):
    """The jobs of a level whose name contains `only` and, unless that is empty, not `skip`, in the order of the file. Raises PlanError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PlanError(f"{path}: {error}") from None
    jobs, names = [], set()
    for index, entry in enumerate(data.get("job", [])):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
            raise PlanError(f"{path}: job {index + 1}: name is missing")
        where = f"{path.name}: job {entry['name']}"
        levels, job = read_job(entry, where)
        if level not in levels:
            continue
        if job.name in names:
            raise PlanError(f"{where}: twice in level {level}")
        names.add(job.name)
        if only in job.name and not (skip and skip in job.name):
            jobs.append(job)
    if not jobs:
        raise PlanError(f"{path.name}: level {level} has no job{f' whose name contains {only}' if only else ''}{f' without {skip}' if skip else ''}")
    return jobs
