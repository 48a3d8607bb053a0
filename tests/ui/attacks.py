"""One list of attacks against the running server, as bytes on its port."""

from __future__ import annotations

import json
from urllib.parse import quote

from tests.ui.running import DATASET

ASSET = f'{{path: ["{DATASET}", "pinned_repos"]}}'
MADE = f"{{ assetOrError(assetKey: {ASSET}) {{ ... on Asset {{ assetMaterializations {{ runId }} }} }} }}"
WIPE = f"mutation {{ wipeAssets(assetPartitionRanges: [{{assetKey: {ASSET}}}]) {{ __typename }} }}"
REPORT = f"/report_asset_materialization/{DATASET}/pinned_repos"
JSON = "application/json"


def query(document: str, **more: object) -> bytes:
    return json.dumps({"query": document, **more}).encode()


FOREIGN: list[tuple[str, str, str, bytes | None, dict[str, str | None], int]] = [
    ("another site's page reads", "GET", "/", None, {"origin": "http://evil.example"}, 403),
    ("another site's page reads, by what the browser says", "GET", "/", None, {"sec_fetch_site": "cross-site"}, 403),
    ("another port's page reads", "GET", "/", None, {"sec_fetch_site": "same-site"}, 403),
    ("a frame without an origin posts", "POST", "/graphql", query(WIPE), {"origin": "null", "content_type": JSON}, 403),
    ("a name that leads here", "GET", "/", None, {"host": "rebound.example"}, 403),
    ("a name that leads here, with our port", "GET", "/", None, {"host": "127.0.0.1.evil.example:80"}, 403),
    ("no name", "GET", "/", None, {"host": None}, 403),
    ("a mutation in the address", "GET", f"/graphql?query={quote(WIPE)}", None, {}, 405),
    ("a mutation in the address, asked for its head", "HEAD", f"/graphql?query={quote(WIPE)}", None, {}, 405),
    ("a mutation in the address of a form", "POST", f"/graphql?query={quote(WIPE)}", b"", {"content_type": ""}, 415),
    ("a form", "POST", REPORT, b"a=b", {"content_type": "application/x-www-form-urlencoded"}, 415),
    ("an upload", "POST", "/graphql", b"--x--", {"content_type": "multipart/form-data; boundary=x"}, 415),
    ("plain text", "POST", "/graphql", query(WIPE), {"content_type": "text/plain"}, 415),
    ("plain text that mentions JSON", "POST", "/graphql", query(WIPE), {"content_type": f"text/plain; {JSON}"}, 415),
    ("GraphQL's own type", "POST", "/graphql", WIPE.encode(), {"content_type": "application/graphql"}, 415),
    ("no type", "POST", "/graphql", query(WIPE), {}, 415),
    ("no cookie", "POST", "/graphql", query(WIPE), {"content_type": JSON, "cookie": None}, 401),
    ("a guessed cookie", "GET", "/", None, {"cookie": "megacpp_ui_3000=guess"}, 401),
    ("a cookie that is empty", "GET", "/", None, {"cookie": ""}, 401),
    ("a guessed token", "GET", "/?token=guess", None, {"cookie": None}, 401),
    ("other methods", "DELETE", "/graphql", None, {}, 405),
    ("a preflight", "OPTIONS", "/graphql", None, {"access_control_request_method": "POST"}, 405),
    ("files above", "GET", "/static/../../../../../etc/passwd", None, {}, 400),
    ("files above, encoded", "GET", "/static/%2e%2e/%2e%2e/webserver.py", None, {}, 400),
    ("files above, with encoded slashes", "GET", "/logs/..%2f..%2fdagster.yaml/out", None, {}, 400),
    ("files above, with backslashes", "GET", "/static/..%5c..%5cwebserver.py", None, {}, 400),
    ("a path with a NUL", "GET", "/static/js%00.js", None, {}, 400),
    ("a path with a line's end", "GET", "/static/a%0d%0aSet-Cookie:x", None, {}, 400),
]


BODIES: list[tuple[str, bytes, int]] = [
    ("a batch", json.dumps([{"query": WIPE}, {"query": WIPE}]).encode(), 400),
    ("a batch of one", json.dumps([{"query": WIPE}]).encode(), 400),
    ("a query that is a list", json.dumps({"query": [WIPE]}).encode(), 400),
    ("no query", b"{}", 400),
    ("no JSON", b"mutation { }", 400),
    ("nothing", b"", 400),
    ("bytes that are no text", b'{"query": "\xff\xfe"}', 400),
    ("brackets without end", b"[" * 200_000, 400),
    ("more than anybody has to say", b'{"query": "' + b"#" * (9 << 20) + b'"}', 413),
]


CHANGES: list[tuple[str, bytes]] = [
    ("plainly", query(WIPE)),
    ("under another name", query(WIPE.replace("wipeAssets", "__schema: wipeAssets"))),
    (
        "beside a query that is named",
        query(f"query Look {{ version }} {WIPE.replace('n', 'n Wipe', 1)}", operationName="Look"),
    ),
    (
        "named beside a query",
        query(f"query Look {{ version }} {WIPE.replace('mutation', 'mutation Wipe')}", operationName="Wipe"),
    ),
    ("by a fragment", query(f"mutation {{ ...F }} fragment F on Mutation {{ {WIPE[11:-2]} }}")),
    ("behind a comment and commas", query(f"# query\n,,,\ufeff{WIPE}")),
    ("with the key twice", b'{"query": "{ version }", "query": ' + json.dumps(WIPE).encode() + b"}"),
    ("with the key escaped", b'{"\\u0071uery": ' + json.dumps(WIPE).encode() + b"}"),
    ("in another encoding", json.dumps({"query": WIPE}).encode("utf-16")),
]
