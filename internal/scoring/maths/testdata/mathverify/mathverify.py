"""Math-Verify over pairs: a JSON object a line in, one out."""
import importlib.metadata
import json
import logging
import sys

from math_verify import parse, verify

logging.disable(logging.CRITICAL)
SECONDS = 5  # for each step, as it has them by default


def versions():
    names = ["math-verify", "latex2sympy2_extended", "sympy", "antlr4-python3-runtime"]
    return {name: importlib.metadata.version(name) for name in names}


def judged(pair):
    gold = parse(pair["gold"], parsing_timeout=SECONDS)
    prediction = parse(pair["prediction"], parsing_timeout=SECONDS)
    return {"equal": bool(verify(gold, prediction, timeout_seconds=SECONDS)), "read": str(prediction[:1])[:200]}


print(json.dumps(versions()), flush=True)
for line in sys.stdin:
    try:
        verdict = judged(json.loads(line))
    except Exception as error:  # no verdict is none of equality
        verdict = {"equal": False, "read": repr(error)[:200]}
    print(json.dumps(verdict), flush=True)
