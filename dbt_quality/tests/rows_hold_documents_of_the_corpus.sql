{{ config(meta={'dagster': {'ref': {'name': 'stg_placements'}}}) }}
-- Every document that a row holds is a tokenized one of its dataset, in id and length; fill-in-the-middle adds four marks.
select placement.dataset, placement.specialist, placement.phase, placement.pack_id, placement.doc_id, placement.tokens
from {{ ref('stg_placements') }} as placement
anti join {{ ref('stg_documents') }} as document
    on document.dataset = placement.dataset and document.doc_id = placement.doc_id
    and placement.tokens in (document.tokens, document.tokens + 4)
