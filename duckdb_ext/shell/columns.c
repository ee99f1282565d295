/* One byte for the type (a number of duckdb_type), what the type needs besides, which rows are NULL, then the
 * values. Numbers are little-endian, as on every machine that DuckDB runs on. */
#include "columns.h"

#include "printed.h"

#include <stdlib.h>
#include <string.h>

static bool is_valid(uint64_t *validity, idx_t row) {
	return !validity || duckdb_validity_row_is_valid(validity, row);
}

static void add_validity(Buffer *buffer, uint64_t *validity, const idx_t *rows, idx_t n) {
	bool has_null = false;
	for (idx_t i = 0; i < n && !has_null; i++) {
		has_null = !is_valid(validity, rows[i]);
	}
	buffer_add_byte(buffer, has_null);
	if (!has_null) {
		return;
	}
	size_t place = buffer_leave(buffer, (n + 7) / 8);
	for (idx_t i = 0; i < n; i++) {
		if (is_valid(validity, rows[i])) {
			buffer->data[place + i / 8] |= (char)(1 << (i % 8));
		}
	}
}

static void add_fixed(Buffer *buffer, duckdb_vector vector, size_t width, const idx_t *rows, idx_t n) {
	const char *data = duckdb_vector_get_data(vector);
	size_t place = buffer_leave(buffer, width * n);
	for (idx_t i = 0; i < n; i++) {
		memcpy(buffer->data + place + i * width, data + rows[i] * width, width);
	}
}

/* Texts or blobs: n + 1 offsets, then the bytes. */
static const char *add_strings(Buffer *buffer, duckdb_vector vector, const idx_t *rows, idx_t n) {
	uint64_t *validity = duckdb_vector_get_validity(vector);
	duckdb_string_t *strings = duckdb_vector_get_data(vector);
	uint64_t total = 0;
	buffer_add_u32(buffer, 0);
	for (idx_t i = 0; i < n; i++) {
		total += is_valid(validity, rows[i]) ? duckdb_string_t_length(strings[rows[i]]) : 0;
		if (total > INT32_MAX) {
			return "holds more than 2 GB in one chunk of rows";
		}
		buffer_add_u32(buffer, (uint32_t)total);
	}
	for (idx_t i = 0; i < n; i++) {
		if (is_valid(validity, rows[i])) {
			duckdb_string_t *string = &strings[rows[i]];
			buffer_add(buffer, duckdb_string_t_data(string), duckdb_string_t_length(*string));
		}
	}
	return NULL;
}

/* Values as the texts that DuckDB prints for them, laid out as `add_strings` does. */
static const char *add_printed(Buffer *buffer, duckdb_vector vector, duckdb_logical_type type, const idx_t *rows,
                               idx_t n) {
	uint64_t *validity = duckdb_vector_get_validity(vector);
	Buffer texts = {0};
	buffer_add_u32(buffer, 0);
	for (idx_t i = 0; i < n; i++) {
		if (is_valid(validity, rows[i])) {
			char *text = printed(vector, type, rows[i]);
			buffer_add_text(&texts, text);
			duckdb_free(text);
		}
		buffer_add_u32(buffer, (uint32_t)texts.size);
	}
	buffer_add(buffer, texts.data, texts.size);
	buffer_free(&texts);
	return NULL;
}

/* DuckDB's decimals are as wide as they need to be, Arrow's 16 bytes. */
static void add_decimals(Buffer *buffer, duckdb_vector vector, duckdb_logical_type type, const idx_t *rows, idx_t n) {
	const char *data = duckdb_vector_get_data(vector);
	duckdb_type stored = duckdb_decimal_internal_type(type);
	size_t width = stored == DUCKDB_TYPE_SMALLINT ? 2 : stored == DUCKDB_TYPE_INTEGER ? 4 : 16;
	width = stored == DUCKDB_TYPE_BIGINT ? 8 : width;
	size_t place = buffer_leave(buffer, 16 * n);
	for (idx_t i = 0; i < n; i++) {
		const char *from = data + rows[i] * width;
		char *to = buffer->data + place + 16 * i;
		memset(to, from[width - 1] < 0 ? 0xff : 0, 16);
		memcpy(to, from, width);
	}
}

/* Months, days and nanoseconds, as Arrow has them. */
static void add_intervals(Buffer *buffer, duckdb_vector vector, const idx_t *rows, idx_t n) {
	duckdb_interval *intervals = duckdb_vector_get_data(vector);
	for (idx_t i = 0; i < n; i++) {
		duckdb_interval interval = intervals[rows[i]];
		int64_t nanos = interval.micros * 1000;
		buffer_add(buffer, &interval.months, 4);
		buffer_add(buffer, &interval.days, 4);
		buffer_add(buffer, &nanos, 8);
	}
}

static const char *add_child(Buffer *buffer, duckdb_vector child, duckdb_logical_type type, const idx_t *rows,
                             idx_t n) {
	const char *problem = column_add(buffer, child, type, rows, n);
	duckdb_destroy_logical_type(&type);
	return problem;
}

/* Of lists and maps: n + 1 offsets, then the column of all elements. */
static const char *add_lists(Buffer *buffer, duckdb_vector vector, duckdb_logical_type element, const idx_t *rows,
                             idx_t n) {
	uint64_t *validity = duckdb_vector_get_validity(vector);
	duckdb_list_entry *entries = duckdb_vector_get_data(vector);
	idx_t total = 0;
	buffer_add_u32(buffer, 0);
	for (idx_t i = 0; i < n; i++) {
		total += is_valid(validity, rows[i]) ? entries[rows[i]].length : 0;
		buffer_add_u32(buffer, (uint32_t)total);
	}
	idx_t *elements = malloc((total + 1) * sizeof *elements), k = 0;
	for (idx_t i = 0; i < n; i++) {
		for (idx_t j = 0; is_valid(validity, rows[i]) && j < entries[rows[i]].length; j++) {
			elements[k++] = entries[rows[i]].offset + j;
		}
	}
	const char *problem = add_child(buffer, duckdb_list_vector_get_child(vector), element, elements, total);
	free(elements);
	return problem;
}

static const char *add_arrays(Buffer *buffer, duckdb_vector vector, duckdb_logical_type type, const idx_t *rows,
                              idx_t n) {
	idx_t size = duckdb_array_type_array_size(type);
	idx_t *elements = malloc((n * size + 1) * sizeof *elements);
	for (idx_t i = 0; i < n * size; i++) {
		elements[i] = rows[i / size] * size + i % size;
	}
	buffer_add_u32(buffer, (uint32_t)size);
	const char *problem = add_child(buffer, duckdb_array_vector_get_child(vector),
	                                duckdb_array_type_child_type(type), elements, n * size);
	free(elements);
	return problem;
}

static void add_name(Buffer *buffer, char *name) {
	buffer_add_u32(buffer, (uint32_t)strlen(name));
	buffer_add_text(buffer, name);
	duckdb_free(name);
}

static const char *add_structs(Buffer *buffer, duckdb_vector vector, duckdb_logical_type type, const idx_t *rows,
                               idx_t n) {
	idx_t count = duckdb_struct_type_child_count(type);
	const char *problem = NULL;
	buffer_add_u32(buffer, (uint32_t)count);
	for (idx_t i = 0; i < count && !problem; i++) {
		add_name(buffer, duckdb_struct_type_child_name(type, i));
		problem = add_child(buffer, duckdb_struct_vector_get_child(vector, i),
		                    duckdb_struct_type_child_type(type, i), rows, n);
	}
	return problem;
}

/* A union is a struct whose first field tells which of the others holds. */
static const char *add_unions(Buffer *buffer, duckdb_vector vector, duckdb_logical_type type, const idx_t *rows,
                              idx_t n) {
	idx_t count = duckdb_union_type_member_count(type);
	const char *problem = NULL;
	add_fixed(buffer, duckdb_struct_vector_get_child(vector, 0), 1, rows, n);
	buffer_add_u32(buffer, (uint32_t)count);
	for (idx_t i = 0; i < count && !problem; i++) {
		add_name(buffer, duckdb_union_type_member_name(type, i));
		problem = add_child(buffer, duckdb_struct_vector_get_child(vector, i + 1),
		                    duckdb_union_type_member_type(type, i), rows, n);
	}
	return problem;
}

static size_t width_of(duckdb_type type) {
	switch (type) {
	case DUCKDB_TYPE_BOOLEAN:
	case DUCKDB_TYPE_TINYINT:
	case DUCKDB_TYPE_UTINYINT:
		return 1;
	case DUCKDB_TYPE_SMALLINT:
	case DUCKDB_TYPE_USMALLINT:
		return 2;
	case DUCKDB_TYPE_INTEGER:
	case DUCKDB_TYPE_UINTEGER:
	case DUCKDB_TYPE_FLOAT:
	case DUCKDB_TYPE_DATE:
		return 4;
	case DUCKDB_TYPE_BIGINT:
	case DUCKDB_TYPE_UBIGINT:
	case DUCKDB_TYPE_DOUBLE:
	case DUCKDB_TYPE_TIME:
	case DUCKDB_TYPE_TIMESTAMP:
	case DUCKDB_TYPE_TIMESTAMP_S:
	case DUCKDB_TYPE_TIMESTAMP_MS:
	case DUCKDB_TYPE_TIMESTAMP_NS:
	case DUCKDB_TYPE_TIMESTAMP_TZ:
		return 8;
	default:
		return 0;
	}
}

static void add_type(Buffer *buffer, duckdb_logical_type type) {
	duckdb_type id = duckdb_get_type_id(type);
	buffer_add_byte(buffer, (uint8_t)(can_print(id) ? DUCKDB_TYPE_VARCHAR : id));
	if (id == DUCKDB_TYPE_DECIMAL) {
		buffer_add_byte(buffer, duckdb_decimal_width(type));
		buffer_add_byte(buffer, duckdb_decimal_scale(type));
	}
}

const char *column_add(Buffer *buffer, duckdb_vector vector, duckdb_logical_type type, const idx_t *rows, idx_t n) {
	duckdb_type id = duckdb_get_type_id(type);
	add_type(buffer, type);
	add_validity(buffer, duckdb_vector_get_validity(vector), rows, n);
	if (can_print(id)) {
		return add_printed(buffer, vector, type, rows, n);
	}
	if (width_of(id)) {
		add_fixed(buffer, vector, width_of(id), rows, n);
		return NULL;
	}
	switch (id) {
	case DUCKDB_TYPE_SQLNULL:
		return NULL;
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_BLOB:
		return add_strings(buffer, vector, rows, n);
	case DUCKDB_TYPE_DECIMAL:
		add_decimals(buffer, vector, type, rows, n);
		return NULL;
	case DUCKDB_TYPE_INTERVAL:
		add_intervals(buffer, vector, rows, n);
		return NULL;
	case DUCKDB_TYPE_LIST:
		return add_lists(buffer, vector, duckdb_list_type_child_type(type), rows, n);
	case DUCKDB_TYPE_MAP: /* a list of structs, whose type only its vector tells */
		return add_lists(buffer, vector, duckdb_vector_get_column_type(duckdb_list_vector_get_child(vector)), rows, n);
	case DUCKDB_TYPE_ARRAY:
		return add_arrays(buffer, vector, type, rows, n);
	case DUCKDB_TYPE_STRUCT:
		return add_structs(buffer, vector, type, rows, n);
	case DUCKDB_TYPE_UNION:
		return add_unions(buffer, vector, type, rows, n);
	default:
		return "has a type that cannot be sent; cast it to VARCHAR";
	}
}
