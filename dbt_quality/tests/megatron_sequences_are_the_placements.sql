{{ config(meta={'dagster': {'ref': {'name': 'stg_placements'}}}) }}
-- Each mixture's Megatron files hold the documents of its rows, each as often.
with sequences as (
    select artifact.dataset, artifact.specialist, artifact.phase, sequence.doc_id, count(*) as times
    from {{ source('raw', 'megatron_documents') }} as sequence
    inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = sequence.artifact_path
    group by all
),

placements as (
    select dataset, specialist, phase, doc_id, count(*) as times
    from {{ ref('stg_placements') }}
    group by all
)

select sequences.*, placements.times as placed
from sequences
full outer join placements
    on placements.dataset = sequences.dataset and placements.specialist = sequences.specialist
    and placements.phase = sequences.phase and placements.doc_id = sequences.doc_id
where sequences.times is distinct from placements.times
    and (coalesce(sequences.dataset, placements.dataset), coalesce(sequences.specialist, placements.specialist),
        coalesce(sequences.phase, placements.phase)) in (
        select (dataset, specialist, phase) from {{ ref('stg_artifacts') }} where stage = 'megatron_bin_idx'
    )
