{#- For the post-hook of a model of the materialization `table`: makes the columns of its meta `llm_columns`,
    a dictionary of expressions by name, and asks only inputs that have no answer yet.

    on_change: what to do where an expression or the model is another than before; --full-refresh asks all rows.
-#}
{% macro llm_columns(on_change='raise') -%}
  {%- set on_change = 'ask' if flags.FULL_REFRESH else on_change -%}
  {%- for name, expression in (model.config.meta.llm_columns or {}).items() %}
    call llm_materialize(
      {{ relserve.text(this) }}, {{ relserve.text(name) }}, {{ relserve.text(expression) }},
      on_change := {{ relserve.text(on_change) }}
    );
  {%- endfor %}
{%- endmacro %}

{#- A text as a literal of SQL. -#}
{% macro text(value) -%}
  '{{ value | string | replace("'", "''") }}'
{%- endmacro %}

{#- A name in quotes; dbt's own `adapter.quote` leaves those inside it as they are. -#}
{% macro quoted(name) -%}
  "{{ name | string | replace('"', '""') }}"
{%- endmacro %}
