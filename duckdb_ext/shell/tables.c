/* llm_queries() and llm_errors(): what a connection asked, as the service has it on record. */
#include "answers.h"
#include "declared.h"
#include "functions.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
	const char *name;
	duckdb_type type;
} Column;

#define COLUMN(name, type) {#name, DUCKDB_TYPE_##type},
static const Column QUERIES[] = {RELSERVE_LLM_QUERIES(COLUMN)};
static const Column ERRORS[] = {RELSERVE_LLM_ERRORS(COLUMN)};
#undef COLUMN

typedef struct {
	Instance *instance;
	const char *name;
	const Column *columns;
	idx_t num_columns;
} Table;

/* The rows of one query of a table, taken from the front. */
typedef struct {
	Buffer reply;
	Answers *columns;
	idx_t rows_left;
} Rows;

static void release_table(void *table) {
	instance_release(((Table *)table)->instance);
	free(table);
}

static void release_rows(void *held) {
	Rows *rows = held;
	buffer_free(&rows->reply);
	free(rows->columns);
	free(rows);
}

static void bind(duckdb_bind_info info) {
	Table *table = duckdb_bind_get_extra_info(info);
	duckdb_client_context context;
	Caller *caller = calloc(1, sizeof *caller);
	for (idx_t i = 0; i < table->num_columns; i++) {
		duckdb_logical_type type = duckdb_create_logical_type(table->columns[i].type);
		duckdb_bind_add_result_column(info, table->columns[i].name, type);
		duckdb_destroy_logical_type(&type);
	}
	duckdb_table_function_get_client_context(info, &context);
	caller_read(table->instance, context, caller);
	duckdb_destroy_client_context(&context);
	duckdb_bind_set_bind_data(info, caller, free);
}

/* Read a reply: the number of rows, then a column each; false where it ends too soon. */
static bool read_rows(Rows *rows, const Table *table) {
	const char *at = rows->reply.data + 1, *end = rows->reply.data + rows->reply.size;
	uint32_t num_rows = 0;
	if (end - at < 4) {
		return false;
	}
	memcpy(&num_rows, at, 4);
	at += 4;
	rows->rows_left = num_rows;
	rows->columns = calloc(table->num_columns, sizeof *rows->columns);
	for (idx_t i = 0; i < table->num_columns && at; i++) {
		at = answers_read(&rows->columns[i], at, end, num_rows);
	}
	return at != NULL;
}

static void init(duckdb_init_info info) {
	Table *table = duckdb_init_get_extra_info(info);
	Buffer message = {0};
	Rows *rows = calloc(1, sizeof *rows);
	buffer_leave(&message, 8);
	buffer_add_text(&message, "{\"ask\": \"table\", \"name\": ");
	buffer_add_json(&message, table->name, strlen(table->name));
	buffer_add_text(&message, "}");
	uint32_t size = (uint32_t)(message.size - 8);
	memcpy(message.data + 4, &size, 4);
	if (!instance_ask(table->instance, duckdb_init_get_bind_data(info), &message, &rows->reply)) {
		duckdb_init_set_error(info, rows->reply.data);
	} else if (!read_rows(rows, table)) {
		duckdb_init_set_error(info, "the engine's answer cannot be read; relserve was updated: install its "
		                            "extension again");
	}
	buffer_free(&message);
	duckdb_init_set_max_threads(info, 1);
	duckdb_init_set_init_data(info, rows, release_rows);
}

static void next_rows(duckdb_function_info info, duckdb_data_chunk out) {
	Table *table = duckdb_function_get_extra_info(info);
	Rows *rows = duckdb_function_get_init_data(info);
	idx_t n = rows->rows_left < duckdb_vector_size() ? rows->rows_left : duckdb_vector_size();
	for (idx_t i = 0; i < table->num_columns; i++) {
		if (!answers_put(&rows->columns[i], duckdb_data_chunk_get_vector(out, i), table->columns[i].type, 0, n)) {
			duckdb_function_set_error(info, "the engine's answer does not fit the columns");
			return;
		}
	}
	rows->rows_left -= n;
	duckdb_data_chunk_set_size(out, n);
}

static bool register_table(duckdb_connection connection, Instance *instance, const char *name, const Column *columns,
                           size_t size) {
	Table *table = malloc(sizeof *table);
	*table = (Table){instance_keep(instance), name, columns, size / sizeof *columns};
	duckdb_table_function made = duckdb_create_table_function();
	duckdb_table_function_set_name(made, name);
	duckdb_table_function_set_extra_info(made, table, release_table);
	duckdb_table_function_set_bind(made, bind);
	duckdb_table_function_set_init(made, init);
	duckdb_table_function_set_function(made, next_rows);
	bool is_done = duckdb_register_table_function(connection, made) == DuckDBSuccess;
	duckdb_destroy_table_function(&made);
	return is_done;
}

bool register_tables(duckdb_connection connection, Instance *instance) {
	return register_table(connection, instance, "llm_queries", QUERIES, sizeof QUERIES) &&
	       register_table(connection, instance, "llm_errors", ERRORS, sizeof ERRORS);
}
