-- The share of each structure category in the tokens of each reference of each repository.
with sums as (
    select
        tokens.dataset,
        tokens.partition_key,
        tokens.budget,
        category.category,
        cast(sum(tokens.tokens) as bigint) as tokens
    from {{ ref('stg_token_categories') }} as tokens
    left join {{ source('raw', 'categories') }} as category on category.category_id = tokens.category_id
    group by all
)

select *, {{ share('tokens', 'dataset, partition_key, budget') }} as token_share
from sums
order by all
