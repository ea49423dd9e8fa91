"""Readers of Iceberg tables, and what others do with tables, over HTTP.

python readers.py <port> <catalog> <S3 endpoint> <key id> <key>

POST / {"do": "pyiceberg" | "duckdb", "table", "sql"}: the result of SQL about the table, which is named t in it.
POST / {"do": "rewrite" | "expire" | "drop" | "touch", "table"}: writes all rows to new files, removes all snapshots but
the last one, removes all rows, or commits a snapshot without rows.
GET /: "ready".
"""

import json
import os
import sys
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

# The S3 server accepts no checksums at the end of a body.
os.environ["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"

import duckdb
import duckdb_ext
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

port, catalog_uri, endpoint, key_id, key = sys.argv[1:6]
EXTENSIONS = f"{list(duckdb_ext.__path__)[0]}/extensions/v{duckdb.__version__}/linux_amd64"


def catalog():
    return load_catalog(
        "tests",
        **{
            "type": "rest",
            "uri": catalog_uri,
            "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
            "s3.endpoint": endpoint,
            "s3.access-key-id": key_id,
            "s3.secret-access-key": key,
            "s3.region": "auto",
        },
    )


def rows(connection, sql):
    return connection.execute(sql).fetch_arrow_table().to_pylist()


def by_pyiceberg(table, sql):
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    connection.register("t", catalog().load_table(table).scan().to_arrow())
    return rows(connection, sql)


def open_duckdb():
    connection = duckdb.connect()
    for extension in ("httpfs", "avro", "iceberg"):
        connection.execute(f"load '{EXTENSIONS}/{extension}.duckdb_extension'")
    connection.execute(
        f"create secret (type s3, key_id '{key_id}', secret '{key}', region 'auto', url_style 'path', use_ssl false,"
        f" endpoint '{endpoint.removeprefix('http://')}')"
    )
    return connection


# Loading the extensions takes longer than most queries.
opened = open_duckdb()
lakes = count()


def by_duckdb(table, sql):
    namespace, name = table.split(".", 1)
    # Whether it exists.
    catalog().load_table(table)
    connection = opened.cursor()
    connection.execute("set timezone = 'UTC'")
    # A lake keeps the tables that it has read.
    lake = f"lake_{next(lakes)}"
    connection.execute(
        f"attach '' as {lake} (type iceberg, endpoint '{catalog_uri}', authorization_type 'none',"
        " access_delegation_mode 'none')"
    )
    connection.execute(f'create temp view t as select * from {lake}.{namespace}."{name}"')
    return rows(connection, sql)


def rewrite(table):
    it = catalog().load_table(table)
    it.overwrite(it.scan().to_arrow())


def expire(table):
    catalog().load_table(table).maintenance.expire_snapshots().older_than(datetime.now(timezone.utc)).commit()


def touch(table):
    it = catalog().load_table(table)
    it.append(it.schema().as_arrow().empty_table())


def act(wanted):
    match wanted["do"]:
        case "pyiceberg":
            return by_pyiceberg(wanted["table"], wanted["sql"])
        case "duckdb":
            return by_duckdb(wanted["table"], wanted["sql"])
        case "rewrite":
            return rewrite(wanted["table"])
        case "expire":
            return expire(wanted["table"])
        case "drop":
            return catalog().load_table(wanted["table"]).delete()
        case "touch":
            return touch(wanted["table"])


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, b"ready")

    def do_POST(self):
        wanted = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            self.answer(200, json.dumps(act(wanted), default=str).encode())
        except NoSuchTableError:
            self.answer(404, b"There is no such table.")
        except Exception as error:
            self.answer(500, repr(error).encode())

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
