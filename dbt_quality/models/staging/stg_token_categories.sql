-- Tokens by category of each enriched document.
with tokens as (
    select
        artifact_path,
        try_cast(split_part(artifact_file, '/', 1) as integer) as budget,
        doc_id,
        unnest(token_structure_ids) as category_id
    from {{ source('raw', 'enriched_documents') }}
)

select
    artifact.dataset,
    artifact.partition_key,
    token.budget,
    token.doc_id,
    token.category_id,
    count(*) as tokens
from tokens as token
inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = token.artifact_path
group by all
