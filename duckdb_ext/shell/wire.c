#include "wire.h"

#include "interrupts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LOOK_MS 50 /* how often a thread that waits looks for an interrupt */

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS has a socket option instead */
#endif

int wire_open(const char *path, char *error, size_t room) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		snprintf(error, room, "the path of the engine's socket is too long: %s", path);
		return -1;
	}
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
#ifdef SO_NOSIGPIPE
		setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
		return fd;
	}
	snprintf(error, room, "no engine answers at %s: %s", path, strerror(errno));
	if (fd >= 0) {
		close(fd);
	}
	return -1;
}

/* Wait until the socket is ready to be read or written. */
static WireEnd wait_for(int fd, short event) {
	struct pollfd polled = {.fd = fd, .events = event};
	for (;;) {
		int ready = poll(&polled, 1, LOOK_MS);
		if (interrupts_came()) {
			return WIRE_INTERRUPTED;
		}
		if (ready > 0) {
			return WIRE_DONE;
		}
		if (ready < 0 && errno != EINTR) {
			return WIRE_CLOSED;
		}
	}
}

static WireEnd move(int fd, char *bytes, size_t size, short event) {
	while (size) {
		WireEnd end = wait_for(fd, event);
		if (end != WIRE_DONE) {
			return end;
		}
		ssize_t moved = event == POLLOUT ? send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT)
		                                 : recv(fd, bytes, size, MSG_DONTWAIT);
		if (moved < 0 && (errno == EINTR || errno == EAGAIN)) {
			continue;
		}
		if (moved <= 0) {
			return WIRE_CLOSED;
		}
		bytes += moved;
		size -= (size_t)moved;
	}
	return WIRE_DONE;
}

static uint32_t number_in(const char *bytes) {
	const uint8_t *b = (const uint8_t *)bytes;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

WireEnd wire_send(int fd, Buffer *message) {
	Buffer length = {0};
	buffer_add_u32(&length, (uint32_t)(message->size - 4));
	memcpy(message->data, length.data, 4);
	buffer_free(&length);
	return move(fd, message->data, message->size, POLLOUT);
}

WireEnd wire_receive(int fd, Buffer *into) {
	char length[4];
	WireEnd end = move(fd, length, 4, POLLIN);
	if (end != WIRE_DONE) {
		return end;
	}
	into->size = 0;
	size_t size = number_in(length);
	buffer_leave(into, size);
	return move(fd, into->data, size, POLLIN);
}
