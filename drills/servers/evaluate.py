"""Evaluates tasks with inspect_ai on one server, and prints how long it took.

    python evaluate.py TASKS EPOCHS URL MODEL OUTSTANDING TEMPERATURE TOP_P MAX_TOKENS

TASKS is a file with a JSON object a line: prompt and answer. The time is that of
the evaluation alone, from the first sample to the end of scoring: what Python
takes to import inspect_ai is left out.
"""

import json
import os
import sys
import tempfile
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import includes
from inspect_ai.solver import generate


def main():
    path, epochs, url, model, outstanding, temperature, top_p, max_tokens = sys.argv[1:]
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    samples = [Sample(input=line["prompt"], target=line["answer"]) for line in lines]
    os.environ["SERVER_BASE_URL"], os.environ["SERVER_API_KEY"] = url + "/v1", "none"
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=includes())
    config = GenerateConfig(
        temperature=float(temperature), top_p=float(top_p), max_tokens=int(max_tokens),
        max_connections=int(outstanding),
    )
    with tempfile.TemporaryDirectory() as logs:
        begin = time.time()
        log, = eval(
            task, model="openai-api/server/" + model, epochs=int(epochs), log_dir=logs, display="none",
            max_samples=int(outstanding), **config.model_dump(exclude_none=True),
        )
        end = time.time()
    if log.status != "success" or log.results.completed_samples != len(samples) * int(epochs):
        sys.exit(f"inspect_ai: {log.status}: {log.error}")
    print(json.dumps({"begin": begin, "end": end}))


if __name__ == "__main__":
    main()
