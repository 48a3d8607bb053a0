-- One row for each file that the semantic index read.
select
    artifact.dataset,
    artifact.partition_key,
    artifact.repo,
    artifact.ref,
    file.filepath,
    file.status,
    file.bytes,
    file.documents,
    file.calls,
    file.resolved_calls,
    file.unlabelled_characters
from {{ source('raw', 'indexed_files') }} as file
inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = file.artifact_path
