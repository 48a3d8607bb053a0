"""Partition keys: `repo@ref` for repository stages, `specialist` x `phase` for mixtures."""

from __future__ import annotations

import re
from dataclasses import dataclass

from megacpp_assets.contract.errors import SpecError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,99}")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")


def require_label(where: str, name: str) -> None:
    """`SpecError` unless `name` can stand for a specialist or a phase, as a folder and in a partition key."""
    if not _LABEL.fullmatch(name):
        raise SpecError(where, expected="a name of letters, digits and '_'", found=repr(name))


@dataclass(frozen=True, slots=True, order=True)
class RepoRef:
    """A catalogue name and a reference, e.g. `fmt@11.0.0`; safe as a directory name and as a Dagster partition key."""

    name: str
    ref: str

    @property
    def key(self) -> str:
        """The partition key."""
        return f"{self.name}@{self.ref}"

    @staticmethod
    def parse(key: str) -> RepoRef:
        """Split `name@ref`; `SpecError` unless both are plain names (no slash, no comma, no leading dot or dash)."""
        name, at, ref = key.partition("@")
        if not at or not _NAME.fullmatch(name) or not _REF.fullmatch(ref) or ".." in key:
            raise SpecError(
                f"partition key {key!r}", expected="NAME@REF of letters, digits, '.', '_', '+', '-'", found=repr(key)
            )
        return RepoRef(name, ref)


@dataclass(frozen=True, slots=True, order=True)
class Mixture:
    """A specialist in a curriculum phase, e.g. `small_cpp/4k`."""

    specialist: str
    phase: str

    @property
    def key(self) -> str:
        """Path-like key, unique within a dataset."""
        return f"{self.specialist}/{self.phase}"

    @staticmethod
    def parse(key: str) -> Mixture:
        """Split `specialist/phase`; `SpecError` unless both are names of letters, digits and '_'."""
        specialist, slash, phase = key.partition("/")
        if not slash:
            do = "write for example base/4k"
            raise SpecError(f"mixture {key!r}", expected="SPECIALIST/PHASE", found=repr(key), do=do)
        require_label("specialist", specialist)
        require_label("phase", phase)
        return Mixture(specialist, phase)
