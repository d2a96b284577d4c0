// SPDX-License-Identifier: GPL-2.0-only
/* TRAINIUM_BO_CREATE and TRAINIUM_BO_INFO */
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

FIXTURE(bo) {
	int fd;
	__u32 queue;
	struct drm_trainium_query_device device;
	struct drm_trainium_query_limits limits;
	struct trn_snapshot base;
};

FIXTURE_SETUP(bo)
{
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	ASSERT_EQ(0, trn_limits(self->fd, &self->limits));
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
}

/* Whatever a test did, everything comes back. */
FIXTURE_TEARDOWN(bo)
{
	struct trn_snapshot base = self->base;
	__u32 queue;
	int fd;

	close(self->fd);
	fd = trn_open(0);
	ASSERT_LE(0, fd);
	/* The queue of the set-up was there when the snapshot was taken. */
	ASSERT_EQ(0, trn_queue_create(fd, TRAINIUM_STACK_ANY, 0, &queue));
	memset(base.rings_free, 0, sizeof(base.rings_free));
	base.engines = 0;
	EXPECT_EQ(NULL, trn_settle(fd, &base, 2 * TRN_SEC)) {
		TH_LOG("%s", trn_settle(fd, &base, 0) ?: "late");
	}
	close(fd);
}

static int create(int fd, struct drm_trainium_bo_create args)
{
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &args);

	return ret ?: (int)args.handle;
}

#define CREATE(...) create(self->fd, (struct drm_trainium_bo_create){ __VA_ARGS__ })

TEST_F(bo, hbm_each_stack)
{
	unsigned int s;

	for (s = 0; s < self->device.num_stacks; s++) {
		struct drm_trainium_query_memory before, after;
		struct drm_trainium_bo_info info;
		__u32 handle;

		ASSERT_EQ(0, trn_memory(self->fd, s, &before));
		ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, s, TRN_MIB(1), &handle));
		EXPECT_NE(0, handle);
		ASSERT_EQ(0, trn_memory(self->fd, s, &after));
		EXPECT_EQ(TRN_MIB(1), before.free - after.free);
		EXPECT_EQ(before.bo_count + 1, after.bo_count);

		ASSERT_EQ(0, trn_bo_info(self->fd, handle, &info));
		EXPECT_EQ(TRN_MIB(1), info.size);
		EXPECT_EQ(TRAINIUM_BO_HBM, info.placement);
		EXPECT_EQ(s, info.stack);
		EXPECT_EQ(0, info.pad);
		EXPECT_EQ(self->device.reset_count, info.content_generation);
		EXPECT_EQ(0, info.flags & ~TRAINIUM_BO_F_CPU_VISIBLE);
		ASSERT_EQ(0, trn_close_handle(self->fd, handle));
		ASSERT_EQ(0, trn_memory(self->fd, s, &after));
		EXPECT_EQ(before.free, after.free);
		EXPECT_EQ(before.bo_count, after.bo_count);
	}
}

TEST_F(bo, hbm_any_stack)
{
	struct drm_trainium_bo_info info;
	__u32 handle;

	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, TRAINIUM_STACK_ANY, 1, &handle));
	ASSERT_EQ(0, trn_bo_info(self->fd, handle, &info));
	EXPECT_EQ(TRN_PAGE, info.size);
	EXPECT_GT(self->device.num_stacks, info.stack);
}

TEST_F(bo, host)
{
	struct drm_trainium_bo_info info;
	__u32 handle;

	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0, TRN_PAGE + 1, &handle));
	ASSERT_EQ(0, trn_bo_info(self->fd, handle, &info));
	EXPECT_EQ(2 * TRN_PAGE, info.size);
	EXPECT_EQ(TRAINIUM_BO_HOST, info.placement);
	EXPECT_EQ(0, info.stack);
	EXPECT_NE(0, info.mmap_offset);
	EXPECT_EQ(0, info.mmap_offset % TRN_PAGE);
}

/* A size is a page more than a page: accounting follows */
TEST_F(bo, rounding)
{
	static const __u64 sizes[] = { 1, 4095, 4096, 4097, 65535, 65537, 1000001 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		__u64 rounded = (sizes[i] + TRN_PAGE - 1) / TRN_PAGE * TRN_PAGE;
		struct drm_trainium_query_memory before, after;
		struct drm_trainium_bo_info info;
		__u32 handle;

		ASSERT_EQ(0, trn_memory(self->fd, 1, &before));
		ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 1, sizes[i], &handle));
		ASSERT_EQ(0, trn_bo_info(self->fd, handle, &info));
		EXPECT_EQ(rounded, info.size);
		ASSERT_EQ(0, trn_memory(self->fd, 1, &after));
		EXPECT_EQ(rounded, before.free - after.free);
		trn_close_handle(self->fd, handle);
	}
}

TEST_F(bo, cpu_visible)
{
	struct drm_trainium_bo_info info;
	int handle;

	if (!(self->device.features & TRAINIUM_FEATURE_HBM_MMAP))
		SKIP(return, "HBM cannot be mapped");
	handle = CREATE(.size = TRN_PAGE, .stack = 1, .flags = TRAINIUM_BO_F_CPU_VISIBLE);
	ASSERT_LT(0, handle);
	ASSERT_EQ(0, trn_bo_info(self->fd, handle, &info));
	EXPECT_NE(0, info.flags & TRAINIUM_BO_F_CPU_VISIBLE);
	EXPECT_NE(0, info.mmap_offset);
}

TEST_F(bo, bad_sizes)
{
	static const __u64 bad[] = {
		0, 1ull << 63, ~0ull, ~0ull - 4094, ~0ull - 4095, (1ull << 63) - 1,
		0xfffffffffffff000ull,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int hbm = CREATE(.size = bad[i], .stack = TRAINIUM_STACK_ANY);
		int host = CREATE(.size = bad[i], .placement = TRAINIUM_BO_HOST);

		if (!bad[i]) {
			EXPECT_EQ(-EINVAL, hbm);
			EXPECT_EQ(-EINVAL, host);
			continue;
		}
		/* Malformed or more than there is, but never taken */
		EXPECT_TRUE(hbm == -EINVAL || hbm == -ENOSPC) {
			TH_LOG("HBM of %llx bytes: %d", bad[i], hbm);
		}
		EXPECT_TRUE(host == -EINVAL || host == -ENOMEM) {
			TH_LOG("host of %llx bytes: %d", bad[i], host);
		}
	}
}

/* Larger than a stack, than the device, than any device */
TEST_F(bo, too_large)
{
	const __u32 last = self->device.num_stacks - 1;
	struct drm_trainium_query_memory m;
	const __u64 sizes[] = {
		self->limits.max_bo_size + TRN_PAGE,
		self->device.hbm_size + TRN_PAGE,
		self->device.hbm_size * 4,
		1ull << 47,
	};
	unsigned int i, round;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			int ret = CREATE(.size = sizes[i], .stack = TRAINIUM_STACK_ANY);

			EXPECT_TRUE(ret == -ENOSPC || ret == -EINVAL) {
				TH_LOG("%llx: %d", sizes[i], ret);
			}
		}
	}
	/* One page more than is free in the stack is a matter of space. */
	ASSERT_EQ(0, trn_memory(self->fd, last, &m));
	if (m.largest_free + TRN_PAGE <= self->limits.max_bo_size)
		EXPECT_EQ(-ENOSPC, CREATE(.size = m.largest_free + TRN_PAGE, .stack = last));
}

TEST_F(bo, bad_arguments)
{
	__u32 n = self->device.num_stacks;

	/* placement */
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .placement = 3));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .placement = ~0u));
	/* flags: unknown, or of another placement */
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .flags = 1u << 4));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .flags = 1u << 31));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .flags = ~0u));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .flags = TRAINIUM_BO_F_READ_ONLY));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .flags = TRAINIUM_BO_F_READ_ONLY,
				  .placement = TRAINIUM_BO_HOST));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .flags = TRAINIUM_BO_F_CPU_VISIBLE,
				  .placement = TRAINIUM_BO_HOST));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .flags = 1u << 31,
				  .placement = TRAINIUM_BO_HOST));
	/* stack */
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .stack = n));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .stack = n + 1));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .stack = 0x80000000));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .stack = TRAINIUM_STACK_ANY - 1));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .stack = 1,
				  .placement = TRAINIUM_BO_HOST));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .stack = TRAINIUM_STACK_ANY,
				  .placement = TRAINIUM_BO_HOST));
	/* userptr is only for the placement of that name */
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .userptr = trn_ptr(self)));
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .userptr = trn_ptr(self),
				  .placement = TRAINIUM_BO_HOST));
	/* alignment is only for HBM */
	EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .alignment = TRN_PAGE,
				  .placement = TRAINIUM_BO_HOST));
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_BO_CREATE, NULL));
}

TEST_F(bo, bad_alignments)
{
	static const __u64 odd[] = { 3, 4097, 12288, ~0ull, (1ull << 63) + 1, TRN_MIB(3) };
	static const __u64 huge[] = { 1ull << 63, 1ull << 62, 1ull << 40 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		EXPECT_EQ(-EINVAL, CREATE(.size = TRN_PAGE, .alignment = odd[i])) {
			TH_LOG("alignment %llx", odd[i]);
		}
	}
	/* Powers of two that no stack can give: no buffer, no overflow */
	for (i = 0; i < ARRAY_SIZE(huge); i++) {
		int ret = CREATE(.size = TRN_PAGE, .alignment = huge[i], .stack = 1);

		EXPECT_TRUE(ret == -EINVAL || ret == -ENOSPC) {
			TH_LOG("alignment %llx: %d", huge[i], ret);
		}
		ret = CREATE(.size = 0xfffffffffffff000ull, .alignment = huge[i]);
		EXPECT_TRUE(ret == -EINVAL || ret == -ENOSPC) {
			TH_LOG("alignment %llx: %d", huge[i], ret);
		}
	}
}

/*
 * Where a buffer is in its stack shows in the window of BAR4 that the stack
 * has; it can be looked at when the kernel does not forbid it
 * (iomem=relaxed).
 */
static void *map_stack(unsigned int stack, unsigned int stacks, __u64 size)
{
	unsigned long long start, end;
	char path[128], text[1024];
	__u64 part;
	void *map;
	int fd;

	/* The size of the file is that of the BAR before the driver let it grow. */
	if (trn_read_sysfs(trn_bdf(0), "resource", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*s%*s%*s %*s%*s%*s %*s%*s%*s %*s%*s%*s %llx %llx", &start, &end) != 2)
		return MAP_FAILED;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource4", trn_bdf(0));
	fd = open(path, O_RDWR);
	if (fd < 0)
		return MAP_FAILED;
	/* Each stack has the same part of the BAR. */
	part = (end - start + 1) / stacks;
	if (part < size)
		size = part;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, part * stack);
	close(fd);
	return map;
}

TEST_F(bo, alignment_honoured)
{
	struct drm_trainium_query_memory m;
	__u64 mark = 0x1234567800000000ull ^ trn_now(), align, size, at;
	unsigned int round = 0;
	__u64 *window;
	int handle;

	ASSERT_EQ(0, trn_memory(self->fd, 1, &m));
	size = m.size + TRN_MIB(32);
	if (size > TRN_GIB(2))
		SKIP(return, "stacks too large to search");
	window = map_stack(1, self->device.num_stacks, size);
	if (window == MAP_FAILED)
		SKIP(return, "BAR4 cannot be mapped (iomem=relaxed?)");

	for (align = TRN_PAGE; align <= TRN_MIB(128); align *= 2) {
		/* Something in the way, so that it is not aligned by chance */
		ASSERT_LT(0, CREATE(.size = TRN_PAGE, .stack = 1));
		handle = CREATE(.size = TRN_PAGE, .stack = 1, .alignment = align,
				.flags = TRAINIUM_BO_F_CPU_VISIBLE);
		ASSERT_LT(0, handle) TH_LOG("alignment %llx: %d", align, handle);
		mark += ++round;
		ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, 8, mark, 8));
		for (at = 0; at < size; at += align)
			if (window[at / 8] == mark)
				break;
		EXPECT_LT(at, size) TH_LOG("not aligned to %llx", align);
	}
	munmap(window, size);
}

TEST_F(bo, alignment_below_page)
{
	/* Satisfied by any page */
	EXPECT_LT(0, CREATE(.size = TRN_PAGE, .alignment = 1));
	EXPECT_LT(0, CREATE(.size = TRN_PAGE, .alignment = 64));
	EXPECT_LT(0, CREATE(.size = TRN_PAGE, .alignment = 2048));
}

/* What one user wrote, no later one reads */
TEST_F(bo, zeroed_on_reuse)
{
	static const __u64 sizes[] = {
		TRN_PAGE, 3 * TRN_PAGE, TRN_KIB(64) + TRN_PAGE, TRN_MIB(1), TRN_MIB(5)
	};
	struct trn_bo bounce, bo;
	unsigned int i, round;

	ASSERT_EQ(0, trn_host_new(self->fd, TRN_MIB(5), &bounce));
	ASSERT_NE(NULL, bounce.map);
	EXPECT_EQ(-1, trn_check_byte(bounce.map, bounce.size, 0));

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (round = 0; round < 3; round++) {
			ASSERT_EQ(0, trn_hbm_new(self->fd, i % self->device.num_stacks,
						 sizes[i], &bo));
			/* Both the device's and the CPU's view */
			memset(bounce.map, 0xee, sizes[i]);
			ASSERT_EQ(0, trn_copy(self->fd, self->queue, bounce.handle, 0,
					      bo.handle, 0, sizes[i]));
			EXPECT_EQ(-1, trn_check_byte(bounce.map, sizes[i], 0)) {
				TH_LOG("%llu bytes, round %u", sizes[i], round);
			}
			if (bo.map)
				EXPECT_EQ(-1, trn_check_byte(bo.map, sizes[i], 0));
			ASSERT_EQ(0, trn_fill(self->fd, self->queue, bo.handle, 0, sizes[i],
					      0xdb, 1));
			trn_bo_put(self->fd, &bo);
		}
	}
}

TEST_F(bo, host_zeroed_on_reuse)
{
	struct trn_bo bo;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, trn_host_new(self->fd, TRN_KIB(256), &bo));
		ASSERT_NE(NULL, bo.map);
		ASSERT_EQ(-1, trn_check_byte(bo.map, bo.size, 0));
		memset(bo.map, 0xdb, bo.size);
		trn_bo_put(self->fd, &bo);
	}
}

TEST_F(bo, info_bad_arguments)
{
	struct drm_trainium_bo_info info;
	__u32 handle;

	EXPECT_EQ(-ENOENT, trn_bo_info(self->fd, 0, &info));
	EXPECT_EQ(-ENOENT, trn_bo_info(self->fd, 1, &info));
	EXPECT_EQ(-ENOENT, trn_bo_info(self->fd, 0x7fffffff, &info));
	EXPECT_EQ(-ENOENT, trn_bo_info(self->fd, ~0u, &info));

	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HOST, 0, TRN_PAGE, &handle));
	EXPECT_EQ(-ENOENT, trn_bo_info(self->fd, handle + 1, &info));
	memset(&info, 0, sizeof(info));
	info.handle = handle;
	info.pad = 1;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_BO_INFO, &info));

	EXPECT_EQ(0, trn_close_handle(self->fd, handle));
	EXPECT_EQ(-ENOENT, trn_bo_info(self->fd, handle, &info));
	EXPECT_EQ(-EINVAL, trn_close_handle(self->fd, handle));
	EXPECT_EQ(-EFAULT, trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_BO_INFO, NULL));
}

/* A program that knows the struct up to @alignment only */
TEST_F(bo, short_ioctl)
{
	struct {
		__u64 size;
		__u32 placement, flags, stack, handle;
	} old = { .size = TRN_PAGE, .placement = TRAINIUM_BO_HBM, .stack = 1 };
	struct drm_trainium_bo_info info;

	ASSERT_EQ(0, trn_ioctl(self->fd,
			       DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_BO_CREATE, old), &old));
	ASSERT_EQ(0, trn_bo_info(self->fd, old.handle, &info));
	EXPECT_EQ(1, info.stack);
}

TEST_F(bo, many)
{
	enum { N = 3000 };
	static __u32 handle[N];
	unsigned int i;

	for (i = 0; i < N; i++)
		ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, TRAINIUM_STACK_ANY,
					   TRN_PAGE, &handle[i]));
	/* Half by hand, half by close of the file */
	for (i = 0; i < N; i += 2)
		ASSERT_EQ(0, trn_close_handle(self->fd, handle[i]));
}

/* 10000 random allocations and frees; free bytes are right at any time */
TEST_F_TIMEOUT(bo, random_churn, 60)
{
	enum { SLOTS = 64 };
	__u64 seed = trn_now(), size[SLOTS] = {}, used = 0, base = 0;
	__u32 handle[SLOTS] = {}, stack;
	unsigned int i, s, peak = 0, live = 0;

	TH_LOG("seed %llx", seed);
	for (s = 0; s < self->base.stacks; s++)
		base += self->base.free[s];

	for (i = 0; i < 10000; i++) {
		unsigned int slot = trn_rand_below(&seed, SLOTS);

		if (handle[slot]) {
			ASSERT_EQ(0, trn_close_handle(self->fd, handle[slot]));
			used -= size[slot];
			handle[slot] = 0;
			live--;
		} else {
			size[slot] = TRN_PAGE << trn_rand_below(&seed, 6);
			size[slot] += TRN_PAGE * trn_rand_below(&seed, 4);
			stack = trn_rand_below(&seed, self->base.stacks + 1);
			if (stack == self->base.stacks)
				stack = TRAINIUM_STACK_ANY;
			ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, stack,
						   size[slot], &handle[slot]));
			used += size[slot];
			live++;
			if (live > peak)
				peak = live;
		}
		if (i % 64 == 0) {
			struct trn_snapshot now;
			__u64 free = 0;

			ASSERT_EQ(0, trn_snapshot(self->fd, &now));
			for (s = 0; s < now.stacks; s++)
				free += now.free[s];
			ASSERT_EQ(base - used, free);
		}
	}
	EXPECT_LT(20, peak);
}

struct churn {
	int fd;
	__u64 seed;
	unsigned int rounds;
};

static void *churn_thread(void *arg)
{
	struct churn *churn = arg;
	unsigned int i;
	__u32 handle;

	for (i = 0; i < churn->rounds; i++) {
		if (trn_bo_create(churn->fd, i % 3 ? TRAINIUM_BO_HBM : TRAINIUM_BO_HOST, 0,
				  TRN_PAGE << trn_rand_below(&churn->seed, 5), &handle))
			return "create failed";
		/* Now and then it stays for close() to find. */
		if (trn_rand_below(&churn->seed, 8) &&
		    trn_close_handle(churn->fd, handle))
			return "close failed";
	}
	return NULL;
}

TEST_F(bo, parallel_churn)
{
	struct churn churn[8];
	pthread_t thread[8];
	void *ret;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		/* Half on one file, half on their own */
		churn[i].fd = i % 2 ? trn_open(0) : self->fd;
		churn[i].seed = i;
		churn[i].rounds = 200;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, churn_thread, &churn[i]));
	}
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &ret));
		EXPECT_EQ(NULL, ret) TH_LOG("%s", (char *)ret);
		if (i % 2)
			close(churn[i].fd);
	}
}

/* Two threads close the same handles: one of them wins each time */
static void *close_thread(void *arg)
{
	struct churn *churn = arg;
	unsigned long wins = 0;
	__u32 handle;

	for (handle = 1; handle <= churn->rounds; handle++)
		wins += !trn_close_handle(churn->fd, handle);
	return (void *)wins;
}

TEST_F(bo, double_close_race)
{
	struct churn churn = { .fd = trn_open(0), .rounds = 500 };
	pthread_t thread[2];
	unsigned long wins = 0;
	unsigned int i;
	void *ret;
	__u32 handle;

	ASSERT_LE(0, churn.fd);
	for (i = 0; i < churn.rounds; i++)
		ASSERT_EQ(0, trn_bo_create(churn.fd, TRAINIUM_BO_HBM, 0, TRN_PAGE, &handle));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, close_thread, &churn));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &ret));
		wins += (unsigned long)ret;
	}
	EXPECT_EQ(churn.rounds, wins);
	close(churn.fd);
}

/* The buffer lives until the job that uses it has ended. */
TEST_F(bo, closed_in_flight)
{
	struct trn_bo src, dst;
	unsigned int round;

	ASSERT_EQ(0, trn_host_new(self->fd, TRN_MIB(16), &dst));
	for (round = 0; round < 10; round++) {
		struct drm_trainium_op op;
		struct drm_trainium_submit job;
		__u32 other;

		ASSERT_EQ(0, trn_hbm_new(self->fd, 0, TRN_MIB(16), &src));
		ASSERT_EQ(0, trn_fill(self->fd, self->queue, src.handle, 0, src.size,
				      0x40 + round, 1));
		op = trn_op_copy(dst.handle, 0, src.handle, 0, src.size);
		job = trn_job(self->queue, &op, 1);
		ASSERT_EQ(0, trn_submit(self->fd, &job));
		trn_bo_put(self->fd, &src);
		/* Would be given the same memory, zeroed, were it free */
		ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(16), &other));
		ASSERT_EQ(0, trn_drain(self->fd, self->queue));
		EXPECT_EQ(-1, trn_check_byte(dst.map, dst.size, 0x40 + round));
		trn_close_handle(self->fd, other);
	}
}

struct user_args {
	char path[64];
	__u64 size;
};

/* HBM and host buffers are no pinned memory of the caller. */
static int alloc_without_memlock(void *arg)
{
	struct rlimit none = {};
	struct user_args *args = arg;
	__u32 handle;
	int fd;

	if (setrlimit(RLIMIT_MEMLOCK, &none) || trn_become_user())
		return 1;
	fd = open(args->path, O_RDWR);
	if (fd < 0)
		return 2;
	if (trn_bo_create(fd, TRAINIUM_BO_HBM, TRAINIUM_STACK_ANY, args->size, &handle))
		return 3;
	if (trn_bo_create(fd, TRAINIUM_BO_HOST, 0, args->size, &handle))
		return 4;
	return 0;
}

TEST_F(bo, user_without_memlock)
{
	struct user_args args = { .size = TRN_MIB(8) };

	ASSERT_EQ(0, trn_user_node(0, args.path, sizeof(args.path)));
	EXPECT_EQ(0, trn_in_child(alloc_without_memlock, &args));
	unlink(args.path);
}

TEST_HARNESS_MAIN
