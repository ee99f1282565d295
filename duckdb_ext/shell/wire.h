/* Messages over one socket of the service: four bytes of length and so many bytes, in both directions. */
#ifndef RELSERVE_WIRE_H
#define RELSERVE_WIRE_H

#include "buffer.h"

#include <stdbool.h>

typedef enum {
	WIRE_DONE,
	WIRE_CLOSED,      /* the service has gone */
	WIRE_INTERRUPTED, /* the user wants the query to stop */
} WireEnd;

/* Open a socket; -1 and an error where nobody listens. */
int wire_open(const char *path, char *error, size_t room);
/* Send a message whose first four bytes were left for its length. */
WireEnd wire_send(int fd, Buffer *message);
/* Wait for a message; `into` then holds it without its length. */
WireEnd wire_receive(int fd, Buffer *into);

#endif
