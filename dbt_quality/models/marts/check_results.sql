-- The outcome of each native check over the partitions of its stage.
select
    dataset,
    stage,
    check_name,
    blocking,
    count(*) as partitions,
    count(*) filter (where passed) as passed,
    count(*) filter (where not passed) as failed
from {{ ref('stg_checks') }}
group by all
order by all
