"""Cloud TPU's API, the metadata server of its machines and the server of OAuth tokens: a machine is a process here."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.launch.launchers.fake_api import CLEAN, FakeApi, Machine, Refusal

_RESOURCES = re.compile(r"/v2/projects/p/locations/z/queuedResources(?:/([\w-]+))?")
_METADATA = "/computeMetadata/v1/instance"
_DOCKER = """#!{python}
import os, sys
words = sys.argv[1:]
if {missing!r}:
    sys.exit(125)
image = next(number for number, word in enumerate(words) if "@sha256:" in word)
scratch = words[words.index("--volume") + 1].split(":")[0]
command = [word.replace("/scratch", scratch) for word in words[image + 1:]]
os.execvpe(command[0], command, dict(os.environ, TMPDIR=scratch))
"""


@dataclass
class _Resource:
    """A queued resource; `state` is empty while that of its machine says it."""

    machine: Machine | None
    state: str = ""
    error: str = ""


class FakeTpu(FakeApi):
    """`full` keeps resources waiting, `refused` fails them with that message, `no_image` is what Docker finds."""

    def __init__(self, folder: Path, storage: str) -> None:
        super().__init__()
        self.folder, self.storage = folder, storage
        self.resources: dict[str, _Resource] = {}
        self.full = self.no_image = False
        self.refused = ""
        self.tokens = 0

    def credentials(self) -> Path:
        """A service account's key, whose tokens come from here."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        account = {"type": "service_account", "project_id": "p", "client_email": "me@p", "client_id": "1"}
        file = self.folder / "credentials.json"
        file.write_text(json.dumps({**account, "private_key": pem, "token_uri": f"{self.url}/token"}))
        return file

    @property
    def left(self) -> list[str]:
        """Resources that are known, and machines that run."""
        running = [name for name, each in self.resources.items() if each.machine and each.machine.code() is None]
        return [*self.resources, *running]

    def preempt(self, name: str, number: int = signal.SIGKILL) -> None:
        """The machine goes; with SIGTERM it gives notice."""
        resource = self.resources[name]
        if resource.machine:
            resource.machine.signal(number)
        resource.state = "SUSPENDED"

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Any:
        if match := _RESOURCES.fullmatch(path):
            return self._resource(method, match[1] or query["queuedResourceId"], body)
        if path == "/token" or path == f"{_METADATA}/service-accounts/default/token":
            self.tokens += 1
            return {"access_token": f"canary-{self.tokens}", "expires_in": 3600, "token_type": "Bearer"}
        raise Refusal(404, f"no {path} here")

    def _resource(self, method: str, name: str, body: Any) -> Any:
        if method == "POST":
            if name in self.resources:
                raise Refusal(409, f"{name} already exists")
            self.resources[name] = self._created(name, body)
            return {"name": f"operations/{name}"}
        if name not in self.resources:
            raise Refusal(404, f"{name} not found")
        resource = self.resources[name]
        if method == "DELETE" and resource.state != "DELETING":
            resource.state = "DELETING"
            threading.Thread(target=self._delete, args=(name, resource)).start()
        if resource.error:
            return {"state": {"state": "FAILED", "failedData": {"error": {"code": 8, "message": resource.error}}}}
        return {"state": {"state": resource.state or "ACTIVE"}}

    def _created(self, name: str, body: Any) -> _Resource:
        if self.refused:
            return _Resource(None, error=self.refused)
        if self.full:
            return _Resource(None, "WAITING_FOR_RESOURCES")
        where = self.folder / "machines" / name
        where.mkdir(parents=True)
        docker = where / "docker"
        docker.write_text(_DOCKER.format(python=sys.executable, missing=self.no_image))
        docker.chmod(0o755)
        script = where / "startup"
        script.write_text(body["tpu"]["nodeSpec"][0]["node"]["metadata"]["startup-script"])
        host = {"GCE_METADATA_HOST": self.url.removeprefix("http://"), "STORAGE_EMULATOR_HOST": self.storage}
        path = {"PATH": f"{where}:{CLEAN['PATH']}", "GOOGLE_CLOUD_PROJECT": "none"}
        return _Resource(Machine(["bash", str(script)], where, {**host, **path}))

    def _delete(self, name: str, resource: _Resource) -> None:
        if resource.machine:
            resource.machine.end()
        with self.lock:
            self.resources.pop(name, None)
