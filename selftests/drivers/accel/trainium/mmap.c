// SPDX-License-Identifier: GPL-2.0-only
/* Mappings of buffers: HBM through BAR4 and host memory */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define SIZE TRN_KIB(256)

static sigjmp_buf fault_env;
static int fault_signal;

static void on_fault(int sig)
{
	__atomic_store_n(&fault_signal, sig, __ATOMIC_RELAXED);
	siglongjmp(fault_env, 1);
}

/* The signal that reading (or writing) a byte gives, 0 for none */
static int touch(__u8 *p, bool write)
{
	struct sigaction sa = { .sa_handler = on_fault };

	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	__atomic_store_n(&fault_signal, 0, __ATOMIC_RELAXED);
	if (!sigsetjmp(fault_env, 1)) {
		if (write)
			__atomic_store_n(p, 0x77, __ATOMIC_RELAXED);
		else
			__atomic_load_n(p, __ATOMIC_RELAXED);
	}
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return __atomic_load_n(&fault_signal, __ATOMIC_RELAXED);
}

FIXTURE(mmap) {
	int fd;
	__u32 queue;
	__u32 handle;
	__u64 offset;
	int log;
};

FIXTURE_VARIANT(mmap) {
	__u32 placement;
};

FIXTURE_VARIANT_ADD(mmap, hbm) {
	.placement = TRAINIUM_BO_HBM,
};

FIXTURE_VARIANT_ADD(mmap, host) {
	.placement = TRAINIUM_BO_HOST,
};

FIXTURE_SETUP(mmap)
{
	struct drm_trainium_bo_info info;

	self->log = trn_log_open();
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_bo_create(self->fd, variant->placement, 0, SIZE, &self->handle));
	ASSERT_EQ(0, trn_bo_info(self->fd, self->handle, &info));
	if (variant->placement == TRAINIUM_BO_HBM &&
	    !trn_has(self->fd, TRAINIUM_FEATURE_HBM_MMAP)) {
		EXPECT_EQ(0, info.mmap_offset);
		SKIP(return, "HBM cannot be mapped");
	}
	ASSERT_NE(0, info.mmap_offset);
	self->offset = info.mmap_offset;
}

FIXTURE_TEARDOWN(mmap)
{
	char line[1024];

	close(self->fd);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

static void *map(struct _test_data_mmap *self, __u64 size, __u64 extra)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		    self->offset + extra);
}

TEST_F(mmap, cpu_sees_dma)
{
	__u8 *p = map(self, SIZE, 0);

	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, trn_fill(self->fd, self->queue, self->handle, TRN_PAGE, TRN_PAGE,
			      0x1122334455667788ull, 8));
	EXPECT_EQ(-1, trn_check_byte(p, TRN_PAGE, 0));
	EXPECT_EQ(-1, trn_check_byte(p + 2 * TRN_PAGE, SIZE - 2 * TRN_PAGE, 0));
	EXPECT_EQ(0x88, p[TRN_PAGE]);
	EXPECT_EQ(0x11, p[2 * TRN_PAGE - 1]);
}

TEST_F(mmap, dma_sees_cpu)
{
	struct trn_bo back;
	__u8 *p = map(self, SIZE, 0);
	unsigned int round;

	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, trn_host_new(self->fd, SIZE, &back));
	for (round = 0; round < 16; round++) {
		trn_pattern(p, 0, SIZE, round);
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, back.handle, 0, self->handle, 0,
				      SIZE));
		ASSERT_EQ(-1, trn_check(back.map, 0, SIZE, round));
	}
}

TEST_F(mmap, two_mappings)
{
	__u8 *a = map(self, SIZE, 0), *b = map(self, SIZE, 0);

	ASSERT_NE(MAP_FAILED, a);
	ASSERT_NE(MAP_FAILED, b);
	a[12345] = 0x5a;
	__sync_synchronize();
	EXPECT_EQ(0x5a, b[12345]);
}

/* B1: the last page, and one more */
TEST_F(mmap, ends)
{
	struct trn_bo last;

	EXPECT_EQ(MAP_FAILED, map(self, SIZE + TRN_PAGE, 0));
	EXPECT_EQ(MAP_FAILED, map(self, 2 * TRN_PAGE, SIZE - TRN_PAGE));
	EXPECT_EQ(MAP_FAILED, map(self, TRN_GIB(1), 0));
	EXPECT_EQ(MAP_FAILED, map(self, 1ull << 46, 0));
	EXPECT_EQ(MAP_FAILED, map(self, 0, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, map(self, TRN_PAGE, 1));
	EXPECT_EQ(EINVAL, errno);

	ASSERT_EQ(0, trn_bo_new(self->fd, variant->placement, 0, TRN_PAGE, &last));
	ASSERT_NE(NULL, last.map);
	EXPECT_EQ(0, touch(last.map + TRN_PAGE - 1, true));
}

TEST_F(mmap, foreign_offsets)
{
	struct drm_trainium_bo_info info;
	int other = trn_open(0);
	unsigned int i;
	__u64 seed = 1;

	ASSERT_LE(0, other);
	/* Known to this file, not to the other one */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE, PROT_READ, MAP_SHARED, other, self->offset));
	EXPECT_TRUE(errno == EACCES || errno == EINVAL) TH_LOG("errno %d", errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, TRN_PAGE, PROT_READ, MAP_SHARED, self->fd, 0));
	/* Registers, rings, anything */
	for (i = 0; i < 1000; i++) {
		__u64 offset = trn_rand(&seed) >> (1 + trn_rand_below(&seed, 52));

		offset &= ~(TRN_PAGE - 1);
		if (offset >= self->offset && offset < self->offset + SIZE)
			continue;
		EXPECT_EQ(MAP_FAILED, mmap(NULL, TRN_PAGE, PROT_READ, MAP_SHARED, self->fd,
					   offset)) {
			TH_LOG("offset %llx could be mapped", offset);
		}
	}
	/* After close of the handle the offset is nobody's. */
	ASSERT_EQ(0, trn_bo_info(self->fd, self->handle, &info));
	ASSERT_EQ(0, trn_close_handle(self->fd, self->handle));
	EXPECT_EQ(MAP_FAILED, map(self, SIZE, 0));
	close(other);
}

TEST_F(mmap, outlives_handle_and_file)
{
	struct trn_bo next;
	__u8 *p = map(self, SIZE, 0);
	int fd = self->fd;

	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x3c, SIZE);
	ASSERT_EQ(0, trn_close_handle(fd, self->handle));
	/* The mapping holds the memory: nobody else is given it. */
	ASSERT_EQ(0, trn_bo_new(fd, variant->placement, 0, SIZE, &next));
	ASSERT_NE(NULL, next.map);
	memset(next.map, 0x11, SIZE);
	EXPECT_EQ(-1, trn_check_byte(p, SIZE, 0x3c));
	close(fd);
	EXPECT_EQ(-1, trn_check_byte(p, SIZE, 0x3c));
	EXPECT_EQ(0, touch(p, true));
	EXPECT_EQ(0, munmap(p, SIZE));
	self->fd = trn_open(0);
}

TEST_F(mmap, partial_unmap)
{
	__u8 *p = map(self, SIZE, 0);

	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x66, SIZE);
	ASSERT_EQ(0, munmap(p + TRN_PAGE, TRN_PAGE));
	EXPECT_EQ(0x66, p[0]);
	EXPECT_EQ(SIGSEGV, touch(p + TRN_PAGE, false));
	EXPECT_EQ(0x66, p[2 * TRN_PAGE]);
	ASSERT_EQ(0, munmap(p, TRN_PAGE));
	EXPECT_EQ(0x66, p[SIZE - 1]);
	ASSERT_EQ(0, munmap(p + 2 * TRN_PAGE, SIZE - 2 * TRN_PAGE));
}

TEST_F(mmap, middle)
{
	__u8 *all = map(self, SIZE, 0), *part;

	ASSERT_NE(MAP_FAILED, all);
	trn_pattern(all, 0, SIZE, 9);
	/* A mapping that starts inside the buffer: offsets are those of drm core */
	part = map(self, TRN_PAGE, SIZE / 2);
	if (part == MAP_FAILED) {
		EXPECT_EQ(EINVAL, errno);
		return;
	}
	EXPECT_EQ(-1, trn_check(part, SIZE / 2, TRN_PAGE, 9));
}

/* F15: no mremap, mprotect, fork or madvise may upset it */
TEST_F(mmap, mremap)
{
	__u8 *p = map(self, SIZE, 0), *q, *spot;

	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x21, SIZE);
	/* growing would show memory behind the buffer */
	EXPECT_EQ(MAP_FAILED, mremap(p, SIZE, 2 * SIZE, MREMAP_MAYMOVE));
	EXPECT_EQ(0x21, p[0]);
	/* moving is fine */
	spot = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, spot);
	q = mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, spot);
	ASSERT_EQ(spot, q);
	EXPECT_EQ(-1, trn_check_byte(q, SIZE, 0x21));
	EXPECT_EQ(SIGSEGV, touch(p, false));
	/* and so is shrinking */
	p = mremap(q, SIZE, TRN_PAGE, 0);
	ASSERT_EQ(q, p);
	EXPECT_EQ(0x21, p[TRN_PAGE - 1]);
	/* a copy of length 0, where the kernel allows it */
	q = mremap(p, 0, TRN_PAGE, MREMAP_MAYMOVE);
	if (q != MAP_FAILED) {
		EXPECT_EQ(0x21, q[0]);
		munmap(q, TRN_PAGE);
	}
	EXPECT_EQ(0, munmap(p, TRN_PAGE));
}

TEST_F(mmap, mprotect_madvise)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_WILLNEED, MADV_COLD,
		MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_MERGEABLE,
		MADV_HUGEPAGE, MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK,
	};
	__u8 *p = map(self, SIZE, 0);
	unsigned int i;

	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x21, SIZE);
	ASSERT_EQ(0, mprotect(p, TRN_PAGE, PROT_READ));
	EXPECT_EQ(SIGSEGV, touch(p, true));
	EXPECT_EQ(0, touch(p, false));
	ASSERT_EQ(0, mprotect(p, TRN_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, touch(p, true));
	p[0] = 0x21;
	/* Whatever each says, the contents stay. */
	for (i = 0; i < ARRAY_SIZE(advice); i++) {
		if (advice[i] == MADV_REMOVE && variant->placement == TRAINIUM_BO_HOST)
			continue;
		madvise(p, SIZE, advice[i]);
		ASSERT_EQ(-1, trn_check_byte(p, SIZE, 0x21)) {
			TH_LOG("lost by madvise %d", advice[i]);
		}
	}
	EXPECT_EQ(0, mlock(p, TRN_PAGE) && errno != EAGAIN && errno != EINVAL);
}

/* Copy on write of device memory cannot be; asking for it must not hurt */
TEST_F(mmap, private)
{
	__u8 *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd,
		       self->offset);
	pid_t pid;

	if (p == MAP_FAILED) {
		EXPECT_EQ(EINVAL, errno);
		return;
	}
	/* Allowed? Then a fault ends a child at worst, and leaks nothing. */
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		__atomic_load_n(p, __ATOMIC_RELAXED);
		__atomic_store_n(p, 1, __ATOMIC_RELAXED);
		_exit(0);
	}
	trn_reap(pid, TRN_PATIENCE);
	EXPECT_EQ(0, trn_fill(self->fd, self->queue, self->handle, 0, SIZE, 0, 1));
}

TEST_F(mmap, read_only)
{
	__u8 *p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, self->fd, self->offset);

	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(0, touch(p, false));
	EXPECT_EQ(SIGSEGV, touch(p, true));
}

TEST_F(mmap, fork)
{
	__u8 *p = map(self, SIZE, 0);
	pid_t pid;

	ASSERT_NE(MAP_FAILED, p);
	p[0] = 1;
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int ok = p[0] == 1;

		p[TRN_PAGE] = 2;
		munmap(p, TRN_PAGE);
		_exit(!ok);
	}
	ASSERT_EQ(0, trn_reap(pid, TRN_PATIENCE));
	EXPECT_EQ(1, p[0]);
	EXPECT_EQ(2, p[TRN_PAGE]);
}

/* The kernel itself goes through the mapping */
TEST_F(mmap, kernel_access)
{
	__u8 *p = map(self, SIZE, 0);
	int pipe_fd[2], mem;
	__u8 byte = 0;

	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x43, TRN_PAGE);
	ASSERT_EQ(0, pipe(pipe_fd));
	/* First touch of a page by copy_from_user and copy_to_user */
	EXPECT_EQ(100, write(pipe_fd[1], p + TRN_PAGE, 100));
	EXPECT_EQ(100, read(pipe_fd[0], p + 2 * TRN_PAGE, 100));
	EXPECT_EQ(0, p[2 * TRN_PAGE]);
	EXPECT_EQ(100, write(pipe_fd[1], p, 100));
	EXPECT_EQ(100, read(pipe_fd[0], p + 3 * TRN_PAGE, 100));
	EXPECT_EQ(0x43, p[3 * TRN_PAGE]);
	/* As a debugger does: works or fails, no more */
	mem = open("/proc/self/mem", O_RDWR);
	ASSERT_LE(0, mem);
	if (pread(mem, &byte, 1, (off_t)(uintptr_t)p) == 1)
		EXPECT_EQ(0x43, byte);
	close(mem);
}

TEST_F(mmap, as_argument)
{
	struct drm_trainium_query_device *d = map(self, SIZE, 0);
	struct drm_trainium_op *op;

	ASSERT_NE(MAP_FAILED, d);
	/* Results and ops in a mapping of the driver itself: no deadlock */
	ASSERT_EQ(0, trn_device(self->fd, d));
	EXPECT_EQ(2, d->generation);
	op = (void *)d + 2 * TRN_PAGE;
	*op = trn_op_fill(self->handle, 0, TRN_PAGE, 0x99, 1);
	ASSERT_EQ(0, trn_run(self->fd, self->queue, op, 1));
	EXPECT_EQ(0x99, *(__u8 *)d);
}

/* A mapping as the memory of a userptr buffer: refused or right, no crash */
TEST_F(mmap, as_userptr)
{
	__u8 *p = map(self, SIZE, 0);
	__u32 handle;
	int ret;

	ASSERT_NE(MAP_FAILED, p);
	if (!trn_has(self->fd, TRAINIUM_FEATURE_USERPTR))
		SKIP(return, "no userptr");
	memset(p, 0x17, SIZE);
	ret = trn_bo_userptr(self->fd, p, SIZE, 0, &handle);
	if (variant->placement == TRAINIUM_BO_HBM) {
		EXPECT_EQ(-EFAULT, ret);
	} else if (!ret) {
		EXPECT_EQ(0, trn_fill(self->fd, self->queue, handle, 0, SIZE, 0x18, 1));
		EXPECT_EQ(-1, trn_check_byte(p, SIZE, 0x18));
	} else {
		EXPECT_EQ(-EFAULT, ret);
	}
}

TEST_F(mmap, many)
{
	unsigned int i;
	__u8 *p;

	/* Up and down, with one page touched */
	for (i = 0; i < 500; i++) {
		p = map(self, SIZE, 0);
		ASSERT_NE(MAP_FAILED, p);
		p[i % SIZE] = i;
		ASSERT_EQ(0, munmap(p, SIZE));
	}
}

TEST_F(mmap, unmapped_during_job)
{
	struct trn_bo big;
	unsigned int round;

	for (round = 0; round < 10; round++) {
		struct drm_trainium_op op;
		struct drm_trainium_submit job;

		ASSERT_EQ(0, trn_bo_new(self->fd, variant->placement, 0, TRN_MIB(8), &big));
		ASSERT_NE(NULL, big.map);
		big.map[0] = 1;
		op = trn_op_fill(big.handle, 0, big.size, round, 1);
		job = trn_job(self->queue, &op, 1);
		ASSERT_EQ(0, trn_submit(self->fd, &job));
		trn_bo_put(self->fd, &big);
	}
	ASSERT_EQ(0, trn_drain(self->fd, self->queue));
}

TEST_HARNESS_MAIN
