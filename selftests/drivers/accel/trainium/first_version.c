// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program of uapi 1.0: built against the header of that version in v1/, for
 * 64 bit and as first_version32 for 32 bit, and expected to work for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <drm/trainium_accel.h>

#include "kselftest_harness.h"

#define SIZE		0x100000u
#define SECOND		1000000000ll

static int call(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

static __s64 deadline(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec + 20 * SECOND;
}

FIXTURE(first_version) {
	int fd;
	__u32 queue;
};

FIXTURE_SETUP(first_version)
{
	struct drm_trainium_queue_create create = { .stack = TRAINIUM_STACK_ANY };

	self->fd = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &create));
	ASSERT_NE(0, create.queue);
	self->queue = create.queue;
}

FIXTURE_TEARDOWN(first_version)
{
	struct drm_trainium_queue_destroy destroy = { .queue = self->queue };

	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_TRAINIUM_QUEUE_DESTROY, &destroy));
	close(self->fd);
}

static int buffer(int fd, __u32 placement, __u32 *handle)
{
	struct drm_trainium_bo_create create = {
		.size = SIZE,
		.placement = placement,
		.stack = placement == TRAINIUM_BO_HBM ? TRAINIUM_STACK_ANY : 0,
	};
	int ret = call(fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &create);

	*handle = create.handle;
	return ret;
}

static void *map(int fd, __u32 handle)
{
	struct drm_trainium_bo_info info = { .handle = handle };
	void *p;

	if (call(fd, DRM_IOCTL_TRAINIUM_BO_INFO, &info) || !info.mmap_offset)
		return NULL;
	/* 64-bit offsets also where off_t would have 32 */
	p = mmap64(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, info.mmap_offset);
	return p == MAP_FAILED ? NULL : p;
}

TEST_F(first_version, query)
{
	struct drm_trainium_query_device device = {};
	struct drm_trainium_query_memory memory = {};
	struct drm_trainium_query query = {
		.type = TRAINIUM_QUERY_DEVICE,
		.size = sizeof(device),
		.data = (uintptr_t)&device,
	};

	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_TRAINIUM_QUERY, &query));
	EXPECT_LE(sizeof(device), query.size);
	EXPECT_EQ(1, device.uapi_major);
	EXPECT_EQ(0, strncmp(device.name, "trainium", 8));
	EXPECT_LT(0, device.num_stacks);
	query = (struct drm_trainium_query) {
		.type = TRAINIUM_QUERY_MEMORY,
		.size = sizeof(memory),
		.data = (uintptr_t)&memory,
	};
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_TRAINIUM_QUERY, &query));
	EXPECT_LE(memory.free, memory.size);
	EXPECT_EQ(device.hbm_size, memory.size * device.num_stacks);
}

TEST_F(first_version, copy)
{
	struct drm_trainium_submit submit = {
		.queue = self->queue,
		.op_stride = sizeof(struct drm_trainium_op),
		.flags = TRAINIUM_SUBMIT_WAIT,
	};
	struct drm_trainium_op ops[2];
	__u32 hbm, in, out, i;
	__u32 *from, *to;

	ASSERT_EQ(0, buffer(self->fd, TRAINIUM_BO_HBM, &hbm));
	ASSERT_EQ(0, buffer(self->fd, TRAINIUM_BO_HOST, &in));
	ASSERT_EQ(0, buffer(self->fd, TRAINIUM_BO_HOST, &out));
	from = map(self->fd, in);
	to = map(self->fd, out);
	ASSERT_TRUE(from && to);
	for (i = 0; i < SIZE / 4; i++)
		from[i] = i * 2654435761u;
	memset(ops, 0, sizeof(ops));
	ops[0] = (struct drm_trainium_op) {
		.type = TRAINIUM_OP_COPY, .dst = hbm, .src = in, .size = SIZE,
	};
	ops[1] = (struct drm_trainium_op) {
		.type = TRAINIUM_OP_COPY, .flags = TRAINIUM_OP_F_BARRIER,
		.dst = out, .src = hbm, .size = SIZE,
	};
	submit.ops = (uintptr_t)ops;
	submit.op_count = 2;
	submit.deadline_ns = deadline();
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_TRAINIUM_SUBMIT, &submit));
	EXPECT_EQ(TRAINIUM_STATUS_DONE, submit.status);
	EXPECT_EQ(0, memcmp(from, to, SIZE));
	munmap(from, SIZE);
	munmap(to, SIZE);
}

/* What was refused when it meant nothing is still refused. */
TEST_F(first_version, refusals)
{
	struct drm_trainium_op op = { .type = TRAINIUM_OP_COPY };
	struct drm_trainium_submit submit = {
		.queue = self->queue,
		.op_stride = sizeof(op),
		.ops = (uintptr_t)&op,
		.op_count = 1,
	};

	ASSERT_EQ(0, buffer(self->fd, TRAINIUM_BO_HBM, &op.dst));
	ASSERT_EQ(0, buffer(self->fd, TRAINIUM_BO_HBM, &op.src));
	/* No bytes, an op that is none, a flag that is none */
	EXPECT_EQ(-EINVAL, call(self->fd, DRM_IOCTL_TRAINIUM_SUBMIT, &submit));
	op.size = 4096;
	op.type = 1000;
	EXPECT_EQ(-EINVAL, call(self->fd, DRM_IOCTL_TRAINIUM_SUBMIT, &submit));
	op.type = TRAINIUM_OP_COPY;
	op.flags = 0x80000000;
	EXPECT_EQ(-EINVAL, call(self->fd, DRM_IOCTL_TRAINIUM_SUBMIT, &submit));
	submit.queue = ~0u;
	EXPECT_EQ(-ENOENT, call(self->fd, DRM_IOCTL_TRAINIUM_SUBMIT, &submit));
}

TEST_HARNESS_MAIN
