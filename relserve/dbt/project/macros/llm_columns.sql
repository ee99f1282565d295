{#- For the post-hook of a model of the materialization `table`: makes the columns of its meta `llm_columns`,
    a dictionary of expressions by name, and asks only inputs that have no answer yet.

    on_change: what to do where an expression or the model is another than before; --full-refresh asks all rows.
-#}
{% macro llm_columns(on_change='raise') -%}
  {%- set on_change = 'ask' if flags.FULL_REFRESH else on_change -%}
  {%- for name, expression in (model.config.meta.llm_columns or {}).items() %}
    call llm_materialize(
      $relserve${{ this }}$relserve$, '{{ name }}', $relserve${{ expression }}$relserve$, on_change := '{{ on_change }}'
    );
  {%- endfor %}
{%- endmacro %}
