// SPDX-License-Identifier: GPL-2.0-only
/* Where buffers in HBM are put, and what is said to be free */
#include "kselftest_harness.h"
#include "trainium_util.h"

FIXTURE(place) {
	int fd;
	__u32 queue;
	struct drm_trainium_query_device device;
	struct trn_snapshot base;
};

FIXTURE_SETUP(place)
{
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
}

/* Whatever a test did, all of it comes back. */
FIXTURE_TEARDOWN(place)
{
	int fd = trn_open(0);

	close(self->fd);
	self->base.engines = 0;
	EXPECT_EQ(NULL, trn_settle(fd, &self->base, 2 * TRN_SEC)) {
		TH_LOG("%s", trn_settle(fd, &self->base, 0) ?: "late");
	}
	close(fd);
}

/* Handle, or negative error */
static int create(int fd, __u32 stack, __u64 size, __u32 flags, __u64 alignment)
{
	struct drm_trainium_bo_create args = {
		.size = size,
		.placement = TRAINIUM_BO_HBM,
		.stack = stack,
		.flags = flags,
		.alignment = alignment,
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &args);

	return ret ?: (int)args.handle;
}

static int stack_of(int fd, __u32 handle)
{
	struct drm_trainium_bo_info info;
	int ret = trn_bo_info(fd, handle, &info);

	return ret ?: (int)info.stack;
}

TEST_F(place, spread)
{
	unsigned int count[TRN_MAX_STACKS] = {}, i, n = self->device.num_stacks;

	for (i = 0; i < 10 * n; i++) {
		int handle = create(self->fd, TRAINIUM_STACK_ANY, TRN_KIB(256), 0, 0);

		ASSERT_LT(0, handle);
		count[stack_of(self->fd, handle)]++;
	}
	for (i = 0; i < n; i++)
		EXPECT_EQ(10, count[i]) TH_LOG("stack %u", i);
}

TEST_F(place, near_engine)
{
	struct drm_trainium_query_engine e;
	unsigned int i;
	int handle;

	for (i = 0; i < self->device.num_engines; i++) {
		ASSERT_EQ(0, trn_engine(self->fd, i, &e));
		handle = create(self->fd, i, TRN_PAGE, TRAINIUM_BO_F_NEAR_ENGINE, 0);
		ASSERT_LT(0, handle);
		EXPECT_EQ(e.stack, stack_of(self->fd, handle)) TH_LOG("engine %u", i);
	}
	EXPECT_EQ(-EINVAL, create(self->fd, i, TRN_PAGE, TRAINIUM_BO_F_NEAR_ENGINE, 0));
	EXPECT_EQ(-EINVAL, create(self->fd, TRAINIUM_STACK_ANY, TRN_PAGE,
				  TRAINIUM_BO_F_NEAR_ENGINE, 0));
}

/* The nearest stack is a wish, a stack that is named is not. */
TEST_F(place, near_engine_full)
{
	struct drm_trainium_query_engine e;
	int handle;

	ASSERT_EQ(0, trn_engine(self->fd, 0, &e));
	if (self->base.largest[e.stack] > TRN_GIB(1))
		SKIP(return, "stacks too large to fill");
	ASSERT_LT(0, create(self->fd, e.stack, self->base.largest[e.stack], 0, 0));
	EXPECT_EQ(-ENOSPC, create(self->fd, e.stack, TRN_MIB(1), 0, 0));
	handle = create(self->fd, 0, TRN_MIB(1), TRAINIUM_BO_F_NEAR_ENGINE, 0);
	ASSERT_LT(0, handle);
	EXPECT_NE(e.stack, stack_of(self->fd, handle));
}

TEST_F(place, free_and_used)
{
	struct drm_trainium_query_memory before, m;
	int handle;

	ASSERT_EQ(0, trn_memory(self->fd, 1, &before));
	EXPECT_EQ(before.cpu_visible, before.cpu_visible_free);
	handle = create(self->fd, 1, TRN_MIB(3), before.cpu_visible ?
			TRAINIUM_BO_F_CPU_VISIBLE : 0, 0);
	ASSERT_LT(0, handle);
	ASSERT_EQ(0, trn_memory(self->fd, 1, &m));
	EXPECT_EQ(before.size, m.size);
	EXPECT_EQ(TRN_MIB(3), before.free - m.free);
	if (before.cpu_visible)
		EXPECT_EQ(TRN_MIB(3), before.cpu_visible_free - m.cpu_visible_free);
	EXPECT_EQ(before.bo_count + 1, m.bo_count);
	EXPECT_LE(m.largest_free, m.free);
}

/* A window that shows a part of each stack: kept for those who need it */
TEST_F(place, window)
{
	struct drm_trainium_query_memory m;
	struct drm_trainium_bo_info info;
	__u64 hidden, i;
	int handle = 0;
	__u8 *p;

	ASSERT_EQ(0, trn_memory(self->fd, 1, &m));
	if (!m.cpu_visible || m.cpu_visible == m.size)
		SKIP(return, "the CPU sees all of HBM or nothing");
	hidden = m.size - m.cpu_visible;
	ASSERT_EQ(m.cpu_visible, m.cpu_visible_free);

	for (i = 0; i < hidden / TRN_MIB(1); i++) {
		handle = create(self->fd, 1, TRN_MIB(1), 0, 0);
		ASSERT_LT(0, handle);
		ASSERT_EQ(0, trn_bo_info(self->fd, handle, &info));
		EXPECT_EQ(0, info.flags);
		EXPECT_EQ(0, info.mmap_offset);
	}
	ASSERT_EQ(0, trn_memory(self->fd, 1, &m));
	EXPECT_EQ(m.cpu_visible, m.cpu_visible_free);
	/* A hidden buffer can be used by the engines. */
	EXPECT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, TRN_MIB(1), 1, 1));

	for (i = 0; i < m.cpu_visible / TRN_MIB(1) - 1; i++) {
		handle = create(self->fd, 1, TRN_MIB(1), TRAINIUM_BO_F_CPU_VISIBLE, 0);
		ASSERT_LT(0, handle);
		ASSERT_EQ(0, trn_bo_info(self->fd, handle, &info));
		EXPECT_EQ(TRAINIUM_BO_F_CPU_VISIBLE, info.flags);
	}
	p = trn_map(self->fd, handle, TRN_MIB(1));
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, TRN_MIB(1), 0x5a, 1));
	EXPECT_EQ(-1, trn_check_byte(p, TRN_MIB(1), 0x5a));
	munmap(p, TRN_MIB(1));
	/* Where nothing else is left, anybody gets it. */
	EXPECT_LT(0, create(self->fd, 1, TRN_MIB(1), 0, 0));
	EXPECT_EQ(-ENOSPC, create(self->fd, 1, TRN_MIB(1), TRAINIUM_BO_F_CPU_VISIBLE, 0));
	/* Other stacks have not been touched. */
	handle = create(self->fd, TRAINIUM_STACK_ANY, TRN_MIB(1), TRAINIUM_BO_F_CPU_VISIBLE, 0);
	ASSERT_LT(0, handle);
	EXPECT_NE(1, stack_of(self->fd, handle));
}

/* True when @stack (or any) says that it has room for @size at @alignment. */
static bool has_room(int fd, struct drm_trainium_query_device *device, __u32 stack,
		     __u64 size, __u64 alignment)
{
	struct drm_trainium_query_memory m;
	unsigned int i;

	for (i = 0; i < device->num_stacks; i++)
		if ((stack == TRAINIUM_STACK_ANY || stack == i) && !trn_memory(fd, i, &m) &&
		    m.largest_free >= size + alignment - TRN_PAGE)
			return true;
	return false;
}

/*
 * 100000 steps at the limit of what there is: nothing is lost, and there is no
 * -ENOSPC where there is a range that is long enough.
 */
TEST_F_TIMEOUT(place, fragmentation, 110)
{
	enum { SLOTS = 4096, STEPS = 100000 };
	static __u32 handle[SLOTS];
	static __u64 bytes[SLOTS];
	__u64 seed = trn_now(), used = 0, total = 0, full = 0;
	unsigned int i, s, refused = 0;

	for (s = 0; s < self->device.num_stacks; s++)
		total += self->base.free[s];
	if (total > TRN_MIB(512))
		SKIP(return, "too much HBM to fill it with small buffers");
	TH_LOG("seed %llx", seed);

	for (i = 0; i < STEPS; i++) {
		unsigned int slot = trn_rand_below(&seed, SLOTS);
		__u64 size = TRN_PAGE << trn_rand_below(&seed, 8), align;
		int ret;

		if (handle[slot]) {
			ASSERT_EQ(0, trn_close_handle(self->fd, handle[slot]));
			used -= bytes[slot];
			handle[slot] = 0;
			continue;
		}
		size -= trn_rand_below(&seed, size / TRN_PAGE) * TRN_PAGE;
		align = trn_rand_below(&seed, 8) ? TRN_PAGE :
						   TRN_PAGE << trn_rand_below(&seed, 6);
		s = trn_rand_below(&seed, self->device.num_stacks + 1);
		if (s == self->device.num_stacks)
			s = TRAINIUM_STACK_ANY;
		ret = create(self->fd, s, size, 0, align);
		if (ret < 0) {
			ASSERT_EQ(-ENOSPC, ret);
			refused++;
			ASSERT_FALSE(has_room(self->fd, &self->device, s, size, align)) {
				TH_LOG("step %u: %llu bytes in stack %u", i, size, s);
			}
			continue;
		}
		handle[slot] = ret;
		bytes[slot] = size;
		used += size;
		if (used > full)
			full = used;
	}
	TH_LOG("%u of %u refused, at most %llu%% in use", refused, STEPS, full * 100 / total);
	/* It was a test of something. */
	EXPECT_LT(100, refused);
	EXPECT_LT(total * 8 / 10, full);
	for (i = 0; i < SLOTS; i++)
		if (handle[i])
			ASSERT_EQ(0, trn_close_handle(self->fd, handle[i]));
	self->base.engines = 0;
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, 2 * TRN_SEC));
}

TEST_HARNESS_MAIN
