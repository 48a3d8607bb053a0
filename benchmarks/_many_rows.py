"""A data root that can be trained on with any number of rows: each is one document of two tokens, in a row of four."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROW_TOKENS = 4


def root_of(root: Path, rows: int) -> Path:
    """`root` with the Megatron files of `rows` rows, and the tokenizer of the tests."""
    from megacpp_assets.contract import megatron_files as files
    from megacpp_assets.contract.columns import SIDE_CHANNELS
    from megacpp_assets.contract.megatron_files import SidecarRecord
    from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
    from megacpp_assets.contract.schemas import MEGATRON_DOCUMENTS
    from megacpp_assets.contract.tokens.specials import BOS_ID
    from megacpp_assets.storage.publish import Publication, Target, publish
    from megacpp_assets.storage.root import layout
    from tests.loader.rows_artifact import DATASET, MIXTURE, PREFIX, index_bytes
    from tests.training.world import publish_tokenizer

    tokenizer = publish_tokenizer(root)

    def produce(publication: Publication, _inputs: object) -> dict[str, int]:
        publication.write(PREFIX + files.BIN, np.tile(np.array([BOS_ID, 50], "<i4"), rows).tobytes())
        publication.write(PREFIX + files.IDX, index_bytes(np.full(rows, 2, "<i4")))
        for channel in SIDE_CHANNELS:
            publication.write(PREFIX + files.channel_suffix(channel), bytes(2 * rows))
        publication.write(PREFIX + files.ROWS, np.arange(rows + 1, dtype="<i8").tobytes())
        publication.write(PREFIX + files.PLATFORMS, bytes(MAX_PLATFORM_IDS * rows))
        for part in files.CHUNK_PARTS:
            publication.write(PREFIX + files.chunk_suffix(part), b"")
        columns = [np.arange(rows), pa.array(["d"] * rows), pa.array(["many@1"] * rows), np.full(rows, 2, "i4")]
        table = pa.table(dict(zip(MEGATRON_DOCUMENTS.names, columns, strict=True))).cast(MEGATRON_DOCUMENTS)
        with publication.file(PREFIX + files.DOCUMENTS) as pending:
            pq.write_table(table, pending.path)
        record = SidecarRecord(
            row_tokens=ROW_TOKENS,
            rows=rows,
            documents=rows,
            tokens=2 * rows,
            token_dtype="int32",
            rows_path=PREFIX + files.ROWS,
            documents_path=PREFIX + files.DOCUMENTS,
            platforms_path=PREFIX + files.PLATFORMS,
            side_channel_paths={channel: PREFIX + files.channel_suffix(channel) for channel in SIDE_CHANNELS},
            side_channel_dtypes=dict.fromkeys(SIDE_CHANNELS, "uint8"),
            side_channel_runs={},
            chunk_paths={part: PREFIX + files.chunk_suffix(part) for part in files.CHUNK_PARTS},
            chunk_counts={"chunks": 0, **dict.fromkeys(files.CHUNK_EDGES, 0)},
        )
        publication.write(PREFIX + files.SIDECAR_RECORD, record.to_bytes())
        return {"tokens": 2 * rows, "rows": rows, "valid_rows": 0}

    path = layout.megatron_path(DATASET, MIXTURE)
    publish(Target(root, path, "megatron_bin_idx", MIXTURE.key, "1", {"rows": rows}, (tokenizer.path,)), produce)
    return root
