"""Partition keys: `repo@ref` for repository stages, `specialist` x `phase` for mixtures."""

from __future__ import annotations

import re
from dataclasses import dataclass

from megacpp_assets.contract.errors import SpecError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,99}")
_REF = re.compile(r"(?=.{1,200}\Z)[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9_+][A-Za-z0-9._+-]*)*")
_LONGEST_KEY = 200
"""File systems allow 255 bytes for a name, and names of temporary files and receipts add some to the key."""
_SLASH, _IN_KEY = "/", "~"
"""A key names a folder, so it has no slash; `~` replaces it. Git forbids `~` in a reference, so this is reversible."""


def require_label(where: str, name: str) -> None:
    """Raise `SpecError` unless `name` is valid for a specialist or phase, in folders and partition keys."""
    if not _LABEL.fullmatch(name):
        raise SpecError(where, expected="a name of letters, digits and '_'", found=repr(name), do="correct the name")


@dataclass(frozen=True, slots=True, order=True)
class RepoRef:
    """A catalogue name and a reference, e.g. `fmt@11.0.0` or `gcc@releases/gcc-13.2.0`, as git spells it."""

    name: str
    ref: str

    @property
    def key(self) -> str:
        """The partition key, safe as the name of a folder and in Dagster: `gcc@releases~gcc-13.2.0`."""
        return f"{self.name}@{self.ref.replace(_SLASH, _IN_KEY)}"

    @staticmethod
    def asked(text: str) -> tuple[str, str]:
        """Return (name, reference as git spells it) of `NAME`, `NAME@REF` or a key; the reference may be ""."""
        name, _, ref = text.replace(_IN_KEY, _SLASH).partition("@")
        return name, ref

    @staticmethod
    def parse(key: str) -> RepoRef:
        """Return the inverse of `key`. The reference may also be written with slashes.

        Raises `SpecError` unless both are plain names (no comma, no part that begins with a dot or a dash).
        """
        name, at, ref = key.replace(_IN_KEY, _SLASH).partition("@")
        if not at or not _NAME.fullmatch(name) or not _REF.fullmatch(ref) or ".." in key:
            expected = "NAME@REF of letters, digits, '.', '_', '+', '-', in REF also '/'"
            do = "write for example fmt@11.0.0"
            raise SpecError(f"partition key {key!r}", expected=expected, found=repr(key), do=do)
        if len(key) > _LONGEST_KEY:
            expected, do = f"at most {_LONGEST_KEY} characters", "give the repository a shorter name"
            raise SpecError(f"partition key {key!r}", expected=expected, found=len(key), do=do)
        return RepoRef(name, ref)


@dataclass(frozen=True, slots=True, order=True)
class Mixture:
    """A specialist in a curriculum phase, e.g. `small_cpp/4k`."""

    specialist: str
    phase: str

    @property
    def key(self) -> str:
        """The key `specialist/phase`, unique within a dataset."""
        return f"{self.specialist}/{self.phase}"

    @staticmethod
    def parse(key: str) -> Mixture:
        """Split `specialist/phase`. Raises `SpecError` unless both are names of letters, digits and '_'."""
        specialist, slash, phase = key.partition("/")
        if not slash:
            do = "write for example base/4k"
            raise SpecError(f"mixture {key!r}", expected="SPECIALIST/PHASE", found=repr(key), do=do)
        require_label("specialist", specialist)
        require_label("phase", phase)
        return Mixture(specialist, phase)
