-- Documents of each dataset version of history, and what each rule left out, over the references that mixtures read.
with made as (
    select
        artifact.dataset,
        artifact.partition_key,
        unnest(json_keys(artifact.stats, '$.budgets')) as document_set,
        json_extract(artifact.stats, '$.budgets') as sets
    from {{ ref('stg_artifacts') }} as artifact
    inner join {{ source('raw', 'pins') }} as pin
        on pin.dataset = artifact.dataset and pin.partition_key = artifact.partition_key
    where artifact.stage in ('commit_documents', 'commit_windows', 'resolved_windows') and pin.in_mixtures
),

sets as (
    select
        dataset,
        partition_key,
        document_set,
        json_extract(sets, concat('$."', document_set, '"')) as counts
    from made
),

counted as (
    select dataset, partition_key, document_set, 'documents' as rule, json_extract(counts, '$.documents') as items
    from sets
    union all
    select
        dataset,
        partition_key,
        document_set,
        rule,
        json_extract(counts, concat('$.left_out."', rule, '"')) as items
    from (select *, unnest(json_keys(counts, '$.left_out')) as rule from sets)
)

select dataset, partition_key, document_set, rule, cast(items as bigint) as items
from counted
order by all
