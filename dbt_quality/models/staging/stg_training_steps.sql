-- One row for each optimizer step that a saved checkpoint has behind it.
select
    step.artifact_path as path,
    artifact.dataset,
    artifact.specialist,
    artifact.phase,
    cast(artifact.config ->> 'step' as integer) as saved_at_step,
    step.step,
    step.loss,
    step.tokens
from {{ source('raw', 'training_steps') }} as step
inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = step.artifact_path
