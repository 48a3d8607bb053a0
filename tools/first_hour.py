"""One step of first_hour_on_a_gpu.sh, which sets PYTHONPATH: STEP DEVICE. Prints a JSON line a figure.

Where a result is wrong it ends with a sentence. On "cpu" everything is small, attention is computed by document instead
of by FlexAttention, and the group is gloo's.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.recipe.training import CPU, CUDA, DENSE, VARLEN, TrainingRecipe
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.choose import attention_for
from megacpp_assets.training.network.attention.layout import document_layout
from megacpp_assets.training.network.model import GPT, loss_weights
from megacpp_assets.training.network.size import model_config, operations_per_token
from megacpp_assets.training.optimizer import optimizer_for
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.stepper import TorchStepper

DATA_SHEET = {"H100": 989e12, "H200": 989e12, "A100": 312e12}
"""Dense 16-bit operations a second of a card by its name, from the makers' data sheets."""
VOCABULARY = 8192


def card(device: torch.device) -> None:
    """What this machine is."""
    from megacpp_assets.training.accelerators import accelerators, torch_build

    tell("card", "torch", torch_build())
    tell("card", "devices", accelerators() or ["no card"])
    tell("card", "16-bit products", rate(device, torch.bfloat16) / 1e12, "Tflop/s")
    tell("card", "32-bit products", rate(device, torch.float32) / 1e12, "Tflop/s")


def masks(device: torch.device) -> None:
    """Every attention beside the dense mask in 32 bits, forward and backward, and what reaches another document."""
    batch = rows(4096 if device.type == CUDA else 256)
    for kind, dtype, bound in (
        ("auto", torch.float32, 1e-4),
        (VARLEN, torch.float32, 1e-4),
        ("auto", torch.bfloat16, 3e-2),
        (VARLEN, torch.bfloat16, 3e-2),
    ):
        found = attended(batch, device, dtype, kind)
        reference = attended(batch, device, dtype, DENSE, exact=True)
        for what, ours, dense in zip(("output", "dquery", "dkey", "dvalue"), found, reference, strict=True):
            error = float((ours.float() - dense.float()).abs().max() / dense.float().abs().max())
            tell("masks", f"{kind}, {dtype}, {what}: error beside the dense mask", error, "of the largest")
            require(error < bound, f"{what} of {kind}", f"an error below {bound}", error)


def attended(
    batch: RowBatch, device: torch.device, dtype: torch.dtype, kind: str, *, exact: bool = False
) -> list[Tensor]:
    """Output and gradients of random queries, keys and values of `dtype`, (1, T, 4, 64); `exact`: in 32 bits."""
    generator = torch.Generator().manual_seed(0)
    layout = document_layout(batch.doc_ids, batch.valid_token_count)
    attend = attention_for(batch, layout, device, kind=kind)
    shape = (*batch.input_ids.shape, 4, 64)
    drawn = [torch.randn(shape, generator=generator).to(device, dtype) for _ in range(4)]
    if exact:
        drawn = [each.float() for each in drawn]
    query, key, value = given = tuple(each.requires_grad_() for each in drawn[:3])
    out = attend(query, key, value)
    return [out.detach(), *torch.autograd.grad(out, given, drawn[3])]


def losses(device: torch.device) -> None:
    """The same steps on the CPU and on the card; twice on the card."""
    recipe = TrainingRecipe(layers=2, hidden=64, heads=2, threads=1, device=device.type, learning_rate=3e-3)
    batch = rows(1024 if device.type == CUDA else 256)
    runs = [trained(recipe, torch.device(name), batch, 5) for name in (CPU, device.type, device.type)]
    worst = max(abs(here / there - 1) for here, there in zip(runs[1], runs[0], strict=True))
    tell("losses", "card beside CPU, five steps, largest difference", worst, "of the loss")
    tell("losses", "two runs on the card are equal", runs[1] == runs[2])
    require(worst < 1e-3, "losses of the card", "those of the CPU within 0.1 %", worst)
    require(runs[1] == runs[2], "losses of two runs", "the same bits", runs[1:])


def throughput(device: torch.device) -> None:
    """Tokens a second of `upstream_1gpu` (412 M parameters) in both types, share of the peak, memory."""
    for dtype in ("float32", "bfloat16"):
        measured(device, replace(large(device), dtype=dtype), "throughput")


def lengths(device: torch.device) -> None:
    """A step of longer rows under document masks beside one whose rows are one document, for a small model."""
    from masks import unmasked

    small = TrainingRecipe(layers=3, hidden=256, heads=4, threads=1, device=device.type, dtype="bfloat16")
    recipe = small if device.type == CUDA else large(device)
    for tokens in (16_384, 65_536) if device.type == CUDA else (512,):
        stepper, _ = training(recipe, device, VOCABULARY)
        batch = rows(tokens)
        seconds = [timed_step(stepper, recipe, given, device) for given in (batch, unmasked(batch))]
        tell("lengths", f"step of {tokens} tokens, 8 documents a row", seconds[0], "s")
        tell("lengths", f"step of {tokens} tokens, masked over unmasked", seconds[0] / seconds[1], "of the time")


def timed_step(stepper: TorchStepper, recipe: TrainingRecipe, batch: RowBatch, device: torch.device) -> float:
    """Seconds of a step on `batch`, after two that are not measured."""
    for _ in range(2):
        stepped(stepper, recipe, batch)
    synchronize(device)
    begun = time.perf_counter()
    for _ in range(5):
        stepped(stepper, recipe, batch)
    synchronize(device)
    return (time.perf_counter() - begun) / 5


def compiled(device: torch.device) -> None:
    """The same, compiled: once for all batches. On a CPU the compiler's parts are too slow for a toy: graphs only."""
    counts: list[int] = []
    if device.type == CUDA:
        from torch._dynamo.utils import counters

        measured(device, replace(large(device), compiled=True, dtype="bfloat16"), "compiled")
        counts.append(int(counters["stats"]["unique_graphs"]))
    else:
        from torch._dynamo.testing import CompileCounterWithBackend

        from megacpp_assets.training.network.model import model_input

        counter, model = CompileCounterWithBackend("eager"), GPT(model_config(large(device), VOCABULARY))
        network = torch.compile(model, dynamic=False, backend=counter)
        for seed in range(3):
            network(model_input(rows(256, seed), device, one_graph=True)).backward()
        counts.append(counter.frame_count)
    tell("compiled", "compilations over batches that differ in documents", counts[0], "times")
    require(counts[0] == 1, "compilations", "1", counts[0])


def measured(device: torch.device, recipe: TrainingRecipe, step: str) -> None:
    """Print speed and memory of a few steps of `recipe`."""
    tokens, vocabulary = (4096, 131_072) if device.type == CUDA else (256, VOCABULARY)
    stepper, config = training(recipe, device, vocabulary)
    batches = [rows(tokens, seed, recipe.batch_rows) for seed in range(8)]
    for batch in batches[:3]:
        stepped(stepper, recipe, batch)
    synchronize(device)
    begun = time.perf_counter()
    for batch in batches[3:]:
        stepped(stepper, recipe, batch)
    synchronize(device)
    speed = 5 * tokens * recipe.batch_rows / (time.perf_counter() - begun)
    flops = speed * operations_per_token(config)
    what = f"{recipe.layers} x {recipe.hidden}, {recipe.dtype}"
    tell(step, f"{what}, speed", speed, "tokens/s")
    tell(step, f"{what}, of what a plain product of this type reaches", flops / rate(device, config.dtype), "share")
    for name, peak in DATA_SHEET.items():
        if device.type == CUDA and name in torch.cuda.get_device_name(device):
            tell(step, f"{what}, of the {name}'s data sheet, 16 bits", flops / peak, "share")
    if device.type == CUDA:
        tell(step, f"{what}, largest memory", torch.cuda.max_memory_allocated(device) / 1e9, "GB")


def resume(device: torch.device) -> None:
    """A run that is stopped after 3 of 8 steps and resumed ends with the bytes of one that was not."""
    from megacpp_assets.storage.artifact import open_artifact
    from megacpp_assets.training.loop import train
    from megacpp_assets.training.processes.process import StopRequest
    from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
    from tests.training.world import tensors_of, tiny_root, tiny_spec

    def run(spec: TrainedCheckpointSpec, last: int) -> bool:
        stop = StopRequest()

        def report(metrics: Any) -> None:
            stop.asked = metrics.step == last

        return train(spec, Ranks(0, 1, device), stop, live_metrics=spec.root / "live.jsonl", report=report)

    found = []
    with tempfile.TemporaryDirectory() as name:
        for stops in ((), (3,)):
            root = tiny_root(Path(name, str(len(stops))))
            spec = tiny_spec(root, steps=8, hidden=32, device=device.type, validation_rows=0)
            for last in stops:
                require(not run(spec, last), "a stopped run", "to end before its last step", "its end")
            require(run(spec, 0), "a run", "to reach its last step", "a stop")
            found.append(tensors_of(open_artifact(spec.root, checkpoint_target(spec, 8).path)))
    same = all(torch.equal(value, found[1][key]) for key, value in found[0].items())
    tell("resume", "a resumed run has the weights of an uninterrupted one", same)
    require(same, "weights of a resumed run", "those of an uninterrupted one", "others")


def group(device: torch.device) -> None:
    """A group of one process: NCCL's on a card."""
    from torch import distributed
    from torch._C._distributed_c10d import FileStore

    backend = "nccl" if device.type == CUDA else "gloo"
    with tempfile.TemporaryDirectory() as name:
        store = FileStore(str(Path(name, "store")), 1)
        distributed.init_process_group(backend, store=store, rank=0, world_size=1)
        values = torch.arange(1 << 20, dtype=torch.float32, device=device)
        before = values.clone()
        distributed.all_reduce(values)
        synchronize(device)
        distributed.destroy_process_group()
    tell("group", f"{backend}: a sum over one process is its own values", bool(torch.equal(values, before)))
    require(torch.equal(values, before), f"sum of {backend}", "the values", "others")


def tokenizer(device: torch.device) -> None:
    """The tokenizer's kernels beside its CPU path, on the adapter that WebGPU finds (Mesa's on a CPU)."""
    from _gpu import measure_gpu

    sources = sorted(Path(__file__).parents[1].glob("native/**/*.cpp"))
    texts = [file.read_bytes() for file in sources]
    if device.type == CUDA:
        measure_gpu("first hour", texts * 40, 2000)
    else:
        measure_gpu("first hour", texts[:1], 16, runs=1)


def large(device: torch.device) -> TrainingRecipe:
    """The recipe for one card, or a toy."""
    if device.type == CUDA:
        return load_recipe("upstream_1gpu").training
    return TrainingRecipe(layers=1, hidden=32, heads=2, threads=1, batch_rows=1)


def training(recipe: TrainingRecipe, device: torch.device, vocabulary: int) -> tuple[TorchStepper, Any]:
    """A stepper over a new model on `device`, and the model's shape."""
    torch.manual_seed(0)
    torch.set_deterministic_debug_mode("error")
    config = model_config(recipe, vocabulary)
    model = GPT(config).to(device)
    return TorchStepper(
        recipe, model, optimizer_for(recipe, dict(model.named_parameters())), Ranks(0, 1, device)
    ), config


def trained(recipe: TrainingRecipe, device: torch.device, batch: RowBatch, steps: int) -> list[float]:
    """The losses of `steps` steps over the same batch."""
    stepper, _ = training(replace(recipe, device=device.type), device, VOCABULARY)
    return [stepped(stepper, recipe, batch) for _ in range(steps)]


def stepped(stepper: TorchStepper, recipe: TrainingRecipe, batch: RowBatch) -> float:
    """One step; its mean loss."""
    weight = float(loss_weights(batch, recipe.context_loss).sum(dtype=np.float64))
    return stepper.step([batch], weight, recipe.learning_rate) / weight


def rows(tokens: int, seed: int = 0, count: int = 1) -> RowBatch:
    """Rows (count, tokens) of documents of drawn lengths, a third of their tokens in roots, the last eighth padding."""
    from megacpp_assets.contract.columns import STRUCTURE_CHANNELS
    from megacpp_assets.contract.tokens.specials import BOS_ID
    from megacpp_assets.loader.documents import row_documents

    drawn = np.random.default_rng(seed)
    ids = drawn.integers(64, VOCABULARY, (count, tokens)).astype(np.int32)
    ids[:, 0] = BOS_ID
    ids[drawn.random(ids.shape) < 8 / tokens] = BOS_ID
    valid = np.full(count, tokens - tokens // 8, np.int32)
    channels = {name: drawn.integers(0, 9, ids.shape).astype(np.int32) for name in STRUCTURE_CHANNELS}
    roles = drawn.integers(0, 3, ids.shape).astype(np.int32)
    return RowBatch(ids, *row_documents(ids, valid), valid, channels, roles)


def rate(device: torch.device, dtype: torch.dtype | str) -> float:
    """Operations a second of a large product of matrices of this type."""
    kind = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    size = 8192 if device.type == CUDA else 256
    left = torch.ones(size, size, device=device, dtype=kind)
    left @ left
    synchronize(device)
    begun = time.perf_counter()
    for _ in range(5):
        left @ left
    synchronize(device)
    return 5 * 2 * size**3 / (time.perf_counter() - begun)


def synchronize(device: torch.device) -> None:
    """Wait for what the card was given."""
    if device.type == CUDA:
        torch.cuda.synchronize(device)


def tell(step: str, figure: str, value: object, unit: str = "") -> None:
    """Print one figure."""
    print(json.dumps({"step": step, "figure": figure, "value": value, "unit": unit}), flush=True)


def require(holds: bool, what: str, expected: str, found: object) -> None:
    """End with a sentence unless it `holds`."""
    if not holds:
        raise SystemExit(f"{what}: expected {expected}, found {found}")


STEPS: dict[str, Callable[[torch.device], None]] = {
    step.__name__: step for step in (card, masks, losses, throughput, lengths, compiled, resume, group, tokenizer)
}


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in STEPS or sys.argv[2] not in (CPU, CUDA):
        sys.exit(f"usage: first_hour.py {'|'.join(STEPS)} {CPU}|{CUDA}")
    STEPS[sys.argv[1]](torch.device(sys.argv[2]))
