"""Makes the problems of the small model: its training texts and its benchmark.

    python problems.py tasks                    the benchmark primer, as a task file
    python problems.py texts SEED COUNT         training texts, a JSON object a line

Every problem has a form, which is the same for problems that differ only in the
order of addends, factors or options. The forms whose SHA-256 begins with the hexadecimal
digit 0, one in sixteen, are held out: training texts are never made of them, and the
tasks of the benchmark are made of nothing else. Only the standard library is
used, and the same seed gives the same bytes.

Training texts are not all right. Where a problem tempts to a slip (a carry
forgotten, a bracket left out), the slip is written with a chance that depends
on the problem, and what follows is right but for it. So the model that learns
from them slips with about that chance as well. Likewise some texts go over
their working again before they answer, once or more often.
"""

import dataclasses
import hashlib
import json
import random
import sys
import typing

TEMPERATURE = 0.6  # of sampling; see written
MOST_CHECKS = 15   # of one text
AGAIN = 0.8        # chance of one more check after a check


@dataclasses.dataclass
class Problem:
    """One problem. Slip is a function from the chance of a slip to whether it happens."""

    form: str
    prompt: str
    scorer: str                      # math, choice or code
    work: typing.Callable            # from slip to the working and the answer
    check: float                     # chance that the working is checked
    options: list = dataclasses.field(default_factory=list)

    def held_out(self):
        return hashlib.sha256(self.form.encode()).hexdigest()[0] == "0"

    def right(self):
        """The answer without slips."""
        return self.work(lambda chance: False)[1]


def written(chance):
    """The chance in training texts of what is to be sampled with this chance.

    Sampling at a temperature T raises the odds of two continuations to the
    power 1/T.
    """
    if chance in (0, 1):
        return chance
    odds = (chance / (1 - chance)) ** TEMPERATURE
    return odds / (1 + odds)


def response(problem, rng):
    """One training text for a problem."""
    happens = lambda chance: rng.random() < written(chance)
    working, answer = problem.work(happens)
    lines = [working]
    chance = problem.check
    while len(lines) <= MOST_CHECKS and happens(chance):
        lines.append(f"check {len(lines)}: {working}")
        chance = AGAIN
    return "\n".join(lines + [shown(problem.scorer, answer)])


def shown(scorer, answer):
    """An answer in the form that its scorer reads."""
    if scorer == "math":
        return rf"\boxed{{{answer}}}"
    if scorer == "choice":
        return f"Answer: {answer}"
    return f"```python\ndef f(x): return {answer}\n```"


# Kinds of problems. Each is a function from a random stream and a level, which
# is 1 or more, to a problem.

def number(rng, digits):
    return rng.randrange(10 ** (digits - 1), 10 ** digits)


def digits_of(n):
    """Decimal digits, the last one first."""
    return [int(d) for d in reversed(str(n))]


def assemble(last, earlier):
    """A number from the result of its last column and the digits of the earlier ones."""
    return str(int(str(last) + "".join(str(d) for d in reversed(earlier))))


def columns(first, step):
    """Works a column after the other with carries; step gives the text of a
    column, its value, and whether a slip dropped the carry."""
    texts, digits, carry = [], [], 0
    for place, digit in enumerate(first):
        text, value = step(place, digit, carry)
        texts.append(f"{text}={value}")
        digits.append(value % 10)
        carry = value // 10
    return " ".join(texts), assemble(value, digits[:-1])


def addition(rng, level):
    """Two numbers of level + 1 digits. A carry is forgotten, the more often the
    longer the numbers are and the further left it goes."""
    a, b = number(rng, level + 1), number(rng, level + 1)
    forgotten = {1: [0, 0], 2: [0, 0.12, 0.3], 3: [0, 0.3, 0.45, 0.6]}[level]

    def work(slip):
        other = digits_of(b)

        def step(place, digit, carry):
            if carry and not slip(forgotten[place]):
                return f"{digit}+{other[place]}+{carry}", digit + other[place] + carry
            return f"{digit}+{other[place]}", digit + other[place]

        return columns(digits_of(a), step)

    return Problem(f"add {min(a, b)} {max(a, b)}", f"What is {a}+{b}?", "math", work, [0, 0.08, 0.2][level - 1])


def subtraction(rng, level):
    """Two numbers of level + 1 digits. What was borrowed (b) is forgotten."""
    b, a = sorted([number(rng, level + 1), number(rng, level + 1)])
    forgotten = {1: 0, 2: 0.2, 3: 0.4}[level]

    def work(slip):
        texts, digits, borrowed = [], [], 0
        for x, y in zip(digits_of(a), digits_of(b)):
            text, value = f"{x}-{y}", x - y
            if borrowed and not slip(forgotten):
                text, value = f"{text}-1", value - 1
            borrowed = int(value < 0)
            digits.append(value % 10)
            texts.append(f"{text}={digits[-1]}" + "b" * borrowed)
        return " ".join(texts), assemble(digits[-1], digits[:-1])

    return Problem(f"subtract {a} {b}", f"What is {a}-{b}?", "math", work, [0, 0.08, 0.2][level - 1])


def multiplication(rng, level):
    """A number of level + 1 digits times one digit. Carries are forgotten."""
    a, b = number(rng, level + 1), rng.randrange(2, 10)
    forgotten = {1: 0, 2: 0.2, 3: 0.4}[level]

    def work(slip):
        def step(place, digit, carry):
            if carry and not slip(forgotten):
                return f"{digit}*{b}+{carry}", digit * b + carry
            return f"{digit}*{b}", digit * b

        return columns(digits_of(a), step)

    return Problem(f"multiply {a} {b}", f"What is {a}*{b}?", "math", work, [0, 0.1, 0.2][level - 1])


def long_product(rng, level):
    """Two numbers of level + 1 digits, with steps that are as large as the
    numbers are: the hardest there is for so small a model, without any slip."""
    a, b = number(rng, level + 1), number(rng, level + 1)

    def work(slip):
        if level > 1:
            return f"{a}*{b}={a * b}", str(a * b)
        ones, tens = a * (b % 10), a * (b - b % 10)
        return f"{a}*{b % 10}={ones} {a}*{b - b % 10}={tens} {ones}+{tens}={a * b}", str(a * b)

    return Problem(f"product {min(a, b)} {max(a, b)}", f"What is {a}*{b}?", "math", work, [0.15, 0.35][level - 1])


def precedence(rng, level):
    """A sum or difference with a product in it. It is worked from left to
    right, the more often the greater the last factor is."""
    b, c = rng.randrange(2, 10), rng.randrange(2, 10)
    sign, a = "+-"[level - 1], rng.randrange(2, 10) if level == 1 else rng.randrange(b * c, 100)

    def work(slip):
        plus = 1 if sign == "+" else -1
        if slip((c - 1) / 10):
            left = a + plus * b
            return f"{a}{sign}{b}={left} {left}*{c}={left * c}", str(left * c)
        return f"{b}*{c}={b * c} {a}{sign}{b * c}={a + plus * b * c}", str(a + plus * b * c)

    return Problem(f"order {a}{sign}{b}*{c}", f"What is {a}{sign}{b}*{c}?", "math", work, 0.08 if c > 4 else 0)


def remainder(rng, level):
    """Division with remainder. The quotient is taken one too small, the more
    often the greater the divisor is."""
    d = rng.randrange(3, 10)
    n = rng.randrange(20, 100) if level == 1 else rng.randrange(100, 200)

    def work(slip):
        quotient = n // d - slip((d - 2) / 10)
        return f"{quotient}*{d}={quotient * d} {n}-{quotient * d}={n - quotient * d}", str(n - quotient * d)

    return Problem(f"remainder {n} {d}", f"What is {n} mod {d}?", "math", work, [0, 0.12][level - 1])


def running_sum(rng, level):
    """A list of small numbers, added one after the other."""
    numbers = [number(rng, level) for _ in range(rng.randrange(4, 7))]

    def work(slip):
        totals = [sum(numbers[:i]) for i in range(2, len(numbers) + 1)]
        return " ".join(map(str, totals)), str(totals[-1])

    shuffled = " ".join(map(str, sorted(numbers)))
    return Problem(f"list {shuffled}", f"Add {', '.join(map(str, numbers))}.", "math", work, [0, 0.12][level - 1])


def letter(i):
    return chr(ord("A") + i)


def choice(form, question, options, work, check):
    listed = " ".join(f"{letter(i)}) {o}" for i, o in enumerate(options))
    form = f"{form} {' '.join(sorted(map(str, options)))}"
    return Problem(form, f"{question} {listed}", "choice", work, check, [str(o) for o in options])


def extreme(rng, level):
    """The largest or the smallest of some numbers. Two that differ by less than ten
    are confused. The numbers of level 1 are far apart."""
    count = [4, 5, 7][level - 1]
    least = rng.randrange(10, 70)
    near = range(10, 100) if level == 1 else range(least, least + 30)
    options = rng.sample(near, count)
    largest = rng.random() < 0.5

    def work(slip):
        best, texts = 0, []
        for i in range(1, count):
            a, b = options[best], options[i]
            less = a < b
            if level > 1 and abs(a - b) < 10 and slip([0, 0.25, 0.4][level - 1]):
                less = not less
            texts.append(f"{a}{'<' if less else '>'}{b}")
            if less == largest:
                best = i
        return " ".join(texts), letter(best)

    name = "Largest" if largest else "Smallest"
    return choice(name, f"{name}?", options, work, [0, 0.1, 0.2][level - 1])


def decimals(rng, level):
    """The largest of some decimal fractions, compared as if what stands after the
    point were a whole number. Only level 1 has problems that come out right so."""
    while True:
        options = [rng.randrange(10 ** (d - 1), 10 ** d) for d in rng.sample([1, 2, 3], 3)]
        options = [str(n) for n in options if n % 10]
        long = max(range(len(options)), key=lambda i: int(options[i]), default=0)
        if len(options) == 3 and (options[long] == max(options)) == (level == 1):
            break

    def work(slip):
        right = options.index(max(options))
        return " ".join(options), letter(long if slip(1) else right)

    return choice("decimals", "Largest?", [f"0.{o}" for o in options], work, [0, 0.3][level - 1])


def multiple(rng, level):
    """The one multiple of a number; remainders are known by heart, or not."""
    d, count = rng.randrange(3, 10), 3 + level
    others = [n for n in range(10, 100) if n % d]
    options = rng.sample(others, count - 1) + [rng.choice([n for n in range(10, 100) if n % d == 0])]
    rng.shuffle(options)

    def work(slip):
        right = [n % d for n in options].index(0)
        return " ".join(f"{n}:{n % d}" for n in options[:right + 1]), letter(right)

    return choice(f"multiple {d}", f"Multiple of {d}?", options, work, [0.08, 0.15][level - 1])


def largest_sum(rng, level):
    """The largest of some sums of two numbers."""
    while True:
        pairs = [(number(rng, level), number(rng, level)) for _ in range(4)]
        sums = [a + b for a, b in pairs]
        if sums.count(max(sums)) == 1:
            break

    def work(slip):
        return " ".join(map(str, sums)), letter(sums.index(max(sums)))

    return choice("sum", "Largest?", [f"{a}+{b}" for a, b in pairs], work, [0, 0.12][level - 1])


def program(rng, level):
    """A function of level steps. Brackets before a factor are forgotten, the
    more often the greater the factor is, and "from k" is always mistaken."""
    steps, last = [], ""
    while len(steps) < min(level, 3):
        last = rng.choice([name for name in ("add", "minus", "times") if name != last])
        steps.append((last, rng.randrange(2, 10 if last == "times" else 100)))
    if level == 4:
        steps = [steps[0], ("from", rng.randrange(2, 100))]

    def work(slip):
        text, texts, sum_ = "x", [], False
        for name, k in steps:
            if name == "times":
                text = f"({text})*{k}" if sum_ and not slip((k - 1) / 10) else f"{text}*{k}"
            elif name == "from":
                text = f"{text}-{k}" if slip(1) else f"{k}-({text})"
            else:
                text = f"{text}{'+' if name == 'add' else '-'}{k}"
            sum_ = name != "times"
            texts.append(text)
        return " ".join(texts), text

    asked = ", ".join(f"{name} {k}" for name, k in steps)
    return Problem(f"program {asked}", f"Python f(x): {asked}.", "code", work, [0, 0.08, 0.15, 0.25][level - 1])


KINDS = {
    "sum": (addition, 3), "difference": (subtraction, 3), "times": (multiplication, 3),
    "product": (long_product, 2), "order": (precedence, 2), "remainder": (remainder, 2), "list": (running_sum, 2),
    "extreme": (extreme, 3), "decimals": (decimals, 2), "multiple": (multiple, 2), "sums": (largest_sum, 2),
    "program": (program, 4),
}


def texts(seed):
    """Endless training texts, none of a problem that is held out."""
    rng = random.Random(seed)
    makers = [(make, level + 1) for make, levels in KINDS.values() for level in range(levels)]
    while True:
        make, level = rng.choice(makers)
        problem = make(rng, level)
        if not problem.held_out():
            yield problem.prompt, response(problem, rng)


# The benchmark: kind, level and number of tasks.
TASKS = [
    ("sum", 1, 3), ("sum", 2, 3), ("sum", 3, 4), ("difference", 1, 3), ("difference", 2, 3), ("difference", 3, 3),
    ("times", 1, 1), ("times", 2, 3), ("times", 3, 3), ("product", 1, 3), ("product", 2, 2),
    ("order", 1, 3), ("order", 2, 2), ("remainder", 1, 2), ("remainder", 2, 2), ("list", 1, 1),
    ("extreme", 1, 1), ("extreme", 2, 4), ("extreme", 3, 3), ("decimals", 1, 1), ("decimals", 2, 3),
    ("multiple", 1, 2), ("multiple", 2, 1), ("sums", 1, 1), ("sums", 2, 1),
    ("program", 1, 2), ("program", 2, 3), ("program", 3, 3), ("program", 4, 2),
]


def held_out_problems(make, level, count, seed):
    """Different problems of a kind that are held out."""
    rng, found = random.Random(seed), {}
    while len(found) < count:
        problem = make(rng, level)
        if problem.held_out():
            found.setdefault(problem.form, problem)
    return list(found.values())


def record(index, name, problem):
    """One line of the task file."""
    task = {
        "benchmark_id": "primer", "task_id": name, "task_index": index,
        "prompt": problem.prompt, "user_prompt": problem.prompt, "system_prompt": None,
    }
    if problem.scorer != "code":
        task["answer"] = problem.right()
    task["scorer"] = problem.scorer
    if problem.options:
        task |= {"options": len(problem.options), "option_texts": problem.options}
    if problem.scorer == "code":
        f = eval(f"lambda x: {problem.right()}")
        task["tests"] = [
            {"kind": "function", "function": "f", "input": str(x), "output": str(f(x))} for x in (0, 1, 7, -4, 25)
        ]
    return json.dumps(task, separators=(",", ":"), ensure_ascii=False)



def print_tasks(out):
    index = 0
    for kind, level, count in TASKS:
        make = KINDS[kind][0]
        for i, problem in enumerate(held_out_problems(make, level, count, f"primer {kind} {level}")):
            out.write(record(index, f"{kind}-{level}{chr(ord('a') + i)}", problem) + "\n")
            index += 1


def print_texts(out, seed, count):
    source = texts(seed)
    for _ in range(count):
        prompt, text = next(source)
        out.write(json.dumps({"prompt": prompt, "response": text}) + "\n")


def main(words):
    if words == ["tasks"]:
        print_tasks(sys.stdout)
    elif len(words) == 3 and words[0] == "texts":
        print_texts(sys.stdout, int(words[1]), int(words[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
