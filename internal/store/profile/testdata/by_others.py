"""Writes profiles.csv as other tools do: pip install pyarrow polars duckdb pandas."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

frame = pd.read_csv("profiles.csv")
table = pa.Table.from_pandas(frame, preserve_index=False)
numbers = ["task_index", "pass_count", "tested_k"]
small = table.cast(pa.schema([(f.name, pa.int32() if f.name in numbers else pa.string()) for f in table.schema]))
deltas = {"benchmark": "DELTA_BYTE_ARRAY", "model": "DELTA_LENGTH_BYTE_ARRAY", "task_id": "DELTA_BYTE_ARRAY"}
deltas |= {name: "DELTA_BINARY_PACKED" for name in numbers}

pq.write_table(small, "pyarrow_deltas.parquet", use_dictionary=False, column_encoding=deltas, data_page_version="2.0")
pq.write_table(small, "pyarrow_split.parquet", use_dictionary=False, use_byte_stream_split=numbers, data_page_version="2.0")
pq.write_table(table.append_column("scorer", pa.nulls(table.num_rows)), "pyarrow_nulls.parquet", compression="lz4")
pl.from_pandas(frame).write_parquet("polars_lz4.parquet", compression="lz4")
frame.astype({"tested_k": "float32", "pass_count": "Int64"}).to_parquet("pandas_floats.parquet")
duckdb.register("t", table)
duckdb.execute(
    "copy (select benchmark, model, task_index, task_id, sum(pass_count) pass_count, max(tested_k) tested_k"
    " from t group by all) to 'duckdb_sums.parquet' (format parquet, parquet_version v2)"
)
half = frame.assign(pass_count=frame["pass_count"] + 0.5)
half.to_parquet("wrong_half.parquet")
