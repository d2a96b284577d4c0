// SPDX-License-Identifier: GPL-2.0-only
/* TRAINIUM_BO_USERPTR: pages of the caller */
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_KIB(512)

FIXTURE(userptr) {
	int fd;
	__u32 queue;
	__u8 *mem;
	struct trn_bo hbm;
	int log;
};

static void *anonymous(__u64 size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static __u64 pinned_kib(void)
{
	return trn_number_in("/proc/self/status", "VmPin:");
}

static void expect_unpinned(struct __test_metadata *_metadata)
{
	__s64 end = trn_now() + trn_limit(2 * TRN_SEC);

	if (pinned_kib() == ~0ull)
		return;
	while (pinned_kib() && trn_now() < end)
		trn_sleep(TRN_MSEC);
	EXPECT_EQ(0, pinned_kib());
}

FIXTURE_SETUP(userptr)
{
	self->log = trn_log_open();
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	if (!trn_has(self->fd, TRAINIUM_FEATURE_USERPTR)) {
		__u32 handle;

		EXPECT_EQ(-EOPNOTSUPP, trn_bo_userptr(self->fd, self, TRN_PAGE, 0, &handle));
		SKIP(return, "no userptr");
	}
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_hbm_new(self->fd, 0, SIZE, &self->hbm));
	self->mem = anonymous(SIZE);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(userptr)
{
	char line[1024];

	/* A mapping would hold the file. */
	trn_bo_put(self->fd, &self->hbm);
	close(self->fd);
	/* All pins go with the file, those of ended jobs a little later. */
	expect_unpinned(_metadata);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F(userptr, both_ways)
{
	__u32 handle;

	trn_pattern(self->mem, 0, SIZE, 5);
	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem, SIZE, 0, &handle));
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 0, handle, 0, SIZE));
	memset(self->mem, 0, SIZE);
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, handle, 0, self->hbm.handle, 0, SIZE));
	EXPECT_EQ(-1, trn_check(self->mem, 0, SIZE, 5));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 100, 1000, 0x42, 1));
	EXPECT_EQ(-1, trn_check(self->mem, 0, 100, 5));
	EXPECT_EQ(-1, trn_check_byte(self->mem + 100, 1000, 0x42));
	EXPECT_EQ(-1, trn_check(self->mem + 1100, 1100, SIZE - 1100, 5));
}

/* What the CPU writes after the last job stays, whatever the memory's end does. */
TEST_F(userptr, written_after_last_job)
{
	__u32 handle;

	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem, SIZE, 0, &handle));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, SIZE, 0x42, 1));
	memset(self->mem, 0x43, SIZE);
	ASSERT_EQ(0, trn_close_handle(self->fd, handle));
	expect_unpinned(_metadata);
	EXPECT_EQ(-1, trn_check_byte(self->mem, SIZE, 0x43));
}

TEST_F(userptr, info)
{
	struct drm_trainium_bo_info info;
	__u32 handle;

	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem + 5, 1001, TRAINIUM_BO_F_READ_ONLY,
				    &handle));
	ASSERT_EQ(0, trn_bo_info(self->fd, handle, &info));
	EXPECT_EQ(1001, info.size);
	EXPECT_EQ(TRAINIUM_BO_USERPTR, info.placement);
	EXPECT_EQ(0, info.stack);
	EXPECT_EQ(0, info.mmap_offset);
	EXPECT_EQ(TRAINIUM_BO_F_READ_ONLY, info.flags);
}

/* Exact size at any address: not a byte around it changes */
TEST_F(userptr, unaligned)
{
	static const struct {
		__u64 at, size;
	} piece[] = {
		{ 0, 1 }, { 4095, 2 }, { 1, 4096 }, { 4095, 1 }, { 777, 100001 },
		{ 4096, 8192 }, { 65535, 65537 }, { 3, 8 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(piece); i++) {
		__u64 at = piece[i].at, size = piece[i].size;
		__u32 handle;

		trn_pattern(self->mem, 0, SIZE, i);
		ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem + at, size, 0, &handle));
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 7, handle, 0,
				      size));
		ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, size, 0xf0, 1));
		EXPECT_EQ(-1, trn_check(self->mem, 0, at, i));
		EXPECT_EQ(-1, trn_check_byte(self->mem + at, size, 0xf0));
		EXPECT_EQ(-1, trn_check(self->mem + at + size, at + size, SIZE - at - size, i));
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, handle, 0, self->hbm.handle, 7,
				      size));
		EXPECT_EQ(-1, trn_check(self->mem, 0, SIZE, i));
		/* The exact size is the bound. */
		EXPECT_EQ(-EINVAL, trn_fill(self->fd, self->queue, handle, 0, size + 1, 0, 1));
		EXPECT_EQ(-EINVAL, trn_fill(self->fd, self->queue, handle, size, 1, 0, 1));
		ASSERT_EQ(0, trn_close_handle(self->fd, handle));
	}
}

TEST_F(userptr, read_only)
{
	const struct drm_trainium_op into = trn_op_fill(0, 0, TRN_PAGE, 0, 1);
	struct drm_trainium_op op;
	__u32 handle;
	void *ro;

	trn_pattern(self->mem, 0, SIZE, 1);
	ASSERT_EQ(0, mprotect(self->mem, SIZE, PROT_READ));
	ro = self->mem;
	/* Memory that the caller itself may not write */
	EXPECT_EQ(-EFAULT, trn_bo_userptr(self->fd, ro, SIZE, 0, &handle));
	ASSERT_EQ(0, trn_bo_userptr(self->fd, ro, SIZE, TRAINIUM_BO_F_READ_ONLY, &handle));
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 0, handle, 0, SIZE));
	if (self->hbm.map)
		EXPECT_EQ(-1, trn_check(self->hbm.map, 0, SIZE, 1));

	/* The device writes it neither. */
	op = into;
	op.dst = handle;
	EXPECT_EQ(-EINVAL, trn_run(self->fd, self->queue, &op, 1));
	EXPECT_EQ(-EINVAL, trn_copy(self->fd, self->queue, handle, 0, self->hbm.handle, 0,
				    TRN_PAGE));
	EXPECT_EQ(-1, trn_check(self->mem, 0, SIZE, 1));
}

TEST_F(userptr, bad_ranges)
{
	__u8 *gap = anonymous(3 * TRN_PAGE);
	__u8 *none = mmap(NULL, TRN_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct {
		__u64 at, size;
	} bad[] = {
		{ trn_ptr(gap) + TRN_PAGE, TRN_PAGE },
		{ trn_ptr(gap), 2 * TRN_PAGE },
		{ trn_ptr(gap), 3 * TRN_PAGE },
		{ trn_ptr(gap) + TRN_PAGE - 1, 2 },
		{ trn_ptr(none), TRN_PAGE },
		{ TRN_PAGE, TRN_PAGE },
		{ 0xffff888000000000ull, TRN_PAGE },
		{ 0xffffffff81000000ull, TRN_PAGE },
		{ 0x00007ffffffff000ull, TRN_PAGE },
		{ 0x8000000000000000ull, TRN_PAGE },
	}, wrap[] = {
		{ ~0ull, 2 },
		{ ~0ull - 4095, 8192 },
		{ trn_ptr(gap), ~0ull },
		{ trn_ptr(gap), ~0ull - trn_ptr(gap) + 1 },
		{ trn_ptr(gap), 1ull << 63 },
		{ trn_ptr(gap) + 1, ~0ull - 4095 },
	};
	unsigned int i;
	__u32 handle;
	int ret;

	ASSERT_NE(MAP_FAILED, gap);
	ASSERT_NE(MAP_FAILED, none);
	ASSERT_EQ(0, munmap(gap + TRN_PAGE, TRN_PAGE));

	EXPECT_EQ(-EINVAL, trn_bo_userptr(self->fd, self->mem, 0, 0, &handle));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EFAULT, trn_bo_userptr(self->fd, (void *)bad[i].at, bad[i].size, 0,
						  &handle)) {
			TH_LOG("%llx + %llx", bad[i].at, bad[i].size);
		}
	}
	for (i = 0; i < ARRAY_SIZE(wrap); i++) {
		ret = trn_bo_userptr(self->fd, (void *)wrap[i].at, wrap[i].size, 0, &handle);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM) {
			TH_LOG("%llx + %llx: %d", wrap[i].at, wrap[i].size, ret);
		}
	}
}

TEST_F(userptr, bad_arguments)
{
	struct drm_trainium_bo_create args;
	const struct drm_trainium_bo_create good = {
		.size = SIZE,
		.placement = TRAINIUM_BO_USERPTR,
		.userptr = trn_ptr(self->mem),
	};

#define TRY(field, value) ({ \
	args = good; \
	args.field = (value); \
	trn_ioctl(self->fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &args); \
})
	EXPECT_EQ(-EINVAL, TRY(flags, TRAINIUM_BO_F_CPU_VISIBLE));
	EXPECT_EQ(-EINVAL, TRY(flags, 1u << 2));
	EXPECT_EQ(-EINVAL, TRY(flags, ~0u));
	EXPECT_EQ(-EINVAL, TRY(stack, 1));
	EXPECT_EQ(-EINVAL, TRY(stack, TRAINIUM_STACK_ANY));
	EXPECT_EQ(-EINVAL, TRY(alignment, TRN_PAGE));
	EXPECT_EQ(0, TRY(flags, 0));
#undef TRY
}

/* Never touched memory is populated, not refused. */
TEST_F(userptr, untouched)
{
	__u8 *fresh = anonymous(SIZE);
	__u32 handle;

	ASSERT_NE(MAP_FAILED, fresh);
	ASSERT_EQ(0, trn_bo_userptr(self->fd, fresh, SIZE, 0, &handle));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, SIZE, 0x0a, 1));
	EXPECT_EQ(-1, trn_check_byte(fresh, SIZE, 0x0a));
	munmap(fresh, SIZE);
}

/* The same pages in several buffers, and parts of each other */
TEST_F(userptr, overlapping)
{
	__u32 all, part, again;

	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem, SIZE, 0, &all));
	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem + 100, 5000, 0, &part));
	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem, SIZE, 0, &again));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, all, 0, SIZE, 1, 1));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, part, 0, 5000, 2, 1));
	EXPECT_EQ(-1, trn_check_byte(self->mem, 100, 1));
	EXPECT_EQ(-1, trn_check_byte(self->mem + 100, 5000, 2));
	EXPECT_EQ(-1, trn_check_byte(self->mem + 5100, SIZE - 5100, 1));
	ASSERT_EQ(0, trn_close_handle(self->fd, all));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, again, 0, SIZE, 3, 1));
	EXPECT_EQ(-1, trn_check_byte(self->mem, SIZE, 3));
}

TEST_F(userptr, shared_and_file_memory)
{
	__u8 *shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	int memfd = memfd_create("userptr", 0);
	__u8 *file;
	__u32 handle;

	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_LE(0, memfd);
	ASSERT_EQ(0, ftruncate(memfd, SIZE));
	file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	ASSERT_NE(MAP_FAILED, file);

	ASSERT_EQ(0, trn_bo_userptr(self->fd, shared, SIZE, 0, &handle));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, SIZE, 0x31, 1));
	EXPECT_EQ(-1, trn_check_byte(shared, SIZE, 0x31));
	ASSERT_EQ(0, trn_bo_userptr(self->fd, file, SIZE, 0, &handle));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, SIZE, 0x32, 1));
	EXPECT_EQ(-1, trn_check_byte(file, SIZE, 0x32));
	/* Past the end of a file there is no page. */
	ASSERT_EQ(0, ftruncate(memfd, TRN_PAGE));
	EXPECT_EQ(-EFAULT, trn_bo_userptr(self->fd, file, SIZE, 0, &handle));
}

/* The program unmaps its memory: the pages live on until the buffer goes */
TEST_F(userptr, unmapped_in_use)
{
	unsigned int round;

	for (round = 0; round < 20; round++) {
		__u8 *mem = anonymous(TRN_MIB(4)), *next;
		struct drm_trainium_submit job;
		struct drm_trainium_op op;
		__u32 handle;

		ASSERT_NE(MAP_FAILED, mem);
		ASSERT_EQ(0, trn_bo_userptr(self->fd, mem, TRN_MIB(4), 0, &handle));
		op = trn_op_fill(handle, 0, TRN_MIB(4), 0xbad0bad0bad0bad0ull, 8);
		job = trn_job(self->queue, &op, 1);
		ASSERT_EQ(0, trn_submit(self->fd, &job));
		ASSERT_EQ(0, munmap(mem, TRN_MIB(4)));
		/* New memory, perhaps at the same address, is not written. */
		next = anonymous(TRN_MIB(4));
		ASSERT_NE(MAP_FAILED, next);
		memset(next, 0x19, TRN_MIB(4));
		if (round % 2)
			ASSERT_EQ(0, trn_close_handle(self->fd, handle));
		ASSERT_EQ(0, trn_drain(self->fd, self->queue));
		EXPECT_EQ(-1, trn_check_byte(next, TRN_MIB(4), 0x19));
		munmap(next, TRN_MIB(4));
	}
}

/* The file shrinks, gets a hole, the memory is given up: the device keeps its pages. */
TEST_F(userptr, truncated_in_use)
{
	int memfd = memfd_create("userptr", 0);
	__u32 handle, other;
	__u8 *file;

	ASSERT_LE(0, memfd);
	ASSERT_EQ(0, ftruncate(memfd, SIZE));
	file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	ASSERT_NE(MAP_FAILED, file);
	trn_pattern(file, 0, SIZE, 8);
	trn_pattern(self->mem, 0, SIZE, 9);
	ASSERT_EQ(0, trn_bo_userptr(self->fd, file, SIZE, 0, &handle));
	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem, SIZE, 0, &other));
	ASSERT_EQ(0, fallocate(memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, SIZE / 4,
			       SIZE / 4));
	ASSERT_EQ(0, ftruncate(memfd, SIZE / 2));
	ASSERT_EQ(0, madvise(self->mem, SIZE, MADV_DONTNEED));
	/* What it has is still there to be read ... */
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 0, handle, 0, SIZE));
	if (self->hbm.map)
		EXPECT_EQ(-1, trn_check(self->hbm.map, 0, SIZE, 8));
	/* ... and written, which nobody else sees. */
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, SIZE / 4, SIZE * 3 / 4, 0xbb, 1));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, other, 0, SIZE, 0xbb, 1));
	ASSERT_EQ(0, ftruncate(memfd, SIZE));
	EXPECT_EQ(-1, trn_check(file, 0, SIZE / 4, 8));
	EXPECT_EQ(-1, trn_check_byte(file + SIZE / 4, SIZE * 3 / 4, 0));
	EXPECT_EQ(-1, trn_check_byte(self->mem, SIZE, 0));
	munmap(file, SIZE);
	close(memfd);
}

/* Memory of the device is not memory of the program, mapped or not. */
TEST_F(userptr, device_memory)
{
	__u32 handle;

	if (!self->hbm.map)
		SKIP(return, "HBM cannot be mapped");
	EXPECT_EQ(-EFAULT, trn_bo_userptr(self->fd, self->hbm.map, TRN_PAGE, 0, &handle));
	EXPECT_EQ(-EFAULT, trn_bo_userptr(self->fd, self->hbm.map + TRN_PAGE, TRN_PAGE,
					  TRAINIUM_BO_F_READ_ONLY, &handle));
}

TEST_F(userptr, fork_keeps_parent)
{
	__u32 handle;
	pid_t pid;

	trn_pattern(self->mem, 0, SIZE, 2);
	ASSERT_EQ(0, trn_bo_userptr(self->fd, self->mem, SIZE, 0, &handle));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		memset(self->mem, 0xcc, SIZE);
		_exit(0);
	}
	ASSERT_EQ(0, trn_reap(pid, TRN_PATIENCE));
	/* The parent writes again: still the pages the device knows */
	trn_pattern(self->mem, 0, SIZE, 3);
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->hbm.handle, 0, handle, 0, SIZE));
	if (self->hbm.map)
		EXPECT_EQ(-1, trn_check(self->hbm.map, 0, SIZE, 3));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, SIZE, 0x44, 1));
	EXPECT_EQ(-1, trn_check_byte(self->mem, SIZE, 0x44));
}

TEST_F(userptr, pins_are_returned)
{
	__u64 free_before, free_after;
	unsigned int i;

	memset(self->mem, 1, SIZE);
	free_before = trn_number_in("/proc/meminfo", "MemAvailable:");
	for (i = 0; i < 150; i++) {
		__u8 *mem = anonymous(TRN_MIB(1));
		__u32 handle;

		ASSERT_NE(MAP_FAILED, mem);
		ASSERT_EQ(0, trn_bo_userptr(self->fd, mem, TRN_MIB(1), 0, &handle));
		ASSERT_EQ(0, trn_close_handle(self->fd, handle));
		ASSERT_EQ(0, munmap(mem, TRN_MIB(1)));
	}
	free_after = trn_number_in("/proc/meminfo", "MemAvailable:");
	/* KiB: a tenth of what went through would show a leak. */
	EXPECT_LE(free_before, free_after + 15 * 1024);
	expect_unpinned(_metadata);
}

struct limit_args {
	char path[64];
	__u8 *mem;
};

/* F7: what a user pins counts, is limited, and is given back */
static int pin_as_user(void *arg)
{
	struct limit_args *args = arg;
	struct rlimit limit = { .rlim_cur = TRN_KIB(64), .rlim_max = TRN_KIB(64) };
	__u32 handle;
	int fd, i;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || trn_become_user())
		return 1;
	fd = open(args->path, O_RDWR);
	if (fd < 0)
		return 2;
	if (trn_bo_userptr(fd, args->mem, TRN_KIB(256), 0, &handle) != -ENOMEM)
		return 3;
	/* Nothing of a refused one stays counted. */
	for (i = 0; i < 32; i++) {
		if (trn_bo_userptr(fd, args->mem, TRN_KIB(48), 0, &handle))
			return 4;
		if (trn_close_handle(fd, handle))
			return 5;
	}
	if (trn_bo_userptr(fd, args->mem, TRN_KIB(48), 0, &handle))
		return 6;
	/* Over all buffers of the process, not for each of them */
	if (trn_bo_userptr(fd, args->mem + TRN_KIB(64), TRN_KIB(48), 0, &handle) != -ENOMEM)
		return 7;
	return 0;
}

TEST_F(userptr, memlock_limit)
{
	struct limit_args args = { .mem = self->mem };

	memset(self->mem, 1, SIZE);
	ASSERT_EQ(0, trn_user_node(0, args.path, sizeof(args.path)));
	EXPECT_EQ(0, trn_in_child(pin_as_user, &args));
	unlink(args.path);
}

/* More pages than a small allocation could list */
TEST_F_TIMEOUT(userptr, large, 60)
{
	__u64 size = TRN_MIB(128);
	__u8 *mem = anonymous(size);
	__u32 handle, hbm;

	ASSERT_NE(MAP_FAILED, mem);
	trn_pattern(mem, 0, size, 11);
	ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 1, size, &hbm));
	ASSERT_EQ(0, trn_bo_userptr(self->fd, mem, size, 0, &handle));
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, hbm, 0, handle, 0, size));
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, size, 0, 1));
	EXPECT_EQ(-1, trn_check_byte(mem, size, 0));
	ASSERT_EQ(0, trn_copy(self->fd, self->queue, handle, 0, hbm, 0, size));
	EXPECT_EQ(-1, trn_check(mem, 0, size, 11));
}

TEST_HARNESS_MAIN
