"""
BigQuery's REST API from an emulator on PyPI, which runs queries and load jobs on DuckDB. Argument: the port.
"""

import sys

from bqemulator.cli import main
from bqemulator.storage.engine import DuckDBEngine

# DuckDB downloads this extension. Only GEOGRAPHY needs it.
DuckDBEngine._load_spatial = lambda self: None

sys.argv[1:] = ["start", "--rest-port", sys.argv[1], "--grpc-port", "0"]
main()
