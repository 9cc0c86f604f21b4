"""A task that breaks off once: a file of its own, since Inspect retries tasks by their files."""

import os
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import solver

from speceval.inspect import HBN, mean


@solver
def breaking(after: int) -> Any:
    count = Path(os.environ["SPECEVAL_TEST_COUNT"])

    async def solve(state: Any, generate: Any) -> Any:
        await anyio.sleep(0.02)
        n = int(count.read_text() or "0") + 1
        count.write_text(str(n))
        if n == after:
            raise RuntimeError("out of credit")
        number = int(state.input_text.split()[-1])
        state.output = ModelOutput.from_content("mockllm", "yes" if n * 7 % 4 < number % 5 else "no")
        return state

    return solve


@task
def broken(after: int = 25) -> Task:
    samples = [Sample(id=f"s{i}", input=f"task {i}", target="yes") for i in range(12)]
    return Task(dataset=samples, solver=breaking(after), scorer=match(), epochs=40, early_stopping=HBN(budget=6), metrics=[mean()])
