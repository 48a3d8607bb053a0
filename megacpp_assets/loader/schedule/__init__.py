"""Sequences of any length over data-parallel ranks: which rank gets which in which microbatch, and their way there."""

from megacpp_assets.contract.extras import require

require("train")
