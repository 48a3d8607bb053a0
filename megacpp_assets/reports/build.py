"""Builds the reports of a data root: raw tables, then dbt's models, tests, freshness of sources, and documentation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from megacpp_assets.compute.lifetime import ended_by_signals
from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.reports.hardened import open_database
from megacpp_assets.reports.inventory import Inventory, take_inventory
from megacpp_assets.reports.outcome import DbtOutcome
from megacpp_assets.reports.page import reports_page, summary_markdown
from megacpp_assets.reports.place import docs, page, project, target
from megacpp_assets.reports.raw_tables import is_read, write_raw
from megacpp_assets.reports.summary import Line, summaries
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.remote import fetch
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE
from megacpp_assets.storage.root.locks import exclusive_lock

_SUMMARY_MARK: Final = "MEGACPP_SUMMARY"
"""The marker in the project's overview that is replaced by the summary."""
_READ: Final[dict[Path, Any]] = {}
"""The project's folder -> dbt's manifest of it, which holds nothing of a data root."""


@dataclass(frozen=True, slots=True)
class Build:
    """All results, in dbt's order; the summary of each dataset; the paths of documentation and page."""

    outcomes: tuple[DbtOutcome, ...]
    summaries: Mapping[str, Sequence[Line]]
    docs: Path
    page: Path

    @property
    def failures(self) -> list[DbtOutcome]:
        """The results that make the build fail."""
        return [each for each in self.outcomes if not each.good and not each.warned]

    @property
    def warnings(self) -> list[DbtOutcome]:
        """The results that warned."""
        return [each for each in self.outcomes if each.warned]


def build(root: Path, begin: Callable[[], None] = lambda: None) -> Build:
    """Build everything again. A model or test that fails is a result, and does not stop the others.

    `begin` is called when no other process builds the reports. `SpecError` if another process does, `DiskFailure` if
    the database cannot be opened, `CheckFailed` if dbt itself stops.
    """
    lock = exclusive_lock(
        root, "quality", f"reports of {root}", expected="no other process that makes them", do="wait for it"
    )
    # dbt reports an exception of a signal handler as an error of its own.
    with lock, ended_by_signals():
        begin()
        prepare(root)
        with _environment(root):
            read = _read_project(root)
            outcomes = [
                each for command in ("run", "test", "source freshness") for each in _invoke(command, root, read)
            ]
            _invoke("docs generate --static", root, read)
        summary = summaries(root)
        write_atomic(page(root), reports_page(root, summary, outcomes).encode())
        _write_overview(docs(root), summary)
    return Build(tuple(outcomes), summary, docs(root), page(root))


def prepare(root: Path) -> None:
    """Write the raw tables, which dbt reads."""
    inventory = take_inventory(root)
    _fetch_read_files(root, inventory)
    with open_database(root) as connection:
        write_raw(connection, inventory)


def _fetch_read_files(root: Path, inventory: Inventory) -> None:
    """Fetch the files that the raw views read, if `root` is the cache of a bucket."""
    for row in inventory.artifacts:
        artifact = open_artifact(root, row["path"])
        fetch(artifact, [entry for entry in artifact.manifest.files if is_read(row["stage"], entry.name)])


def _write_overview(file: Path, summary: Mapping[str, Sequence[Line]]) -> None:
    """Put the summary on the first page of the documentation. dbt itself takes only the text of the project."""
    text = json.dumps(summary_markdown(summary))[1:-1].replace("</", "<\\/")
    write_atomic(file, file.read_text(encoding="utf-8").replace(_SUMMARY_MARK, text).encode())


def dbt_arguments(root: Path) -> list[str]:
    """Return the options of every dbt command over `root`."""
    place = str(project())
    folders = ["--project-dir", place, "--profiles-dir", place, "--target-path", str(target(root))]
    return [*folders, "--log-path", str(target(root)), "--no-version-check", "--no-send-anonymous-usage-stats"]


@contextmanager
def _environment(root: Path) -> Iterator[None]:
    """Set the variable that the project's profile reads."""
    before = os.environ.get(DATA_ROOT_VARIABLE)
    os.environ[DATA_ROOT_VARIABLE] = str(root)
    try:
        yield
    finally:
        if before is None:
            del os.environ[DATA_ROOT_VARIABLE]
        else:
            os.environ[DATA_ROOT_VARIABLE] = before


def _read_project(root: Path) -> Any:
    """Return dbt's manifest of the project, read once a process. Every command would read the project again."""
    if project() not in _READ:
        _READ[project()] = _run_dbt("parse", root, None)
    return _READ[project()]


def _invoke(command: str, root: Path, manifest: Any) -> list[DbtOutcome]:
    results: Sequence[Any] = getattr(_run_dbt(command, root, manifest), "results", None) or ()
    return [_outcome(result) for result in results if str(result.node.resource_type) != "exposure"]


def _run_dbt(command: str, root: Path, manifest: Any) -> Any:
    # Imported here: dbt takes three CPU seconds, and most commands never need it.
    from dbt.cli.main import dbtRunner  # noqa: PLC0415

    done = dbtRunner(manifest).invoke([*command.split(), *dbt_arguments(root), "--log-level", "none"])
    if not done.success and not getattr(done.result, "results", None):
        do = f"see {target(root) / 'dbt.log'}"
        raise CheckFailed(f"dbt {command}", expected="an end", found=_sentence(str(done.exception)), do=do)
    return done.result


def _outcome(result: Any) -> DbtOutcome:
    return DbtOutcome(
        kind=str(result.node.resource_type),
        name=result.node.name,
        status=str(result.status),
        message=_sentence(result.message or ""),
        rows=getattr(result, "failures", None) or 0,
        table=result.node.relation_name or "",
    )


def _sentence(text: str) -> str:
    return " ".join(text.split())
