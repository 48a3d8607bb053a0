{{ config(meta={'dagster': {'ref': {'name': 'stg_artifacts'}}}) }}
-- Every artifact was made from its inputs as they are now; another is stale, and so is what follows it.
select inputs.path, inputs.input_path, inputs.input_sha256, artifact.manifest_sha256 as found
from {{ source('raw', 'inputs') }} as inputs
left join {{ ref('stg_artifacts') }} as artifact on artifact.path = inputs.input_path
where inputs.input_sha256 is distinct from artifact.manifest_sha256
