#include "interrupts.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int num_watching;
static atomic_uint count;
static _Thread_local unsigned seen;
static bool is_installed;
static struct sigaction former;

static void on_interrupt(int signal, siginfo_t *info, void *context) {
	atomic_fetch_add(&count, 1);
	if (former.sa_flags & SA_SIGINFO) {
		former.sa_sigaction(signal, info, context);
	} else {
		former.sa_handler(signal);
	}
}

void interrupts_watch(void) {
	pthread_mutex_lock(&lock);
	if (num_watching++ == 0 && sigaction(SIGINT, NULL, &former) == 0) {
		/* where nobody handles the signal it ends the process, or nothing */
		is_installed = (former.sa_flags & SA_SIGINFO) ||
		               (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN);
		if (is_installed) {
			struct sigaction ours = former;
			ours.sa_flags |= SA_SIGINFO;
			ours.sa_sigaction = on_interrupt;
			sigaction(SIGINT, &ours, NULL);
		}
	}
	seen = atomic_load(&count);
	pthread_mutex_unlock(&lock);
}

void interrupts_unwatch(void) {
	pthread_mutex_lock(&lock);
	if (--num_watching == 0 && is_installed) {
		struct sigaction now;
		/* somebody may have put a handler over ours, which is then theirs to keep */
		if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_sigaction == on_interrupt) {
			sigaction(SIGINT, &former, NULL);
		}
		is_installed = false;
	}
	pthread_mutex_unlock(&lock);
}

bool interrupts_came(void) {
	return atomic_load(&count) != seen;
}
