#include "link.h"

#include "declared.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(Buffer *error, const char *text) {
	error->size = 0;
	buffer_add(error, text, strlen(text) + 1);
}

/* Introduce the connection; what the service says in return is in `reply`. */
static WireEnd introduce(int fd, const char *instance, idx_t connection, Buffer *reply) {
	Buffer hello = {0};
	char names[200];
	snprintf(names, sizeof names, "\"instance\": \"%s-0\", \"connection\": \"%s-%llu\"", instance, instance,
	         (unsigned long long)connection);
	buffer_leave(&hello, 4);
	buffer_add_text(&hello, "{\"service\": \"calls\", \"protocol\": 1, \"relserve\": \"" RELSERVE_VERSION "\", ");
	buffer_add_text(&hello, names);
	buffer_add_text(&hello, isatty(2) ? ", \"progress\": true}" : "}");
	WireEnd end = wire_send(fd, &hello);
	if (end == WIRE_DONE) {
		end = wire_receive(fd, reply);
	}
	buffer_free(&hello);
	return end;
}

/* The text of a field of the service's first message, which is JSON; false: there is none. */
static bool read_text(Buffer *json, const char *field, Buffer *into) {
	buffer_add_byte(json, 0);
	char *at = strstr(json->data, field);
	at = at ? strchr(at + strlen(field), '"') : NULL;
	into->size = 0;
	for (at = at ? at + 1 : NULL; at && *at && *at != '"'; at++) {
		if (*at == '\\' && at[1]) {
			at++;
			buffer_add_byte(into, *at == 'n' ? '\n' : (uint8_t)*at);
		} else {
			buffer_add_byte(into, (uint8_t)*at);
		}
	}
	buffer_add_byte(into, 0);
	return at != NULL;
}

Link *link_open(const char *socket, const char *instance, idx_t connection, Buffer *error) {
	char complaint[300];
	int fd = wire_open(socket, complaint, sizeof complaint);
	if (fd < 0) {
		tell(error, complaint);
		return NULL;
	}
	Buffer reply = {0};
	WireEnd end = introduce(fd, instance, connection, &reply);
	bool is_refused = end == WIRE_DONE && read_text(&reply, "\"error\":", error);
	buffer_free(&reply);
	if (end != WIRE_DONE) {
		tell(error, end == WIRE_INTERRUPTED ? "the query was interrupted" : "the engine closed the connection");
	}
	Link *link = end == WIRE_DONE && !is_refused ? calloc(1, sizeof *link) : NULL;
	if (!link) {
		close(fd);
		return NULL;
	}
	link->fd = fd;
	link->connection = connection;
	snprintf(link->socket, sizeof link->socket, "%s", socket);
	return link;
}

void link_close(Link *link) {
	close(link->fd);
	free(link);
}

bool link_fits(const Link *link, const char *socket, idx_t connection) {
	return link->connection == connection && strcmp(link->socket, socket) == 0;
}

#define WIPE "\r\033[K"

/* Progress stands in one line that the next one overwrites. */
static void show(char kind, const char *text, size_t size) {
	fprintf(stderr, kind == 'P' ? WIPE "%.*s" : "relserve: %.*s\n", (int)size, text);
	fflush(stderr);
}

/* Send a message and read until its answer has come. */
static WireEnd converse(Link *link, Buffer *message, Buffer *reply) {
	bool is_shown = false;
	WireEnd end = wire_send(link->fd, message);
	while (end == WIRE_DONE && (end = wire_receive(link->fd, reply)) == WIRE_DONE && reply->size) {
		bool is_progress = reply->data[0] == 'P';
		if (is_shown && !is_progress) {
			fputs(WIPE, stderr);
		}
		is_shown = is_progress;
		if (!is_progress && reply->data[0] != 'N') {
			break;
		}
		show(reply->data[0], reply->data + 1, reply->size - 1);
	}
	if (is_shown) {
		fputs(WIPE, stderr);
	}
	return end;
}

LinkEnd link_ask(Link *link, Buffer *message, Buffer *reply) {
	switch (converse(link, message, reply)) {
	case WIRE_INTERRUPTED:
		tell(reply, "the query was interrupted");
		return LINK_INTERRUPTED;
	case WIRE_CLOSED:
		tell(reply, "the engine went away before it had answered; the next query starts it again");
		return LINK_CLOSED;
	case WIRE_DONE:
		break;
	}
	if (!reply->size || reply->data[0] != 'E') {
		return LINK_ANSWERED;
	}
	buffer_add_byte(reply, 0);
	memmove(reply->data, reply->data + 1, --reply->size);
	return LINK_REFUSED;
}
