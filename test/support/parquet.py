"""Prints what pyarrow, polars and fastparquet read in a Parquet file, as JSON: its rows, and whether its statistics are true.

python parquet.py <file>
"""

import datetime
import json
import sys

import fastparquet
import pandas
import polars
import pyarrow.parquet

path = sys.argv[1]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value):
    """Times as milliseconds, days as text. Times without a zone are in UTC."""
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=value.tzinfo or datetime.timezone.utc) - EPOCH) // datetime.timedelta(milliseconds=1)
    return value.isoformat() if isinstance(value, datetime.date) else value


def statistics(file):
    """Of each column of each row group: whether the count of nulls is right, and no value is beyond the bounds."""
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        for at, name in enumerate(table.column_names):
            said = file.metadata.row_group(group).column(at).statistics
            values = [value for value in table.column(name).to_pylist() if value is not None]
            yield {
                "name": name,
                "nulls": said.null_count == len(table) - len(values),
                "bounds": said.has_min_max and said.min <= min(values) and max(values) <= said.max
                if values
                else not said.has_min_max,
            }


file = pyarrow.parquet.ParquetFile(path)
frame = fastparquet.ParquetFile(path).to_pandas()
tables = {
    "pyarrow": file.read().to_pylist(),
    "polars": polars.read_parquet(path).to_dicts(),
    # Its frames have NaN and NaT for null.
    "fastparquet": [
        {name: None if pandas.isna(value) else value for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ],
}
rows = {
    reader: [[plain(value) for value in row.values()] for row in table] for reader, table in tables.items()
}
json.dump({**rows, "statistics": list(statistics(file))}, sys.stdout)
