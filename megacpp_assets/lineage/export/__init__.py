"""What others can read of a checkpoint's lineage: events, attestations, a dataset card, licences, a page."""

from megacpp_assets.contract.extras import require

require("export")
