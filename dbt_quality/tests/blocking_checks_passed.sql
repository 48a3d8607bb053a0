-- Every blocking check of every artifact passed.
select path, check_name, expected, found
from {{ ref('stg_checks') }}
where blocking and not passed
