-- Tokens by category of each enriched document.
with tokens as (
    select
        artifact_path,
        {{ document_set('artifact_file') }} as document_set,
        {{ budget('artifact_file') }} as budget,
        doc_id,
        unnest(token_structure_ids) as category_id
    from {{ source('raw', 'enriched_documents') }}
)

select
    artifact.dataset,
    artifact.partition_key,
    token.document_set,
    token.budget,
    token.doc_id,
    token.category_id,
    count(*) as tokens
from tokens as token
inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = token.artifact_path
group by all
