"""Exports of a checkpoint's lineage in public formats: events, attestations, a dataset card, licences, a page."""

from megacpp_assets.contract.extras import require

require("export")
