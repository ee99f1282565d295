/* One socket of the service, which serves one DuckDB connection. */
#ifndef RELSERVE_LINK_H
#define RELSERVE_LINK_H

#include "api.h"
#include "buffer.h"

typedef struct Link {
	int fd;
	idx_t connection;
	char socket[108];
	struct Link *next;
} Link;

typedef enum {
	LINK_ANSWERED,
	LINK_REFUSED, /* the service said why; the socket can be used again */
	LINK_CLOSED,
	LINK_INTERRUPTED,
} LinkEnd;

/* Open a socket and introduce the connection, of a database instance of this name; NULL and an error's text. */
Link *link_open(const char *socket, const char *instance, idx_t connection, Buffer *error);
void link_close(Link *link);
bool link_fits(const Link *link, const char *socket, idx_t connection);
/* Send a message and wait for its answer; progress and notices go to stderr in the meantime.
 * `reply` holds the kind and body of the answer, or an error's text with an end. */
LinkEnd link_ask(Link *link, Buffer *message, Buffer *reply);

#endif
