/* What the extension puts into DuckDB's catalog. */
#ifndef RELSERVE_FUNCTIONS_H
#define RELSERVE_FUNCTIONS_H

#include "instance.h"

/* The functions that the macros call, one for each llm function. */
bool register_row_functions(duckdb_connection connection, Instance *instance);
/* llm_queries() and llm_errors(). */
bool register_tables(duckdb_connection connection, Instance *instance);
/* llm_agg() as an aggregate; DuckDB 2 and later. */
bool register_aggregate(duckdb_connection connection, Instance *instance);

#endif
