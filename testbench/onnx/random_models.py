"""Random ONNX models through weft run, against onnxruntime and onnx.checker.

usage: random_models.py [--count N] [--seed S] [--first I] [--jobs J] [--json FILE] [--keep FOLDER]
                        (Python of .venv; WEFT and WEFT_SIM name the programs, default those of build/bin)

Of 10 models 5 are plain: weft must take them. 2 are free, 3 are broken in one way: weft takes them or refuses them by name. What
weft takes must be allowed by ONNX and have the right outputs: number, shape, values within the bound of bounds.py. Some of
the plain ones run on a slice of four chips too, where weft may refuse them. The oracle runs in processes of its own, one thread and
a few models each: a broken model may break it too, and that model alone is then not judged. Exit code 1: a model was judged wrong, or
more than one of 1,000 was not judged.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import oracle
from corruptions import corrupt
from model_draw import ModelDraw

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("plain",) * 5 + ("free",) * 2 + ("broken",) * 3
ONE_CHIP = ("--chip", "nano", "--core", "fast")
SHARDINGS = ("batch=xy", "batch=x,weights=n:y", "weights=k:x", "weights=k:x,weights=n:y", "weights=n:xy")
SLICE_EVERY = 5  # of the plain models
MODELS_OF_A_PROCESS = 25
PROCESS_LIMIT_S = 1800
MOST_UNJUDGED = 0.001


def draw(seed, index):
    """Model `index` of a seed: its kind, the model, its inputs."""
    rng = np.random.default_rng([seed, index])
    kind = KINDS[index % len(KINDS)]
    model, arrays = ModelDraw(rng, plain=kind == "plain" or (kind == "broken" and rng.random() < 0.7)).model()
    if kind == "broken":
        kind = "broken: " + corrupt(rng, model)
    return kind, model, arrays


class Campaign:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, Path(folder)
        self.weft = os.environ.get("WEFT", str(ROOT / "build/bin/weft"))
        os.environ.setdefault("WEFT_SIM", str(ROOT / "build/bin/weft-sim"))

    def run(self, index):
        """What became of model `index`: a dictionary with what is wrong, empty: nothing."""
        folder = self.folder / str(index)
        folder.mkdir()
        kind, model, arrays = draw(self.arguments.seed, index)
        verdict = oracle.ask_onnx(model, arrays)
        must_take = kind == "plain"
        outcome = oracle.ask_weft(self.weft, folder, model, arrays, *ONE_CHIP)
        wrong, used = oracle.judge(model, arrays, verdict, outcome, must_take)
        if must_take and verdict.refusal:
            wrong = f"the campaign drew what is no model: {verdict.refusal}"
        runs = {"chip": outcome.code}
        if must_take and not wrong and index // len(KINDS) % SLICE_EVERY == 0:
            sharding = SHARDINGS[index // len(KINDS) // SLICE_EVERY % len(SHARDINGS)]
            on_slice = oracle.ask_weft(self.weft, folder, model, arrays, "--slice", "nano-2x2", "--sharding", sharding, "--core", "fast")
            runs["slice"] = on_slice.code
            # What a slice cannot share out it refuses as a whole.
            if on_slice.code != oracle.REFUSED or len(on_slice.err.splitlines()) != 1:
                wrong, more = oracle.judge(model, arrays, verdict, on_slice)
                wrong = wrong and f"on nano-2x2, {sharding}: {wrong}"
                used = max(used, more)
        if wrong and self.arguments.keep:
            shutil.copytree(folder, Path(self.arguments.keep) / str(index), dirs_exist_ok=True)
        shutil.rmtree(folder)
        return {"index": index, "kind": kind, "allowed": not verdict.refusal, "runs": runs, "used": used, "wrong": wrong}


def run_here(arguments, folder):
    campaign = Campaign(arguments, folder)
    return [campaign.run(index) for index in range(arguments.first, arguments.first + arguments.count)]


def run_apart(arguments, folder, first, count):
    """The results of some models by a process of their own. One that a signal ended is run again in halves."""
    out = Path(folder) / f"{first}_{count}.json"
    command = [sys.executable, "-B", __file__, "--seed", arguments.seed, "--first", first, "--count", count, "--worker", out]
    done = subprocess.run([*map(str, command), *(["--keep", arguments.keep] if arguments.keep else [])], capture_output=True, text=True, timeout=PROCESS_LIMIT_S)
    if done.returncode == 0:
        return json.loads(out.read_text())
    if done.returncode > 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stderr[-2000:]}")
    if count > 1:
        return run_apart(arguments, folder, first, count // 2) + run_apart(arguments, folder, first + count // 2, count - count // 2)
    print(f"NOT JUDGED: model {first}: the oracle was ended by signal {-done.returncode}: {done.stderr.strip()[-200:]}", flush=True)
    return [{"index": first, "kind": "not judged", "allowed": False, "runs": {"chip": None}, "used": 0.0, "wrong": ""}]


def report(results, seconds, seed):
    taken = sum(r["runs"]["chip"] == 0 for r in results)
    kinds = {}
    for r in results:
        tally = kinds.setdefault(r["kind"], {"models": 0, "allowed": 0, "taken": 0})
        tally["models"] += 1
        tally["allowed"] += r["allowed"]
        tally["taken"] += r["runs"]["chip"] == 0
    return {"seed": seed, "models": len(results), "taken": taken, "refused": sum(r["runs"]["chip"] == oracle.REFUSED for r in results),
            "on_slices": sum(r["runs"].get("slice") == 0 for r in results), "wrong": sum(bool(r["wrong"]) for r in results),
            "not_judged": sum(r["kind"] == "not judged" for r in results),
            "largest_share_of_bound": max((r["used"] for r in results), default=0.0), "seconds": round(seconds, 1), "kinds": dict(sorted(kinds.items()))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="index of the first model")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", help="write the tally to this file")
    parser.add_argument("--keep", help="folder for the files of models that were judged wrong")
    parser.add_argument("--worker", metavar="FILE", help="judge in this process, and write what became of each model; used by the campaign itself")
    arguments = parser.parse_args()
    if arguments.worker:
        with tempfile.TemporaryDirectory(prefix="weft-onnx-") as folder:
            Path(arguments.worker).write_text(json.dumps(run_here(arguments, folder), default=float))
        return
    print(f"seed {arguments.seed}: models {arguments.first} to {arguments.first + arguments.count - 1}", flush=True)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weft-onnx-") as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        end = arguments.first + arguments.count
        chunks = [(first, min(MODELS_OF_A_PROCESS, end - first)) for first in range(arguments.first, end, MODELS_OF_A_PROCESS)]
        results = [r for chunk in pool.map(lambda c: run_apart(arguments, folder, *c), chunks) for r in chunk]
    for r in results:
        if r["wrong"]:
            print(f"WRONG: model {r['index']} ({r['kind']}): {r['wrong']}\n"
                  f"rerun: .venv/bin/python testbench/onnx/random_models.py --seed {arguments.seed} --first {r['index']} --count 1 --keep .")
    tally = report(results, time.monotonic() - begin, arguments.seed)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(tally, indent=2) + "\n")
    print(f"{tally['models']} models in {tally['seconds']} s: {tally['taken']} taken, {tally['refused']} refused, {tally['on_slices']} on slices, "
          f"{tally['wrong']} wrong, {tally['not_judged']} not judged; the largest error uses {100 * tally['largest_share_of_bound']:.0f} % of its bound")
    if tally["taken"] == 0 and arguments.count != 1:  # a rerun of one model may well be of one that is refused
        sys.exit("random_models.py: nothing was compared")
    sys.exit(1 if tally["wrong"] or tally["not_judged"] > MOST_UNJUDGED * arguments.count else 0)


if __name__ == "__main__":
    main()
