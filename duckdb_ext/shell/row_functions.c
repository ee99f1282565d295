/* A chunk of rows of an llm call: template, options as JSON, one column that is not read, up to nine values. */
#include "answers.h"
#include "columns.h"
#include "declared.h"
#include "functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_VALUE 3
#define UNSET "__unset" /* field of the struct that stands for a value that was not given */

/* One of the functions, as an instance has it. */
typedef struct {
	Instance *instance;
	const char *name;
	duckdb_type type;
} Function;

/* A call that is bound: who asks, in which statement. */
typedef struct {
	Caller caller;
	uint64_t statement;
	bool is_constant; /* DuckDB 2 tries it while it plans, and again if it failed */
} Call;

static void release_function(void *function) {
	instance_release(((Function *)function)->instance);
	free(function);
}

static void *copy_call(void *call) {
	Call *copy = malloc(sizeof *copy);
	memcpy(copy, call, sizeof *copy);
	return copy;
}

static bool has_only_constants(duckdb_bind_info info) {
	bool is_constant = true;
	for (idx_t i = 0; i < duckdb_scalar_function_bind_get_argument_count(info) && is_constant; i++) {
		duckdb_expression argument = duckdb_scalar_function_bind_get_argument(info, i);
		is_constant = duckdb_expression_is_foldable(argument);
		duckdb_destroy_expression(&argument);
	}
	return is_constant;
}

static void bind(duckdb_bind_info info) {
	Function *function = duckdb_scalar_function_bind_get_extra_info(info);
	duckdb_client_context context;
	Call *call = calloc(1, sizeof *call);
	duckdb_scalar_function_get_client_context(info, &context);
	caller_read(function->instance, context, &call->caller);
	duckdb_destroy_client_context(&context);
	call->statement = statement_of_bind(function->instance, call->caller.connection);
	call->is_constant = has_only_constants(info);
	duckdb_scalar_function_set_bind_data(info, call, free);
	duckdb_scalar_function_set_bind_data_copy(info, copy_call);
}

static bool is_valid(duckdb_vector vector, idx_t row) {
	uint64_t *validity = duckdb_vector_get_validity(vector);
	return !validity || duckdb_validity_row_is_valid(validity, row);
}

/* Whether all rows of a column of texts, or NULLs, are the same. */
static bool is_constant(duckdb_vector vector, idx_t n) {
	duckdb_string_t *texts = duckdb_vector_get_data(vector);
	for (idx_t i = 1; i < n; i++) {
		if (is_valid(vector, i) != is_valid(vector, 0)) {
			return false;
		}
		uint32_t size = duckdb_string_t_length(texts[0]);
		if (is_valid(vector, 0) &&
		    (duckdb_string_t_length(texts[i]) != size ||
		     memcmp(duckdb_string_t_data(&texts[i]), duckdb_string_t_data(&texts[0]), size) != 0)) {
			return false;
		}
	}
	return true;
}

/* What all rows of a column say: a JSON text or null, or false where they do not say the same. */
static void add_constant(Buffer *message, const char *field, duckdb_vector vector, idx_t n) {
	buffer_add_text(message, field);
	if (!is_constant(vector, n)) {
		buffer_add_text(message, "false");
	} else if (!is_valid(vector, 0)) {
		buffer_add_text(message, "null");
	} else {
		duckdb_string_t *text = duckdb_vector_get_data(vector);
		buffer_add_json(message, duckdb_string_t_data(text), duckdb_string_t_length(*text));
	}
}

static void add_number(Buffer *message, const char *field, uint64_t number) {
	char text[32];
	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	buffer_add_text(message, field);
	buffer_add_text(message, text);
}

static bool is_unset(duckdb_logical_type type) {
	if (duckdb_get_type_id(type) != DUCKDB_TYPE_STRUCT || duckdb_struct_type_child_count(type) != 1) {
		return false;
	}
	char *name = duckdb_struct_type_child_name(type, 0);
	bool is_same = strcmp(name, UNSET) == 0;
	duckdb_free(name);
	return is_same;
}

/* Append the values that were given, each as a column; what is wrong with one of them, or NULL. */
static const char *add_values(Buffer *columns, duckdb_data_chunk in, idx_t n, uint64_t *num_values) {
	idx_t *rows = malloc((n + 1) * sizeof *rows);
	const char *problem = NULL;
	for (idx_t i = 0; i < n; i++) {
		rows[i] = i;
	}
	for (idx_t i = FIRST_VALUE; i < duckdb_data_chunk_get_column_count(in) && !problem; i++) {
		duckdb_vector vector = duckdb_data_chunk_get_vector(in, i);
		duckdb_logical_type type = duckdb_vector_get_column_type(vector);
		if (!is_unset(type)) {
			problem = column_add(columns, vector, type, rows, n);
			++*num_values;
		}
		duckdb_destroy_logical_type(&type);
	}
	free(rows);
	return problem;
}

static const char *add_message(Buffer *message, const Function *function, const Call *call, duckdb_data_chunk in,
                               idx_t n) {
	Buffer columns = {0};
	uint64_t num_values = 0;
	const char *problem = add_values(&columns, in, n, &num_values);
	size_t start = buffer_leave(message, 8);
	buffer_add_text(message, "{\"ask\": \"rows\", \"function\": ");
	buffer_add_json(message, function->name, strlen(function->name));
	add_constant(message, ", \"template\": ", duckdb_data_chunk_get_vector(in, 0), n);
	add_constant(message, ", \"options\": ", duckdb_data_chunk_get_vector(in, 1), n);
	add_number(message, ", \"statement\": ", call->statement);
	add_number(message, ", \"rows\": ", n);
	add_number(message, ", \"values\": ", num_values);
	buffer_add_text(message, ", \"zone\": ");
	buffer_add_json(message, call->caller.zone, strlen(call->caller.zone));
	buffer_add_text(message, "}");
	uint32_t size = (uint32_t)(message->size - start - 8);
	memcpy(message->data + start + 4, &size, 4);
	buffer_add(message, columns.data, columns.size);
	buffer_free(&columns);
	return problem;
}

static void fail(duckdb_function_info info, const char *function, const char *problem) {
	Buffer text = {0};
	buffer_add_text(&text, "a value of ");
	buffer_add_text(&text, function);
	buffer_add_text(&text, "() ");
	buffer_add(&text, problem, strlen(problem) + 1);
	duckdb_scalar_function_set_error(info, text.data);
	buffer_free(&text);
}

static void answer(duckdb_function_info info, duckdb_data_chunk in, duckdb_vector out) {
	Function *function = duckdb_scalar_function_get_extra_info(info);
	Call *call = duckdb_scalar_function_get_bind_data(info);
	idx_t n = duckdb_data_chunk_get_size(in);
	Buffer message = {0}, reply = {0};
	Answers answers;
	if (!n) {
		return;
	}
	statement_runs(function->instance, call->caller.connection, call->statement);
	const char *problem = add_message(&message, function, call, in, n);
	if (problem) {
		fail(info, function->name, problem);
	} else if (call->is_constant && failed_just_now(function->instance, call->statement, &reply)) {
		duckdb_scalar_function_set_error(info, reply.data);
	} else if (!instance_ask(function->instance, &call->caller, &message, &reply)) {
		note_failure(function->instance, call->statement, reply.data);
		duckdb_scalar_function_set_error(info, reply.data);
	} else if (!answers_read(&answers, reply.data + 1, reply.data + reply.size, n) ||
	           !answers_put(&answers, out, function->type, 0, n)) {
		duckdb_scalar_function_set_error(info, "the engine's answer cannot be read; relserve was updated: install "
		                                       "its extension again");
	}
	buffer_free(&message);
	buffer_free(&reply);
}

static bool register_function(duckdb_connection connection, Instance *instance, const char *name, const char *own_name,
                              duckdb_type type) {
	Function *function = malloc(sizeof *function);
	*function = (Function){instance_keep(instance), name, type};
	duckdb_scalar_function made = duckdb_create_scalar_function();
	duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
	duckdb_logical_type returned = duckdb_create_logical_type(type);
	duckdb_scalar_function_set_name(made, own_name);
	duckdb_scalar_function_add_parameter(made, text);
	duckdb_scalar_function_add_parameter(made, text);
	duckdb_scalar_function_set_varargs(made, any);
	duckdb_scalar_function_set_return_type(made, returned);
	duckdb_scalar_function_set_special_handling(made);
	duckdb_scalar_function_set_extra_info(made, function, release_function);
	duckdb_scalar_function_set_bind(made, bind);
	duckdb_scalar_function_set_function(made, answer);
	bool is_done = duckdb_register_scalar_function(connection, made) == DuckDBSuccess;
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_logical_type(&any);
	duckdb_destroy_logical_type(&returned);
	duckdb_destroy_scalar_function(&made);
	return is_done;
}

bool register_row_functions(duckdb_connection connection, Instance *instance) {
#define REGISTER(name, type)                                                                                           \
	if (!register_function(connection, instance, #name, RELSERVE_PRIVATE #name, DUCKDB_TYPE_##type)) {                \
		return false;                                                                                                  \
	}
	RELSERVE_FUNCTIONS(REGISTER)
#undef REGISTER
	return true;
}
