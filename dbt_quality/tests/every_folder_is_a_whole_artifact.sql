{{ config(meta={'dagster': {'ref': {'name': 'stg_artifacts'}}}) }}
-- Every folder of an artifact is whole; what is damaged is named, with what to do.
select path, reason
from {{ source('raw', 'unreadable') }}
-- depends_on: {{ ref('stg_artifacts') }}
