"""A proxy before the emulator. It enforces preconditions on generations, which the emulator ignores, and makes faults.

A fault is chosen for each request by `plan`, which is asked with the number of the request and the request itself.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from gcp_storage_emulator.exceptions import NotFound
from gcp_storage_emulator.server import Server

from tests.emulator import emulator

FAULTS: Final = ("429", "500", "503", "reset", "lost", "truncated", "stall", "412", "stale")
STALL_SECONDS = 0.6
_OBJECT: Final = re.compile(r"/o/([^/?]+)")
_NAME: Final = re.compile(rb'"name"\s*:\s*"((?:[^"\\]|\\.)*)"')
_HEAD: Final = 4096
Answer = tuple[int, list[tuple[str, str]], bytes]


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `name` is the object that it means, "" for a listing or the bucket itself."""

    method: str
    path: str
    body: bytes
    name: str

    @property
    def is_listing(self) -> bool:
        """Whether it asks for a listing of objects."""
        return self.method == "GET" and urlsplit(self.path).path.endswith("/o")

    @property
    def writes(self) -> bool:
        """Whether it changes an object."""
        return self.method in ("POST", "PUT", "DELETE")


Plan = Callable[[int, Request], str]


@dataclass
class Proxy:
    """What a test sees of the proxy: its address, the emulator behind it, the requests so far, and the plan."""

    server: Server
    bucket: str
    plan: Plan = lambda number, request: ""
    requests: list[Request] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    url: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)
    uploads: dict[str, str] = field(default_factory=dict)
    listings: dict[str, Answer] = field(default_factory=dict)

    def names(self, folder: str) -> set[str]:
        """Return the names of all objects below `folder`."""
        found, _ = self.server._storage.get_file_list(self.bucket, f"{folder}/")[:2]
        return {each["name"].removeprefix(f"{folder}/") for each in found}

    def data(self, name: str) -> bytes:
        """Return the bytes of an object."""
        found: bytes = self.server._storage.get_file(self.bucket, name)
        return found

    def change(self, name: str, data: bytes) -> None:
        """Replace the bytes of an object by hand. The bucket knows their new CRC32C."""
        with self.lock:
            connection = http.client.HTTPConnection(*self.server._api._httpd.server_address)
            path = f"/upload/storage/v1/b/{self.bucket}/o?uploadType=media&name={name}"
            connection.request("POST", path, data, {"content-type": "application/octet-stream"})
            assert connection.getresponse().status == 200

    def generation(self, name: str) -> int:
        """Return the generation of an object, 0 if it is missing."""
        try:
            return int(self.server._storage.get_file_obj(self.bucket, name)["generation"])
        except NotFound:
            return 0

    def forward(self, request: Request, headers: dict[str, str]) -> Answer:
        """Pass a request on to the emulator if its precondition holds."""
        asked = parse_qs(urlsplit(request.path).query).get("ifGenerationMatch")
        with self.lock:
            if request.writes and asked and int(asked[0]) != self.generation(request.name):
                return failure(412)
            connection = http.client.HTTPConnection(*self.server._api._httpd.server_address, timeout=30)
            connection.request(request.method, request.path, request.body, headers)
            response = connection.getresponse()
            answer = (response.status, response.getheaders(), response.read())
            connection.close()
        for name, value in answer[1]:
            if name.lower() == "location":
                self.uploads[_upload_id(value)] = request.name
        return answer


def _upload_id(url: str) -> str:
    return parse_qs(urlsplit(url).query).get("upload_id", [""])[0]


def failure(status: int) -> Answer:
    """Return an answer as Google's API gives it for an error."""
    message = {412: "conditionNotMet", 403: "access denied"}.get(status, "injected")
    body = json.dumps({"error": {"code": status, "message": message, "errors": [{"reason": message}]}}).encode()
    return status, [("Content-Type", "application/json")], body


@contextmanager
def proxied(bucket: str) -> Iterator[Proxy]:
    """Start an emulator with `bucket`, and a proxy before it."""
    with emulator(bucket) as server:
        proxy = Proxy(server, bucket)
        httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
        httpd.daemon_threads = True
        proxy.url = f"http://127.0.0.1:{httpd.server_address[1]}"
        thread = threading.Thread(target=httpd.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            httpd.shutdown()
            httpd.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body of an answer are two writes
    proxy: Proxy

    def _handle(self) -> None:
        expected = int(self.headers.get("Content-Length") or 0)
        proxy, body = self.proxy, self.rfile.read(expected)
        if len(body) < expected:  # its client was killed; the emulator, with its one thread, would wait for the rest
            self.close_connection = True
            return
        request = Request(self.command, self.path, body, self._name(body))
        with proxy.lock:
            number = len(proxy.requests)
            proxy.requests.append(request)
            fault = proxy.plan(number, request)
            proxy.faults += [fault] if fault else []
        if fault.isdigit():
            self._answer(failure(int(fault)))
        elif fault == "reset":
            self._reset()
        elif fault == "stall":
            time.sleep(STALL_SECONDS)
            self._reset()
        else:
            self._forward(request, fault)

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815

    def _forward(self, request: Request, fault: str) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        before = self.proxy.listings.get(request.path)
        answer = self.proxy.forward(request, headers)
        if request.is_listing and (fault != "stale" or before is None):
            self.proxy.listings[request.path] = answer
        if fault == "lost":
            self._reset()
        elif fault == "stale" and before is not None:
            self._answer(before)
        else:
            self._answer(answer, cut=fault == "truncated")

    def _answer(self, answer: Answer, *, cut: bool = False) -> None:
        status, headers, body = answer
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def _reset(self) -> None:
        """Close the connection so that the client sees a reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _name(self, body: bytes) -> str:
        if found := _OBJECT.findall(urlsplit(self.path).path):
            return unquote(found[-1])  # of a copy, the last name is the target
        if upload := _upload_id(self.path):
            return self.proxy.uploads.get(upload, "")
        named = _NAME.search(body[:_HEAD]) if self.command == "POST" else None
        return json.loads(b'"' + named[1] + b'"') if named else ""

    def finish(self) -> None:
        """A reset connection cannot be flushed."""
        try:
            super().finish()
        except (OSError, ValueError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""
