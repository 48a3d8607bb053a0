-- How often the bytes of a repository's files stand in its documents: all that stand there over those that differ; and
-- what the documents are worth, as the index counted it. Documents of commits are left out, as they repeat files by design.
with pieces as (
    select
        dataset,
        partition_key,
        budget,
        unnest(constituent_provenance, recursive := true)
    from {{ ref('stg_documents') }}
    where document_set = cast(budget as varchar)
),

of_files as (
    select *
    from pieces
    where filepath <> '' and byte_end > byte_start
),

worth as (
    select
        dataset,
        partition_key,
        unnest(json_keys(stats -> 'budgets')) as budget,
        cast(stats -> 'budgets' -> budget ->> 'root_share' as double) as root_share,
        cast(stats -> 'budgets' -> budget ->> 'context_recall' as double) as context_recall,
        cast(stats -> 'budgets' -> budget ->> 'budget_use' as double) as budget_use
    from {{ ref('stg_artifacts') }}
    where stage = 'semantic_jsonl'
),

-- A piece adds those of its bytes that no piece before it, by start, reached.
reached as (
    select
        *,
        max(byte_end) over (
            partition by dataset, partition_key, budget, filepath
            order by byte_start, byte_end
            rows between unbounded preceding and 1 preceding
        ) as reached_before
    from of_files
)

select
    reached.dataset,
    reached.partition_key,
    reached.budget,
    cast(sum(byte_end - byte_start) as bigint) as placed_bytes,
    cast(sum(greatest(byte_end - greatest(byte_start, coalesce(reached_before, 0)), 0)) as bigint) as distinct_bytes,
    sum(byte_end - byte_start)
    / sum(greatest(byte_end - greatest(byte_start, coalesce(reached_before, 0)), 0)) as replication,
    any_value(worth.root_share) as root_share,
    any_value(worth.context_recall) as context_recall,
    any_value(worth.budget_use) as budget_use
from reached
left join worth
    on
        worth.dataset = reached.dataset
        and worth.partition_key = reached.partition_key
        and worth.budget = cast(reached.budget as varchar)
group by all
order by all
