-- What changed from each reference of a repository to the next, in the order of the numbers in their names.
with sizes as (
    select
        dataset,
        repo,
        ref,
        partition_key,
        budget,
        cast(sum(documents) as bigint) as documents,
        cast(sum(tokens) as bigint) as tokens,
        sum(text_bytes) / sum(tokens) as bytes_per_token
    from {{ ref('corpus_by_repository') }}
    group by all
),

ordered as (
    select
        *,
        lag(partition_key) over earlier as earlier_partition_key,
        lag(documents) over earlier as earlier_documents,
        lag(tokens) over earlier as earlier_tokens,
        lag(bytes_per_token) over earlier as earlier_bytes_per_token
    from sizes
    window earlier as (
        partition by dataset, repo, budget
        order by list_transform(regexp_extract_all(ref, '\d{1,18}'), lambda number: cast(number as bigint)), ref
    )
),

moved as (
    select
        step.dataset,
        step.partition_key,
        step.budget,
        sum(abs(coalesce(now.token_share, 0) - coalesce(before.token_share, 0))) / 2 as category_shift
    from ordered as step
    cross join {{ source('raw', 'categories') }} as category
    left join {{ ref('corpus_by_category') }} as now
        on now.dataset = step.dataset and now.partition_key = step.partition_key
        and now.budget = step.budget and now.category = category.category
    left join {{ ref('corpus_by_category') }} as before
        on before.dataset = step.dataset and before.partition_key = step.earlier_partition_key
        and before.budget = step.budget and before.category = category.category
    where step.earlier_partition_key is not null
    group by all
)

select
    step.dataset,
    step.repo,
    step.earlier_partition_key,
    step.partition_key,
    step.budget,
    step.documents - step.earlier_documents as documents_change,
    step.tokens - step.earlier_tokens as tokens_change,
    step.tokens / step.earlier_tokens as tokens_ratio,
    step.bytes_per_token - step.earlier_bytes_per_token as bytes_per_token_change,
    moved.category_shift
from ordered as step
inner join moved
    on moved.dataset = step.dataset and moved.partition_key = step.partition_key and moved.budget = step.budget
order by all
