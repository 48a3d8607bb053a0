-- A blocking check that did not pass, with what it found.
select path, check_name, expected, found
from {{ ref('stg_checks') }}
where blocking and not passed
