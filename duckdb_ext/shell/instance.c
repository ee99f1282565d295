#include "instance.h"

#include "interrupts.h"
#include "link.h"
#include "start.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_S 1
#define MAX_IDLE 16   /* sockets that are kept open for the next query */
#define MAX_BOUND 256 /* connections whose statement is known */

/* The statement that a connection bound last. */
typedef struct Bound {
	idx_t connection;
	uint64_t statement;
	bool has_run;
	struct Bound *next;
} Bound;

/* Where the engine of a model listens, as its start told. */
typedef struct Found {
	char model[MODEL_ROOM], socket[SOCKET_ROOM];
	struct Found *next;
} Found;

struct Instance {
	atomic_int num_holders;
	unsigned number;
	time_t made;
	pthread_mutex_t lock, starting;
	uint64_t num_statements, aggregates_statement;
	time_t aggregates_asked, failed;
	uint64_t failed_statement;
	Buffer failure;
	Caller last;
	Bound *bound;
	Found *found;
	Link *idle;
	atomic_uint num_failed; /* starts of an engine; of the last one: */
	char start_failure[1200];
};

static atomic_uint num_instances;

Instance *instance_new(void) {
	Instance *instance = calloc(1, sizeof *instance);
	if (instance) {
		instance->made = time(NULL);
		instance->number = atomic_fetch_add(&num_instances, 1) + 1;
		pthread_mutex_init(&instance->lock, NULL);
		pthread_mutex_init(&instance->starting, NULL);
		atomic_store(&instance->num_holders, 1);
	}
	return instance;
}

Instance *instance_keep(Instance *instance) {
	atomic_fetch_add(&instance->num_holders, 1);
	return instance;
}

void instance_release(void *held) {
	Instance *instance = held;
	if (atomic_fetch_sub(&instance->num_holders, 1) > 1) {
		return;
	}
	while (instance->idle) {
		Link *link = instance->idle;
		instance->idle = link->next;
		link_close(link);
	}
	while (instance->bound) {
		Bound *bound = instance->bound;
		instance->bound = bound->next;
		free(bound);
	}
	while (instance->found) {
		Found *found = instance->found;
		instance->found = found->next;
		free(found);
	}
	buffer_free(&instance->failure);
	pthread_mutex_destroy(&instance->lock);
	pthread_mutex_destroy(&instance->starting);
	free(instance);
}

static void read_option(duckdb_client_context context, const char *name, char *into, size_t room) {
	duckdb_value value = duckdb_client_context_get_config_option(context, name, NULL);
	char *text = value ? duckdb_get_varchar(value) : NULL;
	snprintf(into, room, "%s", text ? text : "");
	duckdb_free(text);
	duckdb_destroy_value(&value);
}

void caller_read(Instance *instance, duckdb_client_context context, Caller *caller) {
	caller->connection = duckdb_client_context_get_connection_id(context);
	read_option(context, "llm_socket", caller->socket, sizeof caller->socket);
	read_option(context, "llm_model", caller->model, sizeof caller->model);
	read_option(context, "TimeZone", caller->zone, sizeof caller->zone);
	pthread_mutex_lock(&instance->lock);
	instance->last = *caller;
	pthread_mutex_unlock(&instance->lock);
}

void caller_unknown(Instance *instance, Caller *caller) {
	pthread_mutex_lock(&instance->lock);
	*caller = instance->last;
	pthread_mutex_unlock(&instance->lock);
	caller->connection = 0;
}

/* What a connection bound last, put to the front; of too many the one is forgotten that was there for longest. */
static Bound *find_bound(Instance *instance, idx_t connection) {
	Bound **place = &instance->bound;
	for (int i = 1; i < MAX_BOUND && *place && (*place)->connection != connection; i++) {
		place = &(*place)->next;
	}
	Bound *bound = *place;
	bool is_known = bound && bound->connection == connection;
	if (bound) {
		*place = bound->next;
	} else if (!(bound = malloc(sizeof *bound))) {
		return NULL;
	}
	if (!is_known) {
		*bound = (Bound){.connection = connection, .has_run = true};
	}
	bound->next = instance->bound;
	instance->bound = bound;
	return bound;
}

uint64_t statement_of_bind(Instance *instance, idx_t connection) {
	pthread_mutex_lock(&instance->lock);
	Bound *bound = find_bound(instance, connection);
	if (bound && bound->has_run) {
		bound->has_run = false;
		bound->statement = ++instance->num_statements;
	}
	uint64_t statement = bound ? bound->statement : 0;
	pthread_mutex_unlock(&instance->lock);
	return statement;
}

void statement_runs(Instance *instance, idx_t connection, uint64_t statement) {
	pthread_mutex_lock(&instance->lock);
	for (Bound *bound = instance->bound; bound; bound = bound->next) {
		if (bound->connection == connection && bound->statement == statement) {
			bound->has_run = true;
		}
	}
	pthread_mutex_unlock(&instance->lock);
}

uint64_t statement_of_aggregates(Instance *instance) {
	pthread_mutex_lock(&instance->lock);
	time_t now = time(NULL);
	if (!instance->aggregates_statement || now - instance->aggregates_asked > PAUSE_S) {
		instance->aggregates_statement = ++instance->num_statements;
	}
	instance->aggregates_asked = now;
	uint64_t statement = instance->aggregates_statement;
	pthread_mutex_unlock(&instance->lock);
	return statement;
}

void note_failure(Instance *instance, uint64_t statement, const char *error) {
	pthread_mutex_lock(&instance->lock);
	instance->failed_statement = statement;
	instance->failed = time(NULL);
	instance->failure.size = 0;
	buffer_add(&instance->failure, error, strlen(error) + 1);
	pthread_mutex_unlock(&instance->lock);
}

bool failed_just_now(Instance *instance, uint64_t statement, Buffer *error) {
	pthread_mutex_lock(&instance->lock);
	bool is_same = instance->failure.size && instance->failed_statement == statement &&
	               time(NULL) - instance->failed <= PAUSE_S;
	if (is_same) {
		buffer_add(error, instance->failure.data, instance->failure.size);
	}
	pthread_mutex_unlock(&instance->lock);
	return is_same;
}

/* The socket of the engine of the caller's model, where its start told one. */
static bool find_socket(Instance *instance, const Caller *caller, char *socket) {
	bool is_found = false;
	pthread_mutex_lock(&instance->lock);
	for (Found *found = instance->found; found && !is_found; found = found->next) {
		if ((is_found = strcmp(found->model, caller->model) == 0)) {
			snprintf(socket, SOCKET_ROOM, "%s", found->socket);
		}
	}
	pthread_mutex_unlock(&instance->lock);
	return is_found;
}

static void remember_socket(Instance *instance, const Caller *caller, const char *socket) {
	pthread_mutex_lock(&instance->lock);
	Found *found = instance->found;
	while (found && strcmp(found->model, caller->model) != 0) {
		found = found->next;
	}
	if (!found && (found = calloc(1, sizeof *found))) {
		snprintf(found->model, sizeof found->model, "%s", caller->model);
		found->next = instance->found;
		instance->found = found;
	}
	if (found) {
		snprintf(found->socket, sizeof found->socket, "%s", socket);
	}
	pthread_mutex_unlock(&instance->lock);
}

static Link *connect_to(Instance *instance, const Caller *caller, const char *socket, Buffer *error) {
	char name[64];
	snprintf(name, sizeof name, "%ld-%llx-%u", (long)getpid(), (unsigned long long)instance->made, instance->number);
	return link_open(socket, name, caller->connection, error);
}

/* Start the engine; what is wrong goes into `error`. Under the lock `starting`. */
static Link *start_link(Instance *instance, const Caller *caller, unsigned num_failed_before, Buffer *error) {
	char socket[SOCKET_ROOM], complaint[1200] = "the query was interrupted";
	bool failed_elsewhere = atomic_load(&instance->num_failed) != num_failed_before;
	if (!failed_elsewhere && !interrupts_came() &&
	    start_engine(caller->model, socket, sizeof socket, complaint, sizeof complaint)) {
		remember_socket(instance, caller, socket);
		return connect_to(instance, caller, socket, error);
	}
	if (failed_elsewhere) {
		snprintf(complaint, sizeof complaint, "%s", instance->start_failure);
	} else {
		snprintf(instance->start_failure, sizeof instance->start_failure, "%s", complaint);
		atomic_fetch_add(&instance->num_failed, 1);
	}
	error->size = 0;
	buffer_add(error, complaint, strlen(complaint) + 1);
	return NULL;
}

/* A new socket to the caller's engine, which is started if it is not up: once, if several threads want it. */
static Link *open_link(Instance *instance, const Caller *caller, Buffer *error) {
	char socket[SOCKET_ROOM];
	if (*caller->socket) {
		return connect_to(instance, caller, caller->socket, error);
	}
	unsigned num_failed_before = atomic_load(&instance->num_failed);
	pthread_mutex_lock(&instance->starting);
	Link *link = find_socket(instance, caller, socket) ? connect_to(instance, caller, socket, error) : NULL;
	if (!link) {
		link = start_link(instance, caller, num_failed_before, error);
	}
	pthread_mutex_unlock(&instance->starting);
	return link;
}

/* An open socket of the caller's that nobody uses now. */
static Link *take_idle(Instance *instance, const Caller *caller) {
	char socket[SOCKET_ROOM];
	if (*caller->socket) {
		snprintf(socket, sizeof socket, "%s", caller->socket);
	} else if (!find_socket(instance, caller, socket)) {
		return NULL;
	}
	pthread_mutex_lock(&instance->lock);
	Link **place = &instance->idle, *link;
	while ((link = *place) && !link_fits(link, socket, caller->connection)) {
		place = &link->next;
	}
	if (link) {
		*place = link->next;
	}
	pthread_mutex_unlock(&instance->lock);
	return link;
}

/* Keep a socket for the next query, and close the one that was idle for longest if there are too many. */
static void give_back(Instance *instance, Link *link) {
	pthread_mutex_lock(&instance->lock);
	link->next = instance->idle;
	instance->idle = link;
	Link **place = &instance->idle;
	for (int i = 0; i < MAX_IDLE && *place; i++) {
		place = &(*place)->next;
	}
	Link *oldest = *place;
	*place = NULL;
	pthread_mutex_unlock(&instance->lock);
	if (oldest) {
		link_close(oldest);
	}
}

bool instance_ask(Instance *instance, const Caller *caller, Buffer *message, Buffer *reply) {
	bool is_answered = false, is_asked = false;
	interrupts_watch();
	while (!is_asked) {
		Link *link = take_idle(instance, caller);
		bool was_idle = link != NULL;
		if (!link && !(link = open_link(instance, caller, reply))) {
			break;
		}
		LinkEnd end = link_ask(link, message, reply);
		is_asked = end != LINK_CLOSED || !was_idle; /* an engine that has gone in the meantime is asked anew */
		is_answered = end == LINK_ANSWERED;
		if (end == LINK_ANSWERED || end == LINK_REFUSED) {
			give_back(instance, link);
		} else {
			link_close(link);
		}
	}
	interrupts_unwatch();
	return is_answered;
}
