"""The exact encoder of a published tokenizer, verified when it is loaded.

In: texts or Arrow arrays. Out: flat arrays or Arrow lists of ids, with character spans from the same pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError, TokenizerDrift
from megacpp_assets.contract.tokens.encoding import Encoded, EncodedLists
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE, load_model
from megacpp_assets.tokenizer.lock import LOCK_FILE, TokenizerLock
from megacpp_assets.tokenizer.model import Model, make_encoder
from megacpp_assets.tokenizer.whitespace import whitespace_recipe


class Encoder:
    """Implements `contract.tokens.encoding.TextEncoder`.

    Calls from several threads run one at a time; results do not depend on `threads`. It is pickled as its directory and
    its number of threads. Memory of results that were freed is kept for the next ones: at most 512 MB, and never more
    than results had in use at once.
    """

    def __init__(self, model: Model, lock: TokenizerLock | None = None, *, threads: int = 1) -> None:
        self.model = model
        self.lock = lock
        self._native = make_encoder(model, threads)
        self.threads = threads
        self._directory: Path | None = None

    @staticmethod
    def load(directory: Path, *, threads: int = 1) -> Encoder:
        """Return the tokenizer in `directory`. `TokenizerDrift` if a byte, an id or a golden encoding changed."""
        try:
            lock = TokenizerLock.from_bytes((directory / LOCK_FILE).read_bytes())
            data = (directory / TOKENIZER_FILE).read_bytes()
        except OSError as error:
            raise TokenizerDrift(
                str(directory),
                expected=f"{TOKENIZER_FILE} and {LOCK_FILE}",
                found=f"{error.strerror} ({Path(error.filename).name})" if error.filename else str(error),
                do="megacpp run makes it again; a pinned one comes from its registry",
            ) from error
        lock.check_file(data)
        model = load_model(data, whitespace_recipe(lock.recipe.whitespace))
        try:
            encoder = Encoder(model, lock, threads=threads)
        except (ValueError, IndexError) as error:  # The form is right, but the kernel cannot encode with it.
            raise TokenizerDrift(
                TOKENIZER_FILE, expected="a tokenizer of ours", found=str(error), do="restore it, or train it again"
            ) from error
        lock.check_meaning(encoder.vocabulary_size, lambda text: encoder.encode_batch([text]).ids.tolist())
        encoder._directory = directory
        return encoder

    def __reduce__(self) -> tuple[object, ...]:
        if self._directory is None:
            raise TypeError("only an encoder loaded from a directory can be pickled")
        return (partial(Encoder.load, threads=self.threads), (self._directory,))

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, reserved ones included."""
        return len(self.model.keys)

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Encode each text as one document. `SpecError` for a text with lone surrogates, which is not Unicode text."""
        try:
            return Encoded(*self._native.encode(texts, self.threads))
        except UnicodeEncodeError as error:
            raise lone_surrogate(error) from error

    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> EncodedLists:
        """Encode each string or bytes of an Arrow array without copies. `SpecError` for a null."""
        array = as_binary(texts)
        if len(array) == 0:
            return self.encode_batch([]).lists()
        _, offsets, data = array.buffers()
        starts = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
        content = np.frombuffer(data if data is not None else b"", dtype=np.uint8)
        return Encoded(*self._native.encode_buffers(content, np.ascontiguousarray(starts), self.threads)).lists()

    def encode_bytes(self, data: bytes) -> NDArray[np.uint32]:
        """Return the ids of any bytes, BOS first. Invalid UTF-8 becomes byte tokens."""
        return self._native.encode_ids([data], self.threads)[0]

    def fertility(self, counter: Counter) -> dict[str, tuple[int, int, int]]:
        """Return kind of word -> (words, tokens, bytes) over the words of a native counter."""
        return self._native.fertility(counter)

    def decode(self, ids: NDArray[np.integer[Any]] | Sequence[int]) -> bytes:
        """Return the exact bytes that were encoded, without special tokens. `SpecError` for an unknown id."""
        return self._native.decode(_checked(ids, self.vocabulary_size))


def _checked(ids: NDArray[np.integer[Any]] | Sequence[int], size: int) -> NDArray[np.uint32]:
    """Return `ids` with the kernel's type. They are checked before: 2**32 + 133 must not become 133, nor 133.7."""
    try:
        values = np.asarray(ids)
    except ValueError:  # lists of different lengths
        values = np.empty(0, dtype=object)
    if values.ndim == 1 and values.dtype.kind in "iu":
        wrong = values[(values < 0) | (values >= size)].tolist()
    else:
        wrong = [index for index in ids if type(index) is not int or not 0 <= index < size]
    if wrong:
        raise SpecError("token id", expected=f"a whole number from 0, below {size}", found=repr(wrong[0]))
    return np.ascontiguousarray(values, dtype=np.uint32)


def as_binary(texts: pa.Array | pa.ChunkedArray) -> pa.LargeBinaryArray:
    """Return strings or bytes as one array of bytes. Text is copied only to join chunks."""
    kind = texts.type
    of_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if not any(matches(kind) for matches in of_text):
        raise SpecError("texts to encode", expected="an Arrow array of strings or of bytes", found=kind)
    if texts.null_count:
        raise SpecError("texts to encode", expected="no nulls", found=texts.null_count)
    array = texts.cast(pa.large_binary())
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def utf8(text: str) -> bytes:
    """Return the bytes of `text`. `SpecError` if it has lone surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from error


def lone_surrogate(error: UnicodeEncodeError) -> SpecError:
    """Return the error for a text that has no UTF-8."""
    return SpecError(
        "text to encode",
        expected="Unicode text",
        found=f"a lone surrogate at character {error.start}",
        do="use encode_bytes",
    )
