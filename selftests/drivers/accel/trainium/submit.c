// SPDX-License-Identifier: GPL-2.0-only
/* TRAINIUM_SUBMIT: arguments, waiting, batches */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_MIB(1)

FIXTURE(submit) {
	int fd;
	__u32 queue;
	struct drm_trainium_query_device device;
	struct drm_trainium_query_limits limits;
	struct trn_bo host, hbm, big;
};

FIXTURE_SETUP(submit)
{
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	ASSERT_EQ(0, trn_limits(self->fd, &self->limits));
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->host));
	ASSERT_NE(NULL, self->host.map);
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, TRN_MIB(64), &self->big));
}

/* A refused submit leaves no trace: the queue still works, its data is right. */
FIXTURE_TEARDOWN(submit)
{
	EXPECT_EQ(0, trn_fill(self->fd, self->queue, self->hbm.handle, 0, SIZE, 0x61, 1));
	EXPECT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0x61));
	close(self->fd);
}

static struct drm_trainium_op good_fill(struct _test_data_submit *self)
{
	return trn_op_fill(self->hbm.handle, 0, SIZE, 0, 1);
}

static struct drm_trainium_op good_copy(struct _test_data_submit *self)
{
	return trn_op_copy(self->hbm.handle, 0, self->host.handle, 0, SIZE);
}

static __u64 submitted(struct _test_data_submit *self)
{
	struct drm_trainium_query_queue q = {};

	trn_queue(self->fd, self->queue, &q);
	return q.submitted;
}

/* The result of a waiting submit of one op in which a field was changed */
#define WITH(op_of, field, value) ({ \
	struct drm_trainium_op _op = op_of(self); \
	_op.field = (value); \
	trn_run(self->fd, self->queue, &_op, 1); \
})

TEST_F(submit, bad_copies)
{
	static const __u64 offsets[] = {
		1, SIZE, SIZE + 1, 1ull << 32, 1ull << 63, ~0ull, ~0ull - SIZE + 1,
		~0ull - SIZE + 2, ~0ull - SIZE,
	};
	static const __u64 sizes[] = {
		0, SIZE + 1, 1ull << 32, 1ull << 63, ~0ull, ~0ull - 1, (1ull << 32) + 1,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		EXPECT_EQ(-EINVAL, WITH(good_copy, src_offset, offsets[i])) {
			TH_LOG("source offset %llx", offsets[i]);
		}
		EXPECT_EQ(-EINVAL, WITH(good_copy, dst_offset, offsets[i])) {
			TH_LOG("destination offset %llx", offsets[i]);
		}
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(-EINVAL, WITH(good_copy, size, sizes[i])) {
			TH_LOG("size %llx", sizes[i]);
		}
	}
	/* offset + size wraps to something small */
	for (i = 1; i < 8; i++) {
		struct drm_trainium_op op = good_copy(self);

		op.dst_offset = -(__u64)i * TRN_PAGE;
		op.size = i * TRN_PAGE + 1;
		EXPECT_EQ(-EINVAL, trn_run(self->fd, self->queue, &op, 1));
		op = good_copy(self);
		op.src_offset = i;
		op.size = -(__u64)i;
		EXPECT_EQ(-EINVAL, trn_run(self->fd, self->queue, &op, 1));
	}
	EXPECT_EQ(0, submitted(self));
}

TEST_F(submit, bad_fills)
{
	static const __u32 widths[] = { 0, 3, 5, 6, 7, 9, 16, 0x80000000, ~0u };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		EXPECT_EQ(-EINVAL, WITH(good_fill, pattern_size, widths[i])) {
			TH_LOG("pattern of %u bytes", widths[i]);
		}
	}
	/* bits beyond the pattern */
	EXPECT_EQ(-EINVAL, WITH(good_fill, pattern, 0x100));
	EXPECT_EQ(-EINVAL, WITH(good_fill, pattern, 1ull << 63));
	for (i = 2; i <= 8; i *= 2) {
		struct drm_trainium_op op = good_fill(self);

		op.pattern_size = i;
		op.pattern = i < 8 ? 1ull << i * 8 : 0;
		if (i < 8)
			EXPECT_EQ(-EINVAL, trn_run(self->fd, self->queue, &op, 1));
		/* offset and size are multiples of the pattern */
		op.pattern = 0;
		op.size = SIZE - 1;
		EXPECT_EQ(-EINVAL, trn_run(self->fd, self->queue, &op, 1));
		op.size = i;
		op.dst_offset = i / 2;
		EXPECT_EQ(-EINVAL, trn_run(self->fd, self->queue, &op, 1));
		op.dst_offset = i;
		EXPECT_EQ(0, trn_run(self->fd, self->queue, &op, 1));
	}
	EXPECT_EQ(-EINVAL, WITH(good_fill, size, 0));
	EXPECT_EQ(-EINVAL, WITH(good_fill, size, SIZE + 1));
	EXPECT_EQ(-EINVAL, WITH(good_fill, size, ~0ull));
	EXPECT_EQ(-EINVAL, WITH(good_fill, dst_offset, 1));
	EXPECT_EQ(-EINVAL, WITH(good_fill, dst_offset, ~0ull));
	EXPECT_EQ(3, submitted(self));
}

TEST_F(submit, bad_ops)
{
	EXPECT_EQ(-EINVAL, WITH(good_copy, type, 2));
	EXPECT_EQ(-EINVAL, WITH(good_copy, type, ~0u));
	EXPECT_EQ(-EINVAL, WITH(good_copy, flags, 2));
	EXPECT_EQ(-EINVAL, WITH(good_copy, flags, 1u << 31));
	EXPECT_EQ(-EINVAL, WITH(good_copy, flags, ~0u));
	EXPECT_EQ(-EINVAL, WITH(good_fill, flags, 2));
	/* A barrier on the first op is pointless but fine. */
	EXPECT_EQ(0, WITH(good_copy, flags, TRAINIUM_OP_F_BARRIER));
	EXPECT_EQ(1, submitted(self));
}

TEST_F(submit, bad_handles)
{
	static const __u32 bad[] = { 0, 999, 0x7fffffff, 0x80000000, ~0u };
	int other = trn_open(0);
	__u32 stale, foreign;
	unsigned int i;

	ASSERT_LE(0, other);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-ENOENT, WITH(good_copy, src, bad[i]));
		EXPECT_EQ(-ENOENT, WITH(good_copy, dst, bad[i]));
		EXPECT_EQ(-ENOENT, WITH(good_fill, dst, bad[i]));
	}
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, SIZE, &stale));
	ASSERT_EQ(0, trn_close_handle(self->fd, stale));
	EXPECT_EQ(-ENOENT, WITH(good_copy, src, stale));
	EXPECT_EQ(-ENOENT, WITH(good_copy, dst, stale));
	/* A handle of another file: nothing here has that number. */
	do {
		ASSERT_EQ(0, trn_bo_create(other, TRAINIUM_BO_HBM, 0, TRN_PAGE, &foreign));
	} while (foreign < 8);
	EXPECT_EQ(-ENOENT, WITH(good_copy, src, foreign));
	EXPECT_EQ(-ENOENT, WITH(good_fill, dst, foreign));
	close(other);
	EXPECT_EQ(0, submitted(self));
}

/* A queue may remember buffers of its jobs, but not longer than their handles live. */
TEST_F(submit, closed_handles)
{
	struct drm_trainium_query_memory before, after;
	__u32 other, handle, again = 0;
	unsigned int i;

	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &other));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, trn_memory(self->fd, 0, &before));
		ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_PAGE, &handle));
		if (i)
			ASSERT_EQ(again, handle);
		again = handle;
		/* What the buffer before it has left must not show up. */
		ASSERT_EQ(0, trn_copy(self->fd, other, self->host.handle, 0, handle, 0, TRN_PAGE));
		EXPECT_EQ(-1, trn_check_byte(self->host.map, TRN_PAGE, 0));
		ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, TRN_PAGE, i + 1, 1));
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, handle, 0,
				      TRN_PAGE));
		EXPECT_EQ(-1, trn_check_byte(self->host.map, TRN_PAGE, i + 1));

		ASSERT_EQ(0, trn_close_handle(self->fd, handle));
		EXPECT_EQ(-ENOENT, trn_copy(self->fd, self->queue, self->host.handle, 0, handle, 0,
					    TRN_PAGE));
		EXPECT_EQ(-ENOENT, trn_copy(self->fd, other, handle, 0, self->host.handle, 0,
					    TRN_PAGE));
		ASSERT_EQ(0, trn_memory(self->fd, 0, &after));
		EXPECT_EQ(before.free, after.free);
	}
	EXPECT_EQ(0, trn_queue_destroy(self->fd, other));
}

/* More buffers than a queue remembers: one after the other, and in one job */
TEST_F(submit, many_buffers)
{
	struct drm_trainium_op ops[16];
	__u32 handle[ARRAY_SIZE(ops)];
	unsigned int i, n, round;

	for (i = 0; i < ARRAY_SIZE(handle); i++)
		ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, i % self->device.num_stacks,
					   TRN_PAGE, &handle[i]));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(handle); i++) {
			memset(self->host.map, round * 32 + i, TRN_PAGE);
			ASSERT_EQ(0, trn_copy(self->fd, self->queue, handle[i], 0,
					      self->host.handle, 0, TRN_PAGE));
		}
		for (n = 1; n <= ARRAY_SIZE(ops); n++) {
			memset(self->host.map, 0xff, n * TRN_PAGE);
			for (i = 0; i < n; i++)
				ops[i] = trn_op_copy(self->host.handle, i * TRN_PAGE, handle[i], 0,
						     TRN_PAGE);
			ASSERT_EQ(0, trn_run(self->fd, self->queue, ops, n));
			for (i = 0; i < n; i++)
				EXPECT_EQ(-1, trn_check_byte(self->host.map + i * TRN_PAGE,
							     TRN_PAGE, round * 32 + i));
		}
	}
	for (i = 0; i < ARRAY_SIZE(handle); i++)
		EXPECT_EQ(0, trn_close_handle(self->fd, handle[i]));
}

/* A job in flight keeps its buffers: nobody else gets the memory it writes to. */
TEST_F(submit, closed_in_flight)
{
	struct drm_trainium_op op;
	struct drm_trainium_submit s;
	__u32 handle, next;

	ASSERT_EQ(0, trn_fill(self->fd, self->queue, self->big.handle, 0, TRN_MIB(64), 0x35, 1));
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(64), &handle));
	op = trn_op_copy(handle, 0, self->big.handle, 0, TRN_MIB(64));
	s = trn_job(self->queue, &op, 1);
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	ASSERT_EQ(0, trn_close_handle(self->fd, handle));
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(64), &next));
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, next, TRN_MIB(63),
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0));
	EXPECT_EQ(0, trn_close_handle(self->fd, next));
}

/* All or nothing: a bad op anywhere, and none of the good ones runs. */
TEST_F(submit, all_or_nothing)
{
	static const unsigned int counts[] = { 2, 31, 32, 33, 64, 100, 1000 };
	static struct drm_trainium_op ops[1000];
	unsigned int i, k;

	ASSERT_EQ(0, trn_fill(self->fd, self->queue, self->hbm.handle, 0, SIZE, 0x77, 1));
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		unsigned int n = counts[i];

		for (k = 0; k < n; k++)
			ops[k] = trn_op_fill(self->hbm.handle, k, 1, 0xee, 1);
		ops[n - 1].size = SIZE;
		ASSERT_EQ(-EINVAL, trn_run(self->fd, self->queue, ops, n));
		ops[n - 1].size = 1;
		ops[n / 2].dst = 12345;
		ASSERT_EQ(-ENOENT, trn_run(self->fd, self->queue, ops, n));
	}
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->host.map, SIZE, 0x77));
	EXPECT_EQ(2, submitted(self));
}

TEST_F(submit, bad_arguments)
{
	struct drm_trainium_op op = good_fill(self);
	struct drm_trainium_submit s;

#define TRY(field, value) ({ \
	s = trn_job(self->queue, &op, 1); \
	s.field = (value); \
	trn_submit(self->fd, &s); \
})
	EXPECT_EQ(-ENOENT, TRY(queue, 0));
	EXPECT_EQ(-ENOENT, TRY(queue, self->queue + 1));
	EXPECT_EQ(-ENOENT, TRY(queue, ~0u));
	EXPECT_EQ(-EINVAL, TRY(flags, 2));
	EXPECT_EQ(-EINVAL, TRY(flags, 1u << 31));
	EXPECT_EQ(-EINVAL, TRY(flags, ~0u));
	EXPECT_EQ(-EINVAL, TRY(pad, 1));
	/* no ops and no wait */
	EXPECT_EQ(-EINVAL, TRY(op_count, 0));
	/* more than the limit */
	EXPECT_EQ(-EINVAL, TRY(op_count, self->limits.max_ops + 1));
	EXPECT_EQ(-EINVAL, TRY(op_count, ~0u));
	/* strides */
	EXPECT_EQ(-EINVAL, TRY(op_stride, 0));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 8));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 32));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 39));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 41));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 44));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 0xfffffff9));
	/* pointers */
	EXPECT_EQ(-EFAULT, TRY(ops, 0));
	EXPECT_EQ(-EFAULT, TRY(ops, 8));
	EXPECT_EQ(-EFAULT, TRY(ops, 0x8000000000000000ull));
	EXPECT_EQ(-EFAULT, TRY(ops, 0xffff888000000000ull));
	EXPECT_EQ(-EFAULT, TRY(ops, ~0ull));
	EXPECT_EQ(-EFAULT, TRY(ops, 0xfffffffffffffff8ull));
	/* syncs: too many, nowhere */
	EXPECT_EQ(-EINVAL, TRY(in_sync_count, self->limits.max_syncs + 1));
	EXPECT_EQ(-EINVAL, TRY(in_sync_count, ~0u));
	EXPECT_EQ(-EINVAL, TRY(out_sync_count, self->limits.max_syncs + 1));
	EXPECT_EQ(-EINVAL, TRY(out_sync_count, ~0u));
	EXPECT_EQ(-EFAULT, TRY(in_sync_count, 1));
	EXPECT_EQ(-EFAULT, TRY(out_sync_count, 1));
#undef TRY
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_SUBMIT, NULL));
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_SUBMIT, (void *)~0ul));
	EXPECT_EQ(0, submitted(self));
}

/* The array leaves its mapping half-way. */
TEST_F(submit, ops_cross_unmapped)
{
	__u8 *page = mmap(NULL, 2 * TRN_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int n = TRN_PAGE / sizeof(struct drm_trainium_op), i;
	struct drm_trainium_op *ops;

	ASSERT_NE(MAP_FAILED, page);
	munmap(page + TRN_PAGE, TRN_PAGE);
	ops = (void *)(page + TRN_PAGE - n * sizeof(*ops));
	for (i = 0; i < n; i++)
		ops[i] = good_fill(self);
	EXPECT_EQ(-EFAULT, trn_run(self->fd, self->queue, ops, n + 1));
	EXPECT_EQ(0, submitted(self));
	EXPECT_EQ(0, trn_run(self->fd, self->queue, ops, n));
	EXPECT_EQ(-EFAULT, trn_run(self->fd, self->queue, (void *)(page + TRN_PAGE - 20), 1));
}

/* Larger ops of a newer program; what the driver does not know must be zero */
TEST_F(submit, larger_stride)
{
	struct {
		struct drm_trainium_op op;
		__u64 more[3];
	} ops[40] = {};
	struct drm_trainium_submit s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i].op = trn_op_fill(self->hbm.handle, i * 8, 8, i, 8);
	s = trn_job(self->queue, &ops[0].op, ARRAY_SIZE(ops));
	s.op_stride = sizeof(ops[0]);
	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = trn_now() + TRN_PATIENCE;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, self->hbm.handle, 0,
			      sizeof(__u64) * ARRAY_SIZE(ops)));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		EXPECT_EQ(i, ((__u64 *)self->host.map)[i]);

	ops[39].more[2] = 1;
	EXPECT_GT(0, trn_submit(self->fd, &s));
}

/* Unaligned arrays are ugly, and work. */
TEST_F(submit, unaligned_ops)
{
	__u8 buf[2 * sizeof(struct drm_trainium_op) + 8];
	struct drm_trainium_op op = good_fill(self);

	memcpy(buf + 1, &op, sizeof(op));
	EXPECT_EQ(0, trn_run(self->fd, self->queue, (void *)(buf + 1), 1));
}

/* A program that does not know the last members */
TEST_F(submit, short_ioctl)
{
	struct drm_trainium_op op = good_fill(self);
	struct drm_trainium_submit s = trn_job(self->queue, &op, 1);
	__u8 old[offsetof(struct drm_trainium_submit, seqno)];

	memcpy(old, &s, sizeof(old));
	EXPECT_EQ(0, trn_ioctl(self->fd, DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_SUBMIT, old),
			       old));
	EXPECT_EQ(0, trn_drain(self->fd, self->queue));
	EXPECT_EQ(1, submitted(self));
}

TEST_F(submit, job_bytes_limit)
{
	static struct drm_trainium_op ops[20000];
	__u64 most = self->limits.max_job_bytes;
	unsigned int n = most / self->big.size + 1, i;

	if (n > self->limits.max_ops || n > ARRAY_SIZE(ops))
		SKIP(return, "the limit of ops comes first");
	for (i = 0; i < n; i++)
		ops[i] = trn_op_fill(self->big.handle, 0, self->big.size, 0, 1);
	EXPECT_EQ(-EINVAL, trn_run(self->fd, self->queue, ops, n));
	EXPECT_EQ(0, submitted(self));
}

TEST_F(submit, numbering)
{
	struct drm_trainium_op op = good_fill(self);
	struct drm_trainium_query_queue q;
	struct drm_trainium_submit s;
	unsigned int i;

	for (i = 1; i <= 100; i++) {
		s = trn_job(self->queue, &op, 1);
		/* Out members need not be zero. */
		s.seqno = ~0ull;
		s.status = 77;
		ASSERT_EQ(0, trn_submit(self->fd, &s));
		EXPECT_EQ(i, s.seqno);
		EXPECT_GE(TRAINIUM_STATUS_PENDING, s.status);
	}
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(100, q.submitted);
	EXPECT_EQ(100, q.completed);
}

/* Waiting for all jobs there are, and for none */
TEST_F(submit, drain)
{
	struct drm_trainium_op op = trn_op_fill(self->big.handle, 0, self->big.size, 1, 1);
	struct drm_trainium_query_queue q;
	unsigned int i;

	EXPECT_EQ(0, trn_drain(self->fd, self->queue));
	for (i = 0; i < 8; i++) {
		struct drm_trainium_submit s = trn_job(self->queue, &op, 1);

		ASSERT_EQ(0, trn_submit(self->fd, &s));
	}
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(8, q.submitted);
	EXPECT_EQ(8, q.completed);
}

static struct drm_trainium_submit long_job(struct _test_data_submit *self,
					   struct drm_trainium_op *ops, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		ops[i] = trn_op_copy(self->big.handle, TRN_MIB(32), self->big.handle, 0,
				     TRN_MIB(32));
	return trn_job(self->queue, ops, n);
}

TEST_F(submit, pending_then_done)
{
	struct drm_trainium_op ops[32];
	struct drm_trainium_submit s = long_job(self, ops, 32);

	/* deadline 0: do not sleep */
	s.flags = TRAINIUM_SUBMIT_WAIT;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	EXPECT_EQ(TRAINIUM_STATUS_PENDING, s.status);
	EXPECT_EQ(0, trn_drain(self->fd, self->queue));
	/* A small one is done when the call returns. */
	ops[0] = good_fill(self);
	EXPECT_EQ(0, trn_run(self->fd, self->queue, ops, 1));
}

TEST_F(submit, deadline_passes)
{
	struct drm_trainium_op ops[32];
	struct drm_trainium_submit s = long_job(self, ops, 32);
	__s64 start = trn_now(), took;

	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = start + 10 * TRN_MSEC;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	took = trn_now() - start;
	if (s.status == TRAINIUM_STATUS_PENDING) {
		EXPECT_LE(9 * TRN_MSEC, took);
		EXPECT_GT(trn_limit(TRN_SEC), took);
	}
	EXPECT_EQ(1, s.seqno);
	/* One that passed long ago: queued like any other */
	s = long_job(self, ops, 1);
	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = 1;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	EXPECT_EQ(2, s.seqno);
	s = long_job(self, ops, 1);
	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = INT64_MAX;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	EXPECT_EQ(TRAINIUM_STATUS_DONE, s.status);
	EXPECT_EQ(0, trn_drain(self->fd, self->queue));
}

static int alarms;

static void on_alarm(int sig)
{
	__atomic_fetch_add(&alarms, 1, __ATOMIC_RELAXED);
}

/* A storm of signals: 0 with PENDING or DONE, never EINTR, nothing twice */
TEST_F_TIMEOUT(submit, signals, 60)
{
	struct itimerval storm = { .it_interval.tv_usec = 700, .it_value.tv_usec = 700 };
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval calm = {};
	unsigned int i, pending = 0;

	/* Not SIGALRM, which belongs to the harness */
	ASSERT_EQ(0, sigaction(SIGPROF, &sa, NULL));
	ASSERT_EQ(0, sigaction(SIGVTALRM, &sa, NULL));
	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &storm, NULL));
	for (i = 0; i < 60; i++) {
		struct drm_trainium_op ops[4];
		struct drm_trainium_submit s = long_job(self, ops, 1 + i % 4);
		int ret;

		s.flags = TRAINIUM_SUBMIT_WAIT;
		s.deadline_ns = trn_now() + TRN_PATIENCE;
		ret = trn_submit(self->fd, &s);
		if (ret)
			break;
		pending += s.status == TRAINIUM_STATUS_PENDING;
		if (s.seqno != i + 1)
			break;
	}
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &calm, NULL));
	EXPECT_EQ(60, i) TH_LOG("stopped at job %u", i);
	EXPECT_LT(0, __atomic_load_n(&alarms, __ATOMIC_RELAXED));
	TH_LOG("%u of 60 calls were cut short by %d signals", pending, alarms);
	EXPECT_EQ(0, trn_drain(self->fd, self->queue));
	EXPECT_EQ(i, submitted(self));
}

/* Killed in a wait, a process goes at once. */
TEST_F(submit, wait_is_killable)
{
	unsigned int round;

	for (round = 0; round < 10; round++) {
		pid_t pid = trn_fork();
		__s64 start;

		ASSERT_LE(0, pid);
		if (!pid) {
			struct drm_trainium_op ops[64];
			struct drm_trainium_submit s = long_job(self, ops, 64);

			s.flags = TRAINIUM_SUBMIT_WAIT;
			s.deadline_ns = INT64_MAX;
			_exit(!!trn_submit(self->fd, &s));
		}
		trn_sleep((5 + round) * TRN_MSEC);
		start = trn_now();
		kill(pid, SIGKILL);
		trn_reap(pid, TRN_PATIENCE);
		EXPECT_GT(trn_limit(TRN_SEC), trn_now() - start);
	}
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
}

/* Rings have room for so many: then a wait, or -ETIME when there is a deadline */
TEST_F_TIMEOUT(submit, flood, 60)
{
	struct drm_trainium_op op = trn_op_fill(self->big.handle, 0, TRN_MIB(1), 0x21, 1);
	struct drm_trainium_query_queue q;
	unsigned int i, late = 0, n = 2000;

	for (i = 0; i < n; i++) {
		struct drm_trainium_submit s = trn_job(self->queue, &op, 1);
		int ret;

		op.dst_offset = (i % 64) * TRN_MIB(1);
		s.flags = TRAINIUM_SUBMIT_WAIT;
		s.deadline_ns = 1;
		ret = trn_submit(self->fd, &s);
		if (ret == -ETIME) {
			late++;
			continue;
		}
		ASSERT_EQ(0, ret);
	}
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
	ASSERT_EQ(0, trn_queue(self->fd, self->queue, &q));
	EXPECT_EQ(n - late, q.submitted);
	EXPECT_EQ(n - late, q.completed);
	EXPECT_EQ(0, q.failed);
}

/* Without a deadline every one of them gets in. */
TEST_F_TIMEOUT(submit, flood_waits_for_room, 60)
{
	struct drm_trainium_op op = trn_op_fill(self->big.handle, 0, TRN_MIB(1), 0x21, 1);
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		struct drm_trainium_submit s = trn_job(self->queue, &op, 1);

		ASSERT_EQ(0, trn_submit(self->fd, &s));
	}
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
	EXPECT_EQ(1000, submitted(self));
}

/* 1024 copies in one submit: one interrupt at most */
/* The waiter may have seen the end before the interrupt of it came. */
static __u64 interrupts_settled(void)
{
	__u64 was, now = trn_interrupts(trn_bdf(0));

	do {
		was = now;
		trn_sleep(20 * TRN_MSEC);
		now = trn_interrupts(trn_bdf(0));
	} while (now != was);
	return now;
}

TEST_F(submit, batch)
{
	static struct drm_trainium_op ops[1024];
	unsigned int i, round;

	if (self->limits.max_ops < 1024)
		SKIP(return, "batches are smaller");
	for (i = 0; i < 1024; i++)
		ops[i] = trn_op_copy(self->hbm.handle, i * 1024, self->host.handle,
				     (1023 - i) * 1024, 1024);
	trn_pattern(self->host.map, 0, SIZE, 8);
	for (round = 0; round < 5; round++) {
		__u64 before = interrupts_settled(), after;

		ASSERT_EQ(0, trn_run(self->fd, self->queue, ops, 1024));
		after = interrupts_settled();
		/* One a ring, were the batch spread: bounded by the queue's rings */
		EXPECT_GE(1, after - before);
	}
	memset(self->host.map, 0, SIZE);
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->host.handle, 0, self->hbm.handle, 0,
			      SIZE));
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(-1, trn_check(self->host.map + i * 1024, (1023 - i) * 1024, 1024, 8));
}

/* Interrupts do wake: a long wait uses them when the device has them */
TEST_F(submit, interrupts_used)
{
	struct drm_trainium_op ops[16];
	struct drm_trainium_submit s = long_job(self, ops, 16);
	__u64 before = trn_interrupts(trn_bdf(0));

	if (!(self->device.features & TRAINIUM_FEATURE_IRQ))
		SKIP(return, "the driver polls");
	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = trn_now() + TRN_PATIENCE;
	ASSERT_EQ(0, trn_submit(self->fd, &s));
	EXPECT_EQ(TRAINIUM_STATUS_DONE, s.status);
	EXPECT_LT(before, trn_interrupts(trn_bdf(0)));
}

struct waiter {
	struct _test_data_submit *self;
	unsigned int rounds;
	long ret;
};

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;
	struct drm_trainium_op op = good_fill(w->self);
	unsigned int i;

	for (i = 0; i < w->rounds && !w->ret; i++) {
		w->ret = i % 3 ? trn_run(w->self->fd, w->self->queue, &op, 1) :
				 trn_drain(w->self->fd, w->self->queue);
	}
	return NULL;
}

/* Several threads submit to and wait on the same queue. */
TEST_F(submit, many_waiters)
{
	struct waiter waiter[8] = {};
	pthread_t thread[8];
	unsigned int i;

	for (i = 0; i < 8; i++) {
		waiter[i].self = self;
		waiter[i].rounds = 200;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, wait_thread, &waiter[i]));
	}
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(0, waiter[i].ret);
	}
	EXPECT_EQ(8 * 133, submitted(self));
}

/* C13: random numbers as handles never reach anything */
TEST_F(submit, forged_handles)
{
	__u64 seed = 77;
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		struct drm_trainium_op op = good_copy(self);

		op.src = 100 + trn_rand_below(&seed, ~0u - 100);
		ASSERT_EQ(-ENOENT, trn_run(self->fd, self->queue, &op, 1));
	}
}

TEST_HARNESS_MAIN
