{{ config(severity='warn') }}
-- A checkpoint whose last loss is not below its first.
select path, first_loss, last_loss
from {{ ref('checkpoints') }}
where not last_loss < first_loss
