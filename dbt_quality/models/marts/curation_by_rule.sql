-- What the rules of curation found, dropped and replaced, over the references that mixtures read.
with curated as (
    select artifact.*
    from {{ ref('stg_artifacts') }} as artifact
    inner join {{ source('raw', 'pins') }} as pin
        on pin.dataset = artifact.dataset and pin.partition_key = artifact.partition_key
    where artifact.stage = 'curated_files' and pin.in_mixtures
),

counted as (
    {% for kind, key in [
        ('files that a quality rule reports', 'files_by_rule'),
        ('files that a scorer judged', 'files_by_score'),
        ('dropped files', 'dropped_by_reason'),
        ('secrets and personal data', 'finds_by_rule'),
        ('benchmark items in files', 'files_by_benchmark'),
        ('sources of licences', 'license_sources'),
    ] %}
    select
        dataset,
        partition_key,
        '{{ kind }}' as kind,
        unnest(json_keys(stats, '$.{{ key }}')) as rule,
        json_extract(stats, '$.{{ key }}') as counts
    from curated
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select dataset, partition_key, kind, rule, cast(json_extract(counts, concat('$."', rule, '"')) as bigint) as items
from counted
order by all
