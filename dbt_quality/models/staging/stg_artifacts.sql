-- One row for each whole artifact of the data root.
select
    path,
    stage,
    dataset,
    partition_key,
    if(contains(partition_key, '@'), split_part(partition_key, '@', 1), null) as repo,
    if(contains(partition_key, '@'), split_part(partition_key, '@', 2), null) as ref,
    if(contains(partition_key, '/'), split_part(partition_key, '/', 1), null) as specialist,
    if(contains(partition_key, '/'), split_part(partition_key, '/', 2), null) as phase,
    manifest_sha256,
    cast(config as json) as config,
    cast(stats as json) as stats,
    sealed_at
from {{ source('raw', 'artifacts') }}
