"""The records that the launching machine and a job leave for each other in the folder of the job.

The launching machine writes the job file and, for each attempt, a lease. The job writes everything else. The two
machines never compare times: a lease and a heartbeat are counters, and each machine measures by its own clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.launch.protocol.exchange import Exchange
from megacpp_assets.launch.protocol.open_exchange import open_exchange
from megacpp_assets.training.job import FAILURE_FILE, JOB_FILE, LIVE_METRICS_FILE, TrainingJob

_T = TypeVar("_T")
_JOBS: Final = "jobs"
_LEASE, _HEARTBEAT, _SEALED, _ENDED = "lease.json", "heartbeat.json", "sealed.json", "ended.json"
_RENDEZVOUS: Final = "meeting"
_SMALL_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Lease:
    """The permission to run. The launching machine renews it by a higher `beat`.

    The attempt stops if the lease is not renewed within `seconds`; 0 seconds stop it now. Both machines look every
    `look_seconds`.
    """

    beat: int
    seconds: float
    look_seconds: float


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A heartbeat: `beat` rises while the attempt lives, and `activity` says in words what the attempt does."""

    beat: int
    activity: str


@dataclass(frozen=True, slots=True)
class SealedCheckpoint:
    """A checkpoint in the exchange: its training step, and the sha256 of its manifest."""

    step: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of an attempt: the exit code of the training, and the reason if somebody stopped it."""

    code: int
    reason: str = ""


def job_uri(exchange: str, name: str) -> str:
    """Return the URI of the folder of the job `name` in the exchange at the URI `exchange`."""
    return f"{exchange.rstrip('/')}/{_JOBS}/{name}"


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The folder of the job `name`. Records of an attempt (from 1) lie in a folder of their own inside.

    A `read_…` method returns None, or an empty value, for a record that is not written yet. It raises `LineageGap` for
    a malformed record.
    """

    exchange: Exchange
    name: str
    attempt: int

    @staticmethod
    def at(uri: str, attempt: int) -> JobFolder:
        """Return the folder at `uri`, which is EXCHANGE/jobs/NAME; `SpecError` for any other URI."""
        place, _, name = uri.rstrip("/").rpartition(f"/{_JOBS}/")
        if not place or "/" in name:
            raise SpecError("job", expected=f"EXCHANGE/{_JOBS}/NAME", found=uri)
        return JobFolder(open_exchange(place), name, attempt)

    @property
    def uri(self) -> str:
        """The URI of the folder."""
        return job_uri(self.exchange.uri, self.name)

    def write_job(self, job: TrainingJob) -> None:
        """Write the job file, which all attempts share."""
        self.exchange.write(self._of_job(JOB_FILE), job.to_bytes())

    def read_job(self) -> TrainingJob:
        """Return the job. `LineageGap` if it is missing, or if its hash is not the name of the folder."""
        data = self.exchange.read(self._of_job(JOB_FILE), _SMALL_BYTES)
        if data is None:
            raise LineageGap(f"{self.uri}/{JOB_FILE}", expected="a job", found="none")
        job = TrainingJob.from_bytes(data)
        if job.name != self.name:
            raise LineageGap(f"{self.uri}/{JOB_FILE}", expected=f"the job {self.name}", found=job.name)
        return job

    def write_lease(self, lease: Lease) -> None:
        """Write or renew the lease of the attempt."""
        self._write(_LEASE, lease)

    def read_lease(self) -> Lease | None:
        """Return the lease of the attempt, or None if it is missing."""
        return self._read(_LEASE, Lease)

    def write_heartbeat(self, heartbeat: Heartbeat) -> None:
        """Write a heartbeat."""
        self._write(_HEARTBEAT, heartbeat)

    def read_heartbeat(self) -> Heartbeat | None:
        """Return the last heartbeat, or None before the first."""
        return self._read(_HEARTBEAT, Heartbeat)

    def write_ended(self, ended: Ended) -> None:
        """Write the end of the attempt. The attempt writes nothing afterwards."""
        self._write(_ENDED, ended)

    def read_ended(self) -> Ended | None:
        """Return the end of the attempt; None while it runs, and if its machine disappeared before it could write."""
        return self._read(_ENDED, Ended)

    def write_metrics(self, lines: bytes) -> None:
        """Write all metrics, one JSON line per step from the first step on."""
        self.exchange.write(self._of_attempt(LIVE_METRICS_FILE), lines)

    def read_metrics(self) -> bytes:
        """Return the metrics that are written so far."""
        return self.exchange.read(self._of_attempt(LIVE_METRICS_FILE)) or b""

    def write_failure(self, reason: str) -> None:
        """Write the reason of a failure, one sentence."""
        self.exchange.write(self._of_attempt(FAILURE_FILE), reason.encode()[:_SMALL_BYTES])

    def read_failure(self) -> str:
        """Return the reason of a failure, or an empty string."""
        return (self.exchange.read(self._of_attempt(FAILURE_FILE), _SMALL_BYTES) or b"").decode(errors="replace")

    def write_rendezvous(self, address: bytes) -> None:
        """Write the address (HOST:PORT in the job's own network) at which the first process waits for other nodes."""
        self.exchange.write(self._of_attempt(_RENDEZVOUS), address)

    def read_rendezvous(self) -> bytes:
        """Return the address of the first process, or empty bytes before it is known."""
        return self.exchange.read(self._of_attempt(_RENDEZVOUS), _SMALL_BYTES) or b""

    def write_sealed(self, checkpoints: Sequence[SealedCheckpoint]) -> None:
        """Write the list of checkpoints of all attempts. Each one must already be whole in the exchange."""
        self.exchange.write(self._of_job(_SEALED), canonical_json([asdict(each) for each in checkpoints]))

    def read_sealed(self) -> list[SealedCheckpoint]:
        """Return the checkpoints of all attempts, sorted by step."""
        data = self.exchange.read(self._of_job(_SEALED))
        if data is None:
            return []
        try:
            found = [SealedCheckpoint(int(each["step"]), str(each["sha256"])) for each in json.loads(data)]
        except (ValueError, TypeError, KeyError) as error:
            raise LineageGap(f"{self.uri}/{_SEALED}", expected="a list of checkpoints", found=str(error)) from error
        return sorted(found, key=lambda each: each.step)

    def _write(self, file: str, record: Any) -> None:
        self.exchange.write(self._of_attempt(file), canonical_json(asdict(record)))

    def _read(self, file: str, kind: type[_T]) -> _T | None:
        data = self.exchange.read(self._of_attempt(file), _SMALL_BYTES)
        if data is None:
            return None
        try:
            return kind(**json.loads(data))
        except (ValueError, TypeError) as error:
            where = f"{self.exchange.uri}/{self._of_attempt(file)}"
            raise LineageGap(where, expected=f"the {kind.__name__.lower()} of an attempt", found=str(error)) from error

    def _of_job(self, file: str) -> str:
        return f"{_JOBS}/{self.name}/{file}"

    def _of_attempt(self, file: str) -> str:
        return f"{_JOBS}/{self.name}/{self.attempt}/{file}"
