-- One row for each native check of each artifact, as its receipt has it.
select
    artifact.path,
    artifact.dataset,
    artifact.stage,
    artifact.partition_key,
    checked.check_name,
    checked.passed,
    checked.blocking,
    checked.expected,
    checked.found
from {{ source('raw', 'checks') }} as checked
inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = checked.path
