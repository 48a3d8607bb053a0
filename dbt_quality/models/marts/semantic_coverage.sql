-- How much of the C and C++ of each reference the semantic index reached.
with sources as (
    select partition_key, count(*) as source_files, cast(sum(bytes) as bigint) as source_bytes
    from {{ ref('stg_source_files') }}
    where skipped_because is null
    group by all
),

indexed as (
    select
        dataset,
        partition_key,
        count(*) as indexed_files,
        count(*) filter (where documents > 0) as files_in_documents,
        cast(sum(bytes) filter (where documents > 0) as bigint) as bytes_in_documents,
        cast(sum(calls) as bigint) as calls,
        cast(sum(resolved_calls) as bigint) as resolved_calls,
        cast(sum(unlabelled_characters) as bigint) as unlabelled_characters
    from {{ ref('stg_indexed_files') }}
    group by all
)

select
    artifact.dataset,
    artifact.partition_key,
    sources.source_files,
    coalesce(indexed.indexed_files, 0) as indexed_files,
    coalesce(indexed.files_in_documents, 0) as files_in_documents,
    coalesce(indexed.files_in_documents, 0) / nullif(sources.source_files, 0) as file_share,
    coalesce(indexed.bytes_in_documents, 0) / nullif(sources.source_bytes, 0) as byte_share,
    coalesce(indexed.calls, 0) as calls,
    coalesce(indexed.resolved_calls, 0) / nullif(indexed.calls, 0) as resolved_call_share,
    cast(artifact.stats ->> 'units' as bigint) as units,
    cast(artifact.stats ->> 'units_failed' as bigint) as failed_units,
    cast(artifact.stats ->> 'symbols' as bigint) as symbols,
    coalesce(indexed.unlabelled_characters, 0) as unlabelled_characters,
    cast(artifact.stats ->> 'documents_parsed' as bigint) as parsed_documents,
    cast(artifact.stats ->> 'documents_alone' as bigint)
    / nullif(cast(artifact.stats ->> 'documents_parsed' as bigint), 0) as alone_share,
    cast(artifact.stats ->> 'documents_compiled' as bigint)
    / nullif(cast(artifact.stats ->> 'documents_parsed' as bigint), 0) as compiled_share
from {{ ref('stg_artifacts') }} as artifact
left join sources on sources.partition_key = artifact.partition_key
left join indexed on indexed.dataset = artifact.dataset and indexed.partition_key = artifact.partition_key
where artifact.stage = 'semantic_jsonl'
order by all
