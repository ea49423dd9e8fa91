"""
ClickHouse's engine behind the parts of its HTTP interface that the official web client uses: a query in the body, `param_*`
and settings in the address, basic authentication, errors as their text with their code and HTTP status, and `/ping`. Arguments: port, user, password. Two more users have
that password: `reader` may only read, and `writer` may create nothing. No insert into the table `keeper_lost` succeeds.
"""

import base64
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

USER, PASSWORD = sys.argv[2:]
USERS = {
    f"Basic {base64.b64encode(f'{user}:{PASSWORD}'.encode()).decode()}": user
    for user in (USER, "reader", "writer")
}
REFUSAL = b"Code: 516. DB::Exception: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)"
NO_SETTINGS = {"query", "query_id", "database", "default_format"}

# The HTTP statuses of ClickHouse's exceptions; others have 500 (src/Server/HTTP/exceptionCodeToHTTPStatus.cpp).
STATUSES = {
    400: {6, 26, 27, 36, 38, 41, 43, 53, 62, 69, 70, 72, 117, 349, 376},
    403: {516},
    404: {16, 46, 47, 60, 81, 115},
    408: {159},
    501: {48},
}

# What the engine alone doesn't have: users with fewer rights, and replicas.
REFUSALS = [
    ("reader", r"(insert|create)\b", "Code: 164. DB::Exception: reader: Cannot execute query in readonly mode. (READONLY)"),
    ("writer", r"create\b", "Code: 497. DB::Exception: writer: Not enough privileges. To execute this query, it's necessary to have the grant CREATE TABLE. (ACCESS_DENIED)"),
    ("", r"insert into `keeper_lost`", "Code: 242. DB::Exception: Table is in readonly mode since table metadata was not found in zookeeper. (TABLE_IS_READ_ONLY)"),
]
ANSWERS = [
    ("reader", r"select getSetting\('readonly'\)", b"1\n"),
    ("writer", r"check grant create\b", b"0\n"),
]


def first(rules, user, query):
    return next((what for who, pattern, what in rules if who in ("", user) and re.match(pattern, query, re.I)), None)


one_at_a_time = Lock()
engine = None


def ask(query, said):
    global engine
    settings = {
        name: value
        for name, value in said.items()
        if name not in NO_SETTINGS and not name.startswith("param_")
    }
    params = {
        name.removeprefix("param_"): value
        for name, value in said.items()
        if name.startswith("param_")
    }
    with one_at_a_time:
        if engine is None:
            # Loaded on first use, since it takes half a gigabyte.
            from chdb import session

            engine = session.Session()
            # So that a query doesn't read fewer rows because of the one before it.
            engine.query("SET use_query_condition_cache = 0")
        database = said.get("database", "default").replace("\\", "\\\\").replace("`", "\\`")
        engine.query(f"USE `{database}`")
        for name, value in settings.items():
            engine.query(f"SET {name} = '{value}'")
        form = said.get("default_format", "TabSeparated")
        try:
            answer = engine.query(query, form, params=params)
            return answer.bytes() or b"", answer.storage_rows_read()
        finally:
            for name in settings:
                engine.query(f"SET {name} = DEFAULT")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/ping":
            return self.answer(200, b"Ok.\n")
        self.do_POST()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"] or 0)).decode()
        said = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        user = USERS.get(self.headers["authorization"])
        if user is None:
            return self.refuse(REFUSAL.decode())
        query = "\n".join([said.get("query", ""), body]).lstrip()
        refusal = first(REFUSALS, user, query)
        if refusal:
            return self.refuse(refusal)
        try:
            known = first(ANSWERS, user, query)
            body, read_rows = (known, 0) if known else ask(query, said)
            self.answer(200, body, {"X-ClickHouse-Summary": '{"read_rows":"%d"}' % read_rows})
        except Exception as error:
            self.refuse(str(error))

    def refuse(self, text):
        code = int(re.match(r"Code: (\d+)", text)[1])
        status = next((status for status, codes in STATUSES.items() if code in codes), 500)
        self.answer(status, text.encode(), {"x-clickhouse-exception-code": str(code)})

    def answer(self, status, body, headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
