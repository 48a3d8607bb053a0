-- The tokens that stand under each licence, over the references that mixtures read.
with documents as (
    select document.*
    from {{ ref('stg_documents') }} as document
    inner join {{ source('raw', 'pins') }} as pin
        on pin.dataset = document.dataset and pin.partition_key = document.partition_key
    where pin.in_mixtures
),

sums as (
    select
        dataset,
        budget,
        license,
        count(distinct partition_key) as repositories,
        count(*) as documents,
        cast(sum(tokens) as bigint) as tokens
    from documents
    group by all
)

select *, {{ share('tokens', 'dataset, budget') }} as token_share
from sums
order by all
