// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences of shared buffers: jobs wait for those that others have put there,
 * and put their own there for others to wait for.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include <linux/dma-buf.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_KIB(64)

FIXTURE(implicit) {
	int a, b;
	__u32 qa, qb;
	struct trn_bo bo;		/* of a, shared as buf */
	struct trn_bo out;		/* of b */
	__u32 imported;			/* buf in b */
	int buf;
	struct trn_gate gate;
	int log;
};

FIXTURE_VARIANT(implicit) {
	__u32 placement;
	unsigned int device;		/* of b */
};

FIXTURE_VARIANT_ADD(implicit, hbm) {
	.placement = TRAINIUM_BO_HBM,
};

FIXTURE_VARIANT_ADD(implicit, host) {
	.placement = TRAINIUM_BO_HOST,
};

FIXTURE_VARIANT_ADD(implicit, other_device) {
	.placement = TRAINIUM_BO_HOST,
	.device = 1,
};

FIXTURE_SETUP(implicit)
{
	if (variant->device >= trn_num_devices())
		SKIP(return, "one device only");
	if (trn_gate_open(&self->gate))
		SKIP(return, "no vgem to make fences with");
	self->log = trn_log_open();
	self->a = trn_open(0);
	self->b = trn_open(variant->device);
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	ASSERT_EQ(0, trn_queue_create(self->a, TRAINIUM_STACK_ANY, 0, &self->qa));
	ASSERT_EQ(0, trn_queue_create(self->b, TRAINIUM_STACK_ANY, 0, &self->qb));
	ASSERT_EQ(0, trn_bo_new(self->a, variant->placement, 0, SIZE, &self->bo));
	ASSERT_EQ(0, trn_host_new(self->b, TRN_MIB(1), &self->out));
	ASSERT_EQ(0, trn_export(self->a, self->bo.handle, &self->buf));
	ASSERT_EQ(0, trn_import(self->b, self->buf, &self->imported));
}

FIXTURE_TEARDOWN(implicit)
{
	char line[1024];

	trn_gate_close(&self->gate);
	close(self->buf);
	close(self->a);
	close(self->b);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static bool ready(int buf, short events)
{
	struct pollfd poll_fd = { .fd = buf, .events = events };

	return poll(&poll_fd, 1, 0) == 1;
}

/* A job of one op that waits for @gate */
static int submit_gated(int fd, __u32 queue, struct trn_gate *gate, struct drm_trainium_op op)
{
	struct drm_trainium_submit s = trn_job(queue, &op, 1);
	struct drm_trainium_sync in = {};
	int ret = trn_gate_sync(gate, fd, &in.handle);

	if (ret)
		return ret;
	s.in_syncs = trn_ptr(&in);
	s.in_sync_count = 1;
	return trn_submit(fd, &s);
}

static int submit_one(int fd, __u32 queue, struct drm_trainium_op op)
{
	struct drm_trainium_submit s = trn_job(queue, &op, 1);

	return trn_submit(fd, &s);
}

/* Fences of others: DMA_BUF_SYNC_WRITE as of a writer, _READ as of a reader */
static int put_fence(int buf, int file, __u32 flags)
{
	struct dma_buf_import_sync_file arg = { .flags = flags, .fd = file };

	return trn_ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &arg);
}

static int get_fence(int buf, __u32 flags)
{
	struct dma_buf_export_sync_file arg = { .flags = flags, .fd = -1 };
	int ret = trn_ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &arg);

	return ret ?: arg.fd;
}

/* What others have to wait for: a writer's job wholly, a reader's to write only */
TEST_F(implicit, writer_is_waited_for)
{
	int file;

	EXPECT_TRUE(ready(self->buf, POLLOUT));
	ASSERT_EQ(0, submit_gated(self->a, self->qa, &self->gate,
				  trn_op_fill(self->bo.handle, 0, SIZE, 0x2f, 1)));
	EXPECT_FALSE(ready(self->buf, POLLIN));
	EXPECT_FALSE(ready(self->buf, POLLOUT));
	file = get_fence(self->buf, DMA_BUF_SYNC_READ);
	ASSERT_LE(0, file);
	EXPECT_EQ(0, trn_sync_file_status(file));
	ASSERT_EQ(0, trn_gate_release(&self->gate));
	ASSERT_EQ(0, trn_drain(self->a, self->qa));
	EXPECT_EQ(1, trn_sync_file_status(file));
	EXPECT_TRUE(ready(self->buf, POLLIN));
	EXPECT_TRUE(ready(self->buf, POLLOUT));
	close(file);
}

TEST_F(implicit, reader_is_waited_for)
{
	ASSERT_EQ(0, submit_gated(self->b, self->qb, &self->gate,
				  trn_op_copy(self->out.handle, 0, self->imported, 0, SIZE)));
	EXPECT_TRUE(ready(self->buf, POLLIN));
	EXPECT_FALSE(ready(self->buf, POLLOUT));
	ASSERT_EQ(0, trn_gate_release(&self->gate));
	ASSERT_EQ(0, trn_drain(self->b, self->qb));
	EXPECT_TRUE(ready(self->buf, POLLOUT));
}

/* A writer elsewhere: both readers and writers of ours wait for it. */
TEST_F(implicit, waits_for_writer)
{
	struct drm_trainium_op op;

	ASSERT_EQ(0, put_fence(self->buf, self->gate.file, DMA_BUF_SYNC_WRITE));
	op = trn_op_copy(self->out.handle, 0, self->imported, 0, SIZE);
	EXPECT_EQ(-EINPROGRESS, trn_run_for(self->b, self->qb, &op, 1, 100 * TRN_MSEC));
	op = trn_op_fill(self->bo.handle, 0, SIZE, 0x31, 1);
	EXPECT_EQ(-EINPROGRESS, trn_run_for(self->a, self->qa, &op, 1, 100 * TRN_MSEC));
	if (self->bo.map)
		EXPECT_EQ(-1, trn_check_byte(self->bo.map, SIZE, 0));
	ASSERT_EQ(0, trn_gate_release(&self->gate));
	EXPECT_EQ(0, trn_drain(self->b, self->qb));
	EXPECT_EQ(0, trn_drain(self->a, self->qa));
	/* The one that came first has read before the other one wrote. */
	EXPECT_EQ(-1, trn_check_byte(self->out.map, SIZE, 0));
	if (self->bo.map)
		EXPECT_EQ(-1, trn_check_byte(self->bo.map, SIZE, 0x31));
}

/* A reader elsewhere: only writers wait. */
TEST_F(implicit, waits_for_reader)
{
	struct drm_trainium_op op = trn_op_copy(self->out.handle, 0, self->imported, 0, SIZE);

	ASSERT_EQ(0, put_fence(self->buf, self->gate.file, DMA_BUF_SYNC_READ));
	EXPECT_EQ(0, trn_run(self->b, self->qb, &op, 1));
	op = trn_op_fill(self->bo.handle, 0, SIZE, 0x32, 1);
	EXPECT_EQ(-EINPROGRESS, trn_run_for(self->a, self->qa, &op, 1, 100 * TRN_MSEC));
	ASSERT_EQ(0, trn_gate_release(&self->gate));
	EXPECT_EQ(0, trn_drain(self->a, self->qa));
}

/* Private buffers beside a shared one that is in use */
TEST_F(implicit, others_do_not_wait)
{
	struct trn_bo own;

	ASSERT_EQ(0, trn_bo_new(self->a, variant->placement, 0, SIZE, &own));
	ASSERT_EQ(0, put_fence(self->buf, self->gate.file, DMA_BUF_SYNC_WRITE));
	EXPECT_EQ(0, trn_fill(self->a, self->qa, own.handle, 0, SIZE, 1, 1));
	EXPECT_EQ(0, trn_fill(self->b, self->qb, self->out.handle, 0, SIZE, 1, 1));
	ASSERT_EQ(0, trn_gate_release(&self->gate));
}

/* Jobs that were in flight when the buffer became a shared one */
TEST_F(implicit, shared_while_in_use)
{
	struct trn_bo late;
	int buf;

	ASSERT_EQ(0, trn_bo_new(self->a, variant->placement, 0, SIZE, &late));
	ASSERT_EQ(0, submit_gated(self->a, self->qa, &self->gate,
				  trn_op_fill(late.handle, 0, SIZE, 0x33, 1)));
	ASSERT_EQ(0, trn_export(self->a, late.handle, &buf));
	EXPECT_FALSE(ready(buf, POLLIN));
	ASSERT_EQ(0, trn_gate_release(&self->gate));
	ASSERT_EQ(0, trn_drain(self->a, self->qa));
	EXPECT_TRUE(ready(buf, POLLIN));
	close(buf);
}

/*
 * No word of synchronisation by the program: each copy sees the fill before
 * it, and no fill comes before the copy has ended.
 */
TEST_F_TIMEOUT(implicit, ping_pong, 60)
{
	enum { ROUNDS = 100 };
	unsigned int round, i;

	/* All of them are queued before the first one may start. */
	ASSERT_EQ(0, put_fence(self->buf, self->gate.file, DMA_BUF_SYNC_WRITE));
	for (i = 0; i < ROUNDS; i++) {
		__u64 size = i % 8 ? 4096 : SIZE;

		ASSERT_EQ(0, submit_one(self->a, self->qa,
					trn_op_fill(self->bo.handle, 0, size, i + 1, 4)));
		ASSERT_EQ(0, submit_one(self->b, self->qb,
					trn_op_copy(self->out.handle, i * 4096, self->imported,
						    0, 4096)));
	}
	EXPECT_EQ(-1, trn_check_byte(self->out.map, self->out.size, 0));
	ASSERT_EQ(0, trn_gate_release(&self->gate));
	ASSERT_EQ(0, trn_drain(self->a, self->qa));
	ASSERT_EQ(0, trn_drain(self->b, self->qb));
	for (round = 0; round < ROUNDS; round++) {
		__u32 *word = (void *)(self->out.map + round * 4096);

		for (i = 0; i < 1024; i++)
			if (word[i] != round + 1)
				break;
		ASSERT_EQ(1024, i) TH_LOG("round %u, word %u: %u", round, i, word[i]);
	}
}

/* More shared buffers than fit the fast way; the fence is on the last one. */
TEST_F(implicit, many_buffers)
{
	enum { N = 100 };
	struct drm_trainium_op op[N];
	struct drm_trainium_submit s;
	__u32 handle[N];
	unsigned int i;
	int buf = -1;

	for (i = 0; i < N; i++) {
		close(buf);
		ASSERT_EQ(0, trn_bo_create(self->a, variant->placement, 0, TRN_PAGE, &handle[i]));
		ASSERT_EQ(0, trn_export(self->a, handle[i], &buf));
		op[i] = trn_op_fill(handle[i], 0, TRN_PAGE, i, 4);
	}
	ASSERT_EQ(0, put_fence(buf, self->gate.file, DMA_BUF_SYNC_READ));
	EXPECT_EQ(-EINPROGRESS, trn_run_for(self->a, self->qa, op, N, 100 * TRN_MSEC));
	ASSERT_EQ(0, trn_gate_release(&self->gate));
	ASSERT_EQ(0, trn_drain(self->a, self->qa));
	for (i = 0; i < 10; i++) {
		s = trn_job(self->qa, op, N);
		ASSERT_EQ(0, trn_submit(self->a, &s));
	}
	EXPECT_EQ(0, trn_drain(self->a, self->qa));
	EXPECT_TRUE(ready(buf, POLLOUT));
	close(buf);
}

/* A job that is dropped takes none of those with it that only came after it. */
TEST_F(implicit, failure_stays_alone)
{
	struct drm_trainium_op op = trn_op_copy(self->out.handle, 0, self->imported, 0, SIZE);

	ASSERT_EQ(0, submit_gated(self->a, self->qa, &self->gate,
				  trn_op_fill(self->bo.handle, 0, SIZE, 0x34, 1)));
	ASSERT_EQ(-EINPROGRESS, trn_run_for(self->b, self->qb, &op, 1, 50 * TRN_MSEC));
	ASSERT_EQ(0, trn_queue_destroy(self->a, self->qa));
	EXPECT_EQ(0, trn_drain(self->b, self->qb));
	EXPECT_EQ(-1, trn_check_byte(self->out.map, SIZE, 0));
}

static void *release_later(void *arg)
{
	trn_sleep(200 * TRN_MSEC);
	trn_gate_release(arg);
	return NULL;
}

/* A program that uses a mapping of the dma-buf as it should waits for the job. */
TEST_F(implicit, cpu_access)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	__u8 *p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, self->buf, 0);
	pthread_t thread;

	if (p == MAP_FAILED)
		SKIP(return, "cannot be mapped");
	ASSERT_EQ(0, submit_gated(self->a, self->qa, &self->gate,
				  trn_op_fill(self->bo.handle, 0, SIZE, 0x35, 1)));
	ASSERT_EQ(0, pthread_create(&thread, NULL, release_later, &self->gate));
	ASSERT_EQ(0, ioctl(self->buf, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(-1, trn_check_byte(p, SIZE, 0x35));
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;
	ASSERT_EQ(0, ioctl(self->buf, DMA_BUF_IOCTL_SYNC, &sync));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	munmap(p, SIZE);
}

/* A copy from a buffer of vgem, which says that somebody still writes it */
TEST_F(implicit, foreign_exporter)
{
	struct drm_trainium_op op;
	struct trn_gate other;
	__u32 handle;
	int buf;

	ASSERT_EQ(0, trn_gate_open(&other));
	ASSERT_EQ(0, trn_gate_export(&other, &buf));
	ASSERT_EQ(0, trn_import(self->b, buf, &handle));
	op = trn_op_copy(self->out.handle, 0, handle, 0, TRN_PAGE);
	EXPECT_EQ(-EINPROGRESS, trn_run_for(self->b, self->qb, &op, 1, 100 * TRN_MSEC));
	ASSERT_EQ(0, trn_gate_release(&other));
	EXPECT_EQ(0, trn_drain(self->b, self->qb));
	close(buf);
	trn_gate_close(&other);
}

TEST_HARNESS_MAIN
