-- A placement whose document no tokenized document of its dataset is, in id and length.
select placement.dataset, placement.specialist, placement.phase, placement.pack_id, placement.doc_id, placement.tokens
from {{ ref('stg_placements') }} as placement
anti join {{ ref('stg_documents') }} as document
    on document.dataset = placement.dataset and document.doc_id = placement.doc_id
    and document.tokens = placement.tokens
