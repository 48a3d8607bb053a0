"""Training and encoding on a GPU: the merges and ids of the native CPU path, bit for bit (docs/contracts.md).

torch and Triton are imported here alone. Texts come in as bytes, are laid out in slices that fit the device, and words,
merges and tokens go out; no step depends on the order in which threads run.
"""

from megacpp_assets.contract.extras import require

require("train")
