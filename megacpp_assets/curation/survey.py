"""One pass over the files of a commit: licence heads, figures, signatures and secrets. No text is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from megacpp_assets.contract.sources.curated import FIGURES
from megacpp_assets.contract.sources.file_policy import GENERATED
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.contract.step import Progress
from megacpp_assets.curation.benchmarks import Answer, Benchmarks
from megacpp_assets.curation.copies import Copies, signature_bytes
from megacpp_assets.curation.figures import broken_rules, figures_of
from megacpp_assets.curation.licensing.licences import Licences, licence_files
from megacpp_assets.curation.scorer import Scorer
from megacpp_assets.curation.secrets import Find, finds_of
from megacpp_assets.semantic.tree.text import SourceText, decode, refusal
from megacpp_assets.storage.git_objects import BlobReader

_NOT_READ = dict.fromkeys(FIGURES, 0)


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A file with the figures of its text, the rules that it breaks, and the secrets and benchmark items in it.

    `benchmarks` names the items; `answers` has their places in bytes of the file, each with its line. `score` is of the
    recipe's scorer, None where the file was not read as text.
    """

    file: SourceFile
    figures: Mapping[str, int] = field(default_factory=lambda: _NOT_READ)
    rules: Sequence[str] = ()
    finds: Sequence[Find] = ()
    benchmarks: Sequence[str] = ()
    answers: Sequence[tuple[Answer, int]] = ()
    score: float | None = None


@dataclass(slots=True)
class Survey:
    """The files of a commit that `pinned_repos` selected, in path order."""

    licences: Licences
    benchmarks: Benchmarks
    benchmark_share: float
    scorer: Scorer | None = None
    files: list[Surveyed] = field(default_factory=list)
    _copies: Copies = field(default_factory=Copies)
    _scores: dict[str, float] = field(default_factory=dict)

    def read(self, files: Sequence[SourceFile], blobs: BlobReader, limit: int, progress: Progress) -> None:
        """Read each file once. Files over `limit` bytes are not read, because no document is made of them."""
        for file, data in blobs.read_all(licence_files(files)):
            self.licences.read_licence_file(file.path, data)
        selected = [file for file in files if not file.skipped]
        seen: set[str] = set()
        for number, file in enumerate(selected):
            progress(number, len(selected))
            if file.bytes > limit:
                self.files.append(Surveyed(file))
            else:
                self._read(file, blobs.read(file.blob), limit, new=file.blob not in seen)
                seen.add(file.blob)
        progress(len(selected), len(selected))

    def _read(self, file: SourceFile, data: bytes, limit: int, *, new: bool) -> None:
        self.licences.read(file.path, data)
        figures = figures_of(data)
        if refusal(data, limit):
            # No document shows a file without text.
            self.files.append(Surveyed(file, figures, broken_rules(figures)))
            return
        source = decode(file.path, data)
        if new and GENERATED not in source.flags:  # generated files form clusters of their own
            self._copies.add(file.blob, source.text)
        items = self.benchmarks.found_in(source.text, self.benchmark_share)
        finds = [
            find._replace(start=source.in_blob(find.start), end=source.in_blob(find.end))
            for find in finds_of(source.data)
        ]
        answers = self._answers(source) if items else ()
        self.files.append(
            Surveyed(file, figures, broken_rules(figures), finds, items, answers, self._score(source, file))
        )

    def _score(self, source: SourceText, file: SourceFile) -> float | None:
        """Return the score of a text, for which the scorer is asked once."""
        if self.scorer is None:
            return None
        if file.blob not in self._scores:
            self._scores[file.blob] = self.scorer.score(file.path, source.text)
        return self._scores[file.blob]

    def _answers(self, source: SourceText) -> list[tuple[Answer, int]]:
        text = source.text

        def in_blob(char: int) -> int:
            return source.in_blob(char if source.is_ascii else len(text[:char].encode()))

        return [
            (Answer(each.item, in_blob(each.start), in_blob(each.end)), text.count("\n", 0, each.start) + 1)
            for each in self.benchmarks.answers_in(text, self.benchmark_share)
        ]

    def signature_rows(self) -> list[dict[str, object]]:
        """Return a row of `SIGNATURES` for each content that may have near-duplicates, by content."""
        return [{"blob": blob, "signature": signature_bytes(values)} for blob, values in self._copies.signatures()]

    def near_copies(self, blobs: BlobReader, least: float) -> list[tuple[str, str]]:
        """Return pairs of nearly equal contents. Contents that share a band are read again and compared."""
        return self._copies.near(lambda blob: decode(blob, blobs.read(blob)).text, least)
