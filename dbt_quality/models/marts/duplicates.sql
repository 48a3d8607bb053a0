-- Documents of equal text among those that mixtures read: what is copied, and what stands on both sides of the split.
with documents as (
    select document.*
    from {{ ref('stg_documents') }} as document
    inner join {{ source('raw', 'pins') }} as pin
        on pin.dataset = document.dataset and pin.partition_key = document.partition_key
    where pin.in_mixtures
),

texts as (
    select
        dataset,
        budget,
        text_md5,
        count(*) as copies,
        count(distinct repo) as repositories,
        count(distinct split) as splits,
        max(tokens) as tokens
    from documents
    group by all
)

select
    dataset,
    budget,
    cast(sum(copies) as bigint) as documents,
    count(*) as distinct_texts,
    cast(sum(copies - 1) as bigint) as copies,
    cast(sum((copies - 1) * tokens) as bigint) as copied_tokens,
    count(*) filter (where repositories > 1) as texts_of_several_repositories,
    count(*) filter (where splits > 1) as texts_on_both_sides
from texts
group by all
order by all
