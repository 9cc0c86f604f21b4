"""Writes small logs in testdata by the tools themselves, or by their own writers.

    python by_others.py lm-eval FOLDER        with lm-eval 0.4.13
    python by_others.py lighteval FOLDER      with lighteval 0.13.0
    python by_others.py verifiers FOLDER      with verifiers 0.4.0
    python by_others.py harbor FOLDER         with harbor 0.24.0
    python by_others.py terminal-bench FOLDER with terminal-bench 0.2.18
    python by_others.py every-eval-ever FOLDER with every_eval_ever 0.3.0 and inspect_ai 0.3.285
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import uuid

def bare(*packages):
    """Imports packages without what they import themselves, which writing logs does not need."""
    for name in packages:
        spec = importlib.util.find_spec(name)
        module = types.ModuleType(name)
        module.__path__, module.__spec__ = spec.submodule_search_locations, spec
        sys.modules[name] = module


def lm_eval(folder):
    """A run of two documents, two repeats, two filters, by lm-eval's dummy model."""
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    place = pathlib.Path(tempfile.mkdtemp())
    (place / "docs.jsonl").write_text('{"q": "1+1?", "a": "lol"}\n{"q": "2+2?", "a": "4"}\n')
    (place / "quiz.yaml").write_text(f"""
task: quiz
dataset_path: json
dataset_kwargs: {{data_files: {{test: {place}/docs.jsonl}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{q}}}}"
doc_to_target: "{{{{a}}}}"
repeats: 2
generation_kwargs: {{until: ["\\n"]}}
filter_list:
  - name: strict
    filter: [{{function: take_first}}]
  - name: flexible
    filter: [{{function: lowercase}}, {{function: take_first}}]
metric_list:
  - metric: exact_match
""")
    tracker = EvaluationTracker(output_path=folder)
    results = lm_eval.simple_evaluate(
        model="dummy", tasks=["quiz"], task_manager=TaskManager(include_path=str(place), include_defaults=False), evaluation_tracker=tracker)
    tracker.general_config_tracker.model_name = "org/dummy"
    tracker.general_config_tracker.model_name_sanitized = "org__dummy"
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples(task_name="quiz", samples=samples["quiz"])
    for path in pathlib.Path(folder).rglob("results_*.json"):  # without what it says of this machine
        full = json.loads(path.read_text())
        path.write_text(json.dumps({key: full[key] for key in ["results", "date", "model_source", "model_name", "lm_eval_version"]}, indent=2))


def lighteval(folder):
    """Two documents of lighteval, in the columns in which its tracker saves their details (the tracker needs torch)."""
    from dataclasses import asdict

    from datasets import Dataset
    from lighteval.tasks.requests import Doc

    rows = []
    for i, value in enumerate([1, 0]):
        doc = Doc(query="q", choices=["a"], gold_index=0, id=str(i), task_name="quiz|0", num_samples=1)
        rows.append({"doc": asdict(doc), "metric": {"extractive_match": value, "pass@k": value / 2}, "model_response": {"text": ["answer"]}})
    place = pathlib.Path(folder) / "details" / "org" / "model" / "2026-11-23T10-00-00.000000"
    place.mkdir(parents=True, exist_ok=True)
    Dataset.from_list(rows).to_parquet(place / f"details_quiz_{place.name}.parquet")


def verifiers(folder):
    """Two tasks, two episodes each, and one that failed."""
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.episode import EnvInfo, Episode
    from verifiers.v1.task import TaskData
    from verifiers.v1.trace import AgentInfo, Reward, Trace, TraceTask
    from verifiers.v1.utils.trace_store import write_episode

    place = pathlib.Path(folder) / "quiz--model--default--1a2b3c"
    place.mkdir(parents=True, exist_ok=True)
    for key, score, ok in [("t0", 1.0, True), ("t1", 0.5, True), ("t0", 0.0, True), ("t1", 0.25, True), ("t1", 0.0, False)]:
        task = TraceTask(type="Task", data=TaskData(idx=int(key[1:]), prompt="q"), key=key, hash="h" + key)
        trace = Trace(task=task, agent=AgentInfo(config=AgentConfig(model="org/model")), ok=ok,
                      rewards={"correct": Reward(score=score, weight=0.8), "style": Reward(score=score, weight=0.2)})
        write_episode(place, Episode(env=EnvInfo(id="quiz"), task=task, traces=[trace], ok=ok))


def harbor(folder):
    """A job of two tasks: two trials each, of which one lost its sandbox, and one ran out of time."""
    from harbor.models.agent.context import AgentContext
    from harbor.models.task.id import LocalTaskId
    from harbor.models.trial.config import TaskConfig, TrialConfig
    from harbor.models.trial.result import AgentInfo, ExceptionInfo, ModelInfo, TrialResult
    from harbor.models.verifier.result import VerifierResult

    trials = [("a", "x1", 1.0, None), ("a", "x2", 0, "AgentTimeoutError"), ("b", "x3", None, "HealthcheckError"), ("b", "x4", 0.5, None)]
    for task, trial, reward, exception in trials:
        name = f"{task}__{trial}"
        place = pathlib.Path(folder) / "job" / name
        place.mkdir(parents=True, exist_ok=True)
        result = TrialResult(
            id=uuid.uuid5(uuid.NAMESPACE_URL, name), task_name=task, trial_name=name, trial_uri="file:///" + name,
            task_id=LocalTaskId(path="/tasks/" + task), source="quiz", task_checksum="0" * 8,
            config=TrialConfig(task=TaskConfig(path="/tasks/" + task)),
            agent_info=AgentInfo(name="terminus", version="1", model_info=ModelInfo(name="model", provider="org")),
            agent_result=AgentContext(n_input_tokens=100, n_output_tokens=10),
            verifier_result=None if reward is None else VerifierResult(rewards={"speed": 0.1, "reward": reward}),
            exception_info=None if exception is None else ExceptionInfo(
                exception_type=exception, exception_message="m", exception_traceback="", occurred_at="2026-11-23T10:00:00"),
        )
        (place / "result.json").write_text(result.model_dump_json(indent=1))


def terminal_bench(folder):
    """A run of two tasks, two trials each, of which one was not judged."""
    bare("terminal_bench", "terminal_bench.harness", "terminal_bench.agents", "terminal_bench.parsers")
    from terminal_bench.harness.models import BenchmarkResults, RunMetadata, TrialResults

    run = pathlib.Path(folder) / "run"
    all_trials = []
    for task, n, resolved in [("a", 1, True), ("a", 2, False), ("b", 1, True), ("b", 2, None)]:
        name = f"{task}.{n}-of-2.run"
        trial = TrialResults(
            id=uuid.UUID(int=uuid.uuid5(uuid.NAMESPACE_URL, name).int, version=4), trial_name=name, task_id=task,
            instruction="do", is_resolved=resolved, total_input_tokens=100, total_output_tokens=10)
        (run / task / name).mkdir(parents=True, exist_ok=True)
        (run / task / name / "results.json").write_text(trial.model_dump_json(indent=1))
        all_trials.append(trial)
    (run / "results.json").write_text(BenchmarkResults(results=all_trials).model_dump_json(indent=1))
    (run / "run_metadata.json").write_text(RunMetadata(
        run_id="run", uuid="u", dataset_name="quiz", output_path=".", agent_name="terminus", no_rebuild=False, cleanup=True,
        log_level=0, model_name="org/model", start_time="2026-11-23T10:00:00+00:00").model_dump_json(indent=1))


def every_eval_ever(folder):
    """Logs of testdata/inspect, of one epoch and of three, by the converter (it must know the model's developer)."""
    from inspect_ai.log import read_eval_log, write_eval_log

    here = pathlib.Path(__file__).parent
    for name, log in [("one", "whole.json"), ("three", "zstd.eval")]:
        read = read_eval_log(str(here / "inspect" / log))
        read.eval.model = "openai/gpt-4o-mini"
        for sample in read.samples:
            sample.output.model = "gpt-4o-mini"
            sample.model_usage = {read.eval.model: usage for usage in sample.model_usage.values()}
        changed = tempfile.mkdtemp() + "/changed.eval"
        write_eval_log(read, changed)
        place = tempfile.mkdtemp()
        subprocess.run([sys.executable, "-m", "every_eval_ever", "convert", "inspect", "--log_path", changed, "--output_dir", place], check=True)
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        for made in pathlib.Path(place).rglob("*.json*"):
            (pathlib.Path(folder) / name / made.name).write_bytes(made.read_bytes())


{"every-eval-ever": every_eval_ever, "lm-eval": lm_eval, "lighteval": lighteval, "verifiers": verifiers, "harbor": harbor, "terminal-bench": terminal_bench}[sys.argv[1]](sys.argv[2])
