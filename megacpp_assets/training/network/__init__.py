"""The model: a GPT with structure embeddings, its attention, and the loss."""

from megacpp_assets.contract.extras import require

require("train")
