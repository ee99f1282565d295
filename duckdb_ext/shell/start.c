#include "start.h"

#include "declared.h"
#include "interrupts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define LOOK_MS 50

/* The command's output and complaints, each the last so many characters. */
typedef struct {
	int fd;
	char *text;
	size_t size, room;
} Listener;

static void listen_to(Listener *listener) {
	char bytes[1024];
	ssize_t got = read(listener->fd, bytes, sizeof bytes);
	if (got <= 0) {
		close(listener->fd);
		listener->fd = -1;
		return;
	}
	for (ssize_t i = 0; i < got; i++) {
		if (listener->size + 1 == listener->room) {
			memmove(listener->text, listener->text + 1, --listener->size);
		}
		listener->text[listener->size++] = bytes[i];
	}
	listener->text[listener->size] = 0;
}

static pid_t spawn(const char *model, int out, int err) {
	char *command[] = {RELSERVE_PYTHON, "-m", "relserve", "engine", "start", "--print-socket", "--model", (char *)model,
	                   NULL};
	if (!*model) {
		command[6] = NULL;
	}
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, err, 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* a Ctrl-C is for the query, not for the engine */
	pid_t child = -1;
	if (posix_spawn(&child, command[0], &actions, &attributes, command, environ) != 0) {
		child = -1;
	}
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return child;
}

/* Listen until the command has ended; an engine that it started may hold the pipes for longer.
 * False: the user interrupted. */
static bool hear_out(pid_t child, int *status, Listener *out, Listener *err) {
	for (bool has_ended = false;;) {
		struct pollfd polled[2] = {{.fd = out->fd, .events = POLLIN}, {.fd = err->fd, .events = POLLIN}};
		int ready = poll(polled, 2, has_ended ? 0 : LOOK_MS);
		if (interrupts_came()) {
			return false;
		}
		if (ready > 0 && polled[0].revents) {
			listen_to(out);
		}
		if (ready > 0 && polled[1].revents) {
			listen_to(err);
		}
		if (has_ended && (ready <= 0 || (out->fd < 0 && err->fd < 0))) {
			return true;
		}
		has_ended = has_ended || waitpid(child, status, WNOHANG) != 0;
	}
}

static bool make_pipe(int ends[2]) {
	return pipe(ends) == 0 && fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
}

static void stop_listening(Listener *listener) {
	if (listener->fd >= 0) {
		close(listener->fd);
	}
	while (listener->size && strchr(" \r\n\t", listener->text[listener->size - 1])) {
		listener->text[--listener->size] = 0;
	}
}

bool start_engine(const char *model, char *socket, size_t socket_room, char *error, size_t error_room) {
	int out[2], err[2], status = 0;
	char complaint[1024] = "";
	socket[0] = 0;
	if (!make_pipe(out) || !make_pipe(err)) {
		snprintf(error, error_room, "cannot start the engine: %s", strerror(errno));
		return false;
	}
	pid_t child = spawn(model, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	Listener said = {out[0], socket, 0, socket_room}, complained = {err[0], complaint, 0, sizeof complaint};
	bool heard = child > 0 && hear_out(child, &status, &said, &complained);
	stop_listening(&said);
	stop_listening(&complained);
	if (child > 0 && !heard) {
		kill(child, SIGTERM);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
		}
	}
	if (child < 0) {
		snprintf(error, error_room, "cannot run %s, with which relserve was installed here; install it again",
		         RELSERVE_PYTHON);
	} else if (!heard) {
		snprintf(error, error_room, "the query was interrupted");
	} else if (status != 0 || !said.size) {
		snprintf(error, error_room, "the engine did not start: %s", *complaint ? complaint : "it said nothing");
	}
	return heard && status == 0 && said.size;
}
