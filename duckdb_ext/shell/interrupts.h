/* Ctrl-C while a chunk waits for its answers: DuckDB's C API does not tell that the query was interrupted. */
#ifndef RELSERVE_INTERRUPTS_H
#define RELSERVE_INTERRUPTS_H

#include <stdbool.h>

/* From now on SIGINT is noted before it goes on to whoever handles it; several threads may watch at once. */
void interrupts_watch(void);
void interrupts_unwatch(void);
/* Whether one came since this thread began to watch. */
bool interrupts_came(void);

#endif
