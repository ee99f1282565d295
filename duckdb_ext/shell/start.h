/* Where the engine's socket is, starting the engine if none is up. */
#ifndef RELSERVE_START_H
#define RELSERVE_START_H

#include <stdbool.h>
#include <stddef.h>

/* Ask `relserve engine start` for the socket of a model ("": the default one); blocks until it answers.
 * False: error holds what it said. */
bool start_engine(const char *model, char *socket, size_t socket_room, char *error, size_t error_room);

#endif
