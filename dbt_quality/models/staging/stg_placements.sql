-- One row for each time that a mixture takes a document.
select
    dataset,
    specialist,
    phase,
    split,
    pack_id,
    unnest(source_doc_ids) as doc_id,
    unnest(source_repos) as repo,
    unnest(source_doc_token_lengths) as tokens
from {{ ref('stg_packed_rows') }}
