/* DuckDB's stable C API, as every file of this extension sees it. */
#ifndef RELSERVE_API_H
#define RELSERVE_API_H

#define DUCKDB_EXTENSION_NAME relserve
#include "vendor/duckdb_extension.h"

DUCKDB_EXTENSION_EXTERN

#endif
