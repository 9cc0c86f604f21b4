"""Stopping at a precision, side by side: speceval's policy, and a rule in the manner of
stopping extensions, which fit a hierarchical model again and again, stop samples that
look decided and stop altogether when the interval is narrow enough. No code of any of
them is in here: the rule is a beta-binomial model by moments, far cheaper than theirs.

    python stopping.py --profile profiles.csv --evaluations 200
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import sys
import time
from collections.abc import Callable

from speceval import Client

QUANTILE = 1.959964
TARGET = 0.015  # standard error
MOST = 64       # rollouts of a task


def rule(chances: list[float], draw: Callable[[int], int]) -> tuple[float, float, float, int]:
    """Epoch by epoch: mean, interval, rollouts."""
    n, k = [0] * len(chances), [0] * len(chances)
    going = set(range(len(chances)))
    while True:
        for i in going:
            n[i], k[i] = n[i] + 1, k[i] + draw(i)
        if max(n) < 3:
            continue
        a, b = moments(n, k)
        means = [(a + x) / (a + b + m) for x, m in zip(k, n)]
        variances = [p * (1 - p) / (a + b + m + 1) for p, m in zip(means, n)]
        mean, se = sum(means) / len(means), math.sqrt(sum(variances)) / len(means)
        going = {i for i in going if variances[i] > (TARGET * TARGET) * len(means) / 4 and n[i] < MOST}
        if se <= TARGET or not going:
            return mean, mean - QUANTILE * se, mean + QUANTILE * se, sum(n)


def moments(n: list[int], k: list[int]) -> tuple[float, float]:
    """A beta prior of the tasks by the moments of their pass rates."""
    rates = [x / m for x, m in zip(k, n)]
    mean = min(0.99, max(0.01, sum(rates) / len(rates)))
    spread = sum((r - mean) ** 2 for r in rates) / (len(rates) - 1)
    noise = sum(mean * (1 - mean) / m for m in n) / len(n)
    between = min(0.95 * mean * (1 - mean), max(0.02 * mean * (1 - mean), (spread - noise) / (1 - 1 / (sum(n) / len(n)))))
    strength = mean * (1 - mean) / between - 1
    return mean * strength, (1 - mean) * strength


def ours(chances: list[float], draw: Callable[[int], int]) -> tuple[float, float, float, int]:
    names = [f"t{i}" for i in range(len(chances))]
    with Client() as client:
        client.start(names, target_se=TARGET, ahead=False, places=8)
        while True:
            given = client.next(1 << 20)
            if not given:
                break
            for task, number in given:
                client.completed(task, number, draw(int(task[1:])))
        e = client.estimate()
    return e["mean"], e["interval"][0], e["interval"][1], e["rollouts"]


def main() -> int:
    flags = argparse.ArgumentParser()
    flags.add_argument("--profile", required=True)
    flags.add_argument("--evaluations", type=int, default=200)
    options = flags.parse_args()
    with open(options.profile) as file:
        measured = [int(row["pass_count"]) / int(row["tested_k"]) for row in csv.DictReader(file) if row["model"] == "small"]
    shape = random.Random(1)
    profiles = {
        "primer, as measured": measured,
        "mostly right": [0.97] * 40 + [0.85] * 10 + [0.5] * 6 + [0.1] * 4,
        "all in doubt": [shape.uniform(0.2, 0.8) for _ in range(60)],
    }
    faults = []
    for name, chances in profiles.items():
        truth = sum(chances) / len(chances)
        for label, run in (("speceval", ours), ("the rule", rule)):
            errors, covered, rollouts, began = [], 0, 0, time.perf_counter()
            for seed in range(options.evaluations):
                chance = random.Random(seed)
                mean, low, high, spent = run(chances, lambda i: int(chance.random() < chances[i]))
                errors.append(mean - truth)
                covered += low <= truth <= high
                rollouts += spent
            bias = sum(errors) / len(errors)
            sd = math.sqrt(sum((e - bias) ** 2 for e in errors) / (len(errors) - 1))
            z, share = bias / (sd / math.sqrt(len(errors))), covered / len(errors)
            print(json.dumps({
                "profile": name, "policy": label, "bias in standard errors of the bias": round(z, 1), "bias": round(bias, 5), "standard deviation": round(sd, 4),
                "target": TARGET, "coverage": share, "rollouts": round(rollouts / len(errors)), "seconds each": round((time.perf_counter() - began) / len(errors), 3),
            }), flush=True)
            if label == "speceval" and (abs(z) > 3 or share < 0.95 - 3 * math.sqrt(0.05 * 0.95 / len(errors))):
                faults.append(f"{name}: bias of {z:.1f} standard errors, coverage {share:.1%}")
    for fault in faults:
        print("fault:", fault, file=sys.stderr)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
