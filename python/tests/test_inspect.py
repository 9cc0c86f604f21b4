"""HBN and mean in Inspect's own machinery, with its mock model."""

import math
import os
import random
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval, eval_retry, score
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log, read_eval_log_sample_summaries
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, match, scorer
from inspect_ai.scorer import mean as pooled
from inspect_ai.solver import generate, solver
from inspect_ai.tool import bash
from inspect_ai.util import sandbox

import speceval.inspect
from speceval.inspect import HBN, mean

N, BUDGET = 12, 6


def said(text: str) -> ModelOutput:
    output = ModelOutput.from_content("mockllm", text)
    output.usage = ModelUsage(input_tokens=5, output_tokens=1, total_tokens=6)
    return output


def model(seed: int, answer: Any = None) -> Any:
    chance = random.Random(seed)

    def right(input: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        task = int(input[-1].text.split()[-1])
        return said("yes" if chance.random() < (task % 5) / 4 else "no")

    return get_model("mockllm/model", memoize=False, custom_outputs=answer or right)


def samples() -> list[Sample]:
    return [Sample(id=i if i % 2 else f"s{i}", input=f"task {i}", target="yes") for i in range(N)]


def task(**more: Any) -> Task:
    fields = {"solver": generate(), "scorer": match(), "epochs": 40, "early_stopping": HBN(budget=BUDGET), "metrics": [mean()], **more}
    return Task(dataset=samples(), name="mine", **fields)


class InInspect(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.logs = folder.name

    def eval(self, of: Any, model: Any, **more: Any) -> EvalLog:
        return eval(of, model=model, display="none", log_dir=self.logs, **more)[0]

    def complete(self, log: EvalLog, rollouts: int = N * BUDGET) -> dict[str, float]:
        self.assertEqual(log.status, "success", log.error.message if log.error else "")
        assert log.results is not None and log.results.early_stopping is not None and log.samples is not None
        values = next({name: m.value for name, m in s.metrics.items()} for s in log.results.scores if "complete" in s.metrics)
        own = log.results.early_stopping.metadata["speceval"]
        self.assertEqual(log.results.early_stopping.manager, "speceval")
        self.assertEqual(values["complete"], 1)
        self.assertEqual(values["rollouts"], rollouts)
        self.assertEqual(sum(map(len, own["selected"].values())), rollouts)
        self.assertEqual(own["estimate"]["mean"], values["mean"])
        ran = {(str(s.id), s.epoch) for s in log.samples if s.scores and not s.error}
        self.assertLessEqual({(id, epoch) for id, epochs in own["selected"].items() for epoch in epochs}, ran)
        return values

    def test_exactly_the_budget_runs(self) -> None:
        budget = 8  # with less, so few tasks may well get equally many rollouts
        log = self.eval(task(early_stopping=HBN(budget=budget)), model(1))
        values = self.complete(log, N * budget)
        self.assertEqual(len(log.samples), N * budget)
        self.assertTrue(values["ci_low"] < values["mean"] < values["ci_high"])
        self.assertGreater(values["stderr_samples"], values["stderr"])
        counts = Counter(s.id for s in log.samples)
        self.assertGreater(max(counts.values()), min(counts.values()))

    def test_one_task_with_several_models(self) -> None:
        logs = eval(task(), model=[model(1), model(2)], display="none", log_dir=self.logs, max_tasks=2)
        means = {self.complete(log)["mean"] for log in logs}
        self.assertEqual(len(means), 2)

    def test_inspects_own_metrics_stay(self) -> None:
        log = self.eval(task(metrics=[mean(), pooled(), accuracy()]), model(1))
        self.complete(log)
        self.assertIn("accuracy", {name for s in log.results.scores for name in s.metrics})

    def test_few_places(self) -> None:
        for places in (1, 3):
            self.complete(self.eval(task(), model(3), max_samples=places))

    def test_samples_that_fail_are_run_again(self) -> None:
        for places in (1, 4, 100):
            chance = random.Random(7)

            @solver
            def brittle() -> Any:
                async def solve(state: Any, generate: Any) -> Any:
                    if chance.random() < 0.2:
                        raise RuntimeError("the sandbox is gone")
                    return await generate(state)

                return solve

            log = self.eval(task(solver=brittle()), model(4), fail_on_error=False, max_samples=places)
            self.complete(log)
            failed = sum(s.error is not None for s in log.samples)
            self.assertGreater(failed, 0)
            self.assertEqual(len(log.samples) - failed, N * BUDGET)

    def test_an_eval_that_broke_off_is_retried(self) -> None:
        os.environ["SPECEVAL_TEST_COUNT"] = os.path.join(self.logs, "count")
        Path(os.environ["SPECEVAL_TEST_COUNT"]).write_text("")
        file = os.path.relpath(Path(__file__).parent / "breaking.py")
        log = self.eval(file, model(1), task_args={"after": 40}, max_samples=4)
        self.assertEqual(log.status, "error")
        before = {(s.id, s.epoch): s.scores["match"].value for s in log.samples if s.scores}
        self.assertGreater(len(before), 20)
        again = eval_retry(log, display="none", log_dir=self.logs)[0]
        self.complete(again)
        self.assertEqual(len(again.samples), N * BUDGET)
        after = {(s.id, s.epoch): s.scores["match"].value for s in again.samples}
        self.assertEqual({key: after[key] for key in before}, before)

    def test_a_process_that_was_killed_is_retried(self) -> None:
        environment = {**os.environ, "SPECEVAL_TEST_COUNT": os.path.join(self.logs, "count"), "INSPECT_LOG_LEVEL": "error"}
        Path(environment["SPECEVAL_TEST_COUNT"]).write_text("")
        inspect = [str(Path(sys.executable).parent / "inspect")]
        file = os.path.relpath(Path(__file__).parent / "breaking.py")
        command = [*inspect, "eval", file, "--model", "mockllm/model", "-T", "after=0", "--log-dir", self.logs, "--display", "none", "--max-samples", "4", "--log-buffer", "1"]
        running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while int(Path(environment["SPECEVAL_TEST_COUNT"]).read_text() or "0") < 35:
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(running.poll())
            time.sleep(0.02)
        running.kill()
        running.wait()
        (crashed,) = Path(self.logs).glob("*.eval")
        before = {(s.id, s.epoch): s.scores["match"].value for s in read_eval_log_sample_summaries(str(crashed)) if s.scores}
        self.assertGreater(len(before), 20)
        with open(os.path.join(self.logs, "said"), "w+") as said:
            retried = subprocess.run([*inspect, "eval-retry", str(crashed), "--log-dir", self.logs, "--display", "none"], env=environment, stdout=said, stderr=said, timeout=60)
            said.seek(0)
            self.assertEqual(retried.returncode, 0, said.read())
        (again,) = set(Path(self.logs).glob("*.eval")) - {crashed}
        log = read_eval_log(str(again))
        self.complete(log)
        self.assertEqual(len(log.samples), N * BUDGET)
        after = {(s.id, s.epoch): s.scores["match"].value for s in log.samples}
        self.assertEqual({key: after[key] for key in before}, before)

    def test_an_agent_with_tools_in_a_sandbox(self) -> None:
        def agent(input: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
            if not any(isinstance(m, ChatMessageTool) for m in input):
                parameter = next(iter(next(t for t in tools if t.name == "bash").parameters.properties))  # Inspect has renamed it
                output = ModelOutput.for_tool_call("mockllm", "bash", {parameter: "echo $((6 * 7)) > answer; cat answer"})
            else:
                output = ModelOutput.for_tool_call("mockllm", "submit", {"answer": input[-1].text.strip()})
            output.usage = ModelUsage(input_tokens=5, output_tokens=1, total_tokens=6)
            return output

        @scorer(metrics=[])
        def wrote() -> Any:
            async def score(state: Any, target: Any) -> Score:
                text = await sandbox().read_file("answer")
                return Score(value="C" if text.strip() == "42" and state.output.completion.strip().endswith("42") else "I")

            return score

        log = self.eval(task(solver=react(tools=[bash()]), scorer=wrote(), sandbox="local", early_stopping=HBN(budget=3), epochs=20), model(1, agent))
        values = self.complete(log, N * 3)
        self.assertAlmostEqual(values["mean"], 1)

    def test_graded_values(self) -> None:
        chance = random.Random(3)

        @scorer(metrics=[])
        def partly() -> Any:
            async def score(state: Any, target: Any) -> Score:
                value = math.nan if chance.random() < 0.1 else chance.choice([0, 0.25, 1])
                return Score(value={"quality": value, "length": 7})

            return score

        log = self.eval(task(scorer=partly(), early_stopping=HBN(budget=BUDGET, key="quality")), model(1))
        own = log.results.early_stopping.metadata["speceval"]
        self.assertEqual(own["estimate"]["rollouts"], N * BUDGET)
        self.assertTrue(own["estimate"]["complete"])
        self.assertGreater(own["failures"], 0)

    def test_each_scorer_has_its_own_mean(self) -> None:
        """The estimate by a scorer that says the contrary is 1 minus the mean."""

        def by(reward: Any) -> Any:
            async def score(state: Any, target: Any) -> Score:
                return Score(value=reward(state.output.completion == "yes"))

            return score

        @scorer(metrics=[])
        def right() -> Any:
            return by(lambda yes: "C" if yes else "I")

        @scorer(metrics=[])
        def wrong() -> Any:
            return by(lambda yes: 0 if yes else 1)

        @scorer(metrics=[])
        def length() -> Any:
            return by(lambda yes: 3 if yes else 2)

        @scorer(metrics=[])
        def unsure() -> Any:
            return by(lambda yes: "C" if yes else math.nan)

        @scorer(metrics={"*": [mean()]})
        def parts() -> Any:
            return by(lambda yes: {"right": float(yes), "half": yes / 2})

        scorers = [wrong(), right(), length(), unsure()]
        log = self.eval(task(scorer=scorers, early_stopping=HBN(budget=BUDGET, scorer="right")), model(1))
        self.assertEqual(log.status, "success", log.error)
        values = {s.name: {name: m.value for name, m in s.metrics.items()} for s in log.results.scores}
        chosen = log.results.early_stopping.metadata["speceval"]["estimate"]
        self.assertEqual(values["right"]["mean"], chosen["mean"])
        self.assertAlmostEqual(values["wrong"]["mean"], 1 - chosen["mean"], delta=1e-12)
        self.assertGreater(abs(chosen["mean"] - 0.5), 0.01)  # else the two are told by nothing
        self.assertAlmostEqual(values["wrong"]["stderr"], chosen["standard_error"], delta=0.01)
        by_scorer = log.results.early_stopping.metadata["speceval"]["scorers"]
        self.assertEqual(by_scorer["wrong"]["mean"], values["wrong"]["mean"])
        self.assertRegex(by_scorer["length"]["reason"], "its score of [23] is no reward from 0 to 1")
        for name in ("length", "unsure"):
            self.assertTrue(math.isnan(values[name]["mean"]), values[name])
            self.assertEqual(values[name]["complete"], 0)

        log = self.eval(task(scorer=parts(), metrics=None, early_stopping=HBN(budget=BUDGET, key="right")), model(1))
        self.assertEqual(log.status, "success", log.error)
        values = {s.name: {m.name: m.value for m in s.metrics.values()} for s in log.results.scores}
        chosen = log.results.early_stopping.metadata["speceval"]["estimate"]
        self.assertEqual(values["right"]["mean"], chosen["mean"])
        self.assertAlmostEqual(values["half"]["mean"], chosen["mean"] / 2, delta=1e-12)

    def test_a_log_is_scored_again(self) -> None:
        log = self.eval(task(), model(1))
        values = self.complete(log)

        @scorer(metrics=[])
        def contrary() -> Any:
            async def rate(state: Any, target: Any) -> Score:
                return Score(value="I" if state.output.completion == "yes" else "C")

            return rate

        @scorer(metrics=[])
        def long() -> Any:
            async def rate(state: Any, target: Any) -> Score:
                return Score(value=len(state.output.completion))

            return rate

        for by, want in ((match(), values["mean"]), (contrary(), 1 - values["mean"]), (long(), math.nan)):
            (again,) = score(log, by, metrics=[mean()], action="overwrite", display="none").results.scores
            got = {name: m.value for name, m in again.metrics.items()}
            self.assertEqual(got["rollouts"], N * BUDGET)
            self.assertEqual(got["complete"], 1.0 if want == want else 0.0)
            self.assertEqual(math.isnan(got["mean"]), math.isnan(want))
            if want == want:
                self.assertAlmostEqual(got["mean"], want, delta=1e-12)
        self.assertGreater(abs(values["mean"] - 0.5), 0.01)  # else the two are told by nothing
        with self.assertRaises(Exception):
            score(self.eval(task(early_stopping=None, metrics=[accuracy()], epochs=1), model(1)), match(), metrics=[mean()], display="none")

    def test_a_log_is_scored_again_by_the_command(self) -> None:
        """In a process that finds the metric by the entry point of the package alone."""
        log = self.eval(task(), model(1))
        values = self.complete(log)
        if not [point for point in metadata.entry_points(group="inspect_ai") if point.name == "speceval"]:  # the package is not installed
            info = Path(self.logs) / "speceval-0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: speceval\nVersion: 0\n")
            project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
            (info / "entry_points.txt").write_text("[inspect_ai]\nspeceval = " + project["entry-points"]["inspect_ai"]["speceval"] + "\n")
        path = os.pathsep.join([self.logs, os.environ.get("PYTHONPATH", "")])
        command = [str(Path(sys.executable).parent / "inspect"), "score", log.location, "--scorer", "match", "--action", "overwrite", "--overwrite", "--display", "none"]
        ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": path, "INSPECT_LOG_LEVEL": "error"}, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        (again,) = read_eval_log(log.location).results.scores
        self.assertAlmostEqual(again.metrics["mean"].value, values["mean"], delta=1e-12)

    def test_an_earlier_log_is_known(self) -> None:
        first = self.eval(task(), model(1))
        again = self.eval(task(early_stopping=HBN(budget=4, prior=[first.location])), model(2))
        self.complete(again, 4 * N)
        own = again.results.early_stopping.metadata["speceval"]
        self.assertEqual(own["started"]["policy"], "hbn_informed_staged")
        self.assertEqual(own["estimate"]["known"]["donors"][0]["rollouts"], N * BUDGET)

    def test_a_finished_run_goes_on(self) -> None:
        first = self.eval(task(), model(1))
        values = self.complete(first)
        again = self.eval(task(early_stopping=HBN(budget=2 * BUDGET, extend=first.location)), model(2))
        self.assertEqual(again.status, "success", again.error)
        self.assertEqual(len(again.samples), N * BUDGET)
        own = again.results.early_stopping.metadata["speceval"]["estimate"]
        self.assertEqual((own["complete"], own["rollouts"]), (True, 2 * N * BUDGET))
        self.assertLess(own["standard_error"], values["stderr"])
        last = self.eval(task(early_stopping=HBN(budget=2 * BUDGET + 2, extend=again.location)), model(3))
        self.assertEqual(last.results.early_stopping.metadata["speceval"]["estimate"]["rollouts"], N * (2 * BUDGET + 2))
        (scored,) = score(last, match(), metrics=[mean()], action="overwrite", display="none").results.scores
        self.assertTrue(math.isnan(scored.metrics["mean"].value))

    def test_down_to_an_error(self) -> None:
        log = self.eval(task(early_stopping=HBN(target_se=0.04)), model(1))
        self.assertEqual(log.status, "success", log.error)
        own = log.results.early_stopping.metadata["speceval"]["estimate"]
        self.assertTrue(own["complete"])
        self.assertLess(own["standard_error"], 0.06)

    def test_faults_are_told(self) -> None:
        plain, finished = self.eval(task(early_stopping=None, metrics=[accuracy()], epochs=1), model(1)), self.eval(task(), model(1))
        for early_stopping, words in (
            (HBN(budget=39), "epochs=40 is the most"),
            (HBN(budget=BUDGET, prior=["nowhere.eval"]), "nowhere.eval"),
            (HBN(), "say what to spend"),
            (HBN(budget=BUDGET, scorer="none"), "no scorer 'none'"),
            (HBN(budget=BUDGET, extend=plain.location), "is no log of a run with HBN"),
            (HBN(budget=BUDGET, extend=finished.location), "has 72 rollouts of 12 tasks already; want 7 or more"),
            (HBN(budget=BUDGET, reward=lambda value: 2.0), "no reward from 0 to 1"),
        ):
            log = self.eval(task(early_stopping=early_stopping), model(1))
            self.assertEqual(log.status, "error")
            self.assertEqual(speceval.inspect._runs, {}, "a process of a task that failed is left")
            self.assertIn(words, log.error.message)


if __name__ == "__main__":
    os.environ.setdefault("INSPECT_LOG_LEVEL", "error")
    unittest.main(warnings="ignore")
