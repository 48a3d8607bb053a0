"""Prepares CUDA and HIP sources for a compiler without their toolkits: clang's CUDA mode, and declarations of the
language.

In: the units of a tree. Out: units in which a launch `f<<<grid, block>>>(x)` is a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from megacpp_assets.contract.sources.languages import is_cuda
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.tree.folder import WORK_FOLDER

HEADER = f"{WORK_FOLDER}/cuda/megacpp_cuda.h"
_LANGUAGE = "cuda"
_HEADER_TEXT = """\
#pragma once
#include <exception>
#include <new>
// From here on every function may be called by kernels: the C library has no declarations for the device.
#pragma clang force_cuda_host_device begin
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __restrict__ __restrict
struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
extern const __device__ uint3 threadIdx, blockIdx;
extern const __device__ dim3 blockDim, gridDim;
extern const __device__ int warpSize;
typedef struct CUstream_st *cudaStream_t;
extern "C" int cudaConfigureCall(dim3, dim3, __SIZE_TYPE__ = 0, cudaStream_t = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, __SIZE_TYPE__ = 0, cudaStream_t = 0);
extern "C" int hipConfigureCall(dim3, dim3, __SIZE_TYPE__ = 0, cudaStream_t = 0);
"""
"""What nvcc knows without a header. Source: the CUDA C++ Programming Guide, "C++ Language Extensions"."""
_MODE = ("--cuda-host-only", "-nocudainc", "-nocudalib")


def as_cuda(units: Sequence[Unit], tree: Path) -> list[Unit]:
    """Return `units`; those of CUDA get the arguments of clang's CUDA mode. It writes `HEADER` below `tree` if there
    are any.
    """
    if not any(is_cuda(unit.path) for unit in units) or (tree / WORK_FOLDER).is_symlink():
        return list(units)
    header = tree / HEADER
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(_HEADER_TEXT, encoding="utf-8")
    return [replace(unit, arguments=_arguments(unit)) if is_cuda(unit.path) else unit for unit in units]


def _arguments(unit: Unit) -> tuple[str, ...]:
    option, _, standard, *rest = unit.arguments
    return (option, _LANGUAGE, standard, *_MODE, "-include", HEADER, *rest)


def toolchain_arguments(arguments: Sequence[str], resource_dir: str) -> list[str]:
    """Return extra toolchain arguments for a unit with `arguments`.

    clang's wrappers of the C++ library are left out, because they include NVIDIA's toolkit.
    """
    return ["-nobuiltininc", "-isystem", f"{resource_dir}/include"] if _LANGUAGE in arguments[:2] else []
