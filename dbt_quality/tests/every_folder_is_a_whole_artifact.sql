-- What is damaged or half made is named, with what to do.
select path, reason
from {{ source('raw', 'unreadable') }}
