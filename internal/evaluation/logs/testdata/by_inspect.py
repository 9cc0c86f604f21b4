"""Writes testdata/inspect: small logs by inspect_ai itself (0.3.285), without a model.

    python by_inspect.py FOLDER
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile

from inspect_ai import Epochs, Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import generate, solver
from inspect_ai.util import EarlyStop
import inspect_ai._util.zipfile as compression


@scorer(metrics=[mean()])
def graded():
    async def score(state, target):
        value = {1: "C", 2: "I", 3: "P"}[state.epoch]
        if state.sample_id == "b" and state.epoch == 2:
            value = float("nan")
        return Score(value=value)

    return score


@scorer(metrics={"*": [mean()]})
def parts():
    async def score(state, target):
        return Score(value={"right": state.epoch % 2 == 1, "style": 0.5})

    return score


@solver
def fails():
    async def solve(state, generate):
        if state.sample_id == 4 and state.epoch == 3:
            raise ValueError("made to fail")
        if os.environ.get("KILL") and state.epoch == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return state

    return solve


class Stops:
    """An allocation: task a has 3 rollouts, b 1, 4 1, and a second of 4 is not selected."""

    def __init__(self, name, metadata):
        self.name, self.metadata = name, metadata

    async def start_task(self, task, samples, epochs):
        return self.name

    async def schedule_sample(self, id, epoch):
        if epoch > {"a": 3, "b": 1, 4: 2}[id]:
            return EarlyStop(id=id, epoch=epoch, reason=self.name + ": not allocated")

    async def complete_sample(self, id, epoch, scores):
        pass

    async def complete_task(self):
        return self.metadata


def model():
    def outputs():
        while True:
            out = ModelOutput.from_content("mockllm/model", "answer")
            out.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15, input_tokens_cache_read=2)
            yield out

    return get_model("mockllm/model", custom_outputs=outputs())


def write(to, form="eval", scorers=(graded,), metadata=None, ids=("a", "b", 4), epochs=3, **task):
    folder = tempfile.mkdtemp()
    samples = [Sample(id=i, input="q", target="a") for i in ids]
    made = Task(
        dataset=MemoryDataset(samples, name="ds"), solver=[fails(), generate()], scorer=[s() for s in scorers],
        epochs=Epochs(epochs, "mean"), name="org/quiz", fail_on_error=False, metadata=metadata, **task,
    )
    eval(made, model=model(), log_dir=folder, log_format=form, display="none", max_samples=1, log_realtime=False)
    shutil.copy(glob.glob(folder + "/*." + form)[0], to)
    if form == "eval":
        clean(to)


def clean(path):
    """Leaves out where on this machine the made error came from."""
    members = []
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            text = archive.read(info)
            if info.filename == "samples/4_epoch_3.json":
                sample = json.loads(text)
                text = json.dumps({"id": 4, "epoch": 3, "input": "q", "target": "a", "uuid": sample["uuid"],
                                   "error": {"message": "made to fail", "traceback": "", "traceback_ansi": ""}}).encode()
            members.append((info, text))
    with zipfile.ZipFile(path, "w") as archive:
        for info, text in members:
            archive.writestr(info, text, compress_type=info.compress_type)


def main(folder):
    if os.environ.get("KILL"):
        os.environ["INSPECT_LOG_DIR"] = folder
        named = {"speceval": {"protocol": 1}} if os.environ["KILL"] == "speceval" else None
        return write("nowhere", metadata=named)
    os.makedirs(folder, exist_ok=True)
    write(folder + "/zstd.eval")
    write(folder + "/whole.json", "json", scorers=[graded, parts], ids=("a", 4), epochs=1)
    selected = {"a": 3, "b": 1, "4": 1}
    write(folder + "/allocated.eval", early_stopping=Stops("speceval", {"speceval": {"protocol": 1, "selected": selected}}))
    write(folder + "/stopped.eval", early_stopping=Stops("other", {}))
    write(folder + "/parts.eval", scorers=[parts], ids=("a", "b"), epochs=1)
    kwargs = compression.zipfile_compress_kwargs
    for name in list(kwargs):
        del kwargs[name]
    kwargs.update(compression=8)
    write(folder + "/deflate.eval")
    for name in ["crashed", "speceval"]:
        place = tempfile.mkdtemp()
        subprocess.run([sys.executable, __file__, folder], env={**os.environ, "KILL": name, "TMPDIR": place})
        shutil.copy(glob.glob(place + "/*/*.eval")[0], folder + "/" + name.replace("speceval", "crashed_allocated") + ".eval")


main(sys.argv[1])
