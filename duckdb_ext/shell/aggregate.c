/* llm_agg(template, value [, options]) as an aggregate: values of a group as texts, asked about when it is full.
 * DuckDB tells an aggregate neither its connection nor its statement. */
#include "answers.h"
#include "columns.h"
#include "functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "llm_agg"

/* One group. DuckDB moves it in memory and may never finish it. */
typedef struct {
	Buffer call;  /* the template and the options' column, as `add_call` puts them */
	Buffer texts; /* of each value its length and its bytes */
	idx_t num_texts;
	bool call_varies;
	bool is_combined; /* of parts, maybe by another thread than the one that began it */
} Group;

/* The group that this thread began last, as long as it has done nothing but fill that one. With ORDER BY, DuckDB
 * begins a group, fills it in order and has it finished, all at once; else groups fill in any order. */
static _Thread_local const Group *filled;

static idx_t group_size(duckdb_function_info info) {
	(void)info;
	return sizeof(Group);
}

static void group_begin(duckdb_function_info info, duckdb_aggregate_state state) {
	(void)info;
	memset(state, 0, sizeof(Group));
	filled = (Group *)state;
}

static void group_end(duckdb_aggregate_state *states, idx_t n) {
	for (idx_t i = 0; i < n; i++) {
		Group *group = (Group *)states[i];
		buffer_free(&group->call);
		buffer_free(&group->texts);
	}
	filled = NULL;
}

static bool is_valid(duckdb_vector vector, idx_t row) {
	uint64_t *validity = duckdb_vector_get_validity(vector);
	return !validity || duckdb_validity_row_is_valid(validity, row);
}

static void add_sized(Buffer *buffer, const char *bytes, size_t size) {
	buffer_add_u32(buffer, (uint32_t)size);
	buffer_add(buffer, bytes, size);
}

/* The template and the options of one row. A NULL template has no bytes at all. */
static const char *add_call(Buffer *call, duckdb_data_chunk in, idx_t row) {
	duckdb_vector template = duckdb_data_chunk_get_vector(in, 0);
	call->size = 0;
	if (!is_valid(template, row)) {
		return NULL;
	}
	duckdb_string_t *text = (duckdb_string_t *)duckdb_vector_get_data(template) + row;
	add_sized(call, duckdb_string_t_data(text), duckdb_string_t_length(*text));
	if (duckdb_data_chunk_get_column_count(in) < 3) {
		return NULL;
	}
	duckdb_vector options = duckdb_data_chunk_get_vector(in, 2);
	duckdb_logical_type type = duckdb_vector_get_column_type(options);
	const char *problem = column_add(call, options, type, &row, 1);
	duckdb_destroy_logical_type(&type);
	return problem;
}

static void note_call(Group *group, const Buffer *call) {
	if (!group->call.size) {
		buffer_add(&group->call, call->data, call->size);
	} else if (call->size != group->call.size || memcmp(call->data, group->call.data, call->size) != 0) {
		group->call_varies = true;
	}
}

static void add_header(Buffer *message, const char *json) {
	uint32_t size = (uint32_t)strlen(json);
	buffer_leave(message, 4);
	buffer_add_u32(message, size);
	buffer_add(message, json, size);
}

/* Have the service print a chunk's values, as DuckDB's cast to VARCHAR would. */
static bool print_values(Instance *instance, duckdb_vector vector, duckdb_logical_type type, idx_t n, Buffer *reply) {
	Buffer message = {0};
	Caller caller;
	char header[200];
	idx_t *rows = malloc((n + 1) * sizeof *rows);
	for (idx_t i = 0; i < n; i++) {
		rows[i] = i;
	}
	caller_unknown(instance, &caller);
	snprintf(header, sizeof header, "{\"ask\": \"texts\", \"rows\": %llu, \"zone\": \"%s\"}", (unsigned long long)n,
	         caller.zone);
	add_header(&message, header);
	const char *problem = column_add(&message, vector, type, rows, n);
	free(rows);
	bool is_done = !problem && instance_ask(instance, &caller, &message, reply);
	if (problem) {
		buffer_add_text(reply, "a value of llm_agg() ");
		buffer_add(reply, problem, strlen(problem) + 1);
	}
	buffer_free(&message);
	return is_done;
}

/* Put a chunk's values into their groups; NULL is none. */
static void add_texts(Group **groups, duckdb_vector vector, idx_t n) {
	duckdb_string_t *texts = duckdb_vector_get_data(vector);
	for (idx_t i = 0; i < n; i++) {
		if (is_valid(vector, i)) {
			add_sized(&groups[i]->texts, duckdb_string_t_data(&texts[i]), duckdb_string_t_length(texts[i]));
			groups[i]->num_texts++;
		}
	}
}

/* The same with values that the service has printed. */
static bool add_printed(Group **groups, const Buffer *reply, idx_t n) {
	Answers answers;
	if (!answers_read(&answers, reply->data + 1, reply->data + reply->size, n)) {
		return false;
	}
	for (idx_t i = 0; i < n; i++) {
		int32_t size;
		memcpy(&size, answers.lengths + 4 * i, 4);
		if (size >= 0) {
			add_sized(&groups[i]->texts, answers.values, (size_t)size);
			groups[i]->num_texts++;
			answers.values += size;
		}
	}
	return true;
}

static void update(duckdb_function_info info, duckdb_data_chunk in, duckdb_aggregate_state *states) {
	Group **groups = (Group **)states;
	idx_t n = duckdb_data_chunk_get_size(in);
	Buffer call = {0}, reply = {0};
	const char *problem = NULL;
	for (idx_t i = 0; i < n && !problem; i++) {
		problem = add_call(&call, in, i);
		note_call(groups[i], &call);
		filled = groups[i] == filled ? filled : NULL;
	}
	buffer_free(&call);
	if (problem) {
		duckdb_aggregate_function_set_error(info, "the options of llm_agg() must be a struct: {max_tokens: 20}");
		return;
	}
	duckdb_vector vector = duckdb_data_chunk_get_vector(in, 1);
	duckdb_logical_type type = duckdb_vector_get_column_type(vector);
	if (duckdb_get_type_id(type) == DUCKDB_TYPE_VARCHAR) {
		add_texts(groups, vector, n);
	} else if (!print_values(duckdb_aggregate_function_get_extra_info(info), vector, type, n, &reply)) {
		duckdb_aggregate_function_set_error(info, reply.data);
	} else if (!add_printed(groups, &reply, n)) {
		duckdb_aggregate_function_set_error(info, "the engine's answer cannot be read");
	}
	duckdb_destroy_logical_type(&type);
	buffer_free(&reply);
}

static void combine(duckdb_function_info info, duckdb_aggregate_state *from, duckdb_aggregate_state *into, idx_t n) {
	(void)info;
	for (idx_t i = 0; i < n; i++) {
		Group *part = (Group *)from[i], *group = (Group *)into[i];
		if (part->call.size) {
			note_call(group, &part->call);
		}
		buffer_add(&group->texts, part->texts.data, part->texts.size);
		group->num_texts += part->num_texts;
		group->call_varies |= part->call_varies;
		group->is_combined = true;
	}
	filled = NULL;
}

static uint32_t size_of_text(const char *text) {
	uint32_t size;
	memcpy(&size, text, 4);
	return size;
}

/* As DuckDB orders texts: by their bytes. */
static int compare(const void *a, const void *b) {
	const char *one = *(const char *const *)a, *other = *(const char *const *)b;
	uint32_t size = size_of_text(one), other_size = size_of_text(other);
	int order = memcmp(one + 4, other + 4, size < other_size ? size : other_size);
	return order ? order : (size > other_size) - (size < other_size);
}

/* Append a list column (relserve/resident/columns.py) with the texts of each group; NULL where there are none. */
static void add_lists(Buffer *message, Group **groups, idx_t n, bool sorts) {
	Buffer offsets = {0}, bytes = {0};
	uint32_t total = 0;
	buffer_add_byte(message, DUCKDB_TYPE_LIST);
	buffer_add_byte(message, 1);
	size_t validity = buffer_leave(message, (n + 7) / 8);
	buffer_add_u32(message, 0);
	buffer_add_u32(&offsets, 0);
	for (idx_t i = 0; i < n; i++) {
		Group *group = groups[i];
		const char **texts = malloc((group->num_texts + 1) * sizeof *texts), *at = group->texts.data;
		for (idx_t k = 0; k < group->num_texts; k++) {
			texts[k] = at;
			at += 4 + size_of_text(at);
		}
		if (sorts) {
			qsort(texts, group->num_texts, sizeof *texts, compare);
		}
		for (idx_t k = 0; k < group->num_texts; k++) {
			buffer_add(&bytes, texts[k] + 4, size_of_text(texts[k]));
			buffer_add_u32(&offsets, (uint32_t)bytes.size);
		}
		free(texts);
		if (group->num_texts) {
			message->data[validity + i / 8] |= (char)(1 << (i % 8));
		}
		total += (uint32_t)group->num_texts;
		buffer_add_u32(message, total);
	}
	buffer_add_byte(message, DUCKDB_TYPE_VARCHAR);
	buffer_add_byte(message, 0);
	buffer_add(message, offsets.data, offsets.size);
	buffer_add(message, bytes.data, bytes.size);
	buffer_free(&offsets);
	buffer_free(&bytes);
}

/* The message that asks about groups; false: their templates or options differ, or none has any. */
static bool add_message(Instance *instance, Buffer *message, Group **groups, idx_t n, const Caller *caller) {
	Group *first = NULL;
	bool is_same = true;
	for (idx_t i = 0; i < n; i++) {
		Group *group = groups[i];
		is_same = is_same && !group->call_varies;
		if (group->call.size && !first) {
			first = group;
		} else if (group->call.size) {
			is_same = is_same && group->call.size == first->call.size &&
			          memcmp(group->call.data, first->call.data, first->call.size) == 0;
		}
	}
	if (!first) {
		return false;
	}
	Buffer header = {0};
	size_t template_size = size_of_text(first->call.data);
	bool has_options = first->call.size > 4 + template_size;
	char numbers[200];
	buffer_add_text(&header, "{\"ask\": \"rows\", \"function\": \"" NAME "\", \"template\": ");
	if (is_same) {
		buffer_add_json(&header, first->call.data + 4, template_size);
	} else {
		buffer_add_text(&header, "false");
	}
	snprintf(numbers, sizeof numbers,
	         ", \"options\": %s, \"statement\": %llu, \"rows\": %llu, \"values\": 1, \"zone\": \"%s\"}",
	         has_options ? "true" : "\"{}\"", (unsigned long long)statement_of_aggregates(instance), (unsigned long long)n,
	         caller->zone);
	buffer_add_text(&header, numbers);
	buffer_add_byte(&header, 0);
	add_header(message, header.data);
	buffer_free(&header);
	add_lists(message, groups, n, n > 1 || groups[0] != filled || groups[0]->is_combined);
	buffer_add(message, first->call.data + 4 + template_size, first->call.size - 4 - template_size);
	return true;
}

static void finish(duckdb_function_info info, duckdb_aggregate_state *states, duckdb_vector out, idx_t n,
                   idx_t offset) {
	Instance *instance = duckdb_aggregate_function_get_extra_info(info);
	Buffer message = {0}, reply = {0};
	Caller caller;
	Answers answers;
	caller_unknown(instance, &caller);
	if (!add_message(instance, &message, (Group **)states, n, &caller)) {
		duckdb_vector_ensure_validity_writable(out);
		for (idx_t i = 0; i < n; i++) {
			duckdb_validity_set_row_invalid(duckdb_vector_get_validity(out), offset + i);
		}
	} else if (!instance_ask(instance, &caller, &message, &reply)) {
		duckdb_aggregate_function_set_error(info, reply.data);
	} else if (!answers_read(&answers, reply.data + 1, reply.data + reply.size, n) ||
	           !answers_put(&answers, out, DUCKDB_TYPE_VARCHAR, offset, n)) {
		duckdb_aggregate_function_set_error(info, "the engine's answer cannot be read");
	}
	buffer_free(&message);
	buffer_free(&reply);
}

static bool add_overload(duckdb_aggregate_function_set set, Instance *instance, int num_parameters) {
	duckdb_aggregate_function made = duckdb_create_aggregate_function();
	duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
	duckdb_aggregate_function_set_name(made, NAME);
	duckdb_aggregate_function_add_parameter(made, text);
	for (int i = 1; i < num_parameters; i++) {
		duckdb_aggregate_function_add_parameter(made, any);
	}
	duckdb_aggregate_function_set_return_type(made, text);
	duckdb_aggregate_function_set_functions(made, group_size, group_begin, update, combine, finish);
	duckdb_aggregate_function_set_destructor(made, group_end);
	duckdb_aggregate_function_set_special_handling(made);
	duckdb_aggregate_function_set_extra_info(made, instance_keep(instance), instance_release);
	bool is_done = duckdb_add_aggregate_function_to_set(set, made) == DuckDBSuccess;
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_logical_type(&any);
	duckdb_destroy_aggregate_function(&made);
	return is_done;
}

bool register_aggregate(duckdb_connection connection, Instance *instance) {
	duckdb_aggregate_function_set set = duckdb_create_aggregate_function_set(NAME);
	bool is_done = add_overload(set, instance, 2) && add_overload(set, instance, 3) &&
	               duckdb_register_aggregate_function_set(connection, set) == DuckDBSuccess;
	duckdb_destroy_aggregate_function_set(&set);
	return is_done;
}
