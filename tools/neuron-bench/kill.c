// SPDX-License-Identifier: MIT
/*
 * Memory lost when processes are killed in the middle of DMA.
 *
 * A child takes HBM, host memory and pinned memory of its own, keeps two queues
 * busy with long copies, and is killed at a time that differs from round to
 * round. At the end, what is free has to be what was free at the start.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "tool.h"

#define SIZE (16u << 20)
/* Free memory of a machine moves by itself; one lost round is twice this. */
#define NOISE (16u << 20)
#define SETTLE_TRIES 100
#define SETTLE_US 20000

/**
 * struct state - memory of device and host at one time
 */
struct state {
	uint64_t hbm_free;
	uint64_t hbm_buffers;
	/** @shared: bytes of shared memory, what host buffers are made of */
	int64_t shared;
	/** @pinned: bytes pinned for devices */
	int64_t pinned;
	int64_t available;
};

/* Number behind a word at the start of a line of a file in /proc; 0 if there is none. */
static int64_t proc_value(const char *path, const char *word)
{
	size_t length = strlen(word);
	int64_t value = 0;
	char line[256];
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, word, length) || (line[length] != ' ' && line[length] != ':'))
			continue;
		if (sscanf(line + length + 1, "%" SCNd64, &value) != 1)
			value = 0;
		break;
	}
	fclose(f);
	return value;
}

/* Free pages that the CPUs keep for themselves; MemAvailable leaves them out. */
static int64_t proc_free_of_cpus(void)
{
	int64_t value, sum = 0;
	char line[256];
	FILE *f;

	f = fopen("/proc/zoneinfo", "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %" SCNd64, &value) == 1)
			sum += value;
	fclose(f);
	return sum * sysconf(_SC_PAGESIZE);
}

static void look(struct bench *bench, struct state *state)
{
	struct neuron_memory_info info = { .size = sizeof(info) };

	if (neuron_device_get_memory(bench->device, NEURON_STACK_ANY, &info))
		tool_die_neuron("memory");
	state->hbm_free = info.free;
	state->hbm_buffers = info.buffers;
	state->shared = proc_value("/proc/meminfo", "Shmem") * 1024;
	state->pinned = (proc_value("/proc/vmstat", "nr_foll_pin_acquired") -
			 proc_value("/proc/vmstat", "nr_foll_pin_released")) * 4096;
	state->available = proc_value("/proc/meminfo", "MemAvailable") * 1024 +
			   proc_free_of_cpus();
}

static void queue_copies(struct neuron_queue *queue, struct neuron_buffer *dst,
			 struct neuron_buffer *src)
{
	const struct neuron_op op = {
		.type = NEURON_OP_COPY,
		.dst = dst,
		.src = src,
		.size = SIZE,
	};
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (neuron_queue_submit(queue, &op, 1, NULL, 0, NULL))
			_exit(1);
}

/* Does not return. Tells through @ready that work is queued. */
static void child(const char *name, int ready)
{
	struct neuron_queue *up, *down;
	struct neuron_buffer *hbm, *host, *user;
	struct neuron_device *device;
	void *memory = malloc(SIZE);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!memory)
		_exit(1);
	memset(memory, 1, SIZE);
	if (neuron_device_open_name(name, &device) || neuron_queue_create(device, NULL, &up) ||
	    neuron_queue_create(device, NULL, &down) ||
	    neuron_buffer_create(device, NEURON_HBM, SIZE, NULL, &hbm) ||
	    neuron_buffer_create(device, NEURON_HOST, SIZE, NULL, &host))
		_exit(1);
	/* Not every driver has it. */
	if (neuron_buffer_create_userptr(device, memory, SIZE, 0, &user))
		user = host;
	for (;;) {
		queue_copies(up, hbm, user);
		queue_copies(down, host, hbm);
		if (ready >= 0 && write(ready, "x", 1) != 1)
			_exit(1);
		ready = -1;
		if (neuron_queue_drain(up, NEURON_WAIT_FOREVER) ||
		    neuron_queue_drain(down, NEURON_WAIT_FOREVER))
			_exit(1);
	}
}

static void kill_one(struct bench *bench, unsigned int round)
{
	int pipes[2], status;
	char byte;
	pid_t pid;

	if (pipe(pipes))
		tool_die(TOOL_FAILED, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		tool_die(TOOL_FAILED, "fork: %s", strerror(errno));
	if (!pid) {
		close(pipes[0]);
		child(bench->device_name, pipes[1]);
	}
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1)
		tool_die(TOOL_FAILED, "round %u: the child ended before any DMA", round);
	close(pipes[0]);
	/* 0 to 9.9 ms, another time in every round. */
	usleep(round * 7919 % 100 * 100);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL)
		tool_die(TOOL_FAILED, "round %u: the child ended before it was killed", round);
}

static int64_t positive(int64_t value)
{
	return value > 0 ? value : 0;
}

static int64_t lost(const struct state *before, const struct state *after)
{
	int64_t bytes;

	bytes = positive((int64_t)before->hbm_free - (int64_t)after->hbm_free);
	bytes += positive(after->shared - before->shared);
	bytes += positive(after->pinned - before->pinned);
	if (before->available - after->available > NOISE)
		bytes += before->available - after->available;
	return bytes;
}

void bench_kill(struct bench *bench, const struct row *row, struct result *result)
{
	struct state before, after;
	unsigned int i;

	/* Caches of all kinds are warm after a few. */
	for (i = 0; i < 3; i++)
		kill_one(bench, i);
	usleep(500000);
	look(bench, &before);
	for (i = 0; i < bench->rounds; i++) {
		tool_progress(row->name, i, bench->rounds);
		kill_one(bench, i);
	}
	/* What was running ends first; a second is plenty. */
	for (i = 0; i < SETTLE_TRIES; i++) {
		look(bench, &after);
		if (!lost(&before, &after))
			break;
		usleep(SETTLE_US);
	}
	result->value = (double)lost(&before, &after);
	if (after.hbm_buffers > before.hbm_buffers)
		tool_die(TOOL_FAILED, "%s: %" PRIu64 " buffers are left in HBM", row->name,
			 after.hbm_buffers - before.hbm_buffers);
}
