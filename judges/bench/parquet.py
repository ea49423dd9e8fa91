"""Writes events of a D1 file to Parquet with zstd: sqlite3 reads them, DuckDB writes them.

python parquet.py <database> <SQL for the events> <output>
"""

import sqlite3
import sys

import duckdb
import pyarrow

BATCH_ROWS = 10_000
COLUMNS = "uuid event distinct_id person_id properties person_properties elements_chain timestamp created_at _inserted_at".split()
SCHEMA = pyarrow.schema([(name, pyarrow.string()) for name in COLUMNS])

database, events_sql, output = sys.argv[1:]
cursor = sqlite3.connect(f"file:{database}?mode=ro", uri=True, check_same_thread=False).execute(
    f"select {', '.join(COLUMNS)} from {events_sql}"
)


def batches():
    while rows := cursor.fetchmany(BATCH_ROWS):
        arrays = [pyarrow.array(values, pyarrow.string()) for values in zip(*rows)]
        yield pyarrow.record_batch(arrays, schema=SCHEMA)


events = pyarrow.RecordBatchReader.from_batches(SCHEMA, batches())
duckdb.execute(
    "copy (select * replace (timestamp::timestamptz as timestamp, created_at::timestamptz as created_at,"
    " _inserted_at::timestamptz as _inserted_at) from events)"
    f" to '{output}' (format parquet, compression zstd)"
)
