// SPDX-License-Identifier: GPL-2.0-only
/* Command lists: what they do, how little a submit writes, when they are spent */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_MIB(1)

FIXTURE(list) {
	int fd;
	struct drm_trainium_query_limits limits;
	struct trn_snapshot base;
	struct trn_bo in, out, hbm;
};

static int create(int fd, const struct drm_trainium_op *ops, __u32 count, __u32 *list)
{
	struct drm_trainium_list_create args = {
		.ops = trn_ptr(ops),
		.op_count = count,
		.op_stride = sizeof(*ops),
		.stack = TRAINIUM_STACK_ANY,
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_LIST_CREATE, &args);

	*list = args.list;
	return ret;
}

FIXTURE_SETUP(list)
{
	struct drm_trainium_op op;
	__u32 list;
	int ret;

	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_limits(self->fd, &self->limits));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->in));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->out));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	trn_pattern(self->in.map, 0, SIZE, 1);
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
	if (!trn_dma_debug())
		return;
	op = trn_op_copy(self->out.handle, 0, self->in.handle, 0, 64);
	ret = create(self->fd, &op, 1, &list);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "DMA-API debugging wants syncs behind an IOMMU, a list has none");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, trn_queue_destroy(self->fd, list));
	ASSERT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
}

FIXTURE_TEARDOWN(list)
{
	close(self->fd);
}

static int submit(int fd, __u32 list)
{
	struct drm_trainium_submit s = { .queue = list };

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &s);
}

static int run(int fd, __u32 list)
{
	struct drm_trainium_submit s = {
		.queue = list,
		.flags = TRAINIUM_SUBMIT_WAIT,
		.deadline_ns = trn_now() + TRN_PATIENCE,
	};

	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &s) ?:
	       s.status == TRAINIUM_STATUS_DONE ? 0 : -EINPROGRESS;
}

/* Host to HBM to host, through what the list writes in between */
static unsigned int round_trip(struct _test_data_list *self, struct drm_trainium_op *ops,
			       __u64 size, unsigned int parts)
{
	unsigned int i;

	for (i = 0; i < parts; i++) {
		__u64 at = i * size;

		ops[i] = trn_op_copy(self->hbm.handle, at, self->in.handle, at, size);
		ops[parts + i] = trn_op_copy(self->out.handle, at, self->hbm.handle, at, size);
	}
	ops[parts].flags = TRAINIUM_OP_F_BARRIER;
	return 2 * parts;
}

/* Many submits, of units of all shapes, over many laps of their ring */
TEST_F_TIMEOUT(list, many_times, 120)
{
	static const struct {
		unsigned int parts, times;
		__u64 size;
	} shape[] = {
		{ 1, 5000, 4096 }, { 2, 2000, 512 }, { 4, 2000, 100 }, { 7, 700, 64 },
		{ 8, 700, 65536 }, { 31, 300, 1000 }, { 100, 100, 4096 }, { 250, 50, 4000 },
	};
	static struct drm_trainium_op ops[512];
	unsigned int i, n, k;

	for (i = 0; i < ARRAY_SIZE(shape); i++) {
		__u64 bytes = shape[i].parts * shape[i].size;
		__u32 list;

		n = round_trip(self, ops, shape[i].size, shape[i].parts);
		ASSERT_EQ(0, create(self->fd, ops, n, &list));
		for (k = 0; k < shape[i].times; k++) {
			/* Each time with other data */
			self->in.map[bytes - 1] = k;
			self->in.map[0] = k + 1;
			ASSERT_EQ(0, run(self->fd, list));
			ASSERT_EQ(self->in.map[0], self->out.map[0]);
			ASSERT_EQ(self->in.map[bytes - 1], self->out.map[bytes - 1]) {
				TH_LOG("shape %u, submit %u", i, k);
			}
		}
		EXPECT_EQ(0, memcmp(self->in.map, self->out.map, bytes));
		ASSERT_EQ(0, trn_queue_destroy(self->fd, list));
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_PATIENCE));
}

/* More than there is room for: submits wait for it */
TEST_F_TIMEOUT(list, without_waiting, 60)
{
	static struct drm_trainium_op ops[1000];
	unsigned int i, counts[] = { 1, 20, 1000 }, k;
	struct drm_trainium_query_queue q;
	__u32 list;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(self->hbm.handle, i * 1024, self->in.handle, i * 1024, 1024);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		ASSERT_EQ(0, create(self->fd, ops, counts[i], &list));
		for (k = 0; k < 400; k++)
			ASSERT_EQ(0, submit(self->fd, list));
		ASSERT_EQ(0, trn_drain(self->fd, list));
		ASSERT_EQ(0, trn_queue(self->fd, list, &q));
		EXPECT_EQ(400, q.submitted);
		EXPECT_EQ(400, q.completed);
		EXPECT_EQ(0, q.failed);
		EXPECT_EQ(TRAINIUM_QUEUE_LIST, q.queue_class);
		EXPECT_EQ(1, q.num_rings);
	}
}

TEST_F(list, patterns_and_barriers)
{
	struct drm_trainium_op ops[9];
	unsigned int i, k;
	__u32 list;

	for (i = 0; i < 4; i++)
		ops[i] = trn_op_fill(self->hbm.handle, i * 1024, 1024, 0x1111ull * (i + 1), 2);
	ops[4] = trn_op_fill(self->hbm.handle, 4096, 1024, 0, 8);
	/* The same one again needs nothing new */
	ops[5] = trn_op_fill(self->hbm.handle, 5120, 1000, 0x1111, 2);
	ops[6] = trn_op_copy(self->out.handle, 0, self->hbm.handle, 0, 6120);
	ops[6].flags = TRAINIUM_OP_F_BARRIER;
	ops[7] = trn_op_fill(self->hbm.handle, 0, 6120, 0, 1);
	ops[7].flags = TRAINIUM_OP_F_BARRIER;
	ASSERT_EQ(0, create(self->fd, ops, 8, &list));
	for (k = 0; k < 100; k++) {
		memset(self->out.map, 0xff, 8192);
		ASSERT_EQ(0, run(self->fd, list));
		for (i = 0; i < 4; i++)
			ASSERT_EQ(-1, trn_check_byte(self->out.map + i * 1024, 1024,
						     0x11 * (i + 1)));
		ASSERT_EQ(-1, trn_check_byte(self->out.map + 4096, 1024, 0));
		ASSERT_EQ(-1, trn_check_byte(self->out.map + 5120, 1000, 0x11));
		ASSERT_EQ(0xff, self->out.map[6120]);
	}
	/* A fifth pattern */
	ops[8] = trn_op_fill(self->hbm.handle, 8192, 8, 0x77, 1);
	EXPECT_EQ(-EINVAL, create(self->fd, ops, 9, &list));
}

TEST_F(list, strided)
{
	struct drm_trainium_op_strided op = {
		.op = trn_op_copy(self->out.handle, 0, self->in.handle, 0, 16),
		.rows = 100,
		.planes = 1,
		.dst_row_pitch = 16,
		.src_row_pitch = 1024,
	};
	struct drm_trainium_list_create args = {
		.ops = trn_ptr(&op),
		.op_count = 1,
		.op_stride = sizeof(op),
		.stack = 0,
	};
	unsigned int i, k;

	op.op.type = TRAINIUM_OP_COPY_STRIDED;
	ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_LIST_CREATE, &args));
	EXPECT_EQ(100, args.descs);
	for (k = 0; k < 50; k++) {
		memset(self->out.map, 0, 1600);
		ASSERT_EQ(0, run(self->fd, args.list));
		for (i = 0; i < 100; i++)
			ASSERT_EQ(0, memcmp(self->out.map + i * 16, self->in.map + i * 1024, 16));
	}
}

/* Fences: binary, timeline, for another queue to wait for */
TEST_F(list, fences)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->in.handle, 0, SIZE);
	struct drm_trainium_op back = trn_op_copy(self->out.handle, 0, self->hbm.handle, 0, SIZE);
	struct drm_trainium_sync out[2] = {};
	struct drm_trainium_submit s = {}, second;
	__u32 list, queue;
	__u64 point;
	unsigned int i;

	ASSERT_EQ(0, create(self->fd, &op, 1, &list));
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 1, &queue));
	ASSERT_EQ(0, trn_sync_create(self->fd, &out[0].handle));
	ASSERT_EQ(0, trn_sync_create(self->fd, &out[1].handle));
	for (i = 1; i <= 50; i++) {
		self->in.map[SIZE - 1] = i;
		s = (struct drm_trainium_submit){
			.queue = list,
			.out_syncs = trn_ptr(out),
			.out_sync_count = 2,
		};
		out[1].point = i;
		ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &s));
		EXPECT_EQ(i, s.seqno);
		second = trn_job(queue, &back, 1);
		second.in_syncs = trn_ptr(out);
		second.in_sync_count = 1;
		second.flags = TRAINIUM_SUBMIT_WAIT;
		second.deadline_ns = trn_now() + TRN_PATIENCE;
		ASSERT_EQ(0, trn_submit(self->fd, &second));
		ASSERT_EQ(TRAINIUM_STATUS_DONE, second.status);
		ASSERT_EQ(i, self->out.map[SIZE - 1]);
		ASSERT_EQ(0, trn_sync_query(self->fd, out[1].handle, &point));
		EXPECT_EQ(i, point);
	}
	EXPECT_EQ(0, memcmp(self->in.map, self->out.map, SIZE));
}

/*
 * One doorbell a submit; of the ring, the two ring ids of each descriptor pair
 * and the marker are written, and nothing else: a list of 99 copies and its
 * marker fill 112 pairs.
 */
TEST_F(list, what_a_submit_writes)
{
	static struct drm_trainium_op ops[99];
	unsigned int i;
	__u32 list;

	if (trn_trace("trn_list", true))
		SKIP(return, "no tracing");
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(self->hbm.handle, i * 64, self->in.handle, i * 64, 64);
	ASSERT_EQ(0, create(self->fd, ops, ARRAY_SIZE(ops), &list));
	trn_trace("trn_doorbell", true);
	trn_trace_clear();
	for (i = 0; i < 25; i++)
		ASSERT_EQ(0, run(self->fd, list));
	trn_trace("trn_doorbell", false);
	trn_trace("trn_list", false);
	EXPECT_EQ(25, trn_traced("trn_list:", "ring ids 224 markers 1"));
	EXPECT_EQ(25, trn_traced("trn_doorbell:", "count 112"));
	EXPECT_EQ(25, trn_traced("trn_doorbell:", ""));
}

/* One interrupt a submit at the most */
TEST_F(list, interrupts)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->in.handle, 0, SIZE);
	const char *bdf = trn_bdf(0);
	__u64 before, after;
	unsigned int i;
	__u32 list;

	ASSERT_EQ(0, create(self->fd, &op, 1, &list));
	before = trn_interrupts(bdf);
	for (i = 0; i < 40; i++)
		ASSERT_EQ(0, submit(self->fd, list));
	ASSERT_EQ(0, trn_drain(self->fd, list));
	trn_sleep(10 * TRN_MSEC);
	after = trn_interrupts(bdf);
	EXPECT_GE(40, after - before);
}

/* When a handle goes, so do the lists with the buffer. */
TEST_F(list, spent)
{
	struct drm_trainium_query_memory before, after;
	struct drm_trainium_op ops[3];
	struct trn_bo bo[3];
	unsigned int i, k;
	__u32 list, other;

	for (i = 0; i < ARRAY_SIZE(bo); i++) {
		ASSERT_EQ(0, trn_memory(self->fd, 0, &before));
		for (k = 0; k < ARRAY_SIZE(bo); k++) {
			ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &bo[k]));
			ops[k] = trn_op_copy(bo[k].handle, 0, self->in.handle, 0, SIZE);
		}
		ASSERT_EQ(0, create(self->fd, ops, 3, &list));
		ASSERT_EQ(0, create(self->fd, &ops[(i + 1) % 3], 1, &other));
		ASSERT_EQ(0, run(self->fd, list));
		/* In flight while the handle goes */
		ASSERT_EQ(0, submit(self->fd, list));
		trn_bo_put(self->fd, &bo[i]);
		EXPECT_EQ(-ENOENT, submit(self->fd, list));
		EXPECT_EQ(-ENOENT, run(self->fd, list));
		EXPECT_EQ(0, trn_drain(self->fd, list));
		EXPECT_EQ(0, run(self->fd, other));
		/* The list keeps nothing, even if it stays. */
		trn_bo_put(self->fd, &bo[(i + 2) % 3]);
		EXPECT_EQ(0, run(self->fd, other));
		trn_bo_put(self->fd, &bo[(i + 1) % 3]);
		EXPECT_EQ(-ENOENT, run(self->fd, other));
		for (k = 0; k < 200; k++) {
			ASSERT_EQ(0, trn_memory(self->fd, 0, &after));
			if (after.free == before.free)
				break;
			trn_sleep(10 * TRN_MSEC);
		}
		EXPECT_EQ(before.free, after.free);
		EXPECT_EQ(0, trn_queue_destroy(self->fd, list));
		EXPECT_EQ(0, trn_queue_destroy(self->fd, other));
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_PATIENCE));
}

/* It is still a list after a reset of the device, of which only contents are lost. */
TEST_F_TIMEOUT(list, device_reset, 60)
{
	struct drm_trainium_op ops[2];
	struct drm_trainium_reset reset = { .scope = TRAINIUM_RESET_DEVICE };
	unsigned int i, k;
	__u32 list;

	ASSERT_EQ(0, create(self->fd, ops, round_trip(self, ops, SIZE, 1), &list));
	for (i = 0; i < 3; i++) {
		for (k = 0; k < 700; k++) {
			self->in.map[0] = k;
			ASSERT_EQ(0, run(self->fd, list));
			ASSERT_EQ(self->in.map[0], self->out.map[0]);
		}
		ASSERT_EQ(0, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_RESET, &reset));
	}
}

TEST_F(list, bad_arguments)
{
	struct drm_trainium_op op = trn_op_copy(self->hbm.handle, 0, self->in.handle, 0, SIZE);
	static struct drm_trainium_op many[2000];
	struct drm_trainium_list_create c;
	struct drm_trainium_submit s;
	__u32 list, queue, none;
	unsigned int i;
	int other;

#define TRY(field, value) ({ \
	c = (struct drm_trainium_list_create){ \
		.ops = trn_ptr(&op), .op_count = 1, .op_stride = sizeof(op), \
		.stack = TRAINIUM_STACK_ANY, \
	}; \
	c.field = (value); \
	trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_LIST_CREATE, &c); \
})
	EXPECT_EQ(-EINVAL, TRY(op_count, 0));
	EXPECT_EQ(-EINVAL, TRY(op_count, ~0u));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 0));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 39));
	EXPECT_EQ(-EINVAL, TRY(stack, 99));
	EXPECT_EQ(-EINVAL, TRY(flags, 2));
	EXPECT_EQ(-EINVAL, TRY(list, 1));
	EXPECT_EQ(-EINVAL, TRY(pad, 1));
	EXPECT_EQ(-EFAULT, TRY(ops, 0));
	EXPECT_EQ(-EFAULT, TRY(ops, ~0ull));
	op.size = SIZE + 1;
	EXPECT_EQ(-EINVAL, TRY(flags, 0));
	op.size = SIZE;
	op.src = 9999;
	EXPECT_EQ(-ENOENT, TRY(flags, 0));
	op.src = self->in.handle;
	op.type = 77;
	EXPECT_EQ(-EINVAL, TRY(flags, 0));
	op.type = TRAINIUM_OP_COPY;
#undef TRY
	/* as long as it may be, and longer */
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = trn_op_copy(self->hbm.handle, i, self->in.handle, i, 1);
	EXPECT_EQ(-EINVAL, create(self->fd, many, ARRAY_SIZE(many), &list));
	EXPECT_EQ(-EINVAL, create(self->fd, many, self->limits.max_list_descs + 1, &list));
	ASSERT_EQ(0, create(self->fd, many, self->limits.max_list_descs, &list));
	EXPECT_EQ(0, run(self->fd, list));
	EXPECT_EQ(0, run(self->fd, list));
	EXPECT_EQ(0, memcmp(self->in.map, self->hbm.map ?: self->in.map,
			    self->limits.max_list_descs));

	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 1, &queue));
#define TRY(field, value) ({ \
	s = (struct drm_trainium_submit){ .queue = list }; \
	s.field = (value); \
	trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &s); \
})
	EXPECT_EQ(-ENOENT, TRY(queue, 0));
	EXPECT_EQ(-ENOENT, TRY(queue, queue));
	EXPECT_EQ(-ENOENT, TRY(queue, list + 1));
	EXPECT_EQ(-ENOENT, TRY(queue, ~0u));
	EXPECT_EQ(-EINVAL, TRY(flags, 2));
	EXPECT_EQ(-EINVAL, TRY(ops, trn_ptr(&op)));
	EXPECT_EQ(-EINVAL, TRY(op_count, 1));
	EXPECT_EQ(-EINVAL, TRY(op_stride, 40));
	EXPECT_EQ(-EINVAL, TRY(in_syncs, trn_ptr(&op)));
	EXPECT_EQ(-EINVAL, TRY(in_sync_count, 1));
	EXPECT_EQ(-EINVAL, TRY(out_sync_count, ~0u));
	EXPECT_EQ(-EFAULT, TRY(out_sync_count, 1));
	EXPECT_EQ(-EINVAL, TRY(deadline_ns, 1));
	EXPECT_EQ(-EINVAL, TRY(pad, 1));
#undef TRY
	/* A list takes no ops, nor is it another file's. */
	EXPECT_EQ(-ENOENT, trn_run(self->fd, list, &op, 1));
	other = trn_open(0);
	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, submit(other, list));
	EXPECT_EQ(-ENOENT, trn_queue_destroy(other, list));
	close(other);
	EXPECT_EQ(0, run(self->fd, list));
	EXPECT_EQ(0, trn_queue_destroy(self->fd, list));
	EXPECT_EQ(-ENOENT, submit(self->fd, list));
	/* What was refused left no ring behind. */
	EXPECT_EQ(0, trn_queue_destroy(self->fd, queue));
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_PATIENCE));

	/* Lists and queues of a file count together. */
	for (i = 0; i < self->limits.max_queues; i++)
		ASSERT_EQ(0, create(self->fd, many, 1, &list));
	EXPECT_EQ(-EDQUOT, create(self->fd, many, 1, &none));
	EXPECT_EQ(-EDQUOT, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 1, &none));
	EXPECT_EQ(0, trn_queue_destroy(self->fd, list));
	EXPECT_EQ(0, create(self->fd, many, 1, &list));
	EXPECT_EQ(0, run(self->fd, list));
}

struct racer {
	int fd;
	__u32 list;
};

static void *submit_until_gone(void *arg)
{
	struct racer *racer = arg;
	int ret;

	do {
		ret = run(racer->fd, racer->list);
	} while (!ret);
	return (void *)(long)(ret == -ENOENT || ret == -ECANCELED ? 0 : ret);
}

/* Several threads at once; then the list, or a buffer of it, goes. */
TEST_F_TIMEOUT(list, races, 60)
{
	struct drm_trainium_op op;
	unsigned int round, i;

	for (round = 0; round < 20; round++) {
		struct racer racer = { .fd = self->fd };
		pthread_t thread[3];
		struct trn_bo bo;
		void *ret;

		ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &bo));
		op = trn_op_copy(bo.handle, 0, self->in.handle, 0, TRN_KIB(64));
		ASSERT_EQ(0, create(self->fd, &op, 1, &racer.list));
		for (i = 0; i < ARRAY_SIZE(thread); i++)
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, submit_until_gone, &racer));
		trn_sleep(round * 200000);
		if (round % 2)
			ASSERT_EQ(0, trn_queue_destroy(self->fd, racer.list));
		trn_bo_put(self->fd, &bo);
		for (i = 0; i < ARRAY_SIZE(thread); i++) {
			ASSERT_EQ(0, pthread_join(thread[i], &ret));
			EXPECT_EQ(0, (long)ret);
		}
		if (!(round % 2))
			ASSERT_EQ(0, trn_queue_destroy(self->fd, racer.list));
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_PATIENCE));
}

/* The owner is killed with submits in flight. */
TEST_F(list, killed)
{
	unsigned int round;

	for (round = 0; round < 5; round++) {
		pid_t pid = trn_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			int fd = trn_open(0);
			struct trn_bo bo;
			struct drm_trainium_op op;
			__u32 list;

			if (fd < 0 || trn_hbm_new(fd, 0, TRN_MIB(32), &bo))
				_exit(1);
			op = trn_op_fill(bo.handle, 0, TRN_MIB(32), 0x55, 1);
			if (create(fd, &op, 1, &list))
				_exit(2);
			for (;;)
				submit(fd, list);
		}
		trn_sleep(50 * TRN_MSEC);
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
	}
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_PATIENCE));
}

TEST_HARNESS_MAIN
