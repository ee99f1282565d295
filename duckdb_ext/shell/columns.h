/* A column of values as the service reads it (relserve/resident/columns.py): in Arrow's layout. */
#ifndef RELSERVE_COLUMNS_H
#define RELSERVE_COLUMNS_H

#include "api.h"
#include "buffer.h"

/* Append these rows of a vector. Returns NULL, or what is wrong with its type or its size. */
const char *column_add(Buffer *buffer, duckdb_vector vector, duckdb_logical_type type, const idx_t *rows, idx_t n);

#endif
