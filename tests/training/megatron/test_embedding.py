"""Megatron Core's GPTModel on a CPU, reading our bin/idx with structure: it trains, and its embedding is ours."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, distributed

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import STRUCTURE_COMPONENTS
from megacpp_assets.contract.tokens.specials import BOS_ID, EOS_ID, PAD_ID
from megacpp_assets.loader.rows import PackedRows, open_rows
from megacpp_assets.training.network.attention.dense import document_mask
from megacpp_assets.training.network.attention.layout import document_layout
from megacpp_assets.training.network.ngrams import NgramConfig
from megacpp_assets.training.network.platforms import PlatformInput
from megacpp_assets.training.network.structure import StructureConfig
from tests.loader.rows_artifact import DATASET, PREFIX, publish_rows, random_rows

ROW = 64
STRUCTURE, NGRAMS = (
    StructureConfig(STRUCTURE_COMPONENTS, 8, platform_embed_enabled=True),
    NgramConfig(2, table_size=100),
)


StructureInputs = tuple[dict[str, Tensor], PlatformInput]


@pytest.fixture(scope="module", autouse=True)
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module `gpt`, imported by the one worker that runs these tests, in a process group of one rank."""
    from tests.training.megatron import gpt

    store = distributed.FileStore(str(tmp_path_factory.mktemp("store") / "store"), 1)  # type: ignore[attr-defined]
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    gpt.parallel_state.initialize_model_parallel()
    yield gpt
    gpt.parallel_state.destroy_model_parallel()
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def rows(gpt: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[PackedRows, Any]:
    """Our reader and Megatron's, of the same files."""
    made = publish_rows(tmp_path_factory.mktemp("root"), random_rows(rows=4, row_tokens=ROW), ROW)
    return open_rows(made, DATASET, platforms=True), gpt.IndexedDataset(str(made.file(f"{PREFIX}.bin"))[: -len(".bin")])


def batch_of(rows: tuple[PackedRows, Any], number: int) -> tuple[dict[str, Any], StructureInputs, Tensor]:
    """What a GPTModel takes of row `number`, whose tokens Megatron's own dataset reads; what its embedding gets;
    mask of the loss."""
    ours, theirs = rows
    batch = ours.batch(np.array([number]))
    documents = np.flatnonzero(np.cumsum([0, *theirs.sequence_lengths]) == ours.starts[number])[0]
    count = int(batch.doc_ids.max()) + 1
    tokens = np.concatenate([theirs[int(documents) + one] for one in range(count)])
    ids = np.full((1, ROW), PAD_ID, np.int64)
    ids[0, : len(tokens)] = tokens
    assert ids.tolist() == batch.input_ids.tolist()
    layout = document_layout(batch.doc_ids, batch.valid_token_count)
    hidden = ~document_mask(torch.from_numpy(batch.doc_ids), torch.from_numpy(batch.valid_token_count))
    given = {
        "input_ids": torch.from_numpy(ids),
        "position_ids": torch.from_numpy(layout.positions),
        "attention_mask": hidden,
        "labels": torch.from_numpy(batch.target_ids).long(),
    }
    channels = {name: torch.from_numpy(values).long() for name, values in batch.structure.items()}
    assert batch.platforms is not None
    platforms = PlatformInput(torch.from_numpy(batch.platforms).long(), torch.from_numpy(batch.doc_ids).long())
    return given, (channels, platforms), torch.from_numpy(batch.loss_mask)


def test_twenty_steps_lower_the_loss_and_move_every_parameter(gpt: Any, rows: tuple[PackedRows, Any]) -> None:
    model, embedding = gpt.model_of(ROW, STRUCTURE, NGRAMS)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.5), []
    for step in range(20):
        given, structure_inputs, mask = batch_of(rows, step % 4)
        embedding.set_structure_inputs(*structure_inputs)
        loss = model(**given)[mask].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert np.isfinite(losses).all() and np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.1
    assert not [name for name, each in model.named_parameters() if torch.equal(each, before[name])]


def test_no_gradient_of_a_document_reaches_another(gpt: Any, rows: tuple[PackedRows, Any]) -> None:
    model, embedding = gpt.model_of(ROW, STRUCTURE, NGRAMS)
    torch.nn.init.normal_(embedding.structure.up)
    torch.nn.init.normal_(embedding.ngrams.up)
    torch.nn.init.normal_(embedding.platforms.table)
    number = next(n for n in range(4) if rows[0].batch(np.array([n])).doc_ids.max())
    given, structure_inputs, _ = batch_of(rows, number)
    embedding.set_structure_inputs(*structure_inputs)
    seen: list[Tensor] = []

    def keep(_module: object, _inputs: object, out: Tensor) -> None:
        out.retain_grad()
        seen.append(out)

    embedding.register_forward_hook(keep)
    document = torch.from_numpy(rows[0].batch(np.array([number])).doc_ids[0]) == 1
    model(**given)[0][document].sum().backward()
    gradient = seen[0].grad
    assert gradient is not None
    assert bool(gradient[document].any()) and bool((gradient[~document] == 0).all())


def test_megatrons_reset_separates_documents_if_bos_is_its_end_of_document(
    gpt: Any, rows: tuple[PackedRows, Any]
) -> None:
    from megatron.core.datasets.gpt_dataset import _get_ltor_masks_and_position_ids as masks_of

    number = next(n for n in range(4) if rows[0].batch(np.array([n])).doc_ids.max())
    given, _, _ = batch_of(rows, number)
    ids, ours, visible = given["input_ids"][0], given["position_ids"][0], ~given["attention_mask"][0, 0]
    begins, inside = ids == BOS_ID, (ids != BOS_ID) & (ids != PAD_ID)
    hidden, loss, positions = masks_of(ids, BOS_ID, True, True, True, True)
    assert torch.equal(positions[inside], ours[inside] - 1), "they count from the token after BOS"
    assert torch.equal(~hidden[0][inside][:, inside], visible[inside][:, inside])
    assert int((~hidden[0])[begins][1].sum()) > 1, "BOS is of the document before"
    assert torch.equal(loss == 0, begins), "and so nothing is learned from what it sees"
    assert torch.equal(masks_of(ids, EOS_ID, True, True, True, True)[2], torch.arange(ROW)), "no document ends with EOS"


def test_a_new_structured_embedding_does_not_change_the_logits(gpt: Any, rows: tuple[PackedRows, Any]) -> None:
    given, structure_inputs, _ = batch_of(rows, 0)
    plain, _ = gpt.model_of(ROW, StructureConfig(()), NgramConfig())
    model, embedding = gpt.model_of(ROW, STRUCTURE, NGRAMS)
    model.load_state_dict(plain.state_dict(), strict=False)
    embedding.set_structure_inputs(*structure_inputs)
    assert torch.equal(model(**given), plain(**given))


@pytest.mark.parametrize("channels", [{}, {"structure_ids": torch.zeros(1, 3, dtype=torch.long)}])
def test_missing_channels_or_channels_of_another_batch_are_rejected(
    gpt: Any, rows: tuple[PackedRows, Any], channels: dict[str, Tensor]
) -> None:
    model, embedding = gpt.model_of(ROW, STRUCTURE, NGRAMS)
    embedding.set_structure_inputs(channels)
    with pytest.raises(SpecError, match="structure channel"):
        model(**batch_of(rows, 0)[0])


def test_a_batch_dict_brings_its_structure_to_a_wrapped_model(gpt: Any, rows: tuple[PackedRows, Any]) -> None:
    structure = StructureConfig(STRUCTURE_COMPONENTS, 8)
    model, embedding = gpt.model_of(ROW, structure, NgramConfig())
    torch.nn.init.normal_(embedding.structure.up)
    given, (channels, _), _ = batch_of(rows, 0)
    embedding.set_structure_inputs(channels)
    expected = model(**given)
    embedding.set_structure_inputs({})
    batch = {"tokens": given["input_ids"], "labels": given["labels"], **channels}
    wrapped = torch.nn.Module()
    wrapped.module = model
    gpt.bridge_structure_batch(wrapped, batch)
    assert torch.equal(model(**given), expected)
    gpt.bridge_structure_batch(torch.nn.Linear(1, 1), batch)  # a stage without an embedding
    with pytest.raises(SpecError, match=r"dep_levels of a batch; expected the shape of tokens, .*found \(1, 3\)"):
        gpt.bridge_structure_batch(model, batch | {"dep_levels": torch.zeros(1, 3)})
    plain = torch.nn.Module()
    plain.embedding = torch.nn.Embedding(1, 1)
    with pytest.raises(SpecError, match="embedding of the model; expected StructuredEmbedding"):
        gpt.bridge_structure_batch(plain, batch)


def test_missing_platforms_are_rejected(gpt: Any, rows: tuple[PackedRows, Any]) -> None:
    model, embedding = gpt.model_of(ROW, STRUCTURE, NGRAMS)
    given, structure_inputs, _ = batch_of(rows, 0)
    embedding.set_structure_inputs(structure_inputs[0])
    with pytest.raises(SpecError, match="uses platforms; expected platforms of its documents; found none"):
        model(**given)


@pytest.mark.parametrize("copy", [0, 1])
def test_a_checkpoint_has_the_tables_of_the_first_stage_once(gpt: Any, copy: int) -> None:
    _, embedding = gpt.model_of(ROW, STRUCTURE, NGRAMS)
    embedding._stage_copy = copy
    sharded = embedding.sharded_state_dict(prefix="embedding.")
    added = ("structure.", "ngrams.", "platforms.")
    ours = {name: each.replica_id for name, each in sharded.items() if any(part in name for part in added)}
    assert {"embedding.structure.table", "embedding.ngrams.up", "embedding.platforms.table"} <= set(ours)
    assert {replica[0] for replica in ours.values()} == {copy}


def test_a_stage_without_an_embedding_is_rejected(gpt: Any) -> None:
    with pytest.raises(SpecError, match="one with an embedding"):
        gpt.structured(torch.nn.Linear(1, 1), STRUCTURE, NGRAMS)


def test_megatrons_arguments_select_the_embeddings(gpt: Any) -> None:
    parser = gpt.add_arguments(argparse.ArgumentParser())
    assert gpt.configs(parser.parse_args([])) == (StructureConfig(), NgramConfig())
    structure_inputs = [
        "--structure-components",
        "all",
        "--structure-bottleneck",
        "8",
        "--platform-embedding",
        "--ngram-heads",
        "2",
        "--ngram-table",
        "100",
    ]
    assert gpt.configs(parser.parse_args(structure_inputs)) == (STRUCTURE, NGRAMS)
