// SPDX-License-Identifier: MIT
/*
 * Records the driver's events in an instance of the kernel's tracing of its own, so
 * that nobody else's trace is disturbed.
 */
#include <errno.h>
#include <event-parse.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <tracefs.h>
#include <unistd.h>

#include "tool.h"
#include "trace.h"

#define SYSTEM "trainium"

struct reader {
	struct tep_handle *tep;
	struct trace_seq text;
	void (*line)(void *context, const char *text);
	void *context;
	unsigned long lost;
};

static struct tracefs_instance *instance;

/* Also when the program ends by a message. */
static void remove_instance(void)
{
	if (!instance)
		return;
	tracefs_trace_off(instance);
	tracefs_instance_destroy(instance);
	tracefs_instance_free(instance);
	instance = NULL;
}

void record_check(void)
{
	const char *dir = tracefs_tracing_dir();
	char path[256];

	if (!dir || access(dir, F_OK))
		tool_die(TOOL_FAILED,
			 "no tracing: tracefs is not mounted at /sys/kernel/tracing");
	if (access(dir, R_OK | W_OK | X_OK))
		tool_die(TOOL_FAILED, "%s: only root may trace: run it with sudo", dir);
	snprintf(path, sizeof(path), "%s/events/%s", dir, SYSTEM);
	if (access(path, F_OK))
		tool_die(TOOL_FAILED,
			 "the kernel has no events of the driver: the module trainium is not loaded");
}

static void start_tracing(const struct record_options *options)
{
	char name[32];

	snprintf(name, sizeof(name), "neuron-trace-%d", (int)getpid());
	instance = tracefs_instance_create(name);
	if (!instance)
		tool_die(TOOL_FAILED, "tracing instance %s: %s", name, strerror(errno));
	atexit(remove_instance);
	if (tracefs_instance_set_buffer_size(instance, options->buffer_kb, -1))
		tool_die(TOOL_FAILED, "trace buffers of %u KiB a CPU: %s", options->buffer_kb,
			 strerror(errno));
	if (tracefs_instance_file_write(instance, "trace_clock", "mono") < 0 ||
	    tracefs_event_enable(instance, SYSTEM, NULL))
		tool_die(TOOL_FAILED, "events of the driver: %s", strerror(errno));
}

static pid_t run_command(char *const *command, const sigset_t *signals)
{
	pid_t pid = fork();

	if (pid < 0)
		tool_die(TOOL_FAILED, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	sigprocmask(SIG_UNBLOCK, signals, NULL);
	execvp(command[0], command);
	tool_warn("%s: %s", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static int exit_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return TOOL_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Until the command has ended, a signal has come, or time is up */
static int wait_for_end(const struct record_options *options)
{
	int64_t limit = (int64_t)(options->seconds * 1e9), begin = tool_now(), now;
	struct signalfd_siginfo info;
	sigset_t signals;
	struct pollfd fd;
	pid_t pid = 0;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fd.fd = signalfd(-1, &signals, SFD_CLOEXEC);
	fd.events = POLLIN;
	if (fd.fd < 0)
		tool_die(TOOL_FAILED, "signalfd: %s", strerror(errno));
	if (options->command)
		pid = run_command(options->command, &signals);
	for (now = begin; !limit || now - begin < limit; now = tool_now()) {
		if (limit)
			tool_progress("record", (uint64_t)(now - begin), (uint64_t)limit);
		if (poll(&fd, 1, limit ? 100 : -1) < 1)
			continue;
		if (read(fd.fd, &info, sizeof(info)) != sizeof(info))
			break;
		/* A signal of the terminal has reached the command, too. */
		if (info.ssi_signo == SIGCHLD || !pid)
			break;
	}
	tool_progress_clear();
	close(fd.fd);
	if (pid && limit && tool_now() - begin >= limit)
		kill(pid, SIGTERM);
	return pid ? exit_status(pid) : TOOL_OK;
}

static int read_event(struct tep_event *event, struct tep_record *record, int cpu, void *context)
{
	struct reader *reader = context;
	int pid = tep_data_pid(reader->tep, record);
	char text[TRACE_LINE];

	if (record->missed_events) {
		/* Below 0: nobody knows how many. */
		reader->lost += record->missed_events > 0 ? (unsigned long)record->missed_events
							  : 1;
	}
	trace_seq_reset(&reader->text);
	tep_print_event(reader->tep, &reader->text, record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&reader->text);
	snprintf(text, sizeof(text), "%s-%d [%03d] %llu.%09llu: %s: %s",
		 tep_data_comm_from_pid(reader->tep, pid), pid, cpu, record->ts / 1000000000,
		 record->ts % 1000000000, event->name, reader->text.buffer);
	reader->line(reader->context, text);
	return 0;
}

int record(const struct record_options *options, void (*line)(void *context, const char *text),
	   void *context)
{
	const char *const systems[] = { SYSTEM, NULL };
	struct reader reader = { .line = line, .context = context };
	int status;

	start_tracing(options);
	status = wait_for_end(options);
	tracefs_trace_off(instance);

	reader.tep = tracefs_local_events_system(NULL, systems);
	if (!reader.tep)
		tool_die(TOOL_FAILED, "formats of the driver's events: %s", strerror(errno));
	tracefs_load_cmdlines(NULL, reader.tep);
	trace_seq_init(&reader.text);
	if (tracefs_iterate_raw_events(reader.tep, instance, NULL, 0, read_event, &reader) < 0 &&
	    errno)
		tool_warn("the trace could not be read to its end: %s", strerror(errno));
	if (reader.lost)
		tool_warn("%lu events are lost: the buffers are too small (--buffer)", reader.lost);
	trace_seq_destroy(&reader.text);
	tep_free(reader.tep);
	remove_instance();
	return status;
}
