{{ config(meta={'dagster': {'ref': {'name': 'stg_documents'}}}) }}
-- The enriched documents are the tokenized ones, with the same number of tokens.
with enriched as (
    select dataset, partition_key, document_set, doc_id, cast(sum(tokens) as bigint) as tokens
    from {{ ref('stg_token_categories') }}
    group by all
)

select
    coalesce(documents.dataset, enriched.dataset) as dataset,
    coalesce(documents.partition_key, enriched.partition_key) as partition_key,
    coalesce(documents.doc_id, enriched.doc_id) as doc_id,
    documents.tokens as tokenized_tokens,
    enriched.tokens as enriched_tokens
from {{ ref('stg_documents') }} as documents
full outer join enriched
    on enriched.dataset = documents.dataset and enriched.partition_key = documents.partition_key
    and enriched.document_set = documents.document_set and enriched.doc_id = documents.doc_id
where documents.tokens is distinct from enriched.tokens
    -- A partition that was not enriched yet has nothing to agree with.
    and coalesce(documents.dataset || documents.partition_key, enriched.dataset || enriched.partition_key) in (
        select dataset || partition_key from {{ ref('stg_artifacts') }} where stage = 'v6_enriched'
    )
