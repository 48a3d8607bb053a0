"""`semantic_jsonl`: toolchain, compile database, parsing, structure, chunks, graph, documents."""

from megacpp_assets.contract.extras import require

require("build")
