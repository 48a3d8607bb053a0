-- What each mixture takes of each repository, and how often.
with sums as (
    select
        dataset,
        specialist,
        phase,
        split,
        repo,
        count(*) as placements,
        count(distinct doc_id) as documents,
        cast(sum(tokens) as bigint) as tokens
    from {{ ref('stg_placements') }}
    group by all
)

select
    *,
    placements / documents as times_taken,
    {{ share('tokens', 'dataset, specialist, phase, split') }} as token_share
from sums
order by all
