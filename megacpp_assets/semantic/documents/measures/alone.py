"""Documents alone: of some drawn by their ids, how many compile, and how many lack no name of their repository.

libclang parses each text alone, in its own language and standard, with the toolchain's headers and no others. A name is
missing where the parser does not find it and the repository defines it; a name of the system, or of a library that is
not there, is not. What was found of a text is remembered: most documents of a reference are those of the one before.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from clang import cindex

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.compute.executors.select import open_local
from megacpp_assets.compute.limits import allow, allow_all, limit_memory
from megacpp_assets.semantic.commands.compiler_view import view_arguments, write_view
from megacpp_assets.semantic.commands.toolchain import Toolchain, working_directory
from megacpp_assets.semantic.documents.measures.drawn import Drawn
from megacpp_assets.semantic.documents.measures.errors import ERROR_KINDS, errors_of, kinds_of, missing_names
from megacpp_assets.semantic.parsing.lots import may_be_machine_failure
from megacpp_assets.semantic.parsing.worker import Limits
from megacpp_assets.semantic.tree.tree_contents import header_state
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.caching.code import code_identity

TEXT_CPU_S = 5
"""CPU seconds that a text may take: one of 4,096 tokens takes 0.6 with the headers that it includes, or has no end."""
_NAMED: Final = frozenset({"function", "class", "macro", "typedef", "field", "enumerator", "enum", "namespace"})
"""Kinds of symbols that stand outside of functions. What a document declares but does not complete is not missing."""


@dataclass(frozen=True, slots=True)
class Alone:
    """How many documents were parsed, how many of them lack no name, how many have no error, and of each kind of error
    how many documents have one."""

    parsed: int = 0
    whole: int = 0
    clean: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)

    def as_stats(self) -> dict[str, Any]:
        """Return the figures of a repository in its statistics."""
        return {
            "documents_parsed": self.parsed,
            "documents_alone": self.whole,
            "documents_alone_per_cent": self._per_cent(self.whole),
            "documents_compiled": self.clean,
            "documents_compiled_per_cent": self._per_cent(self.clean),
            "documents_compile_errors": dict(self.kinds),
        }

    def _per_cent(self, count: int) -> float:
        return round(100 * count / self.parsed, 3) if self.parsed else 0.0


def parsed_alone(
    drawn: Sequence[Drawn], defined: frozenset[str], toolchain: Toolchain, limits: Limits, store: Cache
) -> dict[str, Any]:
    """Return the figures of the `drawn` documents of a repository that defines the names `defined`; nothing if none is
    drawn. Raises what the executor raises.
    """
    if not drawn:
        return {}
    with open_local() as executor:
        return count_alone(drawn, defined, toolchain, executor, limits, store=store).as_stats()


def count_alone(
    documents: Sequence[Drawn],
    defined: frozenset[str],
    toolchain: Toolchain,
    executor: BatchExecutor,
    limits: Limits,
    *,
    store: Cache | None = None,
) -> Alone:
    """Return the figures of `documents`. A text that `store` knows is not parsed again; one that ends its parser is not
    among the parsed.
    """
    findings = _Findings(store, toolchain, limits)
    known = {each: found for each in documents if (found := findings.find(each)) is not None}
    for document, found in _tried([each for each in documents if each not in known], toolchain, executor, limits):
        findings.keep(document, found)
        known[document] = found
    parsed = [known[each] for each in documents if each in known and known[each].ended]
    kinds = Counter(kind for found in parsed for kind in found.kinds)
    return Alone(
        len(parsed),
        whole=sum(defined.isdisjoint(found.missing) for found in parsed),
        clean=sum(not found.kinds for found in parsed),
        kinds={kind: kinds[kind] for kind in ERROR_KINDS if kinds[kind]},
    )


def names_defined(declared: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Last names of the definitions among `declared`, each a name and its kind."""
    return frozenset(name.rpartition("::")[2] for name, kind in declared if kind in _NAMED)


class _Finding(NamedTuple):
    """What was found of a text: whether its parse ended, the kinds of its errors, and the names that are missing."""

    ended: bool = False
    kinds: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class _Findings:
    """What was found of texts, kept in `store` under everything that decides it."""

    def __init__(self, store: Cache | None, toolchain: Toolchain, limits: Limits) -> None:
        self._store = store
        if store is None:
            return
        facts = {
            "code": code_identity(__name__),
            "compiler": dict(toolchain.identity),
            "headers": header_state(toolchain.header_roots, toolchain.library),
            "visible": toolchain.visible,
            "limits": asdict(limits),
        }
        self._base = orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)

    def find(self, document: Drawn) -> _Finding | None:
        """Return what was found of `document`; None if nothing is known."""
        found = self._store.get(self._key(document)) if self._store else None
        if found is None:
            return None
        ended, kinds, missing = orjson.loads(found)
        return _Finding(ended, tuple(kinds), tuple(missing))

    def keep(self, document: Drawn, found: _Finding) -> None:
        """Remember what was found of `document`."""
        if self._store:
            self._store.put(self._key(document), orjson.dumps(list(found)))

    def _key(self, document: Drawn) -> str:
        return hashlib.sha256(self._base + "\0".join(document).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Trial:
    """A document to parse in the scratch `folder`, which has the view of the compiler."""

    folder: str
    document: Drawn
    toolchain: Toolchain
    limits: Limits


def _tried(
    documents: Sequence[Drawn], toolchain: Toolchain, executor: BatchExecutor, limits: Limits
) -> Iterator[tuple[Drawn, _Finding]]:
    """Yield what is found of each document. One whose parser the machine may have ended is left out."""
    if not documents:
        return
    limits = replace(limits, cpu_s=min(limits.cpu_s, TEXT_CPU_S))
    with _trial_folder(toolchain) as folder:
        trials = [_Trial(folder, each, toolchain, limits) for each in documents]
        for outcome in executor.run(_try, trials, timeout_s=limits.wall_s):
            if outcome.value is not None or not may_be_machine_failure(outcome.failure or ""):
                yield documents[outcome.index], outcome.value or _Finding()


def _try(trial: _Trial) -> _Finding:
    """In a worker: parse a document."""
    with _confined(trial):
        view = ["-resource-dir", trial.toolchain.resource_dir, *view_arguments(trial.folder)]
        errors = errors_of(trial.document, view)
        return _Finding(True, tuple(kinds_of(errors)), tuple(missing_names(errors, trial.document.text)))


@contextmanager
def _trial_folder(toolchain: Toolchain) -> Iterator[str]:
    """An empty folder whose parses see the headers of `toolchain` and nothing else of this machine."""
    with tempfile.TemporaryDirectory(prefix="megacpp-documents-") as scratch:
        folder = os.path.realpath(Path(scratch, "tree"))
        os.mkdir(folder)
        write_view(folder, toolchain.visible)
        yield folder


@contextmanager
def _confined(trial: _Trial) -> Iterator[None]:
    """Let this worker parse in the folder of `trial`, within its limits."""
    if not cindex.Config.loaded:
        cindex.Config.set_library_file(trial.toolchain.library)
    with working_directory(Path(trial.folder)):
        if trial.limits.applied:
            limit_memory(trial.limits.memory_bytes)
            allow(trial.limits.cpu_s, trial.limits.wall_s)
        yield
        if trial.limits.applied:
            allow_all()
