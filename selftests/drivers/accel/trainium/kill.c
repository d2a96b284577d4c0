// SPDX-License-Identifier: GPL-2.0-only
/* Processes that end in the middle of their work: nothing of theirs is left */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_MIB(8)

FIXTURE(kill) {
	int fd;
	__u32 queue;
	struct trn_bo bo;
	struct trn_snapshot base;
	int log;
};

FIXTURE_SETUP(kill)
{
	self->log = trn_log_open();
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, TRN_KIB(64), &self->bo));
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
}

FIXTURE_TEARDOWN(kill)
{
	char line[1024];

	EXPECT_EQ(0, trn_fill(self->fd, self->queue, self->bo.handle, 0, TRN_KIB(64), 1, 1));
	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

/* Copies in all directions without end, on several queues, of all kinds */
static void work_without_end(unsigned int kind)
{
	struct trn_bo host, hbm[2];
	unsigned int i, n = 1 + kind % 3;
	__u32 queue[3], user = 0;
	int fd = trn_open(0);
	__u8 *mem;

	if (fd < 0)
		_exit(1);
	for (i = 0; i < n; i++)
		if (trn_queue_create(fd, i, 1 + kind % 5, &queue[i]))
			_exit(2);
	if (trn_host_new(fd, SIZE, &host) || trn_hbm_new(fd, kind % 4, SIZE, &hbm[0]) ||
	    trn_hbm_new(fd, (kind + 1) % 4, SIZE, &hbm[1]))
		_exit(3);
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Where the kernel has it: pinned pages, and a copy on the way out */
	if (trn_bo_userptr(fd, mem, SIZE, 0, &user))
		user = host.handle;
	for (i = 0;; i++) {
		struct drm_trainium_op ops[4] = {
			trn_op_copy(hbm[0].handle, 0, host.handle, 0, SIZE),
			trn_op_copy(hbm[1].handle, 0, hbm[0].handle, 0, SIZE),
			trn_op_copy(user, 0, hbm[1].handle, 0, SIZE),
			trn_op_fill(hbm[0].handle, 0, SIZE, i, 8),
		};
		struct drm_trainium_submit s = trn_job(queue[i % n], ops, 1 + (i + kind) % 4);

		if (kind % 4 == 3) {
			s.flags = TRAINIUM_SUBMIT_WAIT;
			s.deadline_ns = INT64_MAX;
		}
		if (trn_submit(fd, &s))
			_exit(4);
	}
}

/* In KiB; MemAvailable leaves out the free pages that CPUs keep for themselves. */
static __u64 available(void)
{
	static char buf[65536];
	__u64 pages = 0;
	char *at = buf;

	if (trn_read_file("/proc/zoneinfo", buf, sizeof(buf)) > 0)
		while ((at = strstr(at, " count: ")))
			pages += strtoull(at += strlen(" count: "), NULL, 0);
	return trn_number_in("/proc/meminfo", "MemAvailable:") + pages * 4;
}

static void kill_rounds(struct __test_metadata *_metadata, struct _test_data_kill *self,
			unsigned int rounds, int sig)
{
	__u64 seed = trn_now(), mem = 0, slab = 0, after;
	unsigned int i;

	TH_LOG("seed %llx", seed);
	/* One for the caches to fill */
	for (i = 0; i < rounds; i++) {
		pid_t pid = trn_fork();
		__s64 start;
		int ret;

		ASSERT_LE(0, pid);
		if (!pid)
			work_without_end(i);
		trn_sleep(trn_rand_below(&seed, 25 * TRN_MSEC));
		start = trn_now();
		ASSERT_EQ(0, kill(pid, sig));
		ret = trn_reap(pid, TRN_PATIENCE);
		EXPECT_EQ(128 + sig, ret) TH_LOG("round %u: %d", i, ret);
		EXPECT_GT(trn_limit(2 * TRN_SEC), trn_now() - start);
		if (i == 4) {
			EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 5 * TRN_SEC));
			mem = available();
			slab = trn_number_in("/proc/meminfo", "SUnreclaim:");
		}
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 5 * TRN_SEC)) {
		TH_LOG("%s", trn_settle(self->fd, &self->base, 0) ?: "late");
	}
	/* Each round had 16 MiB of host memory: one that stays would show. */
	for (i = 0; i < 25; i++) {
		trn_sleep(200 * TRN_MSEC);
		after = available();
		if (mem <= after + 12 * 1024)
			break;
	}
	TH_LOG("available %llu -> %llu KiB", mem, after);
	EXPECT_LE(mem, after + 12 * 1024);
	/* KASAN keeps what was freed; where it does, kmemleak looks for what was not. */
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		return;
	after = trn_number_in("/proc/meminfo", "SUnreclaim:");
	TH_LOG("SUnreclaim %llu -> %llu KiB", slab, after);
	EXPECT_GE(slab + 4 * 1024, after);
}

TEST_F_TIMEOUT(kill, mid_dma, 120)
{
	kill_rounds(_metadata, self, 100, SIGKILL);
}

TEST_F_TIMEOUT(kill, terminated, 60)
{
	kill_rounds(_metadata, self, 20, SIGTERM);
}

/* C9: used bytes are zero within a second of the exit */
TEST_F(kill, memory_back_in_time)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid)
			work_without_end(i);
		trn_sleep(60 * TRN_MSEC);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
		EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC)) {
			TH_LOG("%s", trn_settle(self->fd, &self->base, 0) ?: "late");
		}
	}
}

TEST_F(kill, exit_without_close)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			struct drm_trainium_submit s;
			struct drm_trainium_op op;
			int fd = trn_open(0);
			struct trn_bo bo;
			__u32 queue;

			if (trn_queue_create(fd, 0, 1, &queue) || trn_hbm_new(fd, 0, SIZE, &bo))
				_exit(1);
			op = trn_op_fill(bo.handle, 0, SIZE, 1, 1);
			s = trn_job(queue, &op, 1);
			_exit(trn_submit(fd, &s) ? 2 : 0);
		}
		ASSERT_EQ(0, trn_reap(pid, TRN_PATIENCE));
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 2 * TRN_SEC));
}

/* All threads of a process, each inside a call, go together. */
static void *endless_thread(void *arg)
{
	work_without_end((long)arg);
	return NULL;
}

TEST_F(kill, many_threads)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			pthread_t thread;
			long t;

			for (t = 0; t < 4; t++)
				pthread_create(&thread, NULL, endless_thread, (void *)t);
			pause();
		}
		trn_sleep((10 + i * 3) * TRN_MSEC);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 5 * TRN_SEC)) {
		TH_LOG("%s", trn_settle(self->fd, &self->base, 0) ?: "late");
	}
}

/* A stopped process holds what it has, and nobody else up. */
TEST_F(kill, stopped)
{
	pid_t pid = trn_fork();
	__s64 end = trn_now() + TRN_PATIENCE;
	unsigned int i;

	ASSERT_LE(0, pid);
	if (!pid)
		work_without_end(1);
	while (!trn_settle(self->fd, &self->base, 0) && trn_now() < end)
		trn_sleep(TRN_MSEC);
	trn_sleep(50 * TRN_MSEC);
	ASSERT_EQ(0, kill(pid, SIGSTOP));
	trn_sleep(50 * TRN_MSEC);
	EXPECT_NE(NULL, trn_settle(self->fd, &self->base, 0));
	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, trn_fill(self->fd, self->queue, self->bo.handle, 0, TRN_KIB(4), i, 1));
	/* Killed without ever going on */
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 2 * TRN_SEC));
}

/* The fd is not inherited by another program. */
TEST_F(kill, exec)
{
	int ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct trn_bo bo;
		int fd = trn_open(0);

		if (trn_hbm_new(fd, 0, SIZE, &bo))
			_exit(1);
		/* Closed by the exec like the other end of the pipe */
		execlp("sleep", "sleep", "10", NULL);
		_exit(2);
	}
	close(ready[1]);
	EXPECT_EQ(0, read(ready[0], &byte, 1));
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
	kill(pid, SIGKILL);
	trn_reap(pid, TRN_PATIENCE);
}

/* The bystander's data stays right while others die around it. */
TEST_F_TIMEOUT(kill, bystander, 60)
{
	struct trn_bo in, out, hbm;
	unsigned int i, round;
	pid_t pid[2];

	ASSERT_EQ(0, trn_host_new(self->fd, TRN_MIB(1), &in));
	ASSERT_EQ(0, trn_host_new(self->fd, TRN_MIB(1), &out));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 2, TRN_MIB(1), &hbm));
	for (round = 0; round < 15; round++) {
		for (i = 0; i < ARRAY_SIZE(pid); i++) {
			pid[i] = trn_fork();
			ASSERT_LE(0, pid[i]);
			if (!pid[i])
				work_without_end(round + i);
		}
		for (i = 0; i < 20; i++) {
			trn_pattern(in.map, 0, TRN_MIB(1), round * 100 + i);
			ASSERT_EQ(0, trn_copy(self->fd, self->queue, hbm.handle, 0, in.handle, 0,
					      TRN_MIB(1)));
			if (i == 10)
				kill(pid[0], SIGKILL);
			ASSERT_EQ(0, trn_copy(self->fd, self->queue, out.handle, 0, hbm.handle, 0,
					      TRN_MIB(1)));
			ASSERT_EQ(-1, trn_check(out.map, 0, TRN_MIB(1), round * 100 + i));
		}
		kill(pid[1], SIGKILL);
		for (i = 0; i < ARRAY_SIZE(pid); i++)
			ASSERT_EQ(128 + SIGKILL, trn_reap(pid[i], TRN_PATIENCE));
	}
	trn_bo_put(self->fd, &in);
	trn_bo_put(self->fd, &out);
	trn_bo_put(self->fd, &hbm);
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 5 * TRN_SEC));
}

/* The jobs of a closed file go on; its memory is not used by others before. */
TEST_F(kill, memory_not_reused_too_early)
{
	unsigned int round;

	for (round = 0; round < 10; round++) {
		struct trn_bo taken, out;
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			struct drm_trainium_op ops[8];
			struct drm_trainium_submit s;
			int fd = trn_open(0);
			struct trn_bo bo;
			unsigned int i;
			__u32 queue;

			if (trn_queue_create(fd, 3, 1, &queue) ||
			    trn_hbm_new(fd, 3, TRN_MIB(32), &bo))
				_exit(1);
			for (i = 0; i < 8; i++)
				ops[i] = trn_op_fill(bo.handle, 0, TRN_MIB(32), 0x55, 1);
			s = trn_job(queue, ops, 8);
			if (trn_submit(fd, &s))
				_exit(2);
			kill(getpid(), SIGKILL);
		}
		ASSERT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
		ASSERT_EQ(0, trn_hbm_new(self->fd, 3, TRN_MIB(32), &taken));
		ASSERT_EQ(0, trn_host_new(self->fd, TRN_MIB(32), &out));
		trn_sleep(30 * TRN_MSEC);
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, out.handle, 0, taken.handle, 0,
				      TRN_MIB(32)));
		EXPECT_EQ(-1, trn_check_byte(out.map, TRN_MIB(32), 0)) {
			TH_LOG("written by a dead process, round %u", round);
		}
		trn_bo_put(self->fd, &taken);
		trn_bo_put(self->fd, &out);
	}
}

/* Writes the same page again and again. */
static void write_shared(int buf)
{
	static struct drm_trainium_op ops[65536];
	__u32 queue, handle;
	unsigned int i;
	int fd = trn_open(0);

	if (trn_queue_create(fd, TRAINIUM_STACK_ANY, 16, &queue) || trn_import(fd, buf, &handle))
		_exit(1);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_fill(handle, 0, TRN_PAGE, 1, 1);
	for (;;) {
		struct drm_trainium_submit s = trn_job(queue, ops, ARRAY_SIZE(ops));

		if (trn_submit(fd, &s))
			_exit(2);
	}
}

static void set(__u8 *p, __u8 value)
{
	__atomic_store_n(p, value, __ATOMIC_SEQ_CST);
}

static __u8 get(const __u8 *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static bool in_use(int buf)
{
	struct pollfd p = { .fd = buf, .events = POLLOUT };

	return poll(&p, 1, 0) == 0;
}

/* Stops a process in the midst of its jobs: no more come, and some are not done. */
static bool stop_busy(pid_t pid, int buf, const __u8 *p, __s64 end)
{
	int status;

	do {
		kill(pid, SIGCONT);
		while (get(p) != 1 && trn_now() < end)
			;
		kill(pid, SIGSTOP);
		if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
			return false;
		if (in_use(buf))
			return true;
	} while (trn_now() < end);
	return false;
}

/*
 * Memory of others: whoever waits for the fences in it has it for himself then,
 * also when they signal because the process that had the jobs was killed.
 */
TEST_F_TIMEOUT(kill, fence_means_stopped, 60)
{
	struct trn_partner partner;
	unsigned int round;
	__u8 *p;
	int ret;

	ret = trn_partner_open(&partner, TRN_UDMABUF, TRN_PAGE);
	if (ret == -ENODEV)
		SKIP(return, "no udmabuf");
	ASSERT_EQ(0, ret);
	p = partner.map;
	for (round = 0; round < 60; round++) {
		__s64 end = trn_now() + TRN_PATIENCE;
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid)
			write_shared(partner.buf);
		set(p, 0);
		ASSERT_TRUE(stop_busy(pid, partner.buf, p, end));
		ASSERT_EQ(1, get(p));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		while (in_use(partner.buf) && trn_now() < end)
			;
		set(p, 2);
		trn_sleep(20 * TRN_MSEC);
		EXPECT_EQ(2, get(p)) TH_LOG("round %u", round);
		ASSERT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
	}
	trn_partner_close(&partner);
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 5 * TRN_SEC));
}

TEST_HARNESS_MAIN
