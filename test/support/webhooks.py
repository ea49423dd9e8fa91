"""Checks messages with the library of Standard Webhooks. Reads a line of JSON for each message from standard input, with
`secret`, `headers` and `body`, and writes a line for each: "ok", or why it isn't right."""

import json
import sys

from standardwebhooks import Webhook

for line in sys.stdin:
    message = json.loads(line)
    try:
        Webhook(message["secret"]).verify(message["body"], message["headers"])
        print("ok")
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
    sys.stdout.flush()
