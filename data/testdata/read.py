"""Print what pyarrow and DuckDB read from a Parquet file, as JSON."""

import json
import sys

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

path = sys.argv[1]


def with_pyarrow():
    table = pq.read_table(path)
    numeric = [f.name for f in table.schema if not pa.types.is_string(f.type)]
    footer = pq.read_metadata(path).metadata or {}
    return {
        "Rows": table.num_rows,
        "Columns": [[f.name, str(f.type)] for f in table.schema],
        "Footer": {k.decode(): v.decode() for k, v in footer.items()},
        "Sums": {n: pc.sum(table[n]).as_py() for n in numeric},
        "Nulls": {n: table[n].null_count for n in table.column_names},
        "First": table.slice(0, 1).to_pylist()[0],
    }


def with_duckdb():
    db = duckdb.connect()
    source = f"read_parquet('{path}')"
    columns = [r[:2] for r in db.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
    numeric = [n for n, kind in columns if kind != "VARCHAR"]
    one = lambda query: db.execute(query).fetchone()
    return {
        "Rows": one(f"SELECT count(*) FROM {source}")[0],
        "Columns": [list(c) for c in columns],
        "Footer": {
            bytes(k).decode(): bytes(v).decode()
            for k, v in db.execute(f"SELECT key, value FROM parquet_kv_metadata('{path}')").fetchall()
        },
        "Sums": {n: float(one(f"SELECT sum({n}::DOUBLE) FROM {source}")[0]) for n in numeric},
        "Nulls": {n: one(f"SELECT count(*) FROM {source} WHERE {n} IS NULL")[0] for n, _ in columns},
        "First": dict(zip([n for n, _ in columns], one(f"SELECT * FROM {source} LIMIT 1"))),
    }


json.dump({"pyarrow": with_pyarrow(), "duckdb": with_duckdb()}, sys.stdout)
