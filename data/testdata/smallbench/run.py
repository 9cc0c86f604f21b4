"""Run the reference solutions beside this file on the tests of a task file.

Reads a JSON list of tasks (id, tests) and prints a line for every test that
gives another result.
"""

import io
import json
import pathlib
import sys
from contextlib import redirect_stdout


def stdin(source, test):
    sys.stdin, printed = io.StringIO(test["input"]), io.StringIO()
    with redirect_stdout(printed):
        exec(compile(source, "solution", "exec"), {"__name__": "__main__"})
    return printed.getvalue(), test["output"]


def function(source, test):
    names = {}
    exec(compile(source, "solution", "exec"), names)
    arguments = [json.loads(line) for line in test["input"].split("\n")]
    return names[test["function"]](*arguments), json.loads(test["output"])


for task in json.load(sys.stdin):
    source = (pathlib.Path(__file__).parent / f"{task['ID']}.py").read_text()
    for i, test in enumerate(task["Tests"]):
        got, want = {"stdin": stdin, "function": function}[test["kind"]](source, test)
        if got != want:
            print(f"{task['ID']}: test {i} gives {got!r}, the file says {want!r}")
