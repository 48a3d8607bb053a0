-- How full the rows of each mixture are, by phase and split.
select
    dataset,
    phase,
    specialist,
    split,
    row_tokens,
    count(*) as row_count,
    cast(sum(documents) as bigint) as documents,
    cast(sum(tokens) as bigint) as tokens,
    cast(sum(trained_tokens) as bigint) as trained_tokens,
    cast(sum(slack_tokens) as bigint) as slack_tokens,
    sum(tokens) / sum(row_tokens) as fill_share,
    min(tokens / row_tokens) as least_fill_share,
    sum(documents) / count(*) as documents_per_row
from {{ ref('stg_packed_rows') }}
group by all
order by all
