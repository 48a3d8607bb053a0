-- What a phase holds over all of its mixtures.
select
    dataset,
    phase,
    row_tokens,
    count(distinct specialist) as specialists,
    cast(sum(row_count) as bigint) as row_count,
    cast(sum(documents) as bigint) as documents,
    cast(sum(tokens) as bigint) as tokens,
    sum(tokens) / sum(row_count * row_tokens) as fill_share
from {{ ref('packing_utilisation') }}
group by all
order by all
