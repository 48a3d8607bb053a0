-- How much text and how many tokens each reference of each repository gives, by budget and split.
select
    document.dataset,
    document.partition_key,
    document.repo,
    document.ref,
    coalesce(pin.in_mixtures, false) as in_mixtures,
    document.budget,
    document.split,
    count(*) as documents,
    cast(sum(document.tokens) as bigint) as tokens,
    cast(sum(document.text_bytes) as bigint) as text_bytes,
    sum(document.text_bytes) / sum(document.tokens) as bytes_per_token
from {{ ref('stg_documents') }} as document
left join {{ source('raw', 'pins') }} as pin
    on pin.dataset = document.dataset and pin.partition_key = document.partition_key
group by all
order by all
