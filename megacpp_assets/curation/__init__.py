"""Which files of a pinned commit may become documents: their licences and quality, and why a file is left out."""

from megacpp_assets.contract.extras import require

require("build")
