"""The yardstick of `cargo bench --bench poll`: requests transfers over one connection and saves the bodies.

keep_alive.py PORT RATE TARGETS DATABASE

Each line of the file TARGETS is the path and query of one request. RATE is in requests per second. Each body is parsed and
saved in its own commit; nothing else is done with it.
"""

import http.client
import json
import sqlite3
import sys
import time

port, rate, targets, path = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4]
database = sqlite3.connect(path)
database.execute("PRAGMA journal_mode = wal")
database.execute("PRAGMA synchronous = normal")
database.execute("CREATE TABLE bodies (transaction_id TEXT, body TEXT)")
database.commit()
connection = http.client.HTTPConnection("127.0.0.1", port)
with open(targets, encoding="utf-8") as lines:
    wanted = lines.read().splitlines()
settled = 0
start = time.monotonic()
for index, target in enumerate(wanted):
    time.sleep(max(0.0, start + index / rate - time.monotonic()))
    connection.request("GET", target, headers={"x-integrator-id": "an-integrator-of-the-benchmark"})
    body = connection.getresponse().read().decode()
    record = json.loads(body)
    settled += record["routerTransactionStatus"] == "success"
    database.execute("INSERT INTO bodies VALUES (?, ?)", (record["id"], body))
    database.commit()
database.close()
sys.exit(0 if settled == len(wanted) else 1)
