"""Write the profiles of a Parquet file again, as other programs would."""

import os
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

source, folder = sys.argv[1:]
table = pq.read_table(source)
wide = pa.table({
    n: table[n].cast(pa.int64()) if pa.types.is_integer(table[n].type) else table[n] for n in table.column_names
})


def write(name, data, **options):
    pq.write_table(data, os.path.join(folder, f"other-{name}.parquet"), **options)


write("default", table)
write("wide", wide)
write("uncompressed", table, compression="none", use_dictionary=False)
write("gzip-groups", wide, compression="gzip", row_group_size=1000)
write("pages-v2", table, data_page_version="2.0", data_page_size=1024)
write("pages-v1", table, data_page_size=1024, compression="zstd")
write("reordered", table.select(list(reversed(table.column_names))).append_column("note", pa.array(["x"] * len(table))))
duckdb.connect().execute(
    f"COPY (SELECT * FROM read_parquet('{source}')) TO '{folder}/other-duckdb.parquet' (FORMAT parquet)")
