# What happens in a process that was made for one test: the program runs, and
# what came of it is written to REPORT. Nothing here is trusted by anyone: the
# program could have written the same.
import builtins
import os
import sys

PROGRAM = "<program>"
REPORT = 3  # a file, open for writing

# Names that programs use without importing them, by the module they are from.
# A module is imported before the first test if the program has one of its words,
# other than behind a dot. Where two modules have a name, it is in the list of the
# one that is imported later by the harness of LiveCodeBench.
PRELUDE = {
    "bisect": "bisect_left bisect_right insort insort_left insort_right",
    "collections": "ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque namedtuple",
    "copy": "deepcopy",
    "datetime": "MAXYEAR MINYEAR date timedelta timezone",
    "decimal": "Decimal getcontext",
    "fractions": "Fraction",
    "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce singledispatch "
    "singledispatchmethod total_ordering update_wrapper wraps",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "io": "BufferedReader BufferedWriter BytesIO FileIO StringIO TextIOWrapper",
    "itertools": "accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile "
    "filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest",
    "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
    "math": "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1 "
    "fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 "
    "log1p log2 modf nan nextafter perm pi prod radians remainder sin sinh sqrt sumprod tan tanh tau trunc ulp",
    "operator": "add and_ attrgetter concat contains countOf delitem eq floordiv ge getitem gt iadd indexOf inv invert is_ "
    "is_not itemgetter le lshift lt methodcaller mod mul ne neg not_ or_ pos rshift setitem sub truediv truth xor",
    "os": "",
    "queue": "LifoQueue PriorityQueue Queue SimpleQueue",
    "random": "Random choice choices gauss getrandbits randbytes randint randrange sample seed shuffle uniform",
    "re": "DOTALL IGNORECASE MULTILINE VERBOSE escape findall finditer fullmatch match search split subn",
    "statistics": "NormalDist StatisticsError fmean geometric_mean harmonic_mean mean median median_high median_low mode "
    "multimode pstdev pvariance quantiles stdev variance",
    "string": "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable "
    "punctuation whitespace",
    "sys": "argv byteorder float_info getrecursionlimit getsizeof intern maxsize maxunicode setrecursionlimit stderr stdin "
    "stdout version version_info",
    "threading": "Thread",
    "time": "",
    "typing": "Any AnyStr Callable ClassVar Collection Container DefaultDict Deque Dict Final FrozenSet Generator Generic "
    "Hashable Iterable Iterator List Literal Mapping Match MutableMapping MutableSequence MutableSet NamedTuple NewType "
    "NoReturn Optional Pattern Protocol Reversible Sequence Set Sized SupportsFloat SupportsInt Text Tuple Type TypeVar "
    "TypedDict Union cast overload",
}


# With one of these words, a program may have left something for the interpreter
# to do at its end: threads to wait for, files to write. It takes twice as long.
AT_END = frozenset(
    "open fdopen FileIO TextIOWrapper BufferedWriter Thread Timer threading _thread concurrent multiprocessing asyncio "
    "atexit weakref __del__ exec eval __import__ importlib".split()
)


def vocabulary(source):
    """The words of a program, with the dot before them if there is one."""
    return set("".join(c if c.isalnum() or c == "_" else " ." if c == "." else " " for c in source).split())


def tidy(words):
    """Tells whether a program of these words leaves nothing to do at its end."""
    return AT_END.isdisjoint(word.lstrip(".") for word in words)


def prelude(words):
    """Imports what a program of these words may use, and gives the names."""
    names = {}
    for module, members in PRELUDE.items():
        wanted = words.intersection(members.split())
        if module in words or wanted:
            loaded = __import__(module)
            names[module] = loaded
            names.update((name, getattr(loaded, name)) for name in wanted if hasattr(loaded, name))
    return names


def run(source, function, names):
    """Runs the program; ends the process if it fails."""
    builtins.exit = builtins.quit = sys.exit  # which the site module, left out, defines
    sys.argv[:] = ["program"]
    sys.setrecursionlimit(50_000)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(50_000)
    if "random" in names:
        names["random"].seed(0)  # the same verdict every time
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    for stream in ("stdin", "stdout"):
        if stream in names:
            names[stream] = getattr(sys, stream)
    main = type(sys)("solution" if function else "__main__")
    main.__dict__.update(names)
    sys.modules[main.__name__] = main
    try:
        if function:
            call(source, function, main.__dict__)
        else:
            exec(compile(source, PROGRAM, "exec", dont_inherit=True), main.__dict__)
    except SystemExit:
        pass
    except MemoryError:
        end(b"memory")
    except BaseException as error:
        end(b"error", describe(error))


def flush():
    """Writes what the program has printed, and nothing else that it left."""
    for stream in (sys.stdout, sys.__stdout__):
        try:
            stream.flush()
        except Exception:
            pass  # the driver sees what is missing


def end(how, text=""):
    os.write(REPORT, how + b"\n" + text.encode("utf-8", "replace"))
    os._exit(1)


def describe(error):
    """The last line of a traceback, shortened."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    text = text.strip().partition("\n")[0][:200]
    return type(error).__name__ + (": " + text if text else "")


def call(source, function, names):
    """Calls a function of the program with the arguments in standard input, a
    JSON value a line, and reports its result."""
    import json

    arguments = sys.stdin.read()
    exec(compile(source, PROGRAM, "exec", dont_inherit=True), names)
    values = [json.loads(line) for line in arguments.removesuffix("\n").split("\n") if arguments]
    result = find(function, names, len(values))(*values)
    text = json.dumps(plain(list(result) if isinstance(result, tuple) else result))
    with open(REPORT, "w", closefd=False) as report:
        report.write("result\n" + text)


def find(function, names, count):
    """The function to call with so many arguments. Its name was not told to the
    author of the program, so it may have another: that of the only public method
    of Solution, or of the last one that takes so many, or else that of the last
    function of the program that does, or else of the last one."""
    solution = names.get("Solution")
    methods = []
    if isinstance(solution, type):
        if hasattr(solution, function):
            return getattr(solution(), function)
        methods = [name for name in vars(solution) if not name.startswith("_") and own(getattr(solution, name))]
    if callable(names.get(function)):
        return names[function]
    if methods:
        candidates = [getattr(solution(), name) for name in methods]
        fitting = [method for method in candidates if takes(method, count)]
        if fitting or len(candidates) == 1:
            return (fitting or candidates)[-1]
    candidates = sorted(filter(own, names.values()), key=lambda value: own(value).__code__.co_firstlineno)
    if not candidates:
        raise NameError("there is no function to call")
    return ([value for value in candidates if takes(value, count)] or candidates)[-1]


def own(value):
    """The function of the program that a value is, below its decorators; None if
    it is none."""
    try:
        value = getattr(value, "__func__", value)
        while hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        return value if value.__code__.co_filename == PROGRAM else None
    except Exception:
        return None


def takes(value, count):
    """Tells whether a function of the program takes so many arguments. The
    standard inspect module would do, but its import takes as long as a test."""
    function = own(value)
    code = function.__code__
    count += hasattr(value, "__self__")
    least = code.co_argcount - len(function.__defaults__ or ())
    endless = code.co_flags & 4  # it has *args
    named = code.co_kwonlyargcount > len(function.__kwdefaults__ or ())
    return least <= count and (endless or count <= code.co_argcount) and not named


def plain(value):
    """The value as one that JSON has, if Python holds it equal to such a value."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(item) for key, item in value.items()}
    for number in (int, float):
        try:
            if not isinstance(value, float) and number(value) == value:
                return number(value)
        except Exception:
            pass
    raise TypeError("the result has a " + type(value).__name__ + ", which equals no JSON value")
