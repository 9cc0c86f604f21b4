"""Read the rollouts of folders with DuckDB and print what they hold, as JSON."""

import json
import sys
from pathlib import Path

import duckdb

db = duckdb.connect()


def one(query):
    return db.execute(query).fetchone()[0]


folders = {}
for folder in sys.argv[1:]:
    parts = sorted(Path(folder).rglob("part-*.parquet"))
    rows = {str(p): one(f"SELECT count(*) FROM read_parquet('{p}')") for p in parts}
    if not parts:
        folders[folder] = {"parts": rows, "distinct": 0, "unsound": 0}
        continue
    names = ", ".join(f"'{p}'" for p in parts)
    db.execute(f"CREATE OR REPLACE TABLE t{len(folders)} AS FROM read_parquet([{names}], hive_partitioning = false)")
    table = f"t{len(folders)}"
    folders[folder] = {
        "parts": rows,
        "distinct": one(f"SELECT count(DISTINCT (benchmark, model, task_id, rollout)) FROM {table}"),
        "unsound": one(
            f"SELECT count(*) FROM {table} WHERE completion_tokens < 1 OR prompt_tokens < 1"
            " OR finish_reason NOT IN ('stop', 'length') OR text = '' AND reasoning = ''"
        ),
    }

# What an answer is, without how and where it was had.
columns = "benchmark, model, task_index, task_id, rollout, seed, completion_tokens, finish_reason, text, reasoning"
both = "t0 and t1" if min(len(f["parts"]) for f in folders.values()) else ""
different = one(f"SELECT count(*) FROM (SELECT {columns} FROM t0 EXCEPT SELECT {columns} FROM t1)") if both else -1
json.dump({"duckdb": duckdb.__version__, "folders": folders, "different": different}, sys.stdout)
