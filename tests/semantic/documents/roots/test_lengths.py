"""Documents keep to their budget of tokens by an estimate from a repository's own words and the vocabulary's size."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.recipe.documents import SemanticRecipe, TokenizerRecipe
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.roots.budget import CHARS_PER_TOKEN, Budget
from megacpp_assets.semantic.documents.roots.lengths import Lengths
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import train
from tests.semantic.sources import index

SMALL = TokenizerRecipe(vocabulary_size=7680)
NUMBERS = ", ".join(f"0x{n * 2654435761 % 2**32:08x}" for n in range(40))
SOURCES = {
    f"part{part}.cc": "".join(
        f"int helper_{part}_{n}(int value) {{ static const unsigned table[] = {{{NUMBERS}}}; "
        f"return value + table[{n}] + helper_{part}_{max(0, n - 1)}(value); }}\n"
        for n in range(12)
    )
    for part in range(4)
}


def test_the_estimate_is_no_shorter_than_the_tokenizer_of_several_repositories() -> None:
    texts = [text.encode() for text in SOURCES.values()]
    others = [f"struct Other{n} {{ long field_{n}; }};\n".encode() * 20 for n in range(50)]
    exact = Encoder(train([*texts, *others], SMALL).model)
    lengths = Lengths(lambda: texts, SMALL)
    for text in SOURCES.values():
        assert len(exact.encode_bytes(text.encode())) <= 1.1 * lengths.tokens(text)
    assert 1 < lengths.chars_per_token < CHARS_PER_TOKEN


def test_no_document_with_context_has_more_tokens_than_its_budget(tmp_path: Path) -> None:
    repository, store = index(tmp_path, SOURCES)
    lengths = Lengths(lambda: (text.encode() for text in SOURCES.values()), SMALL)
    recipe = SemanticRecipe(parsed_documents=0)
    for known in (None, lengths):
        made = documents(repository, store, recipe, 1024, lengths=known)
        tokens = [lengths.tokens(each.text) for each in made if isinstance(each, Document) and each.has_context]
        assert tokens and (max(tokens) <= 1024) == (known is not None)


def test_a_root_of_long_names_leaves_the_room_that_it_does_not_take_in_tokens(tmp_path: Path) -> None:
    name = "a_name_that_is_long_and_that_occurs_again_and_again_in_all_of_the_text"
    body = f"  {name} = {name} + {name};\n" * 40
    sources = {
        **SOURCES,
        "types.h": "typedef unsigned long Number;\n",
        "long.cc": f'#include "types.h"\nNumber long_names(Number {name}) {{\n{body}  return {name};\n}}\n' * 1,
    }
    repository, store = index(tmp_path, sources)
    lengths = Lengths(lambda: (text.encode() for text in sources.values()), SMALL)
    budget = 1024
    assert len(sources["long.cc"]) > Budget(budget, 0.0, lengths).chars
    made = documents(
        repository, store, SemanticRecipe(parsed_documents=0, strategy="per_chunk"), budget, lengths=lengths
    )
    texts = {each.root.name: each.text for each in made if isinstance(each, Document)}
    assert "typedef unsigned long Number;" in texts["long_names"]


def test_without_lengths_the_recipe_tells_the_characters_of_a_token() -> None:
    assert Budget(1000, 2.0, None).chars == 1800 and Budget(1000, 0.0, None).chars == 3600
    assert Budget(1000, 2.0, None).size("text") == 4 and Budget(1000, 2.0, None).excess("text") == 0
