-- Histogram of the chunks of a document; `at_most` is the upper bound of a bar, a power of two.
with bars as (
    select dataset, budget, {{ bucket('chunks') }} as at_most, count(*) as documents, cast(sum(chunks) as bigint) as chunks
    from {{ ref('stg_documents') }}
    group by all
)

select *, {{ share('documents', 'dataset, budget') }} as document_share
from bars
order by all
