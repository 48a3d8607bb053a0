-- One row for each file of a pinned commit.
select
    artifact.partition_key,
    artifact.repo,
    artifact.ref,
    file.path as filepath,
    file.bytes,
    file.blob,
    file.language,
    file.license,
    nullif(file.skipped, '') as skipped_because
from {{ source('raw', 'source_files') }} as file
inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = file.artifact_path
