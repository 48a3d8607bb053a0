"""Writes a script that trains on a flat export with Megatron-LM's `pretrain_gpt.py`, on the GPUs of one machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.megatron.flat import PAIRS, TOKENIZER, MixtureFiles
from megacpp_assets.megatron.launch import Launch
from megacpp_assets.megatron.vocabulary import stated_vocabulary_size
from megacpp_assets.training.network.block import INITIAL_STD, feed_forward_width
from megacpp_assets.training.network.size import rope_base
from megacpp_assets.training.optimizer import BETA1, BETA2

MACHINES: Final[Mapping[str, int]] = {"h200": 8}
"""The number of GPUs of each machine for which the seed has a launcher."""
_SPLIT: Final = "98,1,1"
_MICRO_BATCH, _GLOBAL_BATCH, _ITERATIONS = 4, 64, 120
_SAVED_ITERATIONS: Final = 100
_HEAD: Final = """\
#!/usr/bin/env bash
# Train on {name} with Megatron-LM's pretrain_gpt.py on the GPUs of one machine. Written by `megacpp export`.
#   MEGATRON_LM  checkout of Megatron-LM (required)
#   REMOTE_ROOT  folder whose data/ is the export; default: the folder of this script is the export
#   GPUS, TRAIN_ITERS, PYTHON  default: {gpus}, {iterations}, python3
# Further arguments are passed to pretrain_gpt.py; the last value of an option counts.
set -euo pipefail
: "${{MEGATRON_LM:?name the checkout of Megatron-LM}}"
DATA="$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)"
if [[ -n "${{REMOTE_ROOT:-}}" ]]; then DATA="${{REMOTE_ROOT}}/data"; fi
for file in {files}; do
  if [[ ! -s "${{DATA}}/${{file}}" ]]; then
    echo "${{DATA}}/${{file}}: expected a file that is not empty; export the mixture again" >&2
    exit 1
  fi
done
"""
_RUN: Final = """\
exec "${PYTHON:-python3}" -m torch.distributed.run --standalone --nproc-per-node "${GPUS:-%d}" \\
  "${MEGATRON_LM}/pretrain_gpt.py" "${ARGUMENTS[@]}" "$@"
"""


def require_machine(machine: str) -> None:
    """Raise `SpecError` for a machine without a script."""
    if machine not in MACHINES:
        raise SpecError("launcher", expected=" or ".join(MACHINES), found=repr(machine), do="name a known machine")


def write_launcher(files: MixtureFiles, training: TrainingRecipe, folder: Path, machine: str) -> Path:
    """Write the script for `machine` into `folder`, which has the flat export; return its path.

    `SpecError` for a machine without a script.
    """
    require_machine(machine)
    script = folder / f"remote_smoke_{machine}.sh"
    script.write_text(launcher_script(files, training, MACHINES[machine]))
    script.chmod(0o755)
    return script


def launcher_script(files: MixtureFiles, training: TrainingRecipe, gpus: int) -> str:
    """Return the text of the script. Its model is that of `training` without the parts that Megatron's GPT lacks:
    structure, n-grams, states and chunks.
    """
    row_tokens = files.row_tokens
    data = Path("${DATA}")
    launch = Launch(
        blend=[(1.0, data / files.prefix(TRAIN_SPLIT))],
        tokenizer=data / TOKENIZER,
        row_tokens=row_tokens,
        seed=training.seed,
        split=_SPLIT,
        cache=data / PAIRS / "cache/GPTDataset_indices",
        vocabulary_size=stated_vocabulary_size(files.tokenizer),
    )
    needed = [files.prefix(split) + suffix for split in SPLITS for suffix in (BIN, IDX)]
    needed.append(f"{TOKENIZER}/{TOKENIZER_FILE}")
    head = _HEAD.format(name=files.name, gpus=gpus, iterations=_ITERATIONS, files=" ".join(needed))
    lines = [*launch.arguments(), *model_arguments(training, row_tokens), *_run_arguments(training)]
    body = "".join(f"  {_quoted(line)}\n" for line in lines)
    return f"{head}ARGUMENTS=(\n{body})\n{_RUN % gpus}"


def model_arguments(training: TrainingRecipe, row_tokens: int) -> list[str]:
    """Return the options of `pretrain_gpt.py` for the decoder of `training` and rows of `row_tokens`."""
    groups = training.kv_heads or training.heads
    return [
        f"--num-layers {training.layers}",
        f"--hidden-size {training.hidden}",
        f"--ffn-hidden-size {feed_forward_width(training.hidden)}",
        f"--num-attention-heads {training.heads}",
        "--group-query-attention",
        f"--num-query-groups {groups}",
        f"--max-position-embeddings {row_tokens}",
        "--position-embedding-type rope",
        f"--rotary-base {round(rope_base(training, row_tokens))}",
        "--normalization RMSNorm",
        "--no-persist-layer-norm",
        "--no-gradient-accumulation-fusion",
        "--swiglu",
        "--disable-bias-linear",
        "--attention-dropout 0.0",
        "--hidden-dropout 0.0",
        f"--init-method-std {INITIAL_STD}",
        "--bf16",
    ]


def _run_arguments(training: TrainingRecipe) -> list[str]:
    style = {"cosine": "cosine", "wsd": "WSD"}[training.schedule]
    decay = [f"--lr-wsd-decay-iters {max(1, round(_ITERATIONS * training.decay_share))}"] if style == "WSD" else []
    return [
        f"--micro-batch-size {_MICRO_BATCH}",
        f"--global-batch-size {_GLOBAL_BATCH}",
        f'--train-iters "${{TRAIN_ITERS:-{_ITERATIONS}}}"',
        f"--lr {training.learning_rate}",
        f"--min-lr {training.learning_rate / 10}",
        f"--lr-decay-style {style}",
        *decay,
        f"--lr-warmup-iters {min(training.warmup_steps, _ITERATIONS // 10)}",
        f"--weight-decay {training.weight_decay}",
        f"--adam-beta1 {BETA1}",
        f"--adam-beta2 {BETA2}",
        f"--clip-grad {training.gradient_clip}",
        "--eval-iters 10",
        f"--eval-interval {_SAVED_ITERATIONS}",
        "--log-interval 10",
        "--distributed-backend nccl",
    ]


def _quoted(line: str) -> str:
    """Quote each word of `line` that has a shell variable, so that bash does not split its value."""
    return " ".join(f'"{word}"' if "$" in word and '"' not in word else word for word in line.split(" "))
