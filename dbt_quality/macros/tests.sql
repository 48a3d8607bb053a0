{# Generic tests beside dbt's own four. Each returns the rows that break it. #}

{% test unique_together(model, columns) %}
    select {{ columns | join(", ") }}, count(*) as row_count
    from {{ model }}
    group by all
    having count(*) > 1
{% endtest %}

{% test between(model, column_name, least, most=none) %}
    select *
    from {{ model }}
    where not ({{ column_name }} >= {{ least }}{% if most is not none %} and {{ column_name }} <= {{ most }}{% endif %})
{% endtest %}

{# The shares of each group sum to 1. #}
{% test shares_sum_to_one(model, column_name, group_by) %}
    select {{ group_by | join(", ") }}, sum({{ column_name }}) as total
    from {{ model }}
    group by all
    having abs(sum({{ column_name }}) - 1) > 1e-9
{% endtest %}
