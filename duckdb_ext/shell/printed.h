/* Values of the rarer types as the texts that DuckDB prints for them. */
#ifndef RELSERVE_PRINTED_H
#define RELSERVE_PRINTED_H

#include "api.h"

/* Whether values of the type are sent as texts. */
bool can_print(duckdb_type type);
/* The text of one value that is not NULL; free it with duckdb_free. */
char *printed(duckdb_vector vector, duckdb_logical_type type, idx_t row);

#endif
