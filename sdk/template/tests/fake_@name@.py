#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cloud, in memory, as src/@name@.cpp sees it: account, plans, servers. Run it beside `slipway plugin call`;
dev.conf points to it. Ends with its terminal; forgets everything."""
import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

ZONES = ["eu-1a", "eu-1b", "eu-1c"]
PLANS = [{"id": "s1", "cpus": 1, "ram_mib": 2048, "disk_mib": 20480},
         {"id": "s2", "cpus": 2, "ram_mib": 4096, "disk_mib": 40960},
         {"id": "s4", "cpus": 4, "ram_mib": 8192, "disk_mib": 81920}]
BUILD_S = 1  # a server is "creating" for this long
LIMIT = 20

lock = threading.Lock()  # guards what follows
servers = {}  # id to server, oldest first
made_by_key = {}  # Idempotency-Key to id
count = 0


def shown(server):
    """As the API shows it now."""
    is_ready = time.time() * 1000 >= server["created_at_ms"] + BUILD_S * 1000
    return {**server, "status": "active" if is_ready else "creating"}


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, code, message, **more):
        self.answer(status, {"code": code, "message": message, **more})

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        path = [unquote(part) for part in url.path.strip("/").split("/")]
        if self.headers.get("Authorization") != "Bearer " + self.server.token:
            return self.refuse(401, "unauthenticated", "the token is not valid")
        with lock:
            if self.command == "GET" and path == ["account"]:
                return self.answer(200, {"name": "dev@@name@", "server_limit": LIMIT, "servers": len(servers),
                                         "zones": ZONES})
            if self.command == "GET" and path == ["plans"]:
                return self.answer(200, {"plans": PLANS})
            if self.command == "GET" and path == ["servers"]:
                return self.list(dict(parse_qsl(url.query)))
            if self.command == "POST" and path == ["servers"]:
                return self.start(json.loads(body))
            if len(path) == 2 and path[0] == "servers" and path[1] in servers:
                if self.command == "GET":
                    return self.answer(200, shown(servers[path[1]]))
                if self.command == "DELETE":
                    del servers[path[1]]
                    return self.answer(204)
        return self.refuse(404, "not_found", f"there is no {url.path}")

    do_GET = do_POST = do_DELETE = serve

    def list(self, query):
        wanted = {key[6:]: value for key, value in query.items() if key.startswith("label.")}
        after = query.get("after", "srv-0")[4:]
        found = [s for s in servers.values()
                 if int(s["id"][4:]) > int(after if after.isdecimal() else 0) and wanted.items() <= s["labels"].items()]
        page = found[:int(query.get("limit", 100))]
        self.answer(200, {"servers": [shown(s) for s in page], "next": "" if page == found else page[-1]["id"]})

    def start(self, wanted):
        global count
        key = self.headers.get("Idempotency-Key")
        if key in made_by_key and made_by_key[key] in servers:
            return self.answer(201, shown(servers[made_by_key[key]]))
        if wanted.get("plan") not in [plan["id"] for plan in PLANS]:
            return self.refuse(422, "unknown_plan", f"there is no plan {wanted.get('plan')}")
        if wanted.get("zone") not in ["", *ZONES]:
            return self.refuse(422, "unknown_zone", f"there is no zone {wanted.get('zone')}")
        if len(servers) >= LIMIT:
            return self.refuse(403, "quota_exceeded", f"{LIMIT} of {LIMIT} servers are in use", resource="servers",
                               limit=LIMIT, used=len(servers))
        count += 1
        server = {"id": f"srv-{count}", "name": wanted["name"], "plan": wanted["plan"], "image": wanted["image"],
                  "zone": wanted["zone"] or ZONES[0], "labels": wanted["labels"], "created_at_ms": int(time.time() * 1000),
                  "public_ip": f"192.0.2.{count % 250 + 1}", "private_ip": f"10.0.{count // 250}.{count % 250 + 1}"}
        servers[server["id"]] = server
        made_by_key[key] = server["id"]
        self.answer(201, shown(server))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--port", type=int, default=8480, help="0: any free one")
parser.add_argument("--token", default="dev-token")
options = parser.parse_args()
cloud = ThreadingHTTPServer(("127.0.0.1", options.port), Api)
cloud.token = options.token
print(f"http://127.0.0.1:{cloud.server_port}", flush=True)
cloud.serve_forever()
