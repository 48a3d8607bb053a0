-- What the rules of curation found, dropped and replaced, over the references that mixtures read, and the files that
-- the rules of the parser report.
with stages as (
    select artifact.*
    from {{ ref('stg_artifacts') }} as artifact
    inner join {{ source('raw', 'pins') }} as pin
        on pin.dataset = artifact.dataset and pin.partition_key = artifact.partition_key
    where artifact.stage in ('curated_files', 'semantic_jsonl') and pin.in_mixtures
),

counted as (
    {% for stage, kind, key in [
        ('curated_files', 'files that a quality rule reports', 'files_by_rule'),
        ('semantic_jsonl', 'files that a parser rule reports', 'files_by_parser_rule'),
        ('curated_files', 'files that a scorer judged', 'files_by_score'),
        ('curated_files', 'dropped files', 'dropped_by_reason'),
        ('curated_files', 'secrets and personal data', 'finds_by_rule'),
        ('curated_files', 'benchmark items in files', 'files_by_benchmark'),
        ('curated_files', 'sources of licences', 'license_sources'),
    ] %}
    select
        dataset,
        partition_key,
        '{{ kind }}' as kind,
        unnest(json_keys(stats, '$.{{ key }}')) as rule,
        json_extract(stats, '$.{{ key }}') as counts
    from stages
    where stage = '{{ stage }}'
    union all
    {% endfor %}
    select
        dataset,
        partition_key,
        'copies across repositories' as kind,
        unnest(['shared_copies_found', 'shared_copies_outdated']) as rule,
        stats as counts
    from stages
    where stage = 'curated_files'
)

select dataset, partition_key, kind, rule, cast(json_extract(counts, concat('$."', rule, '"')) as bigint) as items
from counted
order by all
