// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes and threads that do anything at random for a while, and check
 * every byte. TRAINIUM_STRESS_SECONDS and TRAINIUM_STRESS_SEED change how long
 * and which.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define PROCESSES	3
#define THREADS		3
#define SLOTS		12
#define MAX_SIZE	TRN_KIB(512)

struct slot {
	struct trn_bo bo;
	__u32 placement;
	__u8 *user;
	/* What is in it: a pattern seed, or a byte */
	bool pattern;
	__u64 seed;
	bool shared;	/* a second handle of it exists */
	__u32 alias;
};

struct worker {
	int fd;
	__u64 seed;
	__s64 end;
	unsigned int rounds;
	char error[160];
};

#define FAIL(w, ...) snprintf((w)->error, sizeof((w)->error), __VA_ARGS__)

static bool good(const struct slot *s, const void *mem)
{
	return s->pattern ? trn_check(mem, 0, s->bo.size, s->seed) == -1 :
			    trn_check_byte(mem, s->bo.size, s->seed) == -1;
}

static int fill_slot(struct worker *w, struct slot *s)
{
	int ret;

	memset(s, 0, sizeof(*s));
	s->placement = trn_rand_below(&w->seed, 3);
	s->bo.size = (1 + trn_rand_below(&w->seed, MAX_SIZE / TRN_PAGE)) * TRN_PAGE;
	if (s->placement == TRAINIUM_BO_USERPTR) {
		/* Unaligned, of odd length */
		s->bo.size -= trn_rand_below(&w->seed, TRN_PAGE);
		s->user = mmap(NULL, s->bo.size + TRN_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (s->user == MAP_FAILED)
			return -ENOMEM;
		s->bo.map = s->user + trn_rand_below(&w->seed, TRN_PAGE);
		ret = trn_bo_userptr(w->fd, s->bo.map, s->bo.size, 0, &s->bo.handle);
		if (ret == -EOPNOTSUPP) {
			munmap(s->user, s->bo.size + TRN_PAGE);
			s->user = NULL;
			s->bo.map = NULL;
			s->placement = TRAINIUM_BO_HOST;
			s->bo.size = TRN_PAGE;
		} else {
			return ret;
		}
	}
	return trn_bo_new(w->fd, s->placement, s->placement == TRAINIUM_BO_HBM ?
			  trn_rand_below(&w->seed, 4) : 0, s->bo.size, &s->bo);
}

static void empty_slot(struct worker *w, struct slot *s)
{
	if (s->placement == TRAINIUM_BO_USERPTR) {
		trn_close_handle(w->fd, s->bo.handle);
		munmap(s->user, s->bo.size + TRN_PAGE);
	} else {
		trn_bo_put(w->fd, &s->bo);
	}
	memset(s, 0, sizeof(*s));
}

/* Copies one whole buffer over another of at least its size */
static int copy_slot(struct worker *w, __u32 queue, struct slot *dst, const struct slot *src,
		     const struct trn_bo *check)
{
	__u64 cut = 1 + trn_rand_below(&w->seed, src->bo.size);
	struct drm_trainium_op ops[2] = {
		/* In two pieces, which need no order */
		trn_op_copy(dst->bo.handle, 0, src->bo.handle, 0, cut),
		trn_op_copy(dst->bo.handle, cut, src->bo.handle, cut, src->bo.size - cut),
	};
	int ret;

	ret = trn_run(w->fd, queue, ops, cut == src->bo.size ? 1 : 2);
	if (ret)
		return ret;
	ret = trn_copy(w->fd, queue, check->handle, 0, dst->bo.handle, 0, src->bo.size);
	if (ret)
		return ret;
	return good(src, check->map) ? 0 : -EILSEQ;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct slot slot[SLOTS] = {};
	struct trn_bo check;
	__u32 queue[4] = {};
	unsigned int i;
	int ret;

	if (trn_host_new(w->fd, MAX_SIZE, &check)) {
		FAIL(w, "no memory");
		return NULL;
	}
	for (; trn_now() < w->end && !w->error[0]; w->rounds++) {
		struct slot *a = &slot[trn_rand_below(&w->seed, SLOTS)];
		struct slot *b = &slot[trn_rand_below(&w->seed, SLOTS)];
		__u32 *q = &queue[trn_rand_below(&w->seed, ARRAY_SIZE(queue))];

		if (!*q) {
			ret = trn_queue_create(w->fd, trn_rand_below(&w->seed, 4),
					       trn_rand_below(&w->seed, 5), q);
			if (ret)
				FAIL(w, "queue create: %d", ret);
			continue;
		}
		if (!a->bo.handle) {
			ret = fill_slot(w, a);
			if (ret) {
				FAIL(w, "create of %u: %d", a->placement, ret);
				a->bo.handle = 0;
				continue;
			}
			/* Zeroed, as far as that was promised */
			if (a->placement == TRAINIUM_BO_USERPTR)
				memset(a->bo.map, 0, a->bo.size);
			a->seed = 0;
			ret = trn_copy(w->fd, *q, check.handle, 0, a->bo.handle, 0, a->bo.size);
			if (ret || !good(a, check.map))
				FAIL(w, "new buffer not zero: %d", ret);
			continue;
		}
		switch (trn_rand_below(&w->seed, 8)) {
		case 0:
			empty_slot(w, a);
			break;
		case 1:
			trn_queue_destroy(w->fd, *q);
			*q = 0;
			break;
		case 2:
			if (!a->bo.map)
				break;
			a->pattern = true;
			a->seed = trn_rand(&w->seed);
			trn_pattern(a->bo.map, 0, a->bo.size, a->seed);
			break;
		case 3:
			a->pattern = false;
			a->seed = trn_rand_below(&w->seed, 256);
			ret = trn_fill(w->fd, *q, a->bo.handle, 0, a->bo.size, a->seed, 1);
			if (ret)
				FAIL(w, "fill: %d", ret);
			break;
		case 4:
			if (a->bo.map && !good(a, a->bo.map))
				FAIL(w, "wrong data seen by the CPU in %u", a->placement);
			break;
		default:
			if (a == b || !b->bo.handle || b->bo.size < a->bo.size)
				break;
			ret = copy_slot(w, *q, b, a, &check);
			if (ret)
				FAIL(w, "copy from %u to %u: %d", a->placement, b->placement, ret);
			/* What is behind it in b is of no known value: all of it anew */
			if (b->bo.size > a->bo.size) {
				b->pattern = false;
				b->seed = 0;
				ret = trn_fill(w->fd, *q, b->bo.handle, 0, b->bo.size, 0, 1);
				if (ret)
					FAIL(w, "fill: %d", ret);
			} else {
				b->pattern = a->pattern;
				b->seed = a->seed;
			}
			break;
		}
	}
	/* Half of it is left for the close of the file. */
	for (i = 0; i < SLOTS; i += 2)
		if (slot[i].bo.handle)
			empty_slot(w, &slot[i]);
	return NULL;
}

static int process(__u64 seed, __s64 end)
{
	struct worker worker[THREADS] = {};
	pthread_t thread[THREADS];
	int fd = trn_open(0), failed = 0;
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		/* The first two share a file. */
		worker[i].fd = i < 2 ? fd : trn_open(trn_num_devices() - 1);
		worker[i].seed = seed + i * 1000;
		worker[i].end = end;
		if (pthread_create(&thread[i], NULL, work, &worker[i]))
			return 1;
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		if (worker[i].error[0]) {
			fprintf(stderr, "# seed %llx, thread %u, round %u: %s\n", seed, i,
				worker[i].rounds, worker[i].error);
			failed = 1;
		} else if (worker[i].rounds < 10) {
			fprintf(stderr, "# seed %llx, thread %u: only %u rounds\n", seed, i,
				worker[i].rounds);
			failed = 1;
		}
	}
	return failed;
}

FIXTURE(stress) {
	int fd;
	int log;
	struct trn_snapshot base;
};

FIXTURE_SETUP(stress)
{
	self->log = trn_log_open();
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
}

FIXTURE_TEARDOWN(stress)
{
	char line[1024];

	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 5 * TRN_SEC)) {
		TH_LOG("%s", trn_settle(self->fd, &self->base, 0) ?: "late");
	}
	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F_TIMEOUT(stress, everything, 3600)
{
	const char *text = getenv("TRAINIUM_STRESS_SECONDS");
	__s64 end = trn_now() + (text ? atoi(text) : 8) * TRN_SEC;
	__u64 seed = trn_now();
	pid_t pid[PROCESSES];
	unsigned int i;

	if (getenv("TRAINIUM_STRESS_SEED"))
		seed = strtoull(getenv("TRAINIUM_STRESS_SEED"), NULL, 16);
	for (i = 0; i < PROCESSES; i++) {
		TH_LOG("process %u: seed %llx", i, seed + i * 100000);
		pid[i] = trn_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			_exit(process(seed + i * 100000, end));
	}
	for (i = 0; i < PROCESSES; i++)
		EXPECT_EQ(0, trn_reap(pid[i], end - trn_now() + trn_limit(60 * TRN_SEC)));
}

TEST_HARNESS_MAIN
