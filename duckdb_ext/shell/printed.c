#include "printed.h"

#include <stdlib.h>

bool can_print(duckdb_type type) {
	switch (type) {
	case DUCKDB_TYPE_HUGEINT:
	case DUCKDB_TYPE_UHUGEINT:
	case DUCKDB_TYPE_BIGNUM:
	case DUCKDB_TYPE_UUID:
	case DUCKDB_TYPE_BIT:
	case DUCKDB_TYPE_TIME_TZ:
	case DUCKDB_TYPE_TIME_NS:
	case DUCKDB_TYPE_ENUM:
		return true;
	default:
		return false;
	}
}

static uint32_t place_in_enum(const void *data, duckdb_logical_type type, idx_t row) {
	switch (duckdb_enum_internal_type(type)) {
	case DUCKDB_TYPE_UTINYINT:
		return ((const uint8_t *)data)[row];
	case DUCKDB_TYPE_USMALLINT:
		return ((const uint16_t *)data)[row];
	default:
		return ((const uint32_t *)data)[row];
	}
}

/* DuckDB keeps a UUID with its highest bit flipped, so that it sorts as a signed number. */
static duckdb_value uuid_value(duckdb_hugeint stored) {
	duckdb_uhugeint uuid = {stored.lower, (uint64_t)stored.upper ^ ((uint64_t)1 << 63)};
	return duckdb_create_uuid(uuid);
}

/* A BIT's first byte counts the bits that pad its second; its bytes are stored as a blob. */
static duckdb_value bit_value(duckdb_string_t *stored) {
	duckdb_bit bit = {(uint8_t *)duckdb_string_t_data(stored), duckdb_string_t_length(*stored)};
	return duckdb_create_bit(bit);
}

/* A BIGNUM has three bytes of length and sign before its digits, all of them inverted if it is negative. */
static duckdb_value bignum_value(duckdb_string_t *stored) {
	const uint8_t *bytes = (const uint8_t *)duckdb_string_t_data(stored);
	idx_t size = duckdb_string_t_length(*stored) - 3;
	bool is_negative = !(bytes[0] & 0x80);
	uint8_t *digits = malloc(size + 1);
	for (idx_t i = 0; i < size; i++) {
		digits[i] = is_negative ? (uint8_t)~bytes[3 + i] : bytes[3 + i];
	}
	duckdb_bignum bignum = {digits, size, is_negative};
	duckdb_value value = duckdb_create_bignum(bignum);
	free(digits);
	return value;
}

char *printed(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
	void *data = duckdb_vector_get_data(vector);
	duckdb_value value = NULL;
	switch (duckdb_get_type_id(type)) {
	case DUCKDB_TYPE_ENUM:
		return duckdb_enum_dictionary_value(type, place_in_enum(data, type, row));
	case DUCKDB_TYPE_HUGEINT:
		value = duckdb_create_hugeint(((duckdb_hugeint *)data)[row]);
		break;
	case DUCKDB_TYPE_UHUGEINT:
		value = duckdb_create_uhugeint(((duckdb_uhugeint *)data)[row]);
		break;
	case DUCKDB_TYPE_UUID:
		value = uuid_value(((duckdb_hugeint *)data)[row]);
		break;
	case DUCKDB_TYPE_BIT:
		value = bit_value(&((duckdb_string_t *)data)[row]);
		break;
	case DUCKDB_TYPE_BIGNUM:
		value = bignum_value(&((duckdb_string_t *)data)[row]);
		break;
	case DUCKDB_TYPE_TIME_TZ:
		value = duckdb_create_time_tz_value(((duckdb_time_tz *)data)[row]);
		break;
	case DUCKDB_TYPE_TIME_NS:
		value = duckdb_create_time_ns(((duckdb_time_ns *)data)[row]);
		break;
	default:
		break;
	}
	char *text = duckdb_get_varchar(value);
	duckdb_destroy_value(&value);
	return text;
}
