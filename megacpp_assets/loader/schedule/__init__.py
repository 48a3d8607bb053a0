"""The packing scheduler: distributes sequences of any length over pipeline, tensor, data and context parallel ranks."""

from megacpp_assets.contract.extras import require

require("train")
