// SPDX-License-Identifier: GPL-2.0-only
/* Syncobjs of a submit: what a job waits for and what it signals */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_MIB(1)
#define BIG TRN_MIB(64)

FIXTURE(sync) {
	int fd;
	__u32 q1, q2;
	struct trn_bo host, hbm, big;
};

FIXTURE_SETUP(sync)
{
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_queue_create(self->fd, 0, 1, &self->q1));
	ASSERT_EQ(0, trn_queue_create(self->fd, 1, 1, &self->q2));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_NE(NULL, self->host.map);
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, BIG, &self->big));
}

FIXTURE_TEARDOWN(sync)
{
	close(self->fd);
}

static void on_signal(int sig)
{
}

static int submit_syncs(int fd, __u32 queue, const struct drm_trainium_op *ops, __u32 n,
			struct drm_trainium_sync *in, __u32 ins,
			struct drm_trainium_sync *out, __u32 outs)
{
	struct drm_trainium_submit s = trn_job(queue, ops, n);

	s.in_syncs = trn_ptr(in);
	s.in_sync_count = ins;
	s.out_syncs = trn_ptr(out);
	s.out_sync_count = outs;
	return trn_submit(fd, &s);
}

/* A job that takes a while, which signals @out */
static int submit_long(struct _test_data_sync *self, __u32 queue,
		       struct drm_trainium_sync *out)
{
	struct drm_trainium_op ops[16];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(self->big.handle, BIG / 2, self->big.handle, 0, BIG / 2);
	return submit_syncs(self->fd, queue, ops, ARRAY_SIZE(ops), NULL, 0, out, out ? 1 : 0);
}

TEST_F(sync, binary_out)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_sync out = {};
	unsigned int i;

	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	EXPECT_EQ(-ETIME, trn_sync_wait(self->fd, out.handle, 0, 0));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, &out, 1));
		ASSERT_EQ(0, trn_sync_wait(self->fd, out.handle, 0, TRN_PATIENCE));
	}
}

TEST_F(sync, timeline_out)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_sync out = {};
	__u64 point;
	unsigned int i;

	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	for (i = 1; i <= 50; i++) {
		out.point = i * 10;
		ASSERT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, &out, 1));
	}
	ASSERT_EQ(0, trn_sync_wait(self->fd, out.handle, 255, TRN_PATIENCE));
	ASSERT_EQ(0, trn_sync_query(self->fd, out.handle, &point));
	EXPECT_LE(255, point);
	ASSERT_EQ(0, trn_sync_wait(self->fd, out.handle, 500, TRN_PATIENCE));
	ASSERT_EQ(0, trn_sync_query(self->fd, out.handle, &point));
	EXPECT_EQ(500, point);
	EXPECT_EQ(-ETIME, trn_sync_wait(self->fd, out.handle, 501, 10 * TRN_MSEC));
}

TEST_F(sync, fence_without_error)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_sync out = {};
	int file;

	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	ASSERT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, &out, 1));
	ASSERT_EQ(0, trn_sync_export_file(self->fd, out.handle, &file));
	ASSERT_EQ(0, trn_sync_wait(self->fd, out.handle, 0, TRN_PATIENCE));
	EXPECT_EQ(1, trn_sync_file_status(file));
	close(file);
}

/* The second queue's job sees what the first one wrote. */
TEST_F(sync, across_queues)
{
	unsigned int i;

	for (i = 0; i < 60; i++) {
		struct drm_trainium_sync mid = {}, end = {};
		struct drm_trainium_op slow = trn_op_fill(self->big.handle, 0, BIG, i + 1, 1);
		struct drm_trainium_op read = trn_op_copy(self->host.handle, 0, self->big.handle,
							  BIG - SIZE, SIZE);

		ASSERT_EQ(0, trn_sync_create(self->fd, &mid.handle));
		ASSERT_EQ(0, trn_sync_create(self->fd, &end.handle));
		mid.point = i % 2 ? 7 : 0;
		end.point = i % 2 ? 9 : 0;
		ASSERT_EQ(0, submit_syncs(self->fd, self->q1, &slow, 1, NULL, 0, &mid, 1));
		ASSERT_EQ(0, submit_syncs(self->fd, self->q2, &read, 1, &mid, 1, &end, 1));
		ASSERT_EQ(0, trn_sync_wait(self->fd, end.handle, end.point, TRN_PATIENCE));
		ASSERT_EQ(-1, trn_check_byte(self->host.map, SIZE, i + 1)) {
			TH_LOG("round %u", i);
		}
		trn_sync_destroy(self->fd, mid.handle);
		trn_sync_destroy(self->fd, end.handle);
	}
}

/* Jobs behind one that waits stay behind it. */
TEST_F(sync, order_behind_a_waiting_job)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		struct drm_trainium_sync mid = {};
		struct drm_trainium_op one = trn_op_fill(self->hbm.handle, 0, SIZE, 0x11, 1);
		struct drm_trainium_op two = trn_op_fill(self->hbm.handle, 0, SIZE, 0x22, 1);

		ASSERT_EQ(0, trn_sync_create(self->fd, &mid.handle));
		ASSERT_EQ(0, submit_long(self, self->q1, &mid));
		ASSERT_EQ(0, submit_syncs(self->fd, self->q2, &one, 1, &mid, 1, NULL, 0));
		ASSERT_EQ(0, submit_syncs(self->fd, self->q2, &two, 1, NULL, 0, NULL, 0));
		ASSERT_EQ(0, trn_copy(self->fd, self->q2, self->host.handle, 0, self->hbm.handle,
				      0, SIZE));
		ASSERT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0x22));
		trn_sync_destroy(self->fd, mid.handle);
	}
}

/* A chain back and forth between two queues, submitted at once */
TEST_F(sync, ping_pong)
{
	struct drm_trainium_sync sync = {}, in;
	unsigned int i;

	ASSERT_EQ(0, trn_sync_create(self->fd, &sync.handle));
	trn_pattern(self->host.map, 0, SIZE, 3);
	ASSERT_EQ(0, trn_copy(self->fd, self->q1, self->big.handle, 0, self->host.handle, 0, SIZE));
	for (i = 0; i < 60; i++) {
		/* Moves the data one MiB up */
		struct drm_trainium_op op = trn_op_copy(self->big.handle, (i + 1) * SIZE,
							self->big.handle, i * SIZE, SIZE);

		in = sync;
		in.point = i;
		sync.point = i + 1;
		ASSERT_EQ(0, submit_syncs(self->fd, i % 2 ? self->q1 : self->q2, &op, 1, &in,
					  i ? 1 : 0, &sync, 1));
	}
	ASSERT_EQ(0, trn_sync_wait(self->fd, sync.handle, 60, TRN_PATIENCE));
	memset(self->host.map, 0, SIZE);
	ASSERT_EQ(0, trn_copy(self->fd, self->q1, self->host.handle, 0, self->big.handle,
			      60 * SIZE, SIZE));
	EXPECT_EQ(-1, trn_check(self->host.map, 0, SIZE, 3));
}

TEST_F(sync, many_in_and_out)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_query_limits limits;
	struct drm_trainium_sync *in, *out;
	unsigned int i, n;

	ASSERT_EQ(0, trn_limits(self->fd, &limits));
	n = limits.max_syncs < 64 ? limits.max_syncs : 64;
	in = calloc(n, sizeof(*in));
	out = calloc(n, sizeof(*out));
	ASSERT_NE(NULL, in);
	ASSERT_NE(NULL, out);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, trn_sync_create(self->fd, &in[i].handle));
		ASSERT_EQ(0, trn_sync_create(self->fd, &out[i].handle));
		in[i].point = i % 2 ? i : 0;
		out[i].point = i % 3 ? i + 1 : 0;
		ASSERT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, &in[i], 1));
	}
	ASSERT_EQ(0, submit_syncs(self->fd, self->q2, &op, 1, in, n, out, n));
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, trn_sync_wait(self->fd, out[i].handle, out[i].point, TRN_PATIENCE));
	/* The same one twice */
	in[0] = in[1];
	out[0] = out[1];
	out[1].point++;
	EXPECT_EQ(0, submit_syncs(self->fd, self->q2, &op, 1, in, 2, out, 2));
	EXPECT_EQ(0, trn_sync_wait(self->fd, out[1].handle, out[1].point, TRN_PATIENCE));
	free(in);
	free(out);
}

TEST_F(sync, signalled_by_cpu)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_sync in = {};

	ASSERT_EQ(0, trn_sync_create(self->fd, &in.handle));
	ASSERT_EQ(0, trn_sync_signal(self->fd, in.handle, 0));
	EXPECT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, &in, 1, NULL, 0));
	ASSERT_EQ(0, trn_sync_create(self->fd, &in.handle));
	ASSERT_EQ(0, trn_sync_signal(self->fd, in.handle, 5));
	in.point = 5;
	EXPECT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, &in, 1, NULL, 0));
	in.point = 3;
	EXPECT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, &in, 1, NULL, 0));
	EXPECT_EQ(0, trn_drain(self->fd, self->q1));
}

/*
 * A point that nobody has promised yet is no dependency that a fence may
 * have: the job is refused, and accepted once the point is there.
 */
TEST_F(sync, unpromised_point)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_query_queue q;
	struct drm_trainium_sync in = {};

	ASSERT_EQ(0, trn_sync_create(self->fd, &in.handle));
	EXPECT_EQ(-EINVAL, submit_syncs(self->fd, self->q1, &op, 1, &in, 1, NULL, 0));
	in.point = 3;
	EXPECT_EQ(-EINVAL, submit_syncs(self->fd, self->q1, &op, 1, &in, 1, NULL, 0));
	ASSERT_EQ(0, trn_queue(self->fd, self->q1, &q));
	EXPECT_EQ(0, q.submitted);
	ASSERT_EQ(0, trn_sync_signal(self->fd, in.handle, 2));
	EXPECT_EQ(-EINVAL, submit_syncs(self->fd, self->q1, &op, 1, &in, 1, NULL, 0));
	ASSERT_EQ(0, trn_sync_signal(self->fd, in.handle, 3));
	EXPECT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, &in, 1, NULL, 0));
	EXPECT_EQ(0, trn_drain(self->fd, self->q1));
}

TEST_F(sync, bad_arguments)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 1, 1);
	struct drm_trainium_query_queue q;
	struct drm_trainium_sync sync = {}, two[2] = {};
	static const __u32 bad[] = { 0, 999, 0x7fffffff, ~0u };
	unsigned int i;

	ASSERT_EQ(0, trn_sync_create(self->fd, &sync.handle));
	ASSERT_EQ(0, trn_sync_signal(self->fd, sync.handle, 0));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		two[0].handle = bad[i];
		EXPECT_EQ(-ENOENT, submit_syncs(self->fd, self->q1, &op, 1, two, 1, NULL, 0));
		EXPECT_EQ(-ENOENT, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, two, 1));
		two[0] = sync;
		two[1].handle = bad[i];
		EXPECT_EQ(-ENOENT, submit_syncs(self->fd, self->q1, &op, 1, two, 2, NULL, 0));
		EXPECT_EQ(-ENOENT, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, two, 2));
	}
	two[0] = sync;
	two[0].flags = 1;
	EXPECT_EQ(-EINVAL, submit_syncs(self->fd, self->q1, &op, 1, two, 1, NULL, 0));
	EXPECT_EQ(-EINVAL, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, two, 1));
	two[0].flags = 1u << 31;
	EXPECT_EQ(-EINVAL, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, two, 1));
	EXPECT_EQ(-EFAULT, submit_syncs(self->fd, self->q1, &op, 1, (void *)8, 1, NULL, 0));
	EXPECT_EQ(-EFAULT, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, (void *)~7ul, 1));
	ASSERT_EQ(0, trn_queue(self->fd, self->q1, &q));
	EXPECT_EQ(0, q.submitted);
	/* A destroyed one */
	ASSERT_EQ(0, trn_sync_destroy(self->fd, sync.handle));
	EXPECT_EQ(-ENOENT, submit_syncs(self->fd, self->q1, &op, 1, &sync, 1, NULL, 0));
}

/* A failed submit signals nothing and replaces nothing. */
TEST_F(sync, refused_leaves_syncs_alone)
{
	struct drm_trainium_op bad = trn_op_fill(self->hbm.handle, 0, SIZE + 1, 1, 1);
	struct drm_trainium_sync out[2] = {};
	__u64 point;

	ASSERT_EQ(0, trn_sync_create(self->fd, &out[0].handle));
	ASSERT_EQ(0, trn_sync_create(self->fd, &out[1].handle));
	out[1].point = 4;
	EXPECT_EQ(-EINVAL, submit_syncs(self->fd, self->q1, &bad, 1, NULL, 0, out, 2));
	EXPECT_EQ(-ETIME, trn_sync_wait(self->fd, out[0].handle, 0, 0));
	ASSERT_EQ(0, trn_sync_query(self->fd, out[1].handle, &point));
	EXPECT_EQ(0, point);
}

TEST_F(sync, eventfd)
{
	struct drm_trainium_sync out = { .point = 1 };
	struct drm_syncobj_eventfd arg = {};
	struct pollfd poll_fd;
	int event = eventfd(0, EFD_CLOEXEC), ret;

	ASSERT_LE(0, event);
	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	arg.handle = out.handle;
	arg.point = 1;
	arg.fd = event;
	ret = trn_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_EVENTFD, &arg);
	if (ret == -EINVAL || ret == -ENOTTY)
		SKIP(return, "the kernel has no SYNCOBJ_EVENTFD");
	ASSERT_EQ(0, ret);
	poll_fd = (struct pollfd){ .fd = event, .events = POLLIN };
	EXPECT_EQ(0, poll(&poll_fd, 1, 20));
	ASSERT_EQ(0, submit_long(self, self->q1, &out));
	EXPECT_EQ(1, poll(&poll_fd, 1, 20000));
	EXPECT_EQ(0, trn_sync_wait(self->fd, out.handle, 1, 0));
}

TEST_F(sync, poll_sync_file)
{
	struct drm_trainium_sync out = {};
	struct pollfd poll_fd;
	int file;

	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	ASSERT_EQ(0, submit_long(self, self->q1, &out));
	ASSERT_EQ(0, trn_sync_export_file(self->fd, out.handle, &file));
	poll_fd = (struct pollfd){ .fd = file, .events = POLLIN };
	EXPECT_EQ(1, poll(&poll_fd, 1, 20000));
	EXPECT_EQ(1, trn_sync_file_status(file));
	close(file);
}

/* Through another file of the device, and through one of another device */
static void through(struct __test_metadata *_metadata, struct _test_data_sync *self,
		    unsigned int device)
{
	struct drm_trainium_sync mid = {}, there = {}, end = {};
	struct drm_trainium_op op;
	struct trn_bo bo;
	int other = trn_open(device), shared;
	__u32 queue;
	__u64 point;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, trn_queue_create(other, TRAINIUM_STACK_ANY, 1, &queue));
	ASSERT_EQ(0, trn_hbm_new(other, 0, SIZE, &bo));
	ASSERT_EQ(0, trn_sync_create(self->fd, &mid.handle));
	ASSERT_EQ(0, trn_sync_export(self->fd, mid.handle, &shared));
	ASSERT_EQ(0, trn_sync_import(other, shared, &there.handle));
	close(shared);
	mid.point = 1;
	there.point = 1;
	ASSERT_EQ(0, trn_sync_create(other, &end.handle));
	end.point = 1;

	ASSERT_EQ(0, submit_long(self, self->q1, &mid));
	op = trn_op_fill(bo.handle, 0, SIZE, 1, 1);
	ASSERT_EQ(0, submit_syncs(other, queue, &op, 1, &there, 1, &end, 1));
	ASSERT_EQ(0, trn_sync_wait(other, end.handle, 1, TRN_PATIENCE));
	/* What it waited for is over, then. */
	ASSERT_EQ(0, trn_sync_query(self->fd, mid.handle, &point));
	EXPECT_EQ(1, point);
	close(other);
}

TEST_F(sync, other_file)
{
	through(_metadata, self, 0);
}

TEST_F(sync, other_device)
{
	if (trn_num_devices() < 2)
		SKIP(return, "one device only");
	through(_metadata, self, 1);
}

/* The one that a job waits for goes away: the job still runs. */
TEST_F(sync, other_file_closed)
{
	struct drm_trainium_sync mid = {}, there = {};
	struct drm_trainium_op ops[16], op;
	struct trn_bo big;
	int other, shared;
	unsigned int i, round;
	__u32 queue;

	for (round = 0; round < 10; round++) {
		other = trn_open(0);
		ASSERT_LE(0, other);
		ASSERT_EQ(0, trn_queue_create(other, TRAINIUM_STACK_ANY, 1, &queue));
		ASSERT_EQ(0, trn_hbm_new(other, 0, BIG, &big));
		ASSERT_EQ(0, trn_sync_create(other, &there.handle));
		ASSERT_EQ(0, trn_sync_export(other, there.handle, &shared));
		ASSERT_EQ(0, trn_sync_import(self->fd, shared, &mid.handle));
		close(shared);
		for (i = 0; i < ARRAY_SIZE(ops); i++)
			ops[i] = trn_op_copy(big.handle, BIG / 2, big.handle, 0, BIG / 2);
		ASSERT_EQ(0, submit_syncs(other, queue, ops, ARRAY_SIZE(ops), NULL, 0, &there, 1));
		op = trn_op_fill(self->hbm.handle, 0, SIZE, round, 1);
		ASSERT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, &mid, 1, NULL, 0));
		munmap(big.map, big.size);
		close(other);
		/* Its fence may tell of an error, but it is over. */
		EXPECT_EQ(0, trn_sync_wait(self->fd, mid.handle, 0, TRN_PATIENCE));
		trn_drain(self->fd, self->q1);
		trn_sync_destroy(self->fd, mid.handle);
	}
	EXPECT_EQ(0, trn_fill(self->fd, self->q1, self->hbm.handle, 0, SIZE, 1, 1));
}

static void *wait_long(void *arg)
{
	struct _test_data_sync *self = arg;
	long ret;

	ret = trn_sync_wait(self->fd, self->big.size, 0, TRN_PATIENCE);
	return (void *)ret;
}

/* Threads sleep in the core's own wait while the job runs. */
TEST_F(sync, sleeping_waiters)
{
	struct drm_trainium_sync out = {};
	pthread_t thread[4];
	unsigned int i;
	void *ret;

	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	/* The handle travels in a member that is not needed any more. */
	self->big.size = out.handle;
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, wait_long, self));
	trn_sleep(10 * TRN_MSEC);
	ASSERT_EQ(0, submit_long(self, self->q1, &out));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &ret));
		EXPECT_EQ(0, (long)ret);
	}
}

/* Waiting submit with a dependency: done means all of it */
TEST_F(sync, waiting_submit_with_dependency)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 0x3d, 1);
	struct drm_trainium_sync mid = {};
	struct drm_trainium_submit s;
	__u64 point = 0;

	ASSERT_EQ(0, trn_sync_create(self->fd, &mid.handle));
	mid.point = 1;
	ASSERT_EQ(0, submit_long(self, self->q1, &mid));
	s = trn_job(self->q2, &op, 1);
	s.in_syncs = trn_ptr(&mid);
	s.in_sync_count = 1;
	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = trn_now() + TRN_PATIENCE;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	EXPECT_EQ(TRAINIUM_STATUS_DONE, s.status);
	ASSERT_EQ(0, trn_sync_query(self->fd, mid.handle, &point));
	EXPECT_EQ(1, point);
	/* And with a deadline that is over first, it is pending. */
	mid.point = 2;
	ASSERT_EQ(0, submit_long(self, self->q1, &mid));
	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = 0;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	EXPECT_EQ(TRAINIUM_STATUS_PENDING, s.status);
	EXPECT_EQ(2, s.seqno);
	EXPECT_EQ(0, trn_drain(self->fd, self->q2));
}

/* Nothing runs before its fence, and all of it does after. */
TEST_F(sync, unsignalled)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 0x5b, 1);
	struct drm_trainium_sync in = {}, out = {};
	struct drm_trainium_query_queue q;
	struct trn_gate gate;
	unsigned int i;

	if (trn_gate_open(&gate))
		SKIP(return, "no vgem to make fences with");
	ASSERT_EQ(0, trn_gate_sync(&gate, self->fd, &in.handle));
	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	for (i = 1; i <= 20; i++) {
		out.point = i;
		ASSERT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, &in, 1, &out, 1));
	}
	/* One that depends on nothing stays behind them. */
	ASSERT_EQ(0, submit_syncs(self->fd, self->q1, &op, 1, NULL, 0, NULL, 0));
	trn_sleep(50 * TRN_MSEC);
	ASSERT_EQ(0, trn_queue(self->fd, self->q1, &q));
	EXPECT_EQ(21, q.submitted);
	EXPECT_EQ(0, q.completed);
	EXPECT_EQ(-ETIME, trn_sync_wait(self->fd, out.handle, 1, 0));
	/* Other queues do not mind. */
	ASSERT_EQ(0, trn_copy(self->fd, self->q2, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0));
	ASSERT_EQ(0, trn_gate_release(&gate));
	ASSERT_EQ(0, trn_sync_wait(self->fd, out.handle, 20, TRN_PATIENCE));
	ASSERT_EQ(0, trn_drain(self->fd, self->q1));
	ASSERT_EQ(0, trn_copy(self->fd, self->q1, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0x5b));
	trn_gate_close(&gate);
}

/* Waits end when they should: by deadline, by release, never before. */
TEST_F(sync, wait_for_unsignalled)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 0x5b, 1);
	struct drm_trainium_sync in = {};
	struct drm_trainium_submit s;
	struct trn_gate gate;
	__s64 start, took;
	pid_t pid;

	if (trn_gate_open(&gate))
		SKIP(return, "no vgem to make fences with");
	ASSERT_EQ(0, trn_gate_sync(&gate, self->fd, &in.handle));
	s = trn_job(self->q1, &op, 1);
	s.in_syncs = trn_ptr(&in);
	s.in_sync_count = 1;
	s.flags = TRAINIUM_SUBMIT_WAIT;
	start = trn_now();
	s.deadline_ns = start + 100 * TRN_MSEC;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	took = trn_now() - start;
	EXPECT_EQ(TRAINIUM_STATUS_PENDING, s.status);
	EXPECT_LE(100 * TRN_MSEC, took);
	EXPECT_GT(trn_limit(2 * TRN_SEC), took);
	/* The same for an empty one */
	start = trn_now();
	EXPECT_EQ(-EINPROGRESS, trn_run_for(self->fd, self->q1, NULL, 0, 50 * TRN_MSEC));
	EXPECT_LE(50 * TRN_MSEC, trn_now() - start);
	/* Released by somebody else while this one sleeps */
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		trn_sleep(100 * TRN_MSEC);
		_exit(trn_gate_release(&gate) ? 1 : 0);
	}
	start = trn_now();
	EXPECT_EQ(0, trn_drain(self->fd, self->q1));
	EXPECT_LE(50 * TRN_MSEC, trn_now() - start);
	EXPECT_EQ(0, trn_reap(pid, TRN_PATIENCE));
	trn_gate_close(&gate);
}

/* A signal takes a waiting submit out, with PENDING; the job is there once. */
TEST_F(sync, signal_during_wait)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 0x5b, 1);
	struct sigaction sa = { .sa_handler = on_signal };
	struct drm_trainium_query_queue q;
	struct drm_trainium_sync in = {};
	struct drm_trainium_submit s;
	struct trn_gate gate;
	unsigned int i;
	pid_t pid;

	if (trn_gate_open(&gate))
		SKIP(return, "no vgem to make fences with");
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, trn_gate_sync(&gate, self->fd, &in.handle));
	for (i = 1; i <= 10; i++) {
		pid = trn_fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			trn_sleep(20 * TRN_MSEC);
			_exit(kill(getppid(), SIGUSR1));
		}
		s = trn_job(self->q1, &op, 1);
		s.in_syncs = trn_ptr(&in);
		s.in_sync_count = 1;
		s.flags = TRAINIUM_SUBMIT_WAIT;
		s.deadline_ns = trn_now() + TRN_PATIENCE;
		ASSERT_EQ(0, trn_submit(self->fd, &s));
		EXPECT_EQ(TRAINIUM_STATUS_PENDING, s.status);
		EXPECT_EQ(i, s.seqno);
		EXPECT_EQ(0, trn_reap(pid, TRN_PATIENCE));
	}
	ASSERT_EQ(0, trn_gate_release(&gate));
	EXPECT_EQ(0, trn_drain(self->fd, self->q1));
	ASSERT_EQ(0, trn_queue(self->fd, self->q1, &q));
	EXPECT_EQ(10, q.submitted);
	EXPECT_EQ(10, q.completed);
	trn_gate_close(&gate);
}

/* Room for jobs ends: -ETIME with a deadline, and nothing was queued */
TEST_F(sync, full_queue)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 0x5b, 1);
	struct drm_trainium_query_queue q;
	struct drm_trainium_sync in = {};
	struct drm_trainium_submit s;
	struct trn_gate gate;
	unsigned int i;
	int ret = 0;

	if (trn_gate_open(&gate))
		SKIP(return, "no vgem to make fences with");
	ASSERT_EQ(0, trn_gate_sync(&gate, self->fd, &in.handle));
	for (i = 0; i < 100000 && !ret; i++) {
		s = trn_job(self->q1, &op, 1);
		s.in_syncs = trn_ptr(&in);
		s.in_sync_count = 1;
		s.flags = TRAINIUM_SUBMIT_WAIT;
		ret = trn_submit(self->fd, &s);
		if (!ret)
			EXPECT_EQ(TRAINIUM_STATUS_PENDING, s.status);
	}
	if (ret) {
		EXPECT_EQ(-ETIME, ret);
		i--;
	}
	TH_LOG("%u jobs wait", i);
	EXPECT_LE(16, i);
	ASSERT_EQ(0, trn_queue(self->fd, self->q1, &q));
	EXPECT_EQ(i, q.submitted);
	ASSERT_EQ(0, trn_gate_release(&gate));
	EXPECT_EQ(0, trn_drain(self->fd, self->q1));
	ASSERT_EQ(0, trn_queue(self->fd, self->q1, &q));
	EXPECT_EQ(i, q.completed);
	trn_gate_close(&gate);
}

/* A queue goes while its jobs wait: they fail as cancelled, at once. */
TEST_F(sync, destroyed_while_waiting)
{
	struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, SIZE, 0x5b, 1);
	struct drm_trainium_sync in = {}, out = {};
	struct trn_snapshot base;
	struct trn_gate gate;
	unsigned int i;
	__u32 queue;
	int file[5];

	if (trn_gate_open(&gate))
		SKIP(return, "no vgem to make fences with");
	ASSERT_EQ(0, trn_snapshot(self->fd, &base));
	ASSERT_EQ(0, trn_queue_create(self->fd, 0, 2, &queue));
	ASSERT_EQ(0, trn_gate_sync(&gate, self->fd, &in.handle));
	ASSERT_EQ(0, trn_sync_create(self->fd, &out.handle));
	for (i = 0; i < ARRAY_SIZE(file); i++) {
		ASSERT_EQ(0, submit_syncs(self->fd, queue, &op, 1, &in, 1, &out, 1));
		ASSERT_EQ(0, trn_sync_export_file(self->fd, out.handle, &file[i]));
	}
	ASSERT_EQ(0, trn_queue_destroy(self->fd, queue));
	EXPECT_EQ(0, trn_sync_wait(self->fd, out.handle, 0, trn_limit(2 * TRN_SEC)));
	for (i = 0; i < ARRAY_SIZE(file); i++) {
		EXPECT_EQ(-ECANCELED, trn_sync_file_status(file[i]));
		close(file[i]);
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &base, 2 * TRN_SEC));
	ASSERT_EQ(0, trn_gate_release(&gate));
	trn_gate_close(&gate);
	/* Nothing of them ran. */
	ASSERT_EQ(0, trn_copy(self->fd, self->q1, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0));
}

/* So does its whole file, whose memory is then free again. */
TEST_F(sync, killed_while_waiting)
{
	struct trn_snapshot base;
	struct trn_gate gate;
	int ready[2];
	char byte;
	pid_t pid;

	if (trn_gate_open(&gate))
		SKIP(return, "no vgem to make fences with");
	ASSERT_EQ(0, trn_snapshot(self->fd, &base));
	ASSERT_EQ(0, pipe(ready));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = trn_open(0);
		struct drm_trainium_sync in = {};
		struct drm_trainium_op op;
		struct trn_bo bo;
		unsigned int i;
		__u32 queue;

		if (trn_queue_create(fd, 0, 2, &queue) || trn_hbm_new(fd, 0, BIG, &bo) ||
		    trn_gate_sync(&gate, fd, &in.handle))
			_exit(1);
		op = trn_op_fill(bo.handle, 0, BIG, 1, 1);
		for (i = 0; i < 10; i++)
			if (submit_syncs(fd, queue, &op, 1, &in, 1, NULL, 0))
				_exit(2);
		if (write(ready[1], "x", 1) != 1)
			_exit(3);
		trn_drain(fd, queue);
		_exit(4);
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	trn_sleep(10 * TRN_MSEC);
	kill(pid, SIGKILL);
	ASSERT_EQ(128 + SIGKILL, trn_reap(pid, trn_limit(2 * TRN_SEC)));
	EXPECT_EQ(NULL, trn_settle(self->fd, &base, 2 * TRN_SEC));
	ASSERT_EQ(0, trn_gate_release(&gate));
	trn_gate_close(&gate);
}

TEST_HARNESS_MAIN
