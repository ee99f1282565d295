/* Where DuckDB loads the extension: its options and its functions. */
#include "functions.h"

#include <stdlib.h>

static void add_option(duckdb_connection connection, const char *name, const char *description) {
	duckdb_config_option option = duckdb_create_config_option();
	duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_value empty = duckdb_create_varchar("");
	duckdb_config_option_set_name(option, name);
	duckdb_config_option_set_type(option, text);
	duckdb_config_option_set_default_value(option, empty);
	duckdb_config_option_set_default_scope(option, DUCKDB_CONFIG_OPTION_SCOPE_SESSION);
	duckdb_config_option_set_description(option, description);
	duckdb_register_config_option(connection, option);
	duckdb_destroy_value(&empty);
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_config_option(&option);
}

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection connection, duckdb_extension_info info,
                            struct duckdb_extension_access *access) {
	Instance *instance = instance_new();
	add_option(connection, "llm_model", "relserve: the model of calls that name none; empty: the default");
	add_option(connection, "llm_socket", "relserve: socket of a resident engine; empty: it is found or started");
	bool is_done = instance && register_row_functions(connection, instance) && register_tables(connection, instance);
	/* DuckDB 1 crashes on ORDER BY and OVER () of aggregates of the C API; there a macro gives llm_agg */
	const char *version = duckdb_library_version();
	if (is_done && atoi(version + (*version == 'v')) >= 2) {
		is_done = register_aggregate(connection, instance);
	}
	if (instance) {
		instance_release(instance);
	}
	if (!is_done) {
		access->set_error(info, "relserve: DuckDB did not take its functions");
	}
	return is_done;
}
