"""Writes the Parquet files of this folder: the same seven rows by several writers.

Needs pyarrow and duckdb. Run it in this folder; the rows are those of table_test.go.
"""
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 7
COLUMNS = {
    "id": [60 + i for i in range(ROWS)],
    "problem": [f"Problem {i}:\n  ∑ of 𝔽 and é, \"so\"" for i in range(ROWS)],
    "answer": [i % 4 for i in range(ROWS)],
    "subject": ["physics" if i < 4 else "biology" for i in range(ROWS)],
    "choices": [[] if i == 3 else [f"choice {j} of {i}" for j in range(4 + i % 3)] for i in range(ROWS)],
    "hints": [None if i % 2 else ["", "a hint"] for i in range(ROWS)],
    "image": [None if i % 3 == 0 else "" if i % 3 == 1 else "aW1hZ2U=" * 40 for i in range(ROWS)],
    "note": [None if i == 2 else f"note {i}" for i in range(ROWS)],
}


def table(text=pa.string(), integer=pa.int64()):
    listed = pa.list_(pa.large_string() if text == pa.large_string() else pa.string())
    types = {"id": integer, "answer": pa.int32(), "choices": listed, "hints": listed}
    return pa.table({name: pa.array(values, types.get(name, text)) for name, values in COLUMNS.items()})


pq.write_table(table(), "snappy.parquet")
pq.write_table(table(), "groups.parquet", row_group_size=2, compression="gzip")
pq.write_table(table(), "pages.parquet", data_page_version="2.0", compression="zstd", use_dictionary=False,
               data_page_size=64, write_batch_size=2)
pq.write_table(table(pa.large_string(), pa.int32()), "large.parquet", compression="brotli")
pq.write_table(table(pa.dictionary(pa.int32(), pa.string())), "dictionary.parquet", compression="none")
pq.write_table(table(), "legacy.parquet", use_compliant_nested_type=False, version="1.0")
pq.write_table(table(), "delta.parquet", use_dictionary=False, column_encoding={"problem": "DELTA_BYTE_ARRAY"})

whole = table()  # DuckDB finds it by its name
duckdb.sql("COPY whole TO 'duckdb.parquet' (FORMAT parquet)")
duckdb.sql("COPY whole TO 'duckdb-zstd.parquet' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v1)")

other = pa.table({
    "number": pa.array([1.5, 2.5]),
    "unsigned": pa.array([1, 2], pa.uint64()),
    "nested": pa.array([{"bytes": "a"}, {"bytes": "b"}]),
    "structure": pa.array([{"a": 1, "b": 2}, {"a": 1, "b": 2}]),
    "lists": pa.array([[["a"]], [["b"]]]),
    "nulls": pa.array([["a", None], ["b"]]),
    "binary": pa.array([b"ok", b"\xff\xfe"]),
    "binaries": pa.array([[b"ok"], [b"ok", b"\xff"]]),
    "day": pa.array([1, 2], pa.date32()),
})
pq.write_table(other, "types.parquet")
