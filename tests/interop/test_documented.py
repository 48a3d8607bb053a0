"""Every Python snippet of docs/python.md runs in a folder whose `data` is the small line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import megacpp_assets
from megacpp_assets.contract.columns import TOKENIZER_CONFIG_FILE, TOKENIZER_FILE
from megacpp_assets.contract.tokens.specials import BOS_ID, EOS_ID, PAD_ID

PAGE = Path(__file__).parents[2] / "docs/python.md"
SECTIONS = PAGE.read_text().split("\n## ")[1:]
SNIPPETS = {each.partition("\n")[0]: each.split("```python\n")[1].split("```")[0] for each in SECTIONS}
EXPORT = "An exported checkpoint"


@pytest.fixture
def here(small_line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").symlink_to(small_line)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_has_a_snippet_for_each_use() -> None:
    assert len(SNIPPETS) == PAGE.read_text().count("```python") == 10


@pytest.mark.parametrize("use", SNIPPETS)
def test_snippet_runs(use: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if use == "HuggingFace datasets":
        datasets = pytest.importorskip("datasets", reason="datasets is not installed")
        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", here / "cache")
        datasets.disable_progress_bars()
    if use == "The Megatron pair":
        pytest.importorskip("megatron.core", reason="megatron-core is not installed")
    if use == EXPORT:
        exported(here)
    exec(compile(SNIPPETS[use], str(PAGE), "exec"), {"__name__": "__main__"})


def test_no_snippet_reads_every_reference_of_a_data_root() -> None:
    assert not [use for use, snippet in SNIPPETS.items() if "/*/*/" in snippet or "packed/*" in snippet]


def exported(folder: Path) -> None:
    """`llama` with the files of `megacpp export`; that its weights are those trained is tested beside the export."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = megacpp_assets.open("data", "base/4k").tokenizer_folder
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    ids = {"bos_token_id": BOS_ID, "eos_token_id": EOS_ID, "pad_token_id": PAD_ID}
    vocabulary = len(json.loads((tokenizer / TOKENIZER_FILE).read_bytes())["model"]["vocab"])
    LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **sizes, **ids)).save_pretrained(folder / "llama")
    for name in (TOKENIZER_FILE, TOKENIZER_CONFIG_FILE):
        shutil.copy(tokenizer / name, folder / "llama")
