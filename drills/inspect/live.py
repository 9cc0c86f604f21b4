"""Evaluations in Inspect of a real model on a real server of vLLM, of known truth.

    python live.py --server http://127.0.0.1:8000/v1 --model small --profile profiles.csv --tasks primer.jsonl
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
import tempfile
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.scorer import mean as pooled
from inspect_ai.solver import generate

from speceval.inspect import HBN, mean

BOX = re.compile(r"\\boxed\{([^{}]*)\}")


@scorer(metrics=[accuracy()])
def boxed():
    async def score(state, target):
        boxes = BOX.findall(state.output.completion)
        return Score(value="C" if boxes and boxes[-1].strip() == target.text else "I", answer=boxes[-1] if boxes else None)

    return score


def main() -> int:
    flags = argparse.ArgumentParser()
    for name in ("server", "model", "profile", "tasks"):
        flags.add_argument(f"--{name}", required=True)
    flags.add_argument("--budget", type=int, default=8)
    options = flags.parse_args()
    with open(options.tasks) as file:
        tasks = [task for task in map(json.loads, file) if task["scorer"] == "math" and task["answer"].lstrip("-").isdigit()]
    with open(options.profile) as file:
        chances = {row["task_id"]: int(row["pass_count"]) / int(row["tested_k"]) for row in csv.DictReader(file) if row["model"] == options.model}
    truth = sum(chances[task["task_id"]] for task in tasks) / len(tasks)
    model = get_model(
        f"openai-api/vllm/{options.model}", base_url=options.server, api_key="none",
        config=GenerateConfig(temperature=0.6, top_p=0.95, max_tokens=1024, max_connections=32, extra_body={"top_k": -1}),
    )
    samples = [Sample(id=task["task_id"], input=task["prompt"], target=task["answer"]) for task in tasks]
    faults, donor = [], []
    with tempfile.TemporaryDirectory() as logs:
        for turn in range(2):
            began = time.time()
            log = eval(
                Task(dataset=samples, name="primer-mathematics", solver=generate(), scorer=boxed(), epochs=64,
                     early_stopping=HBN(budget=options.budget, prior=donor), metrics=[mean(), pooled()]),
                model=model, display="none", log_dir=logs,
            )[0]
            if log.status != "success":
                print("fault:", log.error.message if log.error else log.status, file=sys.stderr)
                return 1
            values = next({n: m.value for n, m in s.metrics.items()} for s in log.results.scores if "complete" in s.metrics)
            z = (values["mean"] - truth) / values["stderr"]
            print(f"{len(log.samples)} rollouts of {len(tasks)} tasks in {time.time() - began:.0f} s{' with the first log as prior' if donor else ''}: "
                  f"mean {values['mean']:.4f} ± {values['stderr']:.4f}, true {truth:.4f}, {z:+.1f} standard errors; "
                  f"Uniform would need {values['uniform_budget']:.1f} of each")
            if len(log.samples) != len(tasks) * options.budget or values["complete"] != 1:
                faults.append(f"{len(log.samples)} rollouts ran, want {len(tasks) * options.budget}")
            if abs(z) > 4:
                faults.append(f"the mean is {z:.1f} standard errors off")
            donor = [os.path.join(logs, os.path.basename(log.location))]
    for fault in faults:
        print("fault:", fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
