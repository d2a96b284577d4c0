// SPDX-License-Identifier: GPL-2.0-only
/*
 * Engines that abort or hang. The faults are made behind the driver's back, by
 * writing registers of the engine through BAR0: root can do that when the
 * kernel was started with iomem=relaxed. The raw numbers are those of the
 * register reference, not of the driver's headers.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define ENGINE_SIZE	0x40000
#define M2S_STATE	0x00200
#define M2S_CHANGE	0x00204
#define S2M_CHANGE	0x20204
#define CHANGE_ABORT	4
#define M2S_QUEUE(q)	(0x01000 + (q) * 0x1000)
#define S2M_QUEUE(q)	(0x21000 + (q) * 0x1000)
#define QUEUE_CFG	0x20
#define QUEUE_PAUSED	0x03000000
#define QUEUE_BASE_LO	0x28
#define QUEUE_BASE_HI	0x2c
#define M2S_CAUSE_SET	0x3a008
#define S2M_CAUSE_SET	0x3a048

#define SIZE TRN_MIB(1)
#define BIG TRN_MIB(64)

FIXTURE(recovery) {
	int fd;
	int log;
	__u32 queue, other;
	struct trn_bo host, hbm, big;
	struct trn_snapshot before;
	/* what the queue runs on */
	unsigned int engine, ring;
	__u8 *regs;
	__s64 timeout;
};

static __u32 reg_read(__u8 *regs, unsigned int offset)
{
	return __atomic_load_n((__u32 *)(regs + offset), __ATOMIC_SEQ_CST);
}

static void reg_write(__u8 *regs, unsigned int offset, __u32 value)
{
	__atomic_store_n((__u32 *)(regs + offset), value, __ATOMIC_SEQ_CST);
}

static __u8 *map_engine(unsigned int engine)
{
	unsigned int se = engine / 32, n = engine % 32;
	__u64 offset = 0x80000000ull + se * 0x10000000ull +
		       (se & 1 ? 0x04000000 : 0x02000000) + n * 0x100000ull;
	char path[PATH_MAX];
	void *map;
	int fd;

	/* Host engines are in the blocks of the dies. */
	if (engine >= 128)
		offset = (engine - 128) / 2 * 0x40000000ull + 0x06800000 +
			 (engine & 1) * 0x00100000;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0", trn_bdf(0));
	fd = open(path, O_RDWR | O_SYNC);
	if (fd < 0)
		return NULL;
	map = mmap(NULL, ENGINE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static __u64 ring_base(__u8 *regs, unsigned int q)
{
	return reg_read(regs, M2S_QUEUE(q) + QUEUE_BASE_LO) |
	       (__u64)reg_read(regs, M2S_QUEUE(q) + QUEUE_BASE_HI) << 32;
}

/* The engine whose free rings went down */
static int find_engine(int fd, const struct trn_snapshot *before)
{
	struct trn_snapshot now;
	unsigned int i;

	if (trn_snapshot(fd, &now))
		return -1;
	for (i = 0; i < now.engines; i++)
		if (now.rings_free[i] < before->rings_free[i])
			return i;
	return -1;
}

/* The ring whose doorbell moved by one job */
static int find_ring(struct _test_data_recovery *self)
{
	__u32 tail[16];
	unsigned int q;

	for (q = 0; q < 16; q++)
		tail[q] = reg_read(self->regs, M2S_QUEUE(q) + 0x3c);
	if (trn_fill(self->fd, self->queue, self->hbm.handle, 0, 64, 0, 1))
		return -1;
	for (q = 0; q < 16; q++)
		if (reg_read(self->regs, M2S_QUEUE(q) + 0x3c) != tail[q])
			return q;
	return -1;
}

FIXTURE_SETUP(recovery)
{
	struct drm_trainium_query_limits limits;
	int engine, ring;

	self->log = trn_log_open();
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_limits(self->fd, &limits));
	self->timeout = limits.job_timeout_ns;
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_NE(NULL, self->host.map);
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, BIG, &self->big));
	ASSERT_EQ(0, trn_queue_create(self->fd, 1, 1, &self->other));
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->before));
	ASSERT_EQ(0, trn_queue_create(self->fd, 0, 1, &self->queue));
	engine = find_engine(self->fd, &self->before);
	ASSERT_LE(0, engine);
	self->engine = engine;
	self->regs = map_engine(engine);
	if (!self->regs)
		SKIP(return, "BAR0 cannot be mapped (iomem=relaxed?)");
	ring = find_ring(self);
	ASSERT_LE(0, ring);
	self->ring = ring;
	/* The right place, to be sure: normal state in all four fields */
	ASSERT_EQ(0x1111, reg_read(self->regs, M2S_STATE));
	ASSERT_NE(0, ring_base(self->regs, ring));
}

/* All works as before, on this queue and the other one. */
FIXTURE_TEARDOWN(recovery)
{
	char line[1024];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		trn_pattern(self->host.map, 0, SIZE, i);
		EXPECT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 0,
				      self->host.handle, 0, SIZE));
		memset(self->host.map, 0, SIZE);
		EXPECT_EQ(0, trn_copy(self->fd, self->other, self->host.handle, 0,
				      self->hbm.handle, 0, SIZE));
		EXPECT_EQ(-1, trn_check(self->host.map, 0, SIZE, i));
	}
	EXPECT_EQ(0x1111, reg_read(self->regs, M2S_STATE));
	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static int submit_long(struct _test_data_recovery *self, __u32 queue,
		       struct drm_trainium_sync *out)
{
	struct drm_trainium_op ops[64];
	struct drm_trainium_submit s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(self->big.handle, BIG / 2, self->big.handle, 0, BIG / 2);
	s = trn_job(queue, ops, ARRAY_SIZE(ops));
	s.out_syncs = trn_ptr(out);
	s.out_sync_count = out ? 1 : 0;
	return trn_submit(self->fd, &s);
}

/* The next descriptor that the engine fetches is nowhere: it stops. */
static void inject(__u8 *regs, unsigned int ring)
{
	reg_write(regs, M2S_QUEUE(ring) + QUEUE_BASE_HI, 0x00123456);
}

static __u64 resets_of(struct _test_data_recovery *self)
{
	struct drm_trainium_query_engine e = {};

	trn_engine(self->fd, self->engine, &e);
	return e.resets;
}

/* The fault hits a running job: it fails, says why, and the next one runs. */
static void expect_failed(struct __test_metadata *_metadata,
			  struct _test_data_recovery *self, __u32 reason, __u64 resets)
{
	struct drm_trainium_query_queue q;
	struct drm_trainium_query_engine e;

	EXPECT_EQ(-EIO, trn_drain(self->fd, self->queue));
	/* Told once */
	EXPECT_EQ(0, trn_drain(self->fd, self->queue));
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(1, q.failed);
	EXPECT_EQ(EIO, q.error);
	EXPECT_EQ(reason, q.reason);
	EXPECT_EQ(self->engine, q.engine);
	EXPECT_EQ(q.submitted, q.completed);
	ASSERT_EQ(0, trn_engine(self->fd, self->engine, &e));
	EXPECT_EQ(resets + 1, e.resets);
	EXPECT_EQ(0, e.flags & TRAINIUM_ENGINE_ABORTED);
}

TEST_F(recovery, abort_m2s)
{
	__u64 resets = resets_of(self);

	ASSERT_EQ(0, submit_long(self, self->queue, NULL));
	reg_write(self->regs, M2S_CHANGE, CHANGE_ABORT);
	expect_failed(_metadata, self, TRAINIUM_REASON_ABORT, resets);
}

TEST_F(recovery, abort_s2m)
{
	__u64 resets = resets_of(self);

	ASSERT_EQ(0, submit_long(self, self->queue, NULL));
	reg_write(self->regs, S2M_CHANGE, CHANGE_ABORT);
	expect_failed(_metadata, self, TRAINIUM_REASON_ABORT, resets);
}

/*
 * D12: causes raised by hand, known ones or not, whether they stop the engine
 * or not. What happened is told right, and nothing gets stuck.
 */
TEST_F_TIMEOUT(recovery, causes, 60)
{
	unsigned int i;

	for (i = 0; i < 64; i += 3) {
		struct drm_trainium_op op = trn_op_fill(self->big.handle, 0, BIG, i, 1);
		struct drm_trainium_submit s = trn_job(self->queue, &op, 1);
		struct drm_trainium_query_queue before, after;
		int ret;

		ASSERT_EQ(0, trn_queue(self->fd, self->queue, &before));
		ASSERT_EQ(0, trn_submit(self->fd, &s));
		reg_write(self->regs, i < 32 ? M2S_CAUSE_SET : S2M_CAUSE_SET, 1u << i % 32);
		ret = trn_drain(self->fd, self->queue);
		EXPECT_TRUE(!ret || ret == -EIO) TH_LOG("cause %u: %d", i, ret);
		ASSERT_EQ(0, trn_queue(self->fd, self->queue, &after));
		EXPECT_EQ(after.submitted, after.completed);
		EXPECT_EQ(before.failed + !!ret, after.failed);
		if (ret) {
			EXPECT_EQ(TRAINIUM_REASON_ABORT, after.reason);
			EXPECT_EQ(1u << i % 32, after.cause);
		}
	}
}

/* A ring that is not where the engine looks for it: a real decode error */
TEST_F_TIMEOUT(recovery, bad_ring_address, 60)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_query_queue q;
	__u64 resets = resets_of(self);
	int ret;

	inject(self->regs, self->ring);
	ret = trn_run_for(self->fd, self->queue, &op, 1,
			  3 * self->timeout + trn_limit(5 * TRN_SEC));
	EXPECT_EQ(-EIO, ret);
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(TRAINIUM_REASON_ABORT, q.reason);
	EXPECT_EQ(self->engine, q.engine);
	/* 11: response error of the descriptor prefetch */
	EXPECT_NE(0, q.cause) TH_LOG("no cause");
	EXPECT_LE(resets + 1, resets_of(self));
	EXPECT_EQ(0, trn_run(self->fd, self->queue, &op, 1));
}

/* A paused ring never ends: timeout, and not before it. */
TEST_F_TIMEOUT(recovery, hang, 90)
{
	struct drm_trainium_query_queue q;
	__u64 resets = resets_of(self);
	__s64 start;

	if (self->timeout > 20 * TRN_SEC)
		SKIP(return, "the job timeout is too long to wait for");
	reg_write(self->regs, M2S_QUEUE(self->ring) + QUEUE_CFG, QUEUE_PAUSED);
	reg_write(self->regs, S2M_QUEUE(self->ring) + QUEUE_CFG, QUEUE_PAUSED);
	ASSERT_EQ(0, submit_long(self, self->queue, NULL));
	/* Others are not held up meanwhile. */
	start = trn_now();
	while (trn_now() - start < self->timeout / 2)
		ASSERT_EQ(0, trn_fill(self->fd, self->other, self->hbm.handle, 0, SIZE, 3, 1));
	EXPECT_EQ(-EINPROGRESS, trn_run_for(self->fd, self->queue, NULL, 0, 0));
	EXPECT_EQ(-EIO, trn_run_for(self->fd, self->queue, NULL, 0,
				    3 * self->timeout + trn_limit(5 * TRN_SEC)));
	EXPECT_LE(self->timeout / 2, trn_now() - start);
	EXPECT_GT(3 * self->timeout + trn_limit(5 * TRN_SEC), trn_now() - start);
	trn_drain(self->fd, self->queue);
	EXPECT_EQ(resets + 1, resets_of(self));
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(TRAINIUM_REASON_TIMEOUT, q.reason);
	EXPECT_EQ(self->engine, q.engine);
}

/* Jobs behind the one that fails run, in order. */
TEST_F(recovery, jobs_behind)
{
	struct drm_trainium_query_queue q;
	struct drm_trainium_sync out = {};
	unsigned int i;
	int file;

	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	ASSERT_EQ(0, submit_long(self, self->queue, &out));
	ASSERT_EQ(0, trn_sync_export_file(self->fd, out.handle, &file));
	for (i = 0; i < 20; i++) {
		struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, i, 1);
		struct drm_trainium_submit s = trn_job(self->queue, &op, 1);

		ASSERT_EQ(0, trn_submit(self->fd, &s));
	}
	inject(self->regs, self->ring);
	EXPECT_EQ(-EIO, trn_drain(self->fd, self->queue));
	EXPECT_EQ(-EIO, trn_sync_file_status(file));
	close(file);
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(1, q.failed);
	EXPECT_EQ(q.submitted, q.completed);
	ASSERT_EQ(0, trn_copy(self->fd, self->other, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 19));
}

/* A job elsewhere that waits for the failed one does not run. */
TEST_F(recovery, dependent_job)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 0x66, 1);
	struct drm_trainium_query_queue q;
	struct drm_trainium_sync sync = {};
	struct drm_trainium_submit s;

	ASSERT_EQ(0, trn_sync_create(self->fd, &sync.handle));
	ASSERT_EQ(0, submit_long(self, self->queue, &sync));
	s = trn_job(self->other, &op, 1);
	s.in_syncs = trn_ptr(&sync);
	s.in_sync_count = 1;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	inject(self->regs, self->ring);
	EXPECT_EQ(-EIO, trn_drain(self->fd, self->queue));
	EXPECT_GT(0, trn_drain(self->fd, self->other));
	ASSERT_EQ(0, trn_queue(self->fd, self->other, &q));
	EXPECT_EQ(1, q.failed);
	EXPECT_EQ(TRAINIUM_REASON_DEPENDENCY, q.reason);
	ASSERT_EQ(0, trn_copy(self->fd, self->other, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0));
}

struct bystander {
	int fd;
	__u32 queue;
	bool stop;
	unsigned int rounds;
	const char *error;
};

static void *copy_and_check(void *arg)
{
	struct bystander *b = arg;
	struct trn_bo in, out;

	if (trn_host_new(b->fd, TRN_KIB(64), &in) || trn_host_new(b->fd, TRN_KIB(64), &out)) {
		b->error = "set-up failed";
		return NULL;
	}
	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		trn_pattern(in.map, 0, in.size, b->rounds);
		if (trn_copy(b->fd, b->queue, out.handle, 0, in.handle, 0, in.size)) {
			b->error = "copy failed";
			break;
		}
		if (trn_check(out.map, 0, in.size, b->rounds) != -1) {
			b->error = "wrong data";
			break;
		}
		b->rounds++;
	}
	return NULL;
}

/* D17: one client aborts its engine again and again, the other sees nothing. */
TEST_F_TIMEOUT(recovery, bystander, 60)
{
	struct bystander b = { .fd = trn_open(0) };
	unsigned int i, rounds = 0;
	pthread_t thread;

	ASSERT_LE(0, b.fd);
	ASSERT_EQ(0, trn_queue_create(b.fd, 2, 1, &b.queue));
	ASSERT_EQ(0, pthread_create(&thread, NULL, copy_and_check, &b));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, submit_long(self, self->queue, NULL));
		inject(self->regs, self->ring);
		EXPECT_EQ(-EIO, trn_drain(self->fd, self->queue));
		EXPECT_EQ(0, trn_fill(self->fd, self->queue, self->hbm.handle, 0, SIZE, i, 1));
		if (i == 1)
			rounds = b.rounds;
	}
	__atomic_store_n(&b.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(NULL, b.error) TH_LOG("%s", b.error);
	EXPECT_LT(rounds, b.rounds);
	close(b.fd);
}

/* Another ring of the same engine: replayed or cancelled, never silently lost */
TEST_F_TIMEOUT(recovery, same_engine, 60)
{
	struct drm_trainium_query_engine before, now;
	struct drm_trainium_query_queue q;
	struct trn_bo bo, out;
	__u32 queue = 0;
	int fd[8], found = -1, ret;
	unsigned int i, n;

	for (n = 0; n < ARRAY_SIZE(fd) && found < 0; n++) {
		fd[n] = trn_open(0);
		ASSERT_LE(0, fd[n]);
		for (;;) {
			ASSERT_EQ(0, trn_engine(self->fd, self->engine, &before));
			if (trn_queue_create(fd[n], 0, 1, &queue))
				break;
			ASSERT_EQ(0, trn_engine(self->fd, self->engine, &now));
			if (now.rings_free < before.rings_free) {
				found = fd[n];
				break;
			}
		}
	}
	ASSERT_LE(0, found);
	ASSERT_EQ(0, trn_hbm_new(found, 0, BIG, &bo));
	ASSERT_EQ(0, trn_host_new(found, SIZE, &out));
	for (i = 0; i < 4; i++) {
		struct drm_trainium_op op = trn_op_fill(bo.handle, 0, BIG, i + 1, 1);
		struct drm_trainium_submit s = trn_job(queue, &op, 1);

		ASSERT_EQ(0, trn_submit(found, &s));
		ASSERT_EQ(0, submit_long(self, self->queue, NULL));
		inject(self->regs, self->ring);
		ret = trn_drain(found, queue);
		EXPECT_TRUE(!ret || ret == -ECANCELED || ret == -EIO) TH_LOG("%d", ret);
		if (!ret) {
			ASSERT_EQ(0, trn_copy(found, queue, out.handle, 0, bo.handle, BIG - SIZE,
					      SIZE));
			EXPECT_EQ(-1, trn_check_byte(out.map, SIZE, i + 1));
		} else {
			ASSERT_EQ(0, trn_queue(found, queue, &q));
			EXPECT_NE(TRAINIUM_REASON_NONE, q.reason);
		}
		ret = trn_drain(self->fd, self->queue);
		EXPECT_TRUE(!ret || ret == -ECANCELED || ret == -EIO) TH_LOG("%d", ret);
		/* Both go on. */
		EXPECT_EQ(0, trn_fill(found, queue, bo.handle, 0, SIZE, 1, 1));
		EXPECT_EQ(0, trn_fill(self->fd, self->queue, self->hbm.handle, 0, SIZE, 1, 1));
	}
	while (n)
		close(fd[--n]);
}

/* The fault comes while the engine has nothing to do. */
TEST_F(recovery, idle_abort)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 0x2d, 1);
	unsigned int i;
	int ret;

	for (i = 0; i < 5; i++) {
		reg_write(self->regs, M2S_CHANGE, CHANGE_ABORT);
		trn_sleep(i * 5 * TRN_MSEC);
		ret = trn_run_for(self->fd, self->queue, &op, 1, 3 * self->timeout);
		/* Noticed in time, or the job that ran into it fails. */
		EXPECT_TRUE(!ret || ret == -EIO) TH_LOG("%d", ret);
		ASSERT_EQ(0, trn_run(self->fd, self->queue, &op, 1));
		ASSERT_EQ(0, trn_copy(self->fd, self->other, self->host.handle, 0,
				      self->hbm.handle, 0, SIZE));
		ASSERT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0x2d));
	}
}

/* One line that names the device and the engine */
TEST_F(recovery, log)
{
	int log = trn_log_open();
	char text[64];

	ASSERT_EQ(0, submit_long(self, self->queue, NULL));
	inject(self->regs, self->ring);
	EXPECT_EQ(-EIO, trn_drain(self->fd, self->queue));
	snprintf(text, sizeof(text), "engine %u", self->engine);
	EXPECT_TRUE(trn_log_find(log, text)) TH_LOG("no line with \"%s\"", text);
	close(log);
}

/* The process goes while its engine is in abort; the driver's own do not hang. */
TEST_F(recovery, killed_in_abort)
{
	struct trn_snapshot base;
	unsigned int i;

	ASSERT_EQ(0, trn_snapshot(self->fd, &base));
	for (i = 0; i < 10; i++) {
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			struct trn_snapshot before;
			struct _test_data_recovery own = {};
			int engine;

			own.fd = trn_open(0);
			if (trn_snapshot(own.fd, &before) ||
			    trn_queue_create(own.fd, 3, 1, &own.queue) ||
			    trn_hbm_new(own.fd, 3, BIG, &own.big))
				_exit(1);
			engine = find_engine(own.fd, &before);
			own.regs = engine < 0 ? NULL : map_engine(engine);
			if (!own.regs || submit_long(&own, own.queue, NULL))
				_exit(2);
			reg_write(own.regs, M2S_CHANGE, CHANGE_ABORT);
			kill(getpid(), SIGKILL);
		}
		ASSERT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &base, 5 * TRN_SEC + 2 * self->timeout)) {
		TH_LOG("%s", trn_settle(self->fd, &base, 0) ?: "late");
	}
}

TEST_HARNESS_MAIN
