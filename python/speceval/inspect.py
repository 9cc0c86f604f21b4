"""Rollouts of an Inspect task where they help most, and the mean that comes of them.

    Task(..., epochs=64, early_stopping=HBN(budget=16), metrics=[mean()])

runs exactly 16 epochs of every sample on average, and no more than 64 of any: first a
few of each, then more where the scores disagree. Nothing else of the task is touched.
"""

from __future__ import annotations

import functools
import logging
import math
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai.hooks import Hooks, RunEnd, SampleEnd, hooks
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.scorer import Metric, SampleScore, Value, metric
from inspect_ai.util import EarlyStop

from .client import PROTOCOL, Client, ProtocolError

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec

__all__ = ["HBN", "mean"]

logger = logging.getLogger(__name__)

MANAGER = "speceval"
"""Name of the allocation in logs."""

SKIPPED = "speceval: the budget has no rollout here"
"""Reason of an epoch that is not run."""

OTHER_LOG = "the run goes on from another log, whose scores are by another scorer"
"""Why there is no mean by it."""

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Values of Inspect's scorers that are letters."""


class HBN:
    """Early stopping that spends an exact budget of epochs where they help most.

    A pilot of every sample comes first; a hierarchical Bayesian model of the scores then
    says where the rest goes, in one stage or several. Epochs beyond that are skipped, and
    the mean of `mean()` is unbiased, which Inspect's mean over epochs is not.
    """

    def __init__(
        self,
        budget: int | None = None,
        *,
        target_se: float | None = None,
        max_rollouts: int | None = None,
        prior: Iterable[str | os.PathLike[str]] = (),
        policy: str | None = None,
        stages: int | None = None,
        scorer: str | None = None,
        key: str | None = None,
        reward: Callable[[Value], float] | None = None,
        cluster: Callable[[Sample], str] | None = None,
        seed: int | None = None,
        extend: str | os.PathLike[str] | None = None,
        program: str | None = None,
    ) -> None:
        """Say what is spent, and what is known.

        Args:
           budget: Epochs per sample on average. Exactly so many times the samples are run.
           target_se: In the place of a budget: run until the standard error is this.
           max_rollouts: Epochs of all samples together, with target_se or alone.
           prior: Earlier results of the same samples: logs of Inspect and of other tools,
              folders of evaluations of speceval, files of profiles (FILE#MODEL for one
              model's). The mean stays unbiased whatever they say.
           policy: One of `speceval evaluate --help`; what suits the prior if left out.
           stages: Number of stages, the pilot among them; chosen if left out.
           scorer: Name of the scorer whose score counts, where the task has several.
           key: Key of the value that counts, where values are dictionaries.
           reward: Reward from 0 to 1 of a value, in the place of the usual one.
           cluster: Cluster of a sample, where samples are no independent ones.
           seed: Breaks ties; another one is another evaluation.
           extend: Log of a finished run with HBN, of the same samples and model: epochs are added
              to its own, up to a budget on average. The mean is that of both.
           program: Path of the speceval program; found by itself if left out.
        """
        self._start = {
            "budget": budget, "target_se": target_se, "max_rollouts": max_rollouts, "policy": policy,
            "stages": stages, "seed": seed, "prior": [_absolute(os.fspath(p)) for p in prior] or None,
        }
        self._scorer, self.key, self._reward, self._cluster, self._program, self.extend = scorer, key, reward, cluster, program, extend

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Begin the evaluation of a task with a model."""
        if task.config.log_samples is False:
            raise ValueError("HBN needs log_samples: without it Inspect runs every epoch of every sample")
        ids: list[str | int] = [sample.id for sample in samples if sample.id is not None]
        names = [str(id) for id in ids]
        clusters = None if self._cluster is None else [self._cluster(sample) for sample in samples]
        earlier = None if self.extend is None else await anyio.to_thread.run_sync(_snapshot, os.fspath(self.extend))
        client = Client(binary=self._program)
        try:
            started = await anyio.to_thread.run_sync(lambda: client.start(
                names, benchmark=task.task, model=str(task.model), clusters=clusters, extend=earlier,
                rounds=epochs, places=_places(task), ahead=False, **self._start,
            ))
            run = _Run(task.run_id, client, started, self)
        except BaseException as error:
            client.close()
            if isinstance(error, ProtocolError) and error.field == "rounds":
                raise ValueError(f"epochs={epochs} is the most that a sample can get, and too few: {error}") from error
            raise
        _listen()
        _runs[task.eval_id] = run
        _current.set(run)
        return MANAGER

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Wait until it is decided whether an epoch of a sample is run."""
        wanted = await _current.get().wanted(str(id), epoch)
        return None if wanted else EarlyStop(id=id, epoch=epoch, reason=SKIPPED)

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:
        """Take the score of an epoch, also of one that an earlier run had."""
        run = _current.get()
        run.scores[str(id), epoch] = {name: score.score.value for name, score in scores.items()}
        run.completed(str(id), epoch, self.reward_of(scores))

    async def complete_task(self) -> dict[str, Any]:
        """End the evaluation; what it came to goes into the log."""
        return _current.get().end()

    def reward_of(self, scores: Mapping[str, SampleScore]) -> float | None:
        """The reward of an epoch by its scores; None if it has none."""
        if not scores:
            return None
        if self._scorer is None and len(scores) > 1:
            raise ValueError(f"the task has the scorers {', '.join(scores)}: say HBN(scorer=…)")
        name = self.scorer_of(scores)
        if name not in scores:
            raise ValueError(f"the task has no scorer {name!r}, but {', '.join(scores)}")
        return self.reward_of_value(scores[name].score.value)

    def scorer_of(self, scores: Iterable[str]) -> str:
        """The name of the scorer whose score counts, of those that a sample has."""
        return self._scorer or next(iter(scores))

    def reward_of_value(self, value: Value) -> float | None:
        """The reward of a value of a score; None if it is none, as of NaN."""
        if isinstance(value, Mapping):
            if self.key is None or self.key not in value:
                raise ValueError(f"scores have the values {', '.join(value)}: say HBN(key=…)")
            chosen = value[self.key]
            return None if chosen is None else self.reward_of_value(chosen)
        reward = self._reward(value) if self._reward is not None else _number(value)
        if math.isnan(reward):
            return None
        if not 0 <= reward <= 1:
            raise ValueError(f"a score of {value!r} is no reward from 0 to 1: say HBN(reward=…) with what makes it one")
        return reward


def _absolute(source: str) -> str:
    """A source of which the file is there, wherever the program runs."""
    path, mark, model = source.partition("#")
    return os.path.abspath(path) + mark + model if os.path.exists(path) else source


def _number(value: Value) -> float:
    """A value as a number."""
    if isinstance(value, str) and value in LETTERS:
        return LETTERS[value]
    if isinstance(value, (str, int, float)):
        try:
            return float(value)
        except ValueError:
            pass
    raise ValueError(f"a score of {value!r} is no number: say HBN(reward=…) with what makes it one")


def _rewards(numbers: Mapping[tuple[str, int], int], values: Mapping[tuple[str, int], Value | None]) -> tuple[dict[tuple[str, int], float], str | None]:
    """The rewards of the rollouts that count, by task and number, from values by task and
    epoch; and why there are none."""
    rewards = {}
    for (task, epoch), number in numbers.items():
        value = values.get((task, epoch))
        try:
            reward = math.nan if value is None else _number(value)
        except ValueError:
            reward = math.inf
        if not 0 <= reward <= 1:
            score = "it has no score" if value is None else f"its score of {value!r} is no reward from 0 to 1"
            return {}, f"epoch {epoch} of sample {task} counts, and {score}"
        rewards[task, number] = reward
    return rewards, None


def _places(task: EvalSpec) -> int:
    """How many samples run at a time: by the task, or by Inspect's default for most models."""
    limits = (task.config.max_samples, task.model_generate_config.max_connections, 10)
    return next(limit for limit in limits if limit is not None)


class _Run:
    """One evaluation: a task with a model.

    Inspect goes through all samples epoch by epoch. A stage takes the epochs of a block:
    as many as its largest task has rollouts. A task runs the first epochs of the block
    and skips the others; epochs beyond it wait for the next stage. Epochs of a sample are
    all alike, so that a late one may take the place of another.
    """

    def __init__(self, run_id: str, client: Client, started: dict[str, Any], by: HBN) -> None:
        self.run_id, self.client, self.started, self.by = run_id, client, started, by
        self.scores: dict[tuple[str, int], dict[str, Value]] = {}  # by all scorers, by task and epoch
        self.numbers: dict[tuple[str, int], int] = {}  # of the rollouts that count, by task and epoch
        self.columns: list[_Column] = []  # once it has ended
        self.begin, self.end_of_block = 0, 0  # the block: epochs from begin + 1 on
        self.sizes: dict[str, int] = {}  # rollouts of the stage, by task
        self.pending: dict[str, list[int]] = defaultdict(list)  # their numbers, while no epoch has them
        self.again: dict[str, list[int]] = defaultdict(list)  # failed rollouts, to be run again
        self.flying: dict[tuple[str, int], int] = {}  # rollouts under way, by task and epoch
        self.waiting: dict[str, set[int]] = defaultdict(set)  # epochs that are not decided, by task
        self.early: dict[tuple[str, int], float] = {}  # rewards of an earlier run, until they are wanted
        self.overdue = False  # epochs of the block do not come: others take their place
        self.final = False
        self.result: dict[str, Any] | None = None
        self.failures = 0
        self.changed = anyio.Event()
        self.advance()

    def advance(self) -> None:
        """Take the rollouts of the next stage, if there is one."""
        while True:
            reply = self.client.send("next", most=1 << 30)
            self.final = reply["final"]
            if not reply["rollouts"]:
                return
            for r in reply["rollouts"]:
                self.pending[r["task"]].append(r["rollout"])
            self.sizes = {task: len(numbers) for task, numbers in self.pending.items()}
            self.begin, self.overdue = self.end_of_block, False
            self.end_of_block += max(self.sizes.values())
            for task, epoch in sorted(self.early):
                number = self.number(task, epoch)
                if number is not None:
                    self.report(task, epoch, number, self.early.pop((task, epoch)))

    def number(self, task: str, epoch: int) -> int | None:
        """The rollout of the stage that an epoch of a task may have; None if it has none."""
        if self.pending[task] and (self.overdue or epoch <= self.begin + self.sizes[task]):
            return self.pending[task].pop(0)
        return None

    async def wanted(self, task: str, epoch: int) -> bool:
        """Whether an epoch of a task is run, as soon as that is decided."""
        waiting = self.waiting[task]
        waiting.add(epoch)
        try:
            while True:
                number = self.number(task, epoch)
                if number is None and self.again[task] and epoch == min(waiting):
                    number = self.again[task].pop(0)
                    self.make_room(epoch)
                if number is not None:
                    if self.overdue:
                        self.make_room(epoch)
                    self.flying[task, epoch] = number
                    return True
                missing = any(self.again.values()) or any(self.pending.values())  # rollouts without an epoch
                if epoch <= self.end_of_block or self.final and not missing and all(flying != task for flying, _ in self.flying):
                    return False
                await self.change(epoch)
        finally:
            waiting.discard(epoch)

    async def change(self, epoch: int) -> None:
        """Wait until something has changed."""
        changed, stuck = self.changed, not self.flying
        short = self.overdue or any(self.again.values())
        with anyio.move_on_after((PATIENCE if short else LONG_PATIENCE) if stuck else None):
            await changed.wait()
        if not stuck or changed.is_set() or epoch != min(e for waiting in self.waiting.values() for e in waiting):
            return
        # What is missing is to be run by samples whose next epochs are behind those that
        # wait: these make room.
        if short:
            self.make_room(epoch)
        else:
            self.overdue = True
            self.wake()

    def make_room(self, epoch: int) -> None:
        """Let the block reach to an epoch, which samples without a rollout skip."""
        if epoch > self.end_of_block:
            self.end_of_block = epoch
            self.wake()

    def completed(self, task: str, epoch: int, reward: float | None) -> None:
        """Take the end of an epoch. One without a reward is run again, in a later epoch of its sample."""
        number = self.flying.pop((task, epoch), None)
        if number is not None and reward is None:
            self.failures += 1
            self.client.failed(task, number)
            for name, again in self.client.next(1):
                self.again[name].append(again)
        elif reward is not None:
            if number is None:  # an earlier run had it
                number = self.number(task, epoch)
            if number is None and epoch <= self.end_of_block and self.again[task]:
                number = self.again[task].pop(0)
            if number is None:
                self.early[task, epoch] = reward
            elif self.report(task, epoch, number, reward):
                self.advance()
        self.wake()

    def report(self, task: str, epoch: int, number: int, reward: float) -> bool:
        """Report a reward. Returns whether something was decided by it."""
        self.numbers[task, epoch] = number
        return bool(self.client.completed(task, number, reward)["released"])

    def wake(self) -> None:
        """Wake the waiting epochs, to check again."""
        self.changed.set()
        self.changed = anyio.Event()

    def estimate_of(self, scores: Sequence[SampleScore]) -> Mapping[str, Any]:
        """The estimate by the scorer, or the part of one, that scores are of. Until the
        end only a task with one has one."""
        e = self.result if self.result is not None else self.client.estimate()
        if len(self._columns()) < 2:
            return e
        none = {"complete": False, "rollouts": e["rollouts"]}
        if not self.columns:
            return none
        name = (scores[0].scorer or "").split("/")[-1]
        same = _signature({(str(s.sample_id), i): s.score.value for i, s in enumerate(scores)})
        fits = [column for column in self.columns if column.signature == same]
        if not fits:
            named = [column for column in self.columns if re.fullmatch(re.escape(name) + r"(\d+|/.*)?", column.name)]
            fits = named if len(named) == 1 else []
        reason = fits[0].reason if fits else "its scores are not those that the samples had"
        if any(column.estimate != fits[0].estimate for column in fits):
            reason = f"its scores may be those of {' or '.join(column.name for column in fits)}"
        if reason is None and fits[0].estimate is not None:
            return fits[0].estimate
        logger.warning(f"speceval.inspect.mean() is NaN for {fits[0].name if len(fits) == 1 else name}: {reason}")
        return none

    def _columns(self) -> dict[tuple[str, str | None], dict[tuple[str, int], Value | None]]:
        """The values by each scorer, and of each part of those that have parts, by task and epoch."""
        columns: dict[tuple[str, str | None], dict[tuple[str, int], Value | None]] = defaultdict(dict)
        for place, scores in self.scores.items():
            for name, value in scores.items():
                columns[name, None][place] = value
                if isinstance(value, Mapping):
                    for key, part in value.items():
                        columns[name, key][place] = part
        return columns

    def column(self, name: str, key: str | None, values: Mapping[tuple[str, int], Value | None]) -> _Column:
        """The estimate by a scorer: under the allocation by the one that counts."""
        column = _Column(name if key is None else f"{name}/{key}", _signature(values))
        if name == self.by.scorer_of(next(filter(None, self.scores.values()))) and key in (None, self.by.key):
            column.estimate = self.result
            return column
        rewards, column.reason = _rewards(self.numbers, values)
        if self.by.extend is not None:
            column.reason = OTHER_LOG
        if column.reason is None:
            column.estimate = self.client.estimate(rewards=rewards)
        return column

    def end(self) -> dict[str, Any]:
        """End the process. Returns what the log is to hold."""
        self.result = self.client.estimate(tasks=True)
        columns = self._columns()
        if self.result["complete"] and len(columns) > 1:
            self.columns = [self.column(name, key, values) for (name, key), values in columns.items()]
        snapshot = self.client.send("snapshot")["snapshot"]
        self.client.close()
        selected = defaultdict(list)
        for (task, epoch), _ in sorted(self.numbers.items(), key=lambda item: item[1]):
            selected[task].append(epoch)
        return {
            MANAGER: {
                "protocol": PROTOCOL,
                "started": {name: self.started[name] for name in self.started if name not in ("type", "in_flight")},
                "selected": dict(selected),  # epochs of the rollouts that count, in the order of their numbers
                "snapshot": snapshot,
                "unused": len(self.early),
                "failures": self.failures,
                "estimate": {name: self.result[name] for name in self.result if name != "type"},
                "scorers": {column.name: column.said() for column in self.columns},
            }
        }


@dataclass
class _Column:
    """The scores by a scorer, or of a part of them, and the estimate by them."""

    name: str
    signature: Counter[tuple[str, str]]
    estimate: Mapping[str, Any] | None = None
    reason: str | None = None  # why there is none

    def said(self) -> Mapping[str, Any]:
        """What the log is to hold."""
        if self.estimate is None:
            return {"reason": self.reason}
        return _values(self.estimate)


def _signature(values: Mapping[tuple[str, int], Value | None]) -> Counter[tuple[str, str]]:
    """How often each sample has each value. Inspect leaves NaN out, and names no epoch."""
    return Counter((task, repr(value)) for (task, _), value in values.items() if not (isinstance(value, float) and math.isnan(value)))


PATIENCE = 0.25
"""Seconds that epochs wait for one of a sample whose rollout is to be run again."""

LONG_PATIENCE = 3.0
"""Seconds that they wait for one that is late: a retry comes last to what was under way."""

_current: ContextVar[_Run] = ContextVar("speceval_run")
_runs: dict[str, _Run] = {}  # under way, by the id of their eval


class _Errors(Hooks):
    """Early stopping does not hear of a sample with an error and no score, nor of the end
    of a task that failed: its process ends with the run."""

    def enabled(self) -> bool:
        return bool(_runs)

    async def on_sample_end(self, data: SampleEnd) -> None:
        run = _runs.get(data.eval_id)
        if run is not None and data.sample.error is not None and not data.sample.scores:
            run.completed(str(data.sample.id), data.sample.epoch, None)

    async def on_run_end(self, data: RunEnd) -> None:
        for id in [id for id, run in _runs.items() if run.run_id == data.run_id]:
            _runs.pop(id).client.close()


@functools.cache
def _listen() -> None:
    """Register the hook, once: on import Inspect would announce it in every run."""
    hooks(name="speceval_errors", description="Reports samples with errors, and the end of runs, to speceval.")(_Errors)


@metric(name="mean", scores="unreduced")
def mean() -> Metric:
    """The unbiased mean of a task with `HBN`, with both of its errors.

    `mean` is NaN until every rollout of the budget is there, and `complete` says so;
    `provisional` is then what the scores so far let expect. `stderr` is the error of
    rollouts on these samples, `stderr_samples` that of the samples as draws from more
    such samples, each with a 95% interval. Of several scorers each has its own, under the
    allocation by the one that `HBN` names; NaN, with a warning, if it gives no rewards.
    `inspect score` computes it for new scores of a log, under the allocation of the log.
    """

    def compute(scores: Sequence[SampleScore]) -> Value:
        run = _current.get(None)
        if run is not None:
            return _values(run.estimate_of(scores))
        stored = _stored()
        if stored is None:
            raise RuntimeError("speceval.inspect.mean() needs early_stopping=HBN(…) in the same task, or the log of a run with it")
        return _values(_scored_again(stored, scores))

    return compute


def _stored() -> dict[str, Any] | None:
    """What the log that is scored again has of its allocation. Inspect gives metrics the scores
    alone, so the log is taken from the function that computes them."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        log = frame.f_locals.get("log")
        if isinstance(log, EvalLog):  # the nearest: a script may have other logs
            return _allocation(log)
        frame = frame.f_back
    return None


def _allocation(log: EvalLog) -> dict[str, Any] | None:
    """What a log has of the allocation of a run that has ended."""
    stopping = log.results.early_stopping if log.results is not None else None
    stored = stopping.metadata.get(MANAGER) if stopping is not None else None
    return stored if isinstance(stored, dict) and "snapshot" in stored else None


def _snapshot(path: str) -> Any:
    """The state of a run that has ended, from its log."""
    stored = _allocation(read_eval_log(path, header_only=True))
    if stored is None:
        raise ValueError(f"{path} is no log of a run with HBN that has ended")
    return stored["snapshot"]


def _scored_again(stored: Mapping[str, Any], scores: Sequence[SampleScore]) -> Mapping[str, Any]:
    """The estimate by new scores of all epochs, under the allocation of the log."""
    none = {"complete": False, "rollouts": stored["estimate"]["rollouts"]}
    if not stored["estimate"]["complete"]:
        return none
    given: dict[str, list[Value]] = defaultdict(list)
    for score in scores:  # in the order of the log: by epoch
        given[str(score.sample_id)].append(score.score.value)
    selected = stored["selected"]
    numbers = {(task, epoch): number for task, epochs in selected.items() for number, epoch in enumerate(epochs, 1)}
    values = {(task, epoch): value for task, epochs in selected.items() for epoch, value in zip(sorted(epochs), given[task])}
    rewards, reason = _rewards(numbers, values)
    other = next((task for task in selected if len(given[task]) != len(selected[task])), None)
    if other is not None:
        reason = f"sample {other} has {len(given[other])} scores, and {len(selected[other])} of its epochs count"
    if stored["snapshot"]["setup"].get("extends"):
        reason = OTHER_LOG
    if reason is not None:
        logger.warning(f"speceval.inspect.mean() is NaN: {reason}")
        return none
    with Client() as client:
        client.send("resume", snapshot=stored["snapshot"])
        return client.estimate(rewards=rewards)


def _values(e: Mapping[str, Any]) -> dict[str, float | None]:
    """The values of an estimate as a metric has them."""
    if not e["complete"]:
        provisional = {"provisional": e["provisional"]} if "provisional" in e else {}
        return {**provisional, "mean": math.nan, "complete": 0.0, "rollouts": float(e["rollouts"])}  # Inspect shows the first while it runs
    return {
        "mean": e["mean"], "stderr": e["standard_error"], "ci_low": e["interval"][0], "ci_high": e["interval"][1],
        "stderr_samples": e["standard_error_tasks"], "ci_samples_low": e["interval_tasks"][0], "ci_samples_high": e["interval_tasks"][1],
        "complete": 1.0, "rollouts": float(e["rollouts"]), "uniform_budget": e["uniform"]["budget"],
    }

