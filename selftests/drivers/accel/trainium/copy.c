// SPDX-License-Identifier: GPL-2.0-only
/* What copy and fill do to the bytes; barriers and order */
#include <pthread.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_MIB(2)

FIXTURE(copy) {
	int fd;
	__u32 queue;
	unsigned int stacks;
	/* host memory for the two ends, HBM in two stacks */
	struct trn_bo in, out, hbm, far;
};

FIXTURE_SETUP(copy)
{
	struct drm_trainium_query_device device;

	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &device));
	self->stacks = device.num_stacks;
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->in));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->out));
	ASSERT_NE(NULL, self->in.map);
	ASSERT_NE(NULL, self->out.map);
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	ASSERT_EQ(0, trn_hbm_new(self->fd, self->stacks - 1, SIZE, &self->far));
	trn_pattern(self->in.map, 0, SIZE, 1);
}

FIXTURE_TEARDOWN(copy)
{
	close(self->fd);
}

#define COPY(d, doff, s, soff, n) \
	trn_copy(self->fd, self->queue, (d)->handle, doff, (s)->handle, soff, n)
#define FILL(d, off, n, pattern, width) \
	trn_fill(self->fd, self->queue, (d)->handle, off, n, pattern, width)

/* host -> HBM -> other stack -> host, and nothing around it is touched */
static int round_trip(struct _test_data_copy *self, __u64 src, __u64 dst, __u64 size)
{
	__u64 mid = (src * 7 + dst * 3) % (SIZE - size + 1);

	memset(self->out.map, 0xa5, SIZE);
	if (COPY(&self->hbm, mid, &self->in, src, size))
		return 1;
	if (COPY(&self->far, dst, &self->hbm, mid, size))
		return 2;
	if (COPY(&self->out, dst, &self->far, dst, size))
		return 3;
	if (trn_check_byte(self->out.map, dst, 0xa5) != -1)
		return 4;
	if (trn_check_byte(self->out.map + dst + size, SIZE - dst - size, 0xa5) != -1)
		return 5;
	if (trn_check(self->in.map, 0, SIZE, 1) != -1)
		return 6;
	return memcmp(self->out.map + dst, self->in.map + src, size) ? 7 : 0;
}

TEST_F_TIMEOUT(copy, sizes, 60)
{
	static const __u64 sizes[] = {
		1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 257, 511,
		513, 1023, 1025, 4095, 4096, 4097, 32767, 65535, 65536, 65537, 131071,
		131072, 131073, 1000003, SIZE - 1, SIZE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_EQ(0, round_trip(self, 0, 0, sizes[i])) {
			TH_LOG("%llu bytes", sizes[i]);
		}
	}
}

TEST_F_TIMEOUT(copy, offsets, 60)
{
	static const struct {
		__u64 src, dst, size;
	} piece[] = {
		{ 1, 0, 1 }, { 0, 1, 1 }, { 3, 5, 7 }, { 1, 1, 64 }, { 63, 1, 129 },
		{ 4095, 1, 2 }, { 4095, 4095, 4098 },
		/* across 64 KiB on one side, the other, both */
		{ 65535, 0, 2 }, { 0, 65535, 2 }, { 65535, 65535, 2 },
		{ 65530, 65529, 65540 }, { 1, 65535, 131072 }, { 65537, 3, 200001 },
		/* to the last byte */
		{ SIZE - 1, 0, 1 }, { 0, SIZE - 1, 1 }, { SIZE - 65537, SIZE - 65537, 65537 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(piece); i++) {
		ASSERT_EQ(0, round_trip(self, piece[i].src, piece[i].dst, piece[i].size)) {
			TH_LOG("%llu bytes from %llu to %llu", piece[i].size, piece[i].src,
			       piece[i].dst);
		}
	}
}

TEST_F_TIMEOUT(copy, random, 60)
{
	__u64 seed = trn_now(), first = seed;
	unsigned int i;

	for (i = 0; i < 150; i++) {
		__u64 size = 1 + trn_rand_below(&seed, 1ull << trn_rand_below(&seed, 21));
		__u64 src = trn_rand_below(&seed, SIZE - size + 1);
		__u64 dst = trn_rand_below(&seed, SIZE - size + 1);

		ASSERT_EQ(0, round_trip(self, src, dst, size)) {
			TH_LOG("seed %llx, round %u: %llu bytes from %llu to %llu", first, i,
			       size, src, dst);
		}
	}
}

TEST_F(copy, each_pair_of_stacks)
{
	struct trn_bo bo[8];
	unsigned int i, j;

	for (i = 0; i < self->stacks; i++)
		ASSERT_EQ(0, trn_hbm_new(self->fd, i, TRN_KIB(256), &bo[i]));
	for (i = 0; i < self->stacks; i++) {
		for (j = 0; j < self->stacks; j++) {
			if (i == j)
				continue;
			trn_pattern(self->in.map, 0, TRN_KIB(256), i * 8 + j);
			ASSERT_EQ(0, COPY(&bo[i], 0, &self->in, 0, TRN_KIB(256)));
			ASSERT_EQ(0, COPY(&bo[j], 0, &bo[i], 0, TRN_KIB(256)));
			memset(self->out.map, 0, TRN_KIB(256));
			ASSERT_EQ(0, COPY(&self->out, 0, &bo[j], 0, TRN_KIB(256)));
			EXPECT_EQ(-1, trn_check(self->out.map, 0, TRN_KIB(256), i * 8 + j)) {
				TH_LOG("stack %u to %u", i, j);
			}
		}
	}
}

/* The queue's place is a preference: any queue reaches any stack and the host */
TEST_F(copy, each_queue_to_each_stack)
{
	unsigned int near, s;

	for (near = 0; near < self->stacks; near++) {
		__u32 queue;

		ASSERT_EQ(0, trn_queue_create(self->fd, near, 1, &queue));
		for (s = 0; s < self->stacks; s++) {
			struct trn_bo bo;

			ASSERT_EQ(0, trn_hbm_new(self->fd, s, TRN_KIB(128), &bo));
			ASSERT_EQ(0, trn_copy(self->fd, queue, bo.handle, 0, self->in.handle, 0,
					      TRN_KIB(128)));
			memset(self->out.map, 0, TRN_KIB(128));
			ASSERT_EQ(0, trn_copy(self->fd, queue, self->out.handle, 0, bo.handle, 0,
					      TRN_KIB(128)));
			EXPECT_EQ(-1, trn_check(self->out.map, 0, TRN_KIB(128), 1)) {
				TH_LOG("queue near %u, stack %u", near, s);
			}
			trn_bo_put(self->fd, &bo);
		}
	}
}

TEST_F(copy, host_to_host)
{
	ASSERT_EQ(0, COPY(&self->out, 17, &self->in, 4099, 300000));
	EXPECT_EQ(-1, trn_check_byte(self->out.map, 17, 0));
	EXPECT_EQ(0, memcmp(self->out.map + 17, self->in.map + 4099, 300000));
	EXPECT_EQ(-1, trn_check_byte(self->out.map + 300017, SIZE - 300017, 0));
}

TEST_F(copy, within_a_buffer)
{
	ASSERT_EQ(0, COPY(&self->hbm, 0, &self->in, 0, SIZE));
	/* Touching ranges do not overlap. */
	ASSERT_EQ(0, COPY(&self->hbm, SIZE / 2, &self->hbm, 0, SIZE / 2));
	ASSERT_EQ(0, COPY(&self->out, 0, &self->hbm, 0, SIZE));
	EXPECT_EQ(-1, trn_check(self->out.map, 0, SIZE / 2, 1));
	EXPECT_EQ(-1, trn_check(self->out.map + SIZE / 2, 0, SIZE / 2, 1));
	ASSERT_EQ(0, COPY(&self->hbm, 0, &self->hbm, 1, 1));
}

TEST_F(copy, overlap_refused)
{
	struct trn_bo *bo[] = { &self->hbm, &self->in };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bo); i++) {
		EXPECT_EQ(-EINVAL, COPY(bo[i], 0, bo[i], 0, 1));
		EXPECT_EQ(-EINVAL, COPY(bo[i], 0, bo[i], 0, SIZE));
		EXPECT_EQ(-EINVAL, COPY(bo[i], 1, bo[i], 0, 2));
		EXPECT_EQ(-EINVAL, COPY(bo[i], 0, bo[i], 1, 2));
		EXPECT_EQ(-EINVAL, COPY(bo[i], 65536, bo[i], 0, 65537));
		EXPECT_EQ(-EINVAL, COPY(bo[i], 0, bo[i], 65536, 65537));
		EXPECT_EQ(-EINVAL, COPY(bo[i], 10, bo[i], 5, 1000));
	}
	EXPECT_EQ(-1, trn_check(self->in.map, 0, SIZE, 1));
}

TEST_F(copy, large)
{
	const __u64 size = TRN_MIB(300) + 12345, step = TRN_MIB(1);
	struct trn_bo a, b;
	__u64 at;

	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, size, &a));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 1, size, &b));
	for (at = 0; at < size; at += 10 * step) {
		trn_pattern(self->in.map, at, SIZE, 4);
		ASSERT_EQ(0, COPY(&a, at, &self->in, 0, size - at < SIZE ? size - at : SIZE));
	}
	ASSERT_EQ(0, COPY(&b, 0, &a, 0, size));
	for (at = 0; at < size; at += 10 * step) {
		__u64 n = size - at < SIZE ? size - at : SIZE;

		ASSERT_EQ(0, COPY(&self->out, 0, &b, at, n));
		ASSERT_EQ(-1, trn_check(self->out.map, at, n, 4)) TH_LOG("near %llu", at);
		/* Between the marks nothing was written. */
		if (at + 5 * step < size) {
			ASSERT_EQ(0, COPY(&self->out, 0, &b, at + 5 * step, step));
			ASSERT_EQ(-1, trn_check_byte(self->out.map, step, 0));
		}
	}
	ASSERT_EQ(0, COPY(&self->out, 0, &b, size - 100, 100));
}

TEST_F(copy, fill_patterns)
{
	static const __u64 pattern = 0x8877665544332211ull;
	static const __u64 sizes[] = { 8, 16, 64, 4096, 65528, 65536, 65544, SIZE - 64 };
	unsigned int width, i;
	__u64 k;

	for (width = 1; width <= 8; width *= 2) {
		__u64 value = width == 8 ? pattern : pattern & ((1ull << width * 8) - 1);

		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			__u64 at = 8 * (i + 1);

			if (sizes[i] + at > SIZE)
				at = 8;
			ASSERT_EQ(0, FILL(&self->hbm, 0, SIZE, 0xa5, 1));
			ASSERT_EQ(0, FILL(&self->hbm, at, sizes[i], value, width));
			ASSERT_EQ(0, COPY(&self->out, 0, &self->hbm, 0, SIZE));
			ASSERT_EQ(-1, trn_check_byte(self->out.map, at, 0xa5));
			for (k = 0; k < sizes[i]; k++)
				if (self->out.map[at + k] != (__u8)(pattern >> k % width * 8))
					break;
			ASSERT_EQ(sizes[i], k) {
				TH_LOG("width %u, size %llu: byte %llu is %02x", width,
				       sizes[i], k, self->out.map[at + k]);
			}
			ASSERT_EQ(-1, trn_check_byte(self->out.map + at + sizes[i],
						     SIZE - at - sizes[i], 0xa5));
		}
	}
}

TEST_F(copy, fill_odd)
{
	static const __u64 piece[][2] = {
		{ 1, 1 }, { 3, 5 }, { 65535, 3 }, { 1, 131073 }, { SIZE - 1, 1 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(piece); i++) {
		__u64 at = piece[i][0], size = piece[i][1];

		/* Host memory as well as HBM */
		memset(self->out.map, 0, SIZE);
		ASSERT_EQ(0, FILL(&self->out, at, size, 0x5c, 1));
		EXPECT_EQ(-1, trn_check_byte(self->out.map, at, 0));
		EXPECT_EQ(-1, trn_check_byte(self->out.map + at, size, 0x5c));
		EXPECT_EQ(-1, trn_check_byte(self->out.map + at + size, SIZE - at - size, 0));
	}
}

/* in -> hbm -> far -> out in one submit, each after the one before */
TEST_F(copy, barrier_chain)
{
	unsigned int round;

	for (round = 0; round < 40; round++) {
		__u64 n = round % 2 ? SIZE : 4096 * (round + 1);
		struct drm_trainium_op ops[] = {
			trn_op_copy(self->hbm.handle, 0, self->in.handle, 0, n),
			trn_op_copy(self->far.handle, 0, self->hbm.handle, 0, n),
			trn_op_copy(self->out.handle, 0, self->far.handle, 0, n),
		};

		ops[1].flags = TRAINIUM_OP_F_BARRIER;
		ops[2].flags = TRAINIUM_OP_F_BARRIER;
		trn_pattern(self->in.map, 0, n, round);
		ASSERT_EQ(0, trn_run(self->fd, self->queue, ops, ARRAY_SIZE(ops)));
		ASSERT_EQ(-1, trn_check(self->out.map, 0, n, round)) TH_LOG("round %u", round);
	}
}

/* A barrier waits for all ops before it, not for the last one only. */
TEST_F(copy, barrier_after_many)
{
	struct drm_trainium_op ops[129];
	unsigned int round, i;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 128; i++)
			ops[i] = trn_op_copy(self->hbm.handle, i * (SIZE / 128), self->in.handle,
					     i * (SIZE / 128), SIZE / 128);
		ops[128] = trn_op_copy(self->out.handle, 0, self->hbm.handle, 0, SIZE);
		ops[128].flags = TRAINIUM_OP_F_BARRIER;
		trn_pattern(self->in.map, 0, SIZE, 100 + round);
		ASSERT_EQ(0, trn_run(self->fd, self->queue, ops, ARRAY_SIZE(ops)));
		ASSERT_EQ(-1, trn_check(self->out.map, 0, SIZE, 100 + round));
	}
}

/* Write, read, write again: the reader must not see the second write. */
TEST_F(copy, barrier_write_after_read)
{
	unsigned int round;

	for (round = 0; round < 40; round++) {
		struct drm_trainium_op ops[] = {
			trn_op_fill(self->hbm.handle, 0, SIZE, 0x11, 1),
			trn_op_copy(self->out.handle, 0, self->hbm.handle, 0, SIZE),
			trn_op_fill(self->hbm.handle, 0, SIZE, 0x22, 1),
		};

		ops[1].flags = TRAINIUM_OP_F_BARRIER;
		ops[2].flags = TRAINIUM_OP_F_BARRIER;
		ASSERT_EQ(0, trn_run(self->fd, self->queue, ops, ARRAY_SIZE(ops)));
		ASSERT_EQ(-1, trn_check_byte(self->out.map, SIZE, 0x11));
		ASSERT_EQ(0, COPY(&self->out, 0, &self->hbm, 0, SIZE));
		ASSERT_EQ(-1, trn_check_byte(self->out.map, SIZE, 0x22));
	}
}

/* Jobs of a queue run in the order of their submission, without any wait. */
TEST_F(copy, jobs_in_order)
{
	unsigned int round, i;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 50; i++) {
			__u64 n = i % 3 ? 64 : TRN_KIB(256);
			struct drm_trainium_op op = trn_op_fill(self->hbm.handle, 0, n, i + 1, 1);
			struct drm_trainium_submit job = trn_job(self->queue, &op, 1);

			ASSERT_EQ(0, trn_submit(self->fd, &job));
			EXPECT_EQ(round * 51 + i + 1, job.seqno);
		}
		ASSERT_EQ(0, COPY(&self->out, 0, &self->hbm, 0, TRN_KIB(256)));
		/* 48 was the last long one, 49 the last of all. */
		ASSERT_EQ(-1, trn_check_byte(self->out.map, 64, 50));
		ASSERT_EQ(-1, trn_check_byte(self->out.map + 64, TRN_KIB(256) - 64, 49));
	}
}

/* A ping-pong of dependent jobs through a queue of several engines */
TEST_F(copy, jobs_in_order_many_engines)
{
	unsigned int i;
	__u32 queue;

	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 8, &queue));
	ASSERT_EQ(0, COPY(&self->hbm, 0, &self->in, 0, SIZE));
	for (i = 0; i < 100; i++) {
		struct drm_trainium_op op = i % 2 ?
			trn_op_copy(self->hbm.handle, 0, self->far.handle, 0, SIZE) :
			trn_op_copy(self->far.handle, 0, self->hbm.handle, 0, SIZE);
		struct drm_trainium_op clear = trn_op_fill(i % 2 ? self->far.handle :
							   self->hbm.handle, 0, SIZE, 0, 1);
		struct drm_trainium_submit job = trn_job(queue, &op, 1);

		ASSERT_EQ(0, trn_submit(self->fd, &job));
		job = trn_job(queue, &clear, 1);
		ASSERT_EQ(0, trn_submit(self->fd, &job));
	}
	ASSERT_EQ(0, trn_copy(self->fd, queue, self->out.handle, 0, self->hbm.handle, 0, SIZE));
	EXPECT_EQ(-1, trn_check(self->out.map, 0, SIZE, 1));
}

/* More descriptors than a ring has, in one job and in many */
TEST_F_TIMEOUT(copy, more_than_a_ring, 60)
{
	struct drm_trainium_query_limits limits;
	struct drm_trainium_op *ops;
	unsigned int i, round, n;

	ASSERT_EQ(0, trn_limits(self->fd, &limits));
	n = limits.max_ops < 4096 ? limits.max_ops : 4096;
	ops = calloc(n, sizeof(*ops));
	ASSERT_NE(NULL, ops);
	for (round = 0; round < 10; round++) {
		trn_pattern(self->in.map, 0, SIZE, 50 + round);
		/* Backwards, so that the order shows */
		for (i = 0; i < n; i++) {
			__u64 at = (n - 1 - i) * (SIZE / n);

			ops[i] = trn_op_copy(self->hbm.handle, at, self->in.handle, at, SIZE / n);
		}
		ASSERT_EQ(0, trn_run(self->fd, self->queue, ops, n));
		ASSERT_EQ(0, COPY(&self->out, 0, &self->hbm, 0, SIZE / n * n));
		ASSERT_EQ(-1, trn_check(self->out.map, 0, SIZE / n * n, 50 + round));
	}
	free(ops);
}

struct worker {
	int fd;
	unsigned int number;
	unsigned int stack;
	unsigned int rounds;
	const char *error;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct trn_bo in, out, hbm;
	unsigned int round;
	__u32 queue;

	if (trn_queue_create(w->fd, w->stack, 1 + w->number % 3, &queue) ||
	    trn_host_new(w->fd, TRN_KIB(256), &in) ||
	    trn_host_new(w->fd, TRN_KIB(256), &out) ||
	    trn_hbm_new(w->fd, w->stack, TRN_KIB(256), &hbm)) {
		w->error = "set-up failed";
		return NULL;
	}
	for (round = 0; round < w->rounds; round++) {
		__u64 n = 1 + (round * 7919 + w->number * 104729) % TRN_KIB(256);
		struct drm_trainium_op ops[2] = {
			trn_op_copy(hbm.handle, 0, in.handle, 0, n),
			trn_op_copy(out.handle, 0, hbm.handle, 0, n),
		};

		ops[1].flags = TRAINIUM_OP_F_BARRIER;
		trn_pattern(in.map, 0, n, w->number << 16 | round);
		if (trn_run(w->fd, queue, ops, 2)) {
			w->error = "submit failed";
			break;
		}
		if (trn_check(out.map, 0, n, w->number << 16 | round) != -1) {
			w->error = "wrong data";
			break;
		}
	}
	trn_bo_put(w->fd, &in);
	trn_bo_put(w->fd, &out);
	trn_bo_put(w->fd, &hbm);
	trn_queue_destroy(w->fd, queue);
	return NULL;
}

TEST_F_TIMEOUT(copy, parallel_queues, 60)
{
	struct worker worker[12] = {};
	pthread_t thread[12];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(worker); i++) {
		worker[i].fd = self->fd;
		worker[i].number = i;
		worker[i].stack = i % self->stacks;
		worker[i].rounds = 60;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, work, &worker[i]));
	}
	for (i = 0; i < ARRAY_SIZE(worker); i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(NULL, worker[i].error) TH_LOG("%u: %s", i, worker[i].error);
	}
}

/* Threads on one queue: jobs mix, no byte does */
static void *share_queue(void *arg)
{
	struct worker *w = arg;
	unsigned int round;
	struct trn_bo in, out;

	if (trn_host_new(w->fd, TRN_KIB(64), &in) || trn_host_new(w->fd, TRN_KIB(64), &out)) {
		w->error = "set-up failed";
		return NULL;
	}
	for (round = 0; round < w->rounds; round++) {
		trn_pattern(in.map, 0, TRN_KIB(64), w->number * 1000 + round);
		if (trn_copy(w->fd, w->number >> 16, out.handle, 0, in.handle, 0, TRN_KIB(64))) {
			w->error = "submit failed";
			break;
		}
		if (trn_check(out.map, 0, TRN_KIB(64), w->number * 1000 + round) != -1) {
			w->error = "wrong data";
			break;
		}
	}
	return NULL;
}

TEST_F(copy, shared_queue)
{
	struct worker worker[6] = {};
	pthread_t thread[6];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(worker); i++) {
		worker[i].fd = self->fd;
		worker[i].number = self->queue << 16 | i;
		worker[i].rounds = 100;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, share_queue, &worker[i]));
	}
	for (i = 0; i < ARRAY_SIZE(worker); i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(NULL, worker[i].error) TH_LOG("%u: %s", i, worker[i].error);
	}
}

/* D15: a short write is not held up behind a long read of another queue */
TEST_F(copy, short_beside_long)
{
	static struct drm_trainium_op ops[256];
	struct drm_trainium_query_queue q;
	struct drm_trainium_op quick;
	struct drm_trainium_submit job;
	struct trn_bo big;
	__u32 queue;
	unsigned int i;

	ASSERT_EQ(0, trn_queue_create(self->fd, self->stacks - 1, 1, &queue));
	ASSERT_EQ(0, trn_hbm_new(self->fd, self->stacks - 1, TRN_MIB(32), &big));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = trn_op_copy(big.handle, TRN_MIB(16), big.handle, 0, TRN_MIB(16));
	job = trn_job(queue, ops, ARRAY_SIZE(ops));
	ASSERT_EQ(0, trn_submit(self->fd, &job));
	quick = trn_op_copy(self->hbm.handle, 0, self->in.handle, 0, 4096);
	ASSERT_EQ(0, trn_run(self->fd, self->queue, &quick, 1));
	ASSERT_EQ(0, trn_queue(self->fd, queue, &q));
	EXPECT_EQ(0, q.completed) TH_LOG("4 GiB were copied before a short copy");
	ASSERT_EQ(0, trn_drain(self->fd, queue));
}

TEST_HARNESS_MAIN
