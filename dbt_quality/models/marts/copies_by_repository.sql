-- Documents and definitions that several repositories have, for mixtures that search them: how many of each repository
-- have an equal or near-duplicate one in an earlier repository.
with mixtures as (
    select
        dataset,
        partition_key as mixture,
        stats,
        json_extract_string(config, '$.duplicates') as action,
        coalesce(json_extract_string(config, '$.definitions'), 'ignore') as definitions_action,
        unnest(json_keys(stats, '$.copies_per_repo')) as repository
    from {{ ref('stg_artifacts') }}
    where
        stage = 'packed_rows'
        and (
            json_extract_string(config, '$.duplicates') <> 'ignore'
            or json_extract_string(config, '$.definitions') <> 'ignore'
        )
)

select
    dataset,
    mixture,
    repository,
    action,
    cast(json_extract(stats, concat('$.copies_per_repo."', repository, '"')) as bigint) as copies,
    cast(json_extract(stats, concat('$.source_documents_per_repo."', repository, '"')) as bigint) as documents,
    definitions_action,
    cast(json_extract(stats, concat('$.definition_copies_per_repo."', repository, '"')) as bigint)
        as definition_copies,
    cast(json_extract(stats, concat('$.definitions_per_repo."', repository, '"')) as bigint) as definitions
from mixtures
order by all
