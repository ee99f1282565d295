{#- A condition for the WHERE of an incremental model: true for rows that its table does not have as they are.

    columns: those that say whether a row is the same: the key, and the inputs of the llm calls.
    answer: the column of the answers; rows in which it is NULL are taken again, for they may have failed.
-#}
{% macro new_or_changed(columns, answer) -%}
  {%- if is_incremental() -%}
    {%- set hashed = relserve.hash_of(columns) -%}
    {{ hashed }} not in (select {{ hashed }} from {{ this }} where {{ relserve.quoted(answer) }} is not null)
  {%- else -%}
    true
  {%- endif -%}
{%- endmacro %}

{% macro hash_of(columns) -%}
  md5_number(to_json([{% for each in columns %}{{ relserve.quoted(each) }}::varchar{{ ", " if not loop.last }}{% endfor %}])::varchar)
{%- endmacro %}
