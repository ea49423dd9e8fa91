"""
ClickHouse's engine behind as much of its HTTP interface as the official web client uses: a query in the body, `param_*`
and settings in the address, basic authentication, errors as their text, and `/ping`. Arguments: port, user, password.
"""

import base64
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

CREDENTIALS = base64.b64encode(":".join(sys.argv[2:]).encode()).decode()
REFUSAL = b"Code: 516. DB::Exception: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)"
NO_SETTINGS = {"query", "query_id", "database", "default_format"}

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
            # Half a gigabyte: only where it is asked.
            from chdb import session

            engine = session.Session()
            # A query must not read less because of the one before it.
            engine.query("SET use_query_condition_cache = 0")
        engine.query(f"USE {said.get('database', 'default')}")
        for name, value in settings.items():
            engine.query(f"SET {name} = '{value}'")
        form = said.get("default_format", "TabSeparated")
        answer = engine.query(query, form, params=params)
        return answer.bytes() or b"", answer.storage_rows_read()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/ping":
            return self.answer(200, b"Ok.\n")
        self.do_POST()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"] or 0)).decode()
        said = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        if self.headers["authorization"] != f"Basic {CREDENTIALS}":
            return self.answer(403, REFUSAL)
        try:
            self.answer(200, *ask("\n".join([said.get("query", ""), body]), said))
        except Exception as error:
            self.answer(500, str(error).encode())

    def answer(self, status, body, read_rows=0):
        self.send_response(status)
        self.send_header("X-ClickHouse-Summary", '{"read_rows":"%d"}' % read_rows)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
