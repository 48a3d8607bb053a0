"""What the two sides of a job leave for each other in an exchange, and where.

The launching side writes the job and, for each attempt, its lease; the job writes everything else. Times are never
compared between machines: a lease and a heartbeat are counters, and whoever waits measures by its own clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.training.job import FAILURE_FILE, JOB_FILE, LIVE_METRICS_FILE, Job
from megacpp_assets.training.launch.exchange import Exchange, open_exchange

_T = TypeVar("_T")
_JOBS: Final = "jobs"
_LEASE, _HEARTBEAT, _SEALED, _ENDED = "lease.json", "heartbeat.json", "sealed.json", "ended.json"
_MEETING: Final = "meeting"
_SMALL_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Lease:
    """Renewed by a higher `beat`; without that the attempt stops after `seconds`. Both sides look every `look_seconds`.

    With `seconds` 0 the attempt stops now.
    """

    beat: int
    seconds: float
    look_seconds: float


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What the attempt is `doing`, in words; `beat` rises while it lives."""

    beat: int
    doing: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A checkpoint that the exchange holds: its step and the hash of its manifest."""

    step: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The attempt is over: the code of the training process, and in words why it was stopped, if it was."""

    code: int
    reason: str = ""


def job_uri(exchange: str, name: str) -> str:
    """The folder of the job `name` in the exchange of that URI."""
    return f"{exchange.rstrip('/')}/{_JOBS}/{name}"


@dataclass(frozen=True, slots=True)
class Post:
    """The folder of one job, and in it that of one attempt (from 1)."""

    exchange: Exchange
    name: str
    attempt: int

    @staticmethod
    def at(uri: str, attempt: int) -> Post:
        """Of the job at `uri`, EXCHANGE/jobs/NAME."""
        place, _, name = uri.rstrip("/").rpartition(f"/{_JOBS}/")
        if not place or "/" in name:
            raise SpecError("job", expected=f"EXCHANGE/{_JOBS}/NAME", found=uri)
        return Post(open_exchange(place), name, attempt)

    @property
    def uri(self) -> str:
        """Of the job."""
        return job_uri(self.exchange.uri, self.name)

    def put_job(self, job: Job) -> None:
        """For every attempt."""
        self.exchange.write(self._of_job(JOB_FILE), job.to_bytes())

    def job(self) -> Job:
        """`LineageGap` if it is not the one whose hash is its name."""
        data = self.exchange.read(self._of_job(JOB_FILE), _SMALL_BYTES)
        if data is None:
            raise LineageGap(f"{self.uri}/{JOB_FILE}", expected="a job", found="none")
        job = Job.from_bytes(data)
        if job.name != self.name:
            raise LineageGap(f"{self.uri}/{JOB_FILE}", expected=f"the job {self.name}", found=job.name)
        return job

    def put_lease(self, lease: Lease) -> None:
        """Renew."""
        self._put(_LEASE, lease)

    def lease(self) -> Lease | None:
        """None: there is none any more, or none yet."""
        return self._get(_LEASE, Lease)

    def put_heartbeat(self, heartbeat: Heartbeat) -> None:
        """Show life."""
        self._put(_HEARTBEAT, heartbeat)

    def heartbeat(self) -> Heartbeat | None:
        """None before the first."""
        return self._get(_HEARTBEAT, Heartbeat)

    def put_ended(self, ended: Ended) -> None:
        """The last thing that an attempt writes."""
        self._put(_ENDED, ended)

    def ended(self) -> Ended | None:
        """None while it goes on, and where its machine was gone before it could say so."""
        return self._get(_ENDED, Ended)

    def put_metrics(self, lines: bytes) -> None:
        """All of them, from the first step."""
        self.exchange.write(self._of_attempt(LIVE_METRICS_FILE), lines)

    def metrics(self) -> bytes:
        """As many as there are."""
        return self.exchange.read(self._of_attempt(LIVE_METRICS_FILE)) or b""

    def put_failure(self, reason: str) -> None:
        """One sentence."""
        self.exchange.write(self._of_attempt(FAILURE_FILE), reason.encode()[:_SMALL_BYTES])

    def failure(self) -> str:
        """ "" if none was left."""
        return (self.exchange.read(self._of_attempt(FAILURE_FILE), _SMALL_BYTES) or b"").decode(errors="replace")

    def put_meeting(self, address: bytes) -> None:
        """Where the first process listens for those of other nodes: HOST:PORT in the job's own network."""
        self.exchange.write(self._of_attempt(_MEETING), address)

    def meeting(self) -> bytes:
        """b"" before it is known."""
        return self.exchange.read(self._of_attempt(_MEETING), _SMALL_BYTES) or b""

    def put_sealed(self, checkpoints: Sequence[Sealed]) -> None:
        """Of every attempt; each is whole in the exchange before it stands here."""
        self.exchange.write(self._of_job(_SEALED), canonical_json([asdict(each) for each in checkpoints]))

    def sealed(self) -> list[Sealed]:
        """By step."""
        data = self.exchange.read(self._of_job(_SEALED))
        if data is None:
            return []
        try:
            found = [Sealed(int(each["step"]), str(each["sha256"])) for each in json.loads(data)]
        except (ValueError, TypeError, KeyError) as error:
            raise LineageGap(f"{self.uri}/{_SEALED}", expected="a list of checkpoints", found=str(error)) from error
        return sorted(found, key=lambda each: each.step)

    def _put(self, file: str, record: Any) -> None:
        self.exchange.write(self._of_attempt(file), canonical_json(asdict(record)))

    def _get(self, file: str, kind: type[_T]) -> _T | None:
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
