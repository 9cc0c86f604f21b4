"""A speceval process, and the messages to it (docs/protocol.md)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROTOCOL = 1
"""Version of the protocol that this package speaks."""

VARIABLE = "SPECEVAL_PROGRAM"
"""Environment variable with the path of the program, where it is not found."""


class ProtocolError(Exception):
    """speceval refused a message, which changed nothing."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        """Field of the message that is at fault."""


class ProgramError(Exception):
    """The program is not there, or has ended."""


def program() -> str:
    """Path of the program: by the environment, next to this Python, or on the path."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    places = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    try:
        places.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    except (AttributeError, KeyError):  # no user scheme here
        pass
    found = shutil.which("speceval", path=os.pathsep.join(places)) or shutil.which("speceval")
    if found is None:
        raise ProgramError(f"the program speceval is not installed: pip install speceval, or name it in {VARIABLE}")
    return found


class Client:
    """One evaluation, kept by a speceval process. Its methods may be called by several
    threads: each message waits for its reply."""

    def __init__(self, state: str | None = None, binary: str | None = None, keep: bool = False) -> None:
        """Start the process. With `state`, a folder, or with `keep`, in the output folder,
        an evaluation that was interrupted resumes."""
        command = [binary or program(), "-q", "serve", "--stdio"]
        if keep:
            command.append("--keep")
        if state is not None:
            command += ["--state", state]
        self._lock = threading.Lock()
        self._left: list[tuple[str, int]] = []
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
            )
        except OSError as error:
            raise ProgramError(f"{command[0]} cannot be started: {error}") from error

    def send(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a message and return the reply. A `ProtocolError` says what is wrong with
        the message, a `ProgramError` that the program has ended."""
        line = json.dumps({"type": kind, **fields}, ensure_ascii=False, allow_nan=False) + "\n"
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        with self._lock:
            try:
                stdin.write(line.encode())
                stdin.flush()
                text = stdout.readline()
            except (OSError, ValueError):  # it has ended, or was closed
                text = b""
            if not text.endswith(b"\n"):
                raise ProgramError(f"speceval has ended: {self._last_words()}")
        reply: dict[str, Any] = json.loads(text)
        if reply["type"] == "error":
            raise ProtocolError(reply["field"], reply["message"])
        return reply

    def _last_words(self) -> str:
        if self._errors.closed:
            return "it was closed"
        try:
            code: int | None = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace").strip()
        return text[-2000:] or f"exit code {code}"

    def start(self, tasks: list[str], **fields: Any) -> dict[str, Any]:
        """Begin or resume an evaluation of these tasks; the fields are those of the
        message. What was in flight when it was left is given again by `next`."""
        given = {name: value for name, value in fields.items() if value is not None}
        reply = self.send("start", protocol=PROTOCOL, tasks=tasks, **given)
        self._left = [rollout(r) for r in reply["in_flight"]]
        return reply

    def next(self, most: int) -> list[tuple[str, int]]:
        """Rollouts to run now, at most so many: task, and number in the task."""
        again, self._left = self._left[:most], self._left[most:]
        if len(again) == most:
            return again
        return again + [rollout(r) for r in self.send("next", most=most - len(again))["rollouts"]]

    def completed(self, task: str, number: int, reward: float, tokens: int = 0) -> dict[str, Any]:
        """Report the reward of a rollout, from 0 to 1, and the tokens of its answer."""
        return self.send("completed", task=task, rollout=number, reward=reward, tokens=tokens)

    def failed(self, task: str, number: int) -> dict[str, Any]:
        """Report that a rollout has no reward: `next` gives it again."""
        return self.send("failed", task=task, rollout=number)

    def estimate(self, tasks: bool = False, rewards: Mapping[tuple[str, int], float] | None = None) -> dict[str, Any]:
        """The estimate as far as it is known, with every task if wanted; of a complete
        evaluation, with `rewards` by task and number, that of another scorer."""
        if rewards is None:
            return self.send("estimate", tasks=tasks)
        named = [{"task": task, "rollout": number, "reward": reward} for (task, number), reward in rewards.items()]
        return self.send("estimate", tasks=tasks, rewards=named)

    def close(self) -> None:
        """End the process. Every report is kept where it has a state folder."""
        process = self._process
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._errors.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def rollout(named: Mapping[str, Any]) -> tuple[str, int]:
    """A rollout of a reply."""
    return named["task"], named["rollout"]
