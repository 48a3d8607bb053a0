{{ config(meta={'dagster': {'ref': {'name': 'checkpoints'}}}) }}
-- Every checkpoint has the tokenizer that its dataset pins.
select checkpoint.path, checkpoint.tokenizer_commit, pin.tokenizer_commit as pinned
from {{ ref('checkpoints') }} as checkpoint
inner join (select distinct dataset, tokenizer_commit from {{ source('raw', 'pins') }}) as pin
    on pin.dataset = checkpoint.dataset
where checkpoint.tokenizer_commit is distinct from pin.tokenizer_commit
