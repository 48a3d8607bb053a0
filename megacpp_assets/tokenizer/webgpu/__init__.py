"""Training and encoding on a GPU through WebGPU: the merges and ids of the native CPU path, bit for bit.

Kernels are WGSL files in `shaders`; `wgpu` runs them on Vulkan, Metal or Direct3D. Only this package imports `wgpu`.
"""

from megacpp_assets.contract.extras import require

require("gpu")
