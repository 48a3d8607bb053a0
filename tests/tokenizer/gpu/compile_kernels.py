"""Compile every kernel for an H200 (sm_90), which needs no GPU; one name a line. Run outside of the interpreter."""

from __future__ import annotations

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from megacpp_assets.tokenizer.gpu.kernels import encode, hashing, merge

POINTERS = {
    "*i8": "marks",
    "*i16": "cells",
    "*i32": "dirty head tail word_of byte_ids symbols rank_at following preceding ranks products edges",
    "*i64": "starts lengths hashes keys new slots counts best_counts best_keys best_slots state strings symbol_lengths "
    "places merges found weights",
}
TYPES = {name: kind for kind, names in POINTERS.items() for name in names.split()} | {"seed": "i64"}
CONSTANTS = {"LANES": 256, "BLOCK": 1024}
KERNELS = (
    hashing.hash_words,
    hashing.insert_keys,
    merge.best_of_blocks,
    merge.choose,
    merge.mark_places,
    merge.move_counts,
    merge.write_symbols,
    encode.merge_words,
)

for kernel in KERNELS:
    names = kernel.arg_names
    signature = {name: "constexpr" if name in CONSTANTS else TYPES.get(name, "i32") for name in names}
    constants = {(names.index(name),): value for name, value in CONSTANTS.items() if name in names}
    compiled = triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", 90, 32))
    sys.stdout.write(f"{kernel.__name__} {len(compiled.asm['cubin'])}\n")
