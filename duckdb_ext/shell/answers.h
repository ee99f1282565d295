/* Answers of the service: for each row a length, -1 for NULL, then the values one after another. */
#ifndef RELSERVE_ANSWERS_H
#define RELSERVE_ANSWERS_H

#include "api.h"

#include <stddef.h>

/* A column of a reply, rows taken from its front. */
typedef struct {
	const char *lengths, *values;
	idx_t rows_left;
} Answers;

/* Read a column of so many rows at `at`; the place after it, or NULL where the reply ends too soon. */
const char *answers_read(Answers *answers, const char *at, const char *end, idx_t rows);
/* Put the next `n` rows into a vector of this type, from row `offset` on; false: they do not fit the type. */
bool answers_put(Answers *answers, duckdb_vector vector, duckdb_type type, idx_t offset, idx_t n);

#endif
