#include "answers.h"

#include <string.h>

static int32_t length_at(const char *lengths, idx_t row) {
	int32_t length;
	memcpy(&length, lengths + 4 * row, 4);
	return length;
}

const char *answers_read(Answers *answers, const char *at, const char *end, idx_t rows) {
	if ((size_t)(end - at) < 4 * rows) {
		return NULL;
	}
	size_t size = 0;
	for (idx_t i = 0; i < rows; i++) {
		int32_t length = length_at(at, i);
		size += length > 0 ? (size_t)length : 0;
	}
	*answers = (Answers){at, at + 4 * rows, rows};
	return (size_t)(end - answers->values) < size ? NULL : answers->values + size;
}

static size_t width_of(duckdb_type type) {
	return type == DUCKDB_TYPE_BOOLEAN ? 1 : 8; /* BIGINT, DOUBLE, TIMESTAMP */
}

bool answers_put(Answers *answers, duckdb_vector vector, duckdb_type type, idx_t offset, idx_t n) {
	duckdb_vector_ensure_validity_writable(vector);
	uint64_t *validity = duckdb_vector_get_validity(vector);
	char *data = duckdb_vector_get_data(vector);
	if (n > answers->rows_left) {
		return false;
	}
	for (idx_t row = offset; row < offset + n; row++) {
		int32_t length = length_at(answers->lengths, 0);
		answers->lengths += 4;
		answers->rows_left--;
		if (length < 0) {
			duckdb_validity_set_row_invalid(validity, row);
			continue;
		}
		if (type == DUCKDB_TYPE_VARCHAR) {
			duckdb_vector_assign_string_element_len(vector, row, answers->values, (idx_t)length);
		} else if ((size_t)length == width_of(type)) {
			memcpy(data + row * width_of(type), answers->values, width_of(type));
		} else {
			return false;
		}
		answers->values += length;
	}
	return true;
}
