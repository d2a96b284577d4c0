// SPDX-License-Identifier: GPL-2.0-only
/* TRAINIUM_QUEUE_CREATE and TRAINIUM_QUEUE_DESTROY */
#include <pthread.h>

#include "kselftest_harness.h"
#include "trainium_fault_util.h"

FIXTURE(queue) {
	int fd;
	struct drm_trainium_query_device device;
	struct drm_trainium_query_limits limits;
	struct trn_snapshot base;
	struct trn_bo a, b;
};

FIXTURE_SETUP(queue)
{
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	ASSERT_EQ(0, trn_limits(self->fd, &self->limits));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, TRN_MIB(16), &self->a));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 1, TRN_MIB(16), &self->b));
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
}

FIXTURE_TEARDOWN(queue)
{
	close(self->fd);
}

static int create(int fd, struct drm_trainium_queue_create args)
{
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &args);

	return ret ?: (int)args.queue;
}

#define CREATE(...) create(self->fd, (struct drm_trainium_queue_create){ __VA_ARGS__ })

static unsigned int rings_used(const struct trn_snapshot *base, const struct trn_snapshot *now)
{
	unsigned int i, n = 0;

	for (i = 0; i < base->engines; i++)
		n += base->rings_free[i] - now->rings_free[i];
	return n;
}

TEST_F(queue, each_number_of_engines)
{
	unsigned int n;

	for (n = 1; n <= 16; n++) {
		struct drm_trainium_query_queue q;
		struct trn_snapshot now;
		unsigned int i;
		int queue;

		queue = CREATE(.num_engines = n);
		ASSERT_LT(0, queue);
		ASSERT_EQ(0, trn_queue(self->fd, queue, &q));
		EXPECT_EQ(n, q.num_rings);
		ASSERT_EQ(0, trn_snapshot(self->fd, &now));
		EXPECT_EQ(n, rings_used(&self->base, &now));
		/* One ring on each engine */
		for (i = 0; i < now.engines; i++)
			EXPECT_LE(self->base.rings_free[i] - now.rings_free[i], 1);
		EXPECT_EQ(0, trn_copy(self->fd, queue, self->b.handle, 0, self->a.handle, 0,
				      TRN_MIB(16)));
		EXPECT_EQ(0, trn_queue_destroy(self->fd, queue));
		EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
	}
}

TEST_F(queue, default_engines)
{
	struct drm_trainium_query_queue q;
	int queue = CREATE(.num_engines = 0);

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, trn_queue(self->fd, queue, &q));
	EXPECT_LE(1, q.num_rings);
	EXPECT_GE(16, q.num_rings);
}

TEST_F(queue, near_each_stack)
{
	unsigned int s;

	for (s = 0; s < self->device.num_stacks; s++) {
		int queue = CREATE(.stack = s, .num_engines = 2);

		ASSERT_LT(0, queue);
		EXPECT_EQ(0, trn_fill(self->fd, queue, self->a.handle, 0, TRN_PAGE, s, 1));
	}
}

TEST_F(queue, bad_arguments)
{
	EXPECT_EQ(-EINVAL, CREATE(.flags = 1));
	EXPECT_EQ(-EINVAL, CREATE(.flags = 1u << 31));
	EXPECT_EQ(-EINVAL, CREATE(.num_engines = 17));
	EXPECT_EQ(-EINVAL, CREATE(.num_engines = 133));
	EXPECT_EQ(-EINVAL, CREATE(.num_engines = ~0u));
	EXPECT_EQ(-EINVAL, CREATE(.stack = self->device.num_stacks));
	EXPECT_EQ(-EINVAL, CREATE(.stack = TRAINIUM_STACK_ANY - 1));
	EXPECT_EQ(-EINVAL, CREATE(.priority = 2));
	EXPECT_EQ(-EINVAL, CREATE(.priority = -2));
	EXPECT_EQ(-EINVAL, CREATE(.queue_class = 2));
	EXPECT_EQ(-EINVAL, CREATE(.queue_class = ~0u));
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, NULL));
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
}

TEST_F(queue, user_class)
{
	int ret = CREATE(.queue_class = TRAINIUM_QUEUE_USER);

	EXPECT_TRUE(self->device.features & TRAINIUM_FEATURE_QUEUE_USER ?
		    ret > 0 : ret == -EOPNOTSUPP);
	/* Malformed stays malformed. */
	EXPECT_EQ(-EINVAL, CREATE(.queue_class = TRAINIUM_QUEUE_USER, .flags = 1));
}

TEST_F(queue, destroy_bad_arguments)
{
	struct drm_trainium_queue_destroy args = {};
	int queue = CREATE();

	ASSERT_LT(0, queue);
	EXPECT_EQ(-ENOENT, trn_queue_destroy(self->fd, 0));
	EXPECT_EQ(-ENOENT, trn_queue_destroy(self->fd, queue + 1));
	EXPECT_EQ(-ENOENT, trn_queue_destroy(self->fd, ~0u));
	args.queue = queue;
	args.pad = 1;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_DESTROY, &args));
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_DESTROY, NULL));
	EXPECT_EQ(0, trn_queue_destroy(self->fd, queue));
	EXPECT_EQ(-ENOENT, trn_queue_destroy(self->fd, queue));
	EXPECT_EQ(-ENOENT, trn_fill(self->fd, queue, self->a.handle, 0, 8, 0, 1));
	EXPECT_EQ(-ENOENT, trn_drain(self->fd, queue));
}

TEST_F(queue, foreign_ids)
{
	int other = trn_open(0), queue = CREATE();
	struct drm_trainium_query_queue q;
	__u32 bo;

	ASSERT_LE(0, other);
	ASSERT_LT(0, queue);
	ASSERT_EQ(0, trn_bo_create(other, TRAINIUM_BO_HBM, 0, TRN_PAGE, &bo));
	EXPECT_EQ(-ENOENT, trn_queue_destroy(other, queue));
	EXPECT_EQ(-ENOENT, trn_queue(other, queue, &q));
	EXPECT_EQ(-ENOENT, trn_fill(other, queue, bo, 0, 8, 0, 1));
	EXPECT_EQ(-ENOENT, trn_drain(other, queue));
	close(other);
	EXPECT_EQ(0, trn_fill(self->fd, queue, self->a.handle, 0, 8, 0, 1));
}

/* The limit of a file, exactly, and all of it again after it is given back */
TEST_F(queue, limit_of_queues)
{
	static int queue[65536];
	unsigned int n, round;
	int ret = 0;

	if (self->limits.max_queues > ARRAY_SIZE(queue))
		SKIP(return, "limit too large to reach");
	for (round = 0; round < 3; round++) {
		for (n = 0; n < self->limits.max_queues; n++) {
			queue[n] = CREATE(.num_engines = 1);
			if (queue[n] < 0)
				break;
		}
		EXPECT_EQ(self->limits.max_queues, n) TH_LOG("ended with %d", queue[n]);
		ret = CREATE(.num_engines = 1);
		EXPECT_EQ(-EDQUOT, ret);
		/* Those that are there work. */
		if (n)
			EXPECT_EQ(0, trn_fill(self->fd, queue[n - 1], self->a.handle, 0, 8, 0, 1));
		while (n)
			ASSERT_EQ(0, trn_queue_destroy(self->fd, queue[--n]));
		EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 2 * TRN_SEC));
	}
}

TEST_F(queue, limit_of_rings)
{
	unsigned int rings = 0;
	int ret;

	for (;;) {
		ret = CREATE(.num_engines = 16);
		if (ret < 0)
			break;
		rings += 16;
		ASSERT_GE(self->limits.max_rings, rings);
	}
	EXPECT_EQ(-EDQUOT, ret);
	EXPECT_TRUE(rings + 16 > self->limits.max_rings ||
		    rings / 16 == self->limits.max_queues);
}

/*
 * Pair 14 of some data engines is for the sequencers of their core. @seen: bit p:
 * pair p is in use somewhere
 */
static unsigned int on_reserved_pairs(int fd, unsigned int generation, unsigned int *seen)
{
	static struct trn_place places[4096];
	unsigned int n = trn_rings(trn_bdf(0), places, ARRAY_SIZE(places)), i, bad = 0;
	unsigned int engines = generation == 1 ? 0x7ff : 0x19f;
	struct drm_trainium_query_engine e;

	*seen = 0;
	for (i = 0; i < n; i++) {
		*seen |= 1u << places[i].pair;
		if (places[i].pair == 14 && !trn_engine(fd, places[i].engine, &e) &&
		    e.core != ~0u && engines & 1u << places[i].engine % 16)
			bad++;
	}
	return bad;
}

/* E1, D11: files take all rings of the device, then give them back */
TEST_F_TIMEOUT(queue, all_rings, 60)
{
	unsigned int total = 0, taken = 0, i, files = 0, seen;
	int fd[256], ret = 0;

	for (i = 0; i < self->base.engines; i++)
		total += self->base.rings_free[i];

	while (files < ARRAY_SIZE(fd) && ret != -ENOSPC) {
		fd[files] = trn_open(0);
		ASSERT_LE(0, fd[files]);
		for (;;) {
			__u32 queue;

			ret = trn_queue_create(fd[files], TRAINIUM_STACK_ANY, 1, &queue);
			if (ret)
				break;
			taken++;
		}
		ASSERT_TRUE(ret == -EDQUOT || ret == -ENOSPC) TH_LOG("%d", ret);
		files++;
	}
	if (ret != -ENOSPC) {
		TH_LOG("%u of %u rings by %u files", taken, total, files);
	} else {
		/* Not all engines suit every queue, but no ring is left out in vain. */
		EXPECT_LE(total / 2, taken) TH_LOG("%u of %u", taken, total);
		EXPECT_EQ(0, on_reserved_pairs(self->fd, self->device.generation, &seen));
		EXPECT_EQ(0xffff, seen);
		/* Who has a queue keeps it working. */
		EXPECT_EQ(-ENOSPC, CREATE(.num_engines = 1));
	}
	while (files)
		close(fd[--files]);
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 5 * TRN_SEC)) {
		TH_LOG("%s", trn_settle(self->fd, &self->base, 0) ?: "late");
	}
	ret = CREATE(.num_engines = 1);
	ASSERT_LT(0, ret);
	EXPECT_EQ(0, trn_fill(self->fd, ret, self->a.handle, 0, TRN_MIB(1), 1, 1));
}

/* Running jobs are waited for by the driver, and their fences signal. */
TEST_F(queue, destroyed_in_flight)
{
	unsigned int round;

	for (round = 0; round < 20; round++) {
		struct drm_trainium_op ops[16];
		struct drm_trainium_submit job;
		struct drm_trainium_sync out = {};
		int queue = CREATE(.num_engines = 1 + round % 4);
		unsigned int i;
		__u32 sync;
		__s64 start;

		ASSERT_LT(0, queue);
		ASSERT_EQ(0, trn_sync_create(self->fd, &sync));
		for (i = 0; i < ARRAY_SIZE(ops); i++)
			ops[i] = trn_op_copy(self->b.handle, 0, self->a.handle, 0, TRN_MIB(16));
		job = trn_job(queue, ops, ARRAY_SIZE(ops));
		out.handle = sync;
		out.point = 0;
		job.out_syncs = trn_ptr(&out);
		job.out_sync_count = 1;
		ASSERT_EQ(0, trn_submit(self->fd, &job));
		start = trn_now();
		ASSERT_EQ(0, trn_queue_destroy(self->fd, queue));
		EXPECT_GT(trn_limit(TRN_SEC), trn_now() - start);
		EXPECT_EQ(0, trn_sync_wait(self->fd, sync, 0, TRN_PATIENCE));
		trn_sync_destroy(self->fd, sync);
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 2 * TRN_SEC));
}

/* A job that waits for another queue has not started: it is cancelled. */
TEST_F(queue, destroyed_with_waiting_job)
{
	struct drm_trainium_op big[64], small;
	struct drm_trainium_submit first, second;
	struct drm_trainium_sync between = {}, out = {};
	int q1 = CREATE(.num_engines = 1), q2 = CREATE(.num_engines = 1), file, status;
	unsigned int i;

	ASSERT_LT(0, q1);
	ASSERT_LT(0, q2);
	ASSERT_EQ(0, trn_sync_create(self->fd, &between.handle));
	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));

	for (i = 0; i < ARRAY_SIZE(big); i++)
		big[i] = trn_op_copy(self->b.handle, 0, self->a.handle, 0, TRN_MIB(16));
	first = trn_job(q1, big, ARRAY_SIZE(big));
	first.out_syncs = trn_ptr(&between);
	first.out_sync_count = 1;
	ASSERT_EQ(0, trn_submit(self->fd, &first));

	small = trn_op_fill(self->a.handle, 0, 8, 0, 1);
	second = trn_job(q2, &small, 1);
	second.in_syncs = trn_ptr(&between);
	second.in_sync_count = 1;
	second.out_syncs = trn_ptr(&out);
	second.out_sync_count = 1;
	ASSERT_EQ(0, trn_submit(self->fd, &second));
	ASSERT_EQ(0, trn_sync_export_file(self->fd, out.handle, &file));
	ASSERT_EQ(0, trn_queue_destroy(self->fd, q2));

	EXPECT_EQ(0, trn_sync_wait(self->fd, out.handle, 0, TRN_PATIENCE));
	status = trn_sync_file_status(file);
	/* Or it was quick enough to start */
	EXPECT_TRUE(status == -ECANCELED || status == 1) TH_LOG("%d", status);
	EXPECT_EQ(0, trn_sync_wait(self->fd, between.handle, 0, TRN_PATIENCE));
	close(file);
}

struct racer {
	int fd;
	__u32 queue;
	__u32 bo;
};

static void *submit_until_gone(void *arg)
{
	struct racer *racer = arg;
	struct drm_trainium_op op = trn_op_fill(racer->bo, 0, TRN_KIB(64), 1, 1);
	int ret;

	do {
		ret = trn_run(racer->fd, racer->queue, &op, 1);
	} while (!ret);
	/* The job may be the one that the destroy cancels. */
	return (void *)(long)(ret == -ENOENT || ret == -ECANCELED ? 0 : ret);
}

TEST_F(queue, destroy_races_submit)
{
	unsigned int round, i;

	for (round = 0; round < 30; round++) {
		struct racer racer = { .fd = self->fd, .bo = self->a.handle };
		pthread_t thread[3];
		void *ret;
		int queue = CREATE(.num_engines = 2);

		ASSERT_LT(0, queue);
		racer.queue = queue;
		for (i = 0; i < ARRAY_SIZE(thread); i++)
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, submit_until_gone, &racer));
		trn_sleep(round * 100000);
		ASSERT_EQ(0, trn_queue_destroy(self->fd, queue));
		for (i = 0; i < ARRAY_SIZE(thread); i++) {
			ASSERT_EQ(0, pthread_join(thread[i], &ret));
			EXPECT_EQ(0, (long)ret);
		}
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 2 * TRN_SEC));
}

/* E19: a new process has its first job done at once */
TEST_F(queue, open_to_first_job)
{
	__s64 best = TRN_PATIENCE;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		__s64 start = trn_now();
		int fd = trn_open(0);
		__u32 queue, bo;

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue));
		ASSERT_EQ(0, trn_bo_create(fd, TRAINIUM_BO_HBM, 0, TRN_PAGE, &bo));
		ASSERT_EQ(0, trn_fill(fd, queue, bo, 0, TRN_PAGE, 1, 1));
		close(fd);
		if (trn_now() - start < best)
			best = trn_now() - start;
	}
	EXPECT_GT(trn_limit(50 * TRN_MSEC), best);
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 2 * TRN_SEC));
}

TEST_F(queue, churn)
{
	unsigned int i;

	for (i = 0; i < 300; i++) {
		int queue = CREATE(.num_engines = 1 + i % 8, .stack = i % self->device.num_stacks);

		ASSERT_LT(0, queue);
		if (i % 4 == 0)
			ASSERT_EQ(0, trn_fill(self->fd, queue, self->a.handle, 0, 64, i, 8));
		ASSERT_EQ(0, trn_queue_destroy(self->fd, queue));
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 2 * TRN_SEC));
}

TEST_HARNESS_MAIN
