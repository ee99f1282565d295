#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_room(Buffer *buffer, size_t size) {
	if (buffer->size + size <= buffer->room) {
		return;
	}
	size_t room = (buffer->size + size) * 2;
	char *data = realloc(buffer->data, room);
	if (!data) {
		fprintf(stderr, "relserve: no memory for %zu bytes\n", room);
		abort();
	}
	buffer->data = data;
	buffer->room = room;
}

void buffer_add(Buffer *buffer, const void *bytes, size_t size) {
	make_room(buffer, size);
	if (size) {
		memcpy(buffer->data + buffer->size, bytes, size);
	}
	buffer->size += size;
}

void buffer_add_byte(Buffer *buffer, uint8_t byte) {
	buffer_add(buffer, &byte, 1);
}

void buffer_add_u32(Buffer *buffer, uint32_t number) {
	uint8_t bytes[4] = {(uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16), (uint8_t)(number >> 24)};
	buffer_add(buffer, bytes, 4);
}

void buffer_add_text(Buffer *buffer, const char *text) {
	buffer_add(buffer, text, strlen(text));
}

void buffer_add_json(Buffer *buffer, const char *text, size_t size) {
	size_t done = 0;
	buffer_add_byte(buffer, '"');
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c >= 0x20 && c != '"' && c != '\\') {
			continue;
		}
		char escaped[8];
		snprintf(escaped, sizeof escaped, "\\u%04x", c);
		buffer_add(buffer, text + done, i - done);
		buffer_add(buffer, escaped, 6);
		done = i + 1;
	}
	buffer_add(buffer, text + done, size - done);
	buffer_add_byte(buffer, '"');
}

size_t buffer_leave(Buffer *buffer, size_t size) {
	size_t place = buffer->size;
	make_room(buffer, size);
	memset(buffer->data + place, 0, size);
	buffer->size += size;
	return place;
}

void buffer_free(Buffer *buffer) {
	free(buffer->data);
	*buffer = (Buffer){0};
}
