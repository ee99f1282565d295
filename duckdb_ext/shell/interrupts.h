/* Ctrl-C while a chunk waits for its answers: DuckDB's C API does not tell that the query was interrupted. */
#ifndef RELSERVE_INTERRUPTS_H
#define RELSERVE_INTERRUPTS_H

/* From now on SIGINT is counted before it goes on to whoever handles it; calls may nest and overlap. */
void interrupts_watch(void);
void interrupts_unwatch(void);
/* How many came so far. */
unsigned interrupts_count(void);

#endif
