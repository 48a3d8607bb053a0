{{ config(severity='warn') }}
-- The last loss of a checkpoint is below its first.
select path, first_loss, last_loss
from {{ ref('checkpoints') }}
where not last_loss < first_loss
