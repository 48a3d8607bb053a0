{# The folder of a file of documents: `4096`, or `v3_simple_4096` for documents of commits. #}
{% macro document_set(file) -%}
    split_part({{ file }}, '/', 1)
{%- endmacro %}

{# The number of tokens at its end. try_cast: the engine may look at files of other stages before it drops them. #}
{% macro budget(file) -%}
    try_cast(regexp_extract({{ document_set(file) }}, '[0-9]+$') as integer)
{%- endmacro %}
