// SPDX-License-Identifier: GPL-2.0-only
/* Strided copies: what they do to the bytes, and what is refused */
#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_MIB(2)

FIXTURE(strided) {
	int fd;
	__u32 queue;
	struct drm_trainium_query_limits limits;
	struct trn_bo in, out, hbm, far;
	__u8 *expect;
};

FIXTURE_SETUP(strided)
{
	struct drm_trainium_query_device device;

	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &device));
	ASSERT_EQ(0, trn_limits(self->fd, &self->limits));
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->in));
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &self->out));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	ASSERT_EQ(0, trn_hbm_new(self->fd, device.num_stacks - 1, SIZE, &self->far));
	self->expect = malloc(SIZE);
	ASSERT_NE(NULL, self->expect);
	trn_pattern(self->in.map, 0, SIZE, 1);
}

FIXTURE_TEARDOWN(strided)
{
	/* A refused submit leaves nothing behind. */
	EXPECT_EQ(0, trn_fill(self->fd, self->queue, self->hbm.handle, 0, SIZE, 0x61, 1));
	EXPECT_EQ(0, trn_copy(self->fd, self->queue, self->out.handle, 0, self->hbm.handle, 0,
			      SIZE));
	EXPECT_EQ(-1, trn_check_byte(self->out.map, SIZE, 0x61));
	free(self->expect);
	close(self->fd);
}

static int run(struct _test_data_strided *self, const struct drm_trainium_op_strided *ops,
	       __u32 count)
{
	struct drm_trainium_submit s = trn_job(self->queue, &ops->op, count);

	s.op_stride = sizeof(*ops);
	s.flags = TRAINIUM_SUBMIT_WAIT;
	s.deadline_ns = trn_now() + TRN_PATIENCE;
	return trn_submit(self->fd, &s) ?: s.status == TRAINIUM_STATUS_DONE ? 0 : -EINPROGRESS;
}

static struct drm_trainium_op_strided strided(const struct trn_bo *dst, __u64 dst_offset,
					      const struct trn_bo *src, __u64 src_offset,
					      __u64 size)
{
	struct drm_trainium_op_strided op = {
		.op = trn_op_copy(dst->handle, dst_offset, src->handle, src_offset, size),
		.rows = 1,
		.planes = 1,
	};

	op.op.type = TRAINIUM_OP_COPY_STRIDED;
	return op;
}

/* The same, by the CPU */
static void by_hand(__u8 *dst, const __u8 *src, const struct drm_trainium_op_strided *op)
{
	__u64 row, plane;

	for (plane = 0; plane < op->planes; plane++)
		for (row = 0; row < op->rows; row++)
			memcpy(dst + op->op.dst_offset + row * op->dst_row_pitch +
			       plane * op->dst_plane_pitch,
			       src + op->op.src_offset + row * op->src_row_pitch +
			       plane * op->src_plane_pitch, op->op.size);
}

/* From the host to HBM, all of which is then looked at */
static int to_hbm(struct _test_data_strided *self, struct drm_trainium_op_strided op)
{
	memset(self->expect, 0xa5, SIZE);
	by_hand(self->expect, self->in.map, &op);
	if (trn_fill(self->fd, self->queue, self->hbm.handle, 0, SIZE, 0xa5, 1))
		return 1;
	op.op.dst = self->hbm.handle;
	op.op.src = self->in.handle;
	if (run(self, &op, 1))
		return 2;
	if (trn_copy(self->fd, self->queue, self->out.handle, 0, self->hbm.handle, 0, SIZE))
		return 3;
	return memcmp(self->expect, self->out.map, SIZE) ? 4 : 0;
}

TEST_F(strided, two_dimensions)
{
	static const struct {
		__u64 row, dst_pitch, src_pitch;
		__u32 rows;
	} shape[] = {
		{ 1, 1, 1, 100 }, { 1, 3, 1, 1000 }, { 1, 1, 977, 1000 }, { 64, 100, 64, 500 },
		{ 64, 64, 100, 500 }, { 4096, 4096, 4096, 64 }, { 4096, 8192, 5000, 100 },
		{ 5000, 6000, 7000, 140 }, { 65536, 65536, 70000, 5 }, { 100000, 100001, 99999, 9 },
		{ 333333, 333333, 333333, 3 }, { 10, 20, 0, 3000 }, { 17, 17, 1, 5000 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shape); i++) {
		struct drm_trainium_op_strided op = strided(&self->hbm, 5, &self->in, 3,
							    shape[i].row);

		op.rows = shape[i].rows;
		op.dst_row_pitch = shape[i].dst_pitch;
		op.src_row_pitch = shape[i].src_pitch;
		ASSERT_EQ(0, to_hbm(self, op)) {
			TH_LOG("%u rows of %llu", shape[i].rows, shape[i].row);
		}
	}
}

TEST_F(strided, three_dimensions)
{
	struct drm_trainium_op_strided op = strided(&self->hbm, 11, &self->in, 7, 24);

	op.rows = 40;
	op.planes = 30;
	op.dst_row_pitch = 32;
	op.dst_plane_pitch = 4099;
	op.src_row_pitch = 100;
	op.src_plane_pitch = 30000;
	EXPECT_EQ(0, to_hbm(self, op));
	/* Planes inside of rows: what transposes the two */
	op.dst_row_pitch = 1000;
	op.dst_plane_pitch = 24;
	EXPECT_EQ(0, to_hbm(self, op));
	/* A plane that is repeated */
	op.src_plane_pitch = 0;
	EXPECT_EQ(0, to_hbm(self, op));
	/* One plane or row: its pitch does not matter */
	op.planes = 1;
	op.dst_plane_pitch = ~0ull;
	op.src_plane_pitch = ~0ull;
	EXPECT_EQ(0, to_hbm(self, op));
	op.rows = 1;
	op.dst_row_pitch = 1;
	op.src_row_pitch = 1ull << 63;
	EXPECT_EQ(0, to_hbm(self, op));
}

TEST_F_TIMEOUT(strided, random, 60)
{
	__u64 seed = trn_now(), first = seed;
	unsigned int i;

	for (i = 0; i < 60; i++) {
		struct drm_trainium_op_strided op =
			strided(&self->hbm, trn_rand_below(&seed, 5000), &self->in,
				trn_rand_below(&seed, 5000), 1 + trn_rand_below(&seed, 3000));

		op.rows = 1 + trn_rand_below(&seed, 12);
		op.planes = 1 + trn_rand_below(&seed, 12);
		op.dst_row_pitch = op.op.size + trn_rand_below(&seed, 2000);
		op.dst_plane_pitch = op.dst_row_pitch * op.rows + trn_rand_below(&seed, 5000);
		op.src_row_pitch = trn_rand_below(&seed, 8000);
		op.src_plane_pitch = trn_rand_below(&seed, 70000);
		ASSERT_EQ(0, to_hbm(self, op)) {
			TH_LOG("seed %llx, round %u", first, i);
		}
	}
}

/* More rows than a ring has descriptors, spread over all rings of the queue */
TEST_F_TIMEOUT(strided, long_copies, 60)
{
	struct drm_trainium_op_strided op = strided(&self->hbm, 0, &self->in, 0, 7);

	op.rows = 300;
	op.planes = 200;
	op.dst_row_pitch = 8;
	op.dst_plane_pitch = 2401;
	op.src_row_pitch = 9;
	op.src_plane_pitch = 2900;
	ASSERT_EQ(0, to_hbm(self, op));

	op = strided(&self->hbm, 1, &self->in, 3, 40000);
	op.rows = 50;
	op.dst_row_pitch = 40321;
	op.src_row_pitch = 40001;
	ASSERT_LE(TRN_MIB(1), op.op.size * op.rows);
	ASSERT_EQ(0, to_hbm(self, op));
}

/* Among other ops, and in their order */
TEST_F(strided, in_a_list)
{
	struct drm_trainium_op_strided ops[70] = {};
	unsigned int i;

	for (i = 0; i < 68; i++)
		ops[i].op = trn_op_fill(self->hbm.handle, i * 64, 64, i, 1);
	ops[40] = strided(&self->far, 0, &self->hbm, 0, 4);
	ops[40].op.flags = TRAINIUM_OP_F_BARRIER;
	ops[40].rows = 40;
	ops[40].src_row_pitch = 64;
	ops[40].dst_row_pitch = 4;
	ops[68].op = trn_op_copy(self->out.handle, 0, self->far.handle, 0, 160);
	ops[68].op.flags = TRAINIUM_OP_F_BARRIER;
	ops[69] = strided(&self->out, 1000, &self->hbm, 0, 64);
	ASSERT_EQ(0, run(self, ops, ARRAY_SIZE(ops)));
	for (i = 0; i < 160; i++)
		EXPECT_EQ(i / 4, self->out.map[i]);
	EXPECT_EQ(-1, trn_check_byte(self->out.map + 1000, 64, 0));
}

/* Within a buffer, the two sides apart */
TEST_F(strided, one_buffer)
{
	struct drm_trainium_op_strided op = strided(&self->in, TRN_KIB(512), &self->in, 0, 100);

	op.rows = 50;
	op.src_row_pitch = 200;
	op.dst_row_pitch = 300;
	memcpy(self->expect, self->in.map, SIZE);
	by_hand(self->expect, self->expect, &op);
	ASSERT_EQ(0, run(self, &op, 1));
	EXPECT_EQ(0, memcmp(self->expect, self->in.map, SIZE));

	/* The source ends where the destination begins */
	op.op.dst_offset = 49 * 200 + 100;
	EXPECT_EQ(0, run(self, &op, 1));
	op.op.dst_offset--;
	EXPECT_EQ(-EINVAL, run(self, &op, 1));
	op.op.dst_offset = 0;
	op.op.src_offset = 49 * 300 + 100;
	EXPECT_EQ(0, run(self, &op, 1));
	op.op.src_offset--;
	EXPECT_EQ(-EINVAL, run(self, &op, 1));
}

TEST_F(strided, bad_arguments)
{
	struct drm_trainium_op_strided good = strided(&self->hbm, 0, &self->in, 0, 100), op;
	struct drm_trainium_submit s;
	struct trn_bo big;
	struct {
		struct drm_trainium_op_strided op;
		__u64 more[2];
	} wide = {};

	good.rows = 10;
	good.planes = 10;
	good.dst_row_pitch = 100;
	good.src_row_pitch = 100;
	good.dst_plane_pitch = 1000;
	good.src_plane_pitch = 1000;

#define TRY(field, value) ({ op = good; op.field = (value); run(self, &op, 1); })
	EXPECT_EQ(-EINVAL, TRY(rows, 0));
	EXPECT_EQ(-EINVAL, TRY(planes, 0));
	EXPECT_EQ(-EINVAL, TRY(op.size, 0));
	EXPECT_EQ(-EINVAL, TRY(op.flags, 2));
	EXPECT_EQ(-ENOENT, TRY(op.src, 9999));
	EXPECT_EQ(-ENOENT, TRY(op.dst, 9999));
	/* past the end, by a byte and by far, with sums that wrap */
	EXPECT_EQ(-EINVAL, TRY(op.dst_offset, SIZE - 9999));
	EXPECT_EQ(-EINVAL, TRY(op.src_offset, SIZE - 9999));
	EXPECT_EQ(-EINVAL, TRY(op.src_offset, ~0ull - 9998));
	EXPECT_EQ(0, TRY(op.dst_offset, SIZE - 10000));
	EXPECT_EQ(0, TRY(op.src_offset, SIZE - 10000));
	EXPECT_EQ(-EINVAL, TRY(src_row_pitch, SIZE));
	EXPECT_EQ(-EINVAL, TRY(src_plane_pitch, SIZE));
	EXPECT_EQ(-EINVAL, TRY(src_row_pitch, ~0ull));
	EXPECT_EQ(-EINVAL, TRY(src_plane_pitch, ~0ull));
	EXPECT_EQ(-EINVAL, TRY(src_plane_pitch, 0x1c71c71c71c71c72ull));
	EXPECT_EQ(-EINVAL, TRY(src_row_pitch, 1ull << 63));
	EXPECT_EQ(-EINVAL, TRY(dst_row_pitch, ~0ull));
	EXPECT_EQ(-EINVAL, TRY(dst_plane_pitch, ~0ull));
	EXPECT_EQ(-EINVAL, TRY(rows, ~0u));
	EXPECT_EQ(-EINVAL, TRY(planes, ~0u));
	/* rows of the destination that overlap */
	EXPECT_EQ(-EINVAL, TRY(dst_row_pitch, 99));
	EXPECT_EQ(-EINVAL, TRY(dst_row_pitch, 0));
	EXPECT_EQ(-EINVAL, TRY(dst_plane_pitch, 999));
	EXPECT_EQ(-EINVAL, TRY(dst_plane_pitch, 0));
	EXPECT_EQ(-EINVAL, TRY(dst_plane_pitch, 100));
	op = good;
	op.planes = 1;
	op.dst_row_pitch = 99;
	EXPECT_EQ(-EINVAL, run(self, &op, 1));
	op = good;
	op.rows = 1;
	op.dst_plane_pitch = 99;
	EXPECT_EQ(-EINVAL, run(self, &op, 1));
	/* strides of an op that has none */
	op = good;
	op.op.type = TRAINIUM_OP_COPY;
	EXPECT_EQ(-EINVAL, run(self, &op, 1));
#undef TRY
	/* more rows than a submit may have: they would fit */
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, TRN_MIB(17), &big));
	op = good;
	op.op.dst = big.handle;
	op.op.size = 1;
	op.src_row_pitch = 0;
	op.src_plane_pitch = 0;
	op.dst_row_pitch = 1;
	op.dst_plane_pitch = 1024;
	op.rows = 1024;
	op.planes = self->limits.max_rows / 1024 + 1;
	EXPECT_EQ(-EINVAL, run(self, &op, 1));

	/* an array without room for strides, and one with more than is known */
	s = trn_job(self->queue, &good.op, 1);
	EXPECT_EQ(-EINVAL, trn_submit(self->fd, &s));
	s.op_stride = sizeof(good) - 8;
	EXPECT_EQ(-EINVAL, trn_submit(self->fd, &s));
	wide.op = good;
	s = trn_job(self->queue, &wide.op.op, 1);
	s.op_stride = sizeof(wide);
	EXPECT_EQ(0, trn_submit(self->fd, &s));
	wide.more[1] = 1;
	EXPECT_EQ(-EINVAL, trn_submit(self->fd, &s));
	/* ends in front of a page that is not there */
	s.ops = 8;
	EXPECT_EQ(-EFAULT, trn_submit(self->fd, &s));
	EXPECT_EQ(0, trn_drain(self->fd, self->queue));
}

/* A buffer that is only read cannot be the destination. */
TEST_F(strided, read_only)
{
	struct drm_trainium_op_strided op = strided(&self->hbm, 0, &self->in, 0, 100);
	__u32 handle;

	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->expect, SIZE, TRAINIUM_BO_F_READ_ONLY,
				    &handle));
	op.op.dst = handle;
	EXPECT_EQ(-EINVAL, run(self, &op, 1));
	op.op.dst = self->hbm.handle;
	op.op.src = handle;
	EXPECT_EQ(0, run(self, &op, 1));
}

TEST_HARNESS_MAIN
