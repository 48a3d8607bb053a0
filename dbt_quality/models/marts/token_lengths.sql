-- Histogram of the tokens of a document; `at_most` is the upper bound of a bar, a power of two.
with bars as (
    select dataset, budget, {{ bucket('tokens') }} as at_most, count(*) as documents, cast(sum(tokens) as bigint) as tokens
    from {{ ref('stg_documents') }}
    group by all
)

select *, {{ share('documents', 'dataset, budget') }} as document_share
from bars
order by all
