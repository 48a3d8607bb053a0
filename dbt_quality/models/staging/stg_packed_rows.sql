-- One row for each packed row, without its per-token columns.
select
    artifact.dataset,
    artifact.specialist,
    artifact.phase,
    if(starts_with(packed.artifact_file, 'train'), 'train', 'valid') as split,
    packed.pack_id,
    cast(artifact.config ->> 'row_tokens' as integer) as row_tokens,
    packed.valid_token_count as tokens,
    packed.trained_token_count as trained_tokens,
    packed.slack_tokens,
    packed.num_docs as documents,
    len(packed.token_chunk_starts) as chunks,
    packed.source_doc_ids,
    packed.source_repos,
    packed.source_doc_token_lengths
from {{ source('raw', 'packed_rows') }} as packed
inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = packed.artifact_path
