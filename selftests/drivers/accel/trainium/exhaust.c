// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stack of HBM to its last page, and back. Meant for a chip with small
 * stacks: all of each stack is written.
 */
#include <fcntl.h>

#include "kselftest_harness.h"
#include "trainium_util.h"

#define MAX_BOS 65536

FIXTURE(exhaust) {
	int fd;
	__u32 queue;
	struct drm_trainium_query_device device;
	struct trn_snapshot base;
	struct trn_bo bounce;
};

FIXTURE_SETUP(exhaust)
{
	self->fd = trn_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, trn_device(self->fd, &self->device));
	if (self->device.hbm_size > TRN_GIB(1)) {
		/* Filling 96 GiB would commit as much of the host's memory. */
		SKIP(return, "the chip has more than 1 GiB of HBM");
	}
	ASSERT_EQ(0, trn_queue_create(self->fd, TRAINIUM_STACK_ANY, 0, &self->queue));
	ASSERT_EQ(0, trn_host_new(self->fd, TRN_MIB(1), &self->bounce));
	ASSERT_EQ(0, trn_snapshot(self->fd, &self->base));
}

FIXTURE_TEARDOWN(exhaust)
{
	trn_bo_put(self->fd, &self->bounce);
	close(self->fd);
}

static __u32 handle[MAX_BOS];

/* Buffers of @size until the stack has none, or @max */
static unsigned int take_all(int fd, unsigned int stack, __u64 size, int *last)
{
	unsigned int n = 0;

	while (n < MAX_BOS) {
		*last = trn_bo_create(fd, TRAINIUM_BO_HBM, stack, size, &handle[n]);
		if (*last)
			break;
		n++;
	}
	return n;
}

static void give_all(int fd, unsigned int n)
{
	while (n)
		trn_close_handle(fd, handle[--n]);
}

TEST_F(exhaust, whole_stack_in_one)
{
	unsigned int s;

	for (s = 0; s < self->device.num_stacks; s++) {
		__u64 size = self->base.largest[s];
		struct drm_trainium_query_memory m;
		__u32 bo, more;

		ASSERT_EQ(self->base.free[s], size);
		ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, s, size, &bo));
		ASSERT_EQ(0, trn_memory(self->fd, s, &m));
		EXPECT_EQ(0, m.free);
		EXPECT_EQ(0, m.largest_free);
		EXPECT_EQ(-ENOSPC, trn_bo_create(self->fd, TRAINIUM_BO_HBM, s, 1, &more));
		ASSERT_EQ(0, trn_close_handle(self->fd, bo));
		EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
		/* One page more than all of it */
		EXPECT_EQ(-ENOSPC, trn_bo_create(self->fd, TRAINIUM_BO_HBM, s,
						 size + TRN_PAGE, &more));
	}
}

TEST_F_TIMEOUT(exhaust, stack_in_pieces, 60)
{
	static const __u64 sizes[] = { TRN_KIB(16), TRN_KIB(256), TRN_MIB(3) };
	struct drm_trainium_query_memory m;
	unsigned int i, s, n;
	int ret;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		s = i % self->device.num_stacks;
		n = take_all(self->fd, s, sizes[i], &ret);
		EXPECT_EQ(-ENOSPC, ret);
		EXPECT_EQ(self->base.largest[s] / sizes[i], n);
		ASSERT_EQ(0, trn_memory(self->fd, s, &m));
		EXPECT_EQ(self->base.free[s] - n * sizes[i], m.free);
		EXPECT_EQ(self->base.bo_count[s] + n, m.bo_count);
		EXPECT_GT(sizes[i], m.largest_free);
		/* The others have not lost a byte. */
		ASSERT_EQ(0, trn_memory(self->fd, (s + 1) % self->device.num_stacks, &m));
		EXPECT_EQ(self->base.free[(s + 1) % self->device.num_stacks], m.free);
		give_all(self->fd, n);
		EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
	}
}

/* "Any" goes on where a stack is full. */
TEST_F_TIMEOUT(exhaust, any_uses_all_stacks, 60)
{
	unsigned int i, s, n;
	__u64 want = 0;
	int ret;

	for (s = 0; s < self->device.num_stacks; s++)
		want += self->base.largest[s] / TRN_MIB(1);
	n = take_all(self->fd, TRAINIUM_STACK_ANY, TRN_MIB(1), &ret);
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(want, n);
	for (i = 0; i < n; i += 7)
		ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle[i], 0, 64, i, 8));
	give_all(self->fd, n);
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
}

/* Every other buffer freed: much is free, but in pieces */
TEST_F(exhaust, fragmented)
{
	struct drm_trainium_query_memory m;
	unsigned int i, n;
	__u32 bo;
	int ret;

	n = take_all(self->fd, 0, TRN_MIB(1), &ret);
	ASSERT_LT(8, n);
	for (i = 0; i < n; i += 2)
		ASSERT_EQ(0, trn_close_handle(self->fd, handle[i]));
	ASSERT_EQ(0, trn_memory(self->fd, 0, &m));
	EXPECT_LE((n + 1) / 2 * TRN_MIB(1), m.free);
	EXPECT_GT(TRN_MIB(2), m.largest_free);
	EXPECT_EQ(-ENOSPC, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, TRN_MIB(2), &bo));
	/* What is said to be the largest can be had. */
	EXPECT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, 0, m.largest_free, &bo));
	trn_close_handle(self->fd, bo);
	for (i = 1; i < n; i += 2)
		ASSERT_EQ(0, trn_close_handle(self->fd, handle[i]));
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
}

/* The same bytes again: none of the former user's is left */
TEST_F_TIMEOUT(exhaust, zeroed_everywhere, 60)
{
	unsigned int round, s;
	__u64 at;
	__u32 bo;

	for (s = 0; s < self->device.num_stacks; s++) {
		__u64 size = self->base.largest[s];

		for (round = 0; round < 2; round++) {
			ASSERT_EQ(0, trn_bo_create(self->fd, TRAINIUM_BO_HBM, s, size, &bo));
			for (at = 0; at < size; at += TRN_MIB(1)) {
				__u64 len = size - at < TRN_MIB(1) ? size - at : TRN_MIB(1);

				ASSERT_EQ(0, trn_copy(self->fd, self->queue,
						      self->bounce.handle, 0, bo, at, len));
				ASSERT_EQ(-1, trn_check_byte(self->bounce.map, len, 0)) {
					TH_LOG("stack %u, near %llx", s, at);
				}
			}
			ASSERT_EQ(0, trn_fill(self->fd, self->queue, bo, 0, size, 0xee, 1));
			ASSERT_EQ(0, trn_close_handle(self->fd, bo));
		}
	}
}

/* B1: the last page of the window */
TEST_F(exhaust, last_page_of_stack)
{
	unsigned int s;

	if (!(self->device.features & TRAINIUM_FEATURE_HBM_MMAP))
		SKIP(return, "HBM cannot be mapped");
	for (s = 0; s < self->device.num_stacks; s++) {
		__u64 size = self->base.largest[s];
		struct trn_bo bo;

		ASSERT_EQ(0, trn_hbm_new(self->fd, s, size, &bo));
		ASSERT_NE(NULL, bo.map);
		bo.map[size - 1] = 0x77;
		ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->bounce.handle, 0, bo.handle,
				      size - TRN_PAGE, TRN_PAGE));
		EXPECT_EQ(0x77, self->bounce.map[TRN_PAGE - 1]);
		EXPECT_EQ(-1, trn_check_byte(self->bounce.map, TRN_PAGE - 1, 0));
		/* The byte after the last one is nobody's. */
		EXPECT_EQ(-EINVAL, trn_copy(self->fd, self->queue, self->bounce.handle, 0,
					    bo.handle, size - TRN_PAGE, TRN_PAGE + 1));
		trn_bo_put(self->fd, &bo);
	}
}

/* Buffers at both ends of a stack do not wrap into each other or others. */
TEST_F(exhaust, neighbours)
{
	unsigned int i, n;
	int ret;

	n = take_all(self->fd, 1, TRN_MIB(1), &ret);
	ASSERT_LT(3, n);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, trn_fill(self->fd, self->queue, handle[i], 0, TRN_MIB(1), i, 4));
	for (i = 0; i < n; i++) {
		__u32 *word = (void *)self->bounce.map;
		unsigned int k;

		ASSERT_EQ(0, trn_copy(self->fd, self->queue, self->bounce.handle, 0, handle[i],
				      0, TRN_MIB(1)));
		for (k = 0; k < TRN_MIB(1) / 4; k++)
			if (word[k] != i)
				break;
		ASSERT_EQ(TRN_MIB(1) / 4, k) TH_LOG("buffer %u, word %u", i, k);
	}
	give_all(self->fd, n);
}

/* The one who filled it up is killed: all is there for the next */
TEST_F(exhaust, recovered_from_killed)
{
	int ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = trn_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = trn_open(0), last;
		unsigned int s;

		for (s = 0; s < self->device.num_stacks; s++)
			take_all(fd, s, TRN_MIB(1), &last);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_NE(NULL, trn_settle(self->fd, &self->base, 0));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(128 + SIGKILL, trn_reap(pid, TRN_PATIENCE));
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
}

/* Two processes want the last piece: one gets it, nothing is lost */
TEST_F_TIMEOUT(exhaust, contended, 60)
{
	unsigned int p, round;
	pid_t pid[3];

	for (p = 0; p < ARRAY_SIZE(pid); p++) {
		pid[p] = trn_fork();
		ASSERT_LE(0, pid[p]);
		if (!pid[p]) {
			int fd = trn_open(0), last;

			for (round = 0; round < 5; round++) {
				unsigned int n = take_all(fd, 2, TRN_MIB(2), &last);

				if (last != -ENOSPC)
					_exit(1);
				give_all(fd, n);
			}
			_exit(0);
		}
	}
	for (p = 0; p < ARRAY_SIZE(pid); p++)
		EXPECT_EQ(0, trn_reap(pid[p], trn_limit(30 * TRN_SEC)));
	EXPECT_EQ(NULL, trn_settle(self->fd, &self->base, TRN_SEC));
}

TEST_HARNESS_MAIN
