/* Bytes that grow: a message on its way to the service, the values of a group. */
#ifndef RELSERVE_BUFFER_H
#define RELSERVE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
	char *data;
	size_t size, room;
} Buffer;

/* Append bytes; without memory for them the process ends, as DuckDB's own would. */
void buffer_add(Buffer *buffer, const void *bytes, size_t size);
void buffer_add_byte(Buffer *buffer, uint8_t byte);
void buffer_add_u32(Buffer *buffer, uint32_t number);
void buffer_add_text(Buffer *buffer, const char *text);
/* Append a text as a JSON string, quotes included. */
void buffer_add_json(Buffer *buffer, const char *text, size_t size);
/* Append so many bytes to be filled in; their place from the buffer's start. */
size_t buffer_leave(Buffer *buffer, size_t size);
void buffer_free(Buffer *buffer);

#endif
