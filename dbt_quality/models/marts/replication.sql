-- How often the bytes of a repository's files stand in its documents: all that stand there over those that differ.
with pieces as (
    select
        dataset,
        partition_key,
        budget,
        unnest(constituent_provenance, recursive := true)
    from {{ ref('stg_documents') }}
),

of_files as (
    select *
    from pieces
    where filepath <> '' and byte_end > byte_start
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
    dataset,
    partition_key,
    budget,
    cast(sum(byte_end - byte_start) as bigint) as placed_bytes,
    cast(sum(greatest(byte_end - greatest(byte_start, coalesce(reached_before, 0)), 0)) as bigint) as distinct_bytes,
    sum(byte_end - byte_start)
    / sum(greatest(byte_end - greatest(byte_start, coalesce(reached_before, 0)), 0)) as replication
from reached
group by all
order by all
