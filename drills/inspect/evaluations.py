"""Many evaluations in Inspect of a mock model with known probabilities, whose wrong
answers take longer: bias and coverage of speceval's mean and of Inspect's own.

    python evaluations.py --evaluations 400
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import tempfile
import time

import anyio
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.scorer import mean as pooled
from inspect_ai.solver import generate

from speceval.inspect import HBN, mean

# Mostly right, as models are on the benchmarks that they are compared on: where a mean
# over unequal epochs is off the most.
PROBABILITIES = [0.93] * 14 + [0.5, 0.7, 0.85, 0.98, 0.2, 1.0]
RIGHT, WRONG = 0.001, 0.004  # seconds that an answer takes


def task(budget: int, epochs: int) -> Task:
    samples = [Sample(id=f"t{i}", input=str(i), target="yes") for i in range(len(PROBABILITIES))]
    return Task(
        dataset=samples, solver=generate(), scorer=match(), epochs=epochs,
        early_stopping=HBN(budget=budget), metrics=[mean(), pooled()],
    )


def model(seed: int):
    chance = random.Random(seed)

    async def answer(input, tools, tool_choice, config):
        right = chance.random() < PROBABILITIES[int(input[-1].text)]
        await anyio.sleep(RIGHT if right else WRONG)
        output = ModelOutput.from_content("mockllm", "yes" if right else "no")
        output.usage = ModelUsage(input_tokens=8, output_tokens=2, total_tokens=10)
        return output

    return get_model("mockllm/model", memoize=False, custom_outputs=answer)


def main() -> int:
    flags = argparse.ArgumentParser()
    flags.add_argument("--evaluations", type=int, default=400)
    flags.add_argument("--budget", type=int, default=8)
    flags.add_argument("--epochs", type=int, default=32)
    options = flags.parse_args()
    truth, n = sum(PROBABILITIES) / len(PROBABILITIES), len(PROBABILITIES) * options.budget
    uniform = math.sqrt(sum(p * (1 - p) for p in PROBABILITIES) / options.budget) / len(PROBABILITIES)
    ours, theirs, stated, covered, faults = [], [], [], 0, []
    began, cpu = time.time(), time.process_time()
    with tempfile.TemporaryDirectory() as logs:
        for seed in range(options.evaluations):
            log = eval(task(options.budget, options.epochs), model=model(seed), display="none", log_dir=logs, log_format="eval")[0]
            if log.status != "success" or not log.results:
                faults.append(f"evaluation {seed} ended with {log.status}: {log.error.message if log.error else ''}")
                continue
            values = next({name: m.value for name, m in score.metrics.items()} for score in log.results.scores if "complete" in score.metrics)
            own = next(score.metrics["mean"].value for score in log.results.scores if "complete" not in score.metrics)
            if values["complete"] != 1 or len(log.samples or []) != n:
                faults.append(f"evaluation {seed} has {len(log.samples or [])} rollouts, want {n}, complete {values['complete']}")
            ours.append(values["mean"] - truth)
            theirs.append(own - truth)
            stated.append(values["stderr"])
            covered += values["ci_low"] <= truth <= values["ci_high"]
            os.remove(log.location)
            if (seed + 1) % 50 == 0:
                print(f"{seed + 1} evaluations after {time.time() - began:.0f} s", file=sys.stderr)

    def moments(errors: list[float]) -> tuple[float, float, float]:
        m = sum(errors) / len(errors)
        sd = math.sqrt(sum((e - m) ** 2 for e in errors) / (len(errors) - 1))
        return m, sd, m / (sd / math.sqrt(len(errors)))

    bias, sd, z = moments(ours)
    pooled_bias, pooled_sd, pooled_z = moments(theirs)
    share = covered / len(ours)
    report = {
        "evaluations": len(ours), "rollouts each": n, "truth": truth, "standard error of Uniform": uniform,
        "speceval": {"bias": bias, "in standard errors of the bias": z, "standard deviation": sd, "stated": sum(stated) / len(stated), "coverage": share},
        "Inspect's mean": {"bias": pooled_bias, "in standard errors of the bias": pooled_z, "standard deviation": pooled_sd, "of Uniform's error": pooled_bias / uniform},
        "seconds": time.time() - began, "CPU seconds of Python": time.process_time() - cpu,
    }
    print(json.dumps(report, indent=2))
    many = len(ours) >= 400
    most, least = (2, 0.94) if many else (4, 0.95 - 4 * math.sqrt(0.05 * 0.95 / len(ours)))
    if abs(z) > most:
        faults.append(f"a bias of {z:.1f} standard errors, want at most {most}")
    if share < least:
        faults.append(f"coverage {share:.1%}, want {least:.1%} at least")
    for fault in faults:
        print("fault:", fault, file=sys.stderr)
    print(f"{len(ours)} evaluations, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
