{{ config(meta={'dagster': {'ref': {'name': 'curation_by_rule'}}}) }}
-- The files that curation dropped are those that its reasons count.
with reasons as (
    select dataset, partition_key, sum(items) as items
    from {{ ref('curation_by_rule') }}
    where kind = 'dropped files'
    group by all
)

select artifact.path, artifact.stats ->> 'files_dropped' as files_dropped, reasons.items as files_with_a_reason
from {{ ref('stg_artifacts') }} as artifact
inner join {{ source('raw', 'pins') }} as pin
    on pin.dataset = artifact.dataset and pin.partition_key = artifact.partition_key and pin.in_mixtures
left join reasons on reasons.dataset = artifact.dataset and reasons.partition_key = artifact.partition_key
where
    artifact.stage = 'curated_files'
    and cast(artifact.stats ->> 'files_dropped' as bigint) <> coalesce(reasons.items, 0)
