/* What the functions of one database instance share: sockets of the service, and which statement is bound. */
#ifndef RELSERVE_INSTANCE_H
#define RELSERVE_INSTANCE_H

#include "api.h"
#include "buffer.h"

#define SOCKET_ROOM 108
#define MODEL_ROOM 512
#define ZONE_ROOM 64

typedef struct Instance Instance;

/* Who asks: a DuckDB connection (0: it is not known) and its settings. */
typedef struct {
	idx_t connection;
	char socket[SOCKET_ROOM]; /* option llm_socket; "": that of the resident engine */
	char model[MODEL_ROOM];   /* option llm_model; "": the default */
	char zone[ZONE_ROOM];     /* TimeZone */
} Caller;

Instance *instance_new(void);
/* One more function holds it; `instance_release`, as a duckdb_delete_callback_t, is its end. */
Instance *instance_keep(Instance *instance);
void instance_release(void *instance);

void caller_read(Instance *instance, duckdb_client_context context, Caller *caller);
/* Of an aggregate, whose context DuckDB does not tell: no connection, the settings that were last read. */
void caller_unknown(Instance *instance, Caller *caller);

/* The number of the statement to which a call belongs that is bound now: a new one once a call has run. */
uint64_t statement_of_bind(Instance *instance, idx_t connection);
/* Of aggregates: what is asked with less than a second between is taken as one statement. */
uint64_t statement_of_aggregates(Instance *instance);
void statement_runs(Instance *instance, idx_t connection, uint64_t statement);

/* What a statement failed of is told again, without asking, to those that try it again at once. */
void note_failure(Instance *instance, uint64_t statement, const char *error);
bool failed_just_now(Instance *instance, uint64_t statement, Buffer *error);

/* Send a message (four bytes left for its length) and wait for its answer.
 * True: `reply` holds its kind, one byte, and its body. False: `reply` holds an error's text, with an end. */
bool instance_ask(Instance *instance, const Caller *caller, Buffer *message, Buffer *reply);

#endif
