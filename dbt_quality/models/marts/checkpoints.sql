-- What each saved checkpoint saw, and whether its checks passed.
with losses as (
    select path, arg_min(loss, step) as first_loss, arg_max(loss, step) as last_loss, cast(sum(tokens) as bigint) as tokens_seen
    from {{ ref('stg_training_steps') }}
    group by all
),

checked as (
    select path, count(*) as checks, count(*) filter (where not passed and blocking) as failed_checks
    from {{ ref('stg_checks') }}
    group by all
)

select
    artifact.path,
    artifact.dataset,
    artifact.specialist,
    artifact.phase,
    cast(artifact.config ->> 'step' as bigint) as saved_at_step,
    artifact.config ->> 'tokenizer_commit' as tokenizer_commit,
    artifact.manifest_sha256,
    cast(artifact.stats ->> 'parameters' as bigint) as parameters,
    losses.tokens_seen,
    losses.first_loss,
    losses.last_loss,
    cast(artifact.stats ->> 'validation_bits_per_byte' as double) as validation_bits_per_byte,
    coalesce(checked.checks, 0) as checks,
    coalesce(checked.failed_checks, 0) as failed_checks,
    artifact.sealed_at
from {{ ref('stg_artifacts') }} as artifact
left join losses on losses.path = artifact.path
left join checked on checked.path = artifact.path
where artifact.stage = 'trained_checkpoint'
order by all
