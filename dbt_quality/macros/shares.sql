{# `value` as a share of its sum over the rows that agree in `group_by`; 0 where that sum is 0. #}
{% macro share(value, group_by) -%}
    coalesce({{ value }} / nullif(sum({{ value }}) over (partition by {{ group_by }}), 0), 0)
{%- endmacro %}

{# The bar of a histogram that a count falls in: the least power of two that is not below it. #}
{% macro bucket(count) -%}
    cast(pow(2, ceil(log2(greatest({{ count }}, 1)))) as bigint)
{%- endmacro %}
