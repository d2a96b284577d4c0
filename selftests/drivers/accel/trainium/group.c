// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: multicast and reduction in the network. All chips of the guest that
 * have a fabric become members.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "trainium_fabric_util.h"
#include "trainium_fault_util.h"

#define SIZE TRN_KIB(64)
#define MAX_CHIPS 16u

FIXTURE(group) {
	unsigned int num;
	int fd[MAX_CHIPS];
	__u32 queue[MAX_CHIPS];
	struct trn_bo bo[MAX_CHIPS];
	struct drm_trainium_query_fabric f;
	__u32 id;
	__u64 key;
	/* Of chip 0: stands for all */
	__u32 all;
	int log;
};

/* A mapping would keep the file open. */
static void close_chip(struct _test_data_group *self, unsigned int chip)
{
	trn_bo_put(self->fd[chip], &self->bo[chip]);
	close(self->fd[chip]);
}

static int group_call(int fd, struct drm_trainium_fabric_group *call)
{
	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_FABRIC_GROUP, call);
}

/* An op of a group that needs no more than its name */
static int group_op(struct _test_data_group *self, unsigned int chip, __u32 op, __u32 count)
{
	struct drm_trainium_fabric_group call = {
		.op = op, .group = self->id, .key = self->key, .count = count,
	};

	return group_call(self->fd[chip], &call);
}

static int group_bind(struct _test_data_group *self, unsigned int chip, __u32 slot,
		      __u64 offset, __u64 size)
{
	struct drm_trainium_fabric_group call = {
		.op = TRAINIUM_GROUP_BIND, .group = self->id, .key = self->key,
		.count = slot, .handle = self->bo[chip].handle, .offset = offset, .size = size,
	};

	return group_call(self->fd[chip], &call);
}

static int group_map(struct _test_data_group *self, unsigned int chip, __u32 slot, __u64 size,
		     __u32 *handle)
{
	struct drm_trainium_fabric_group call = {
		.op = TRAINIUM_GROUP_MAP, .group = self->id, .key = self->key,
		.count = slot, .size = size,
	};
	int ret = group_call(self->fd[chip], &call);

	*handle = call.handle;
	return ret;
}

static int group_state(struct _test_data_group *self, unsigned int chip, __u32 *state)
{
	struct drm_trainium_fabric_group call = {
		.op = TRAINIUM_GROUP_QUERY, .group = self->id, .key = self->key,
	};
	int ret = group_call(self->fd[chip], &call);

	*state = call.state;
	return ret;
}

FIXTURE_SETUP(group)
{
	struct drm_trainium_fabric_group create = { .op = TRAINIUM_GROUP_CREATE };
	struct drm_trainium_bo_create create_bo = {
		.size = SIZE, .placement = TRAINIUM_BO_HBM, .stack = TRAINIUM_STACK_ANY,
		.flags = TRAINIUM_BO_F_CPU_VISIBLE,
	};
	__u32 state;
	unsigned int i;

	self->log = trn_log_open();
	self->num = trn_num_devices();
	if (self->num > MAX_CHIPS)
		self->num = MAX_CHIPS;
	for (i = 0; i < self->num; i++) {
		self->fd[i] = trn_open(i);
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, trn_fabric(self->fd[i], &self->f));
		ASSERT_EQ(0, trn_queue_create(self->fd[i], TRAINIUM_STACK_ANY, 1,
					      &self->queue[i]));
		create_bo.alignment = self->f.group_granule;
		ASSERT_EQ(0, trn_ioctl(self->fd[i], DRM_IOCTL_TRAINIUM_BO_CREATE, &create_bo));
		self->bo[i].handle = create_bo.handle;
		self->bo[i].size = SIZE;
		self->bo[i].map = trn_map(self->fd[i], create_bo.handle, SIZE);
	}
	if (self->num < 2 || !(self->f.caps & TRAINIUM_FABRIC_CAP_MULTICAST))
		SKIP(return, "the fabric has no groups");

	create.count = self->num;
	ASSERT_EQ(0, group_call(self->fd[0], &create));
	self->id = create.group;
	self->key = create.key;
	for (i = 0; i < self->num; i++) {
		ASSERT_EQ(0, group_state(self, 0, &state));
		EXPECT_EQ(TRAINIUM_GROUP_FORMING, state);
		if (!i)
			EXPECT_EQ(-ENOENT, group_bind(self, 0, 0, 0, SIZE));
		ASSERT_EQ(0, group_op(self, i, TRAINIUM_GROUP_JOIN, 0));
		if (!i)
			EXPECT_EQ(-EAGAIN, group_bind(self, 0, 0, 0, SIZE));
	}
	ASSERT_EQ(0, group_state(self, 0, &state));
	EXPECT_EQ(TRAINIUM_GROUP_READY, state);
	for (i = 0; i < self->num; i++)
		ASSERT_EQ(0, group_bind(self, i, 0, 0, SIZE));
	ASSERT_EQ(0, group_map(self, 0, 0, SIZE, &self->all));
}

FIXTURE_TEARDOWN(group)
{
	char line[1024];
	unsigned int i;

	for (i = 0; i < self->num; i++)
		close(self->fd[i]);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F(group, multicast)
{
	struct trn_bo here;
	unsigned int i;

	ASSERT_EQ(0, trn_host_new(self->fd[0], SIZE, &here));
	trn_pattern(here.map, 0, SIZE, 3);
	ASSERT_EQ(0, trn_copy(self->fd[0], self->queue[0], self->all, 0, here.handle, 0, SIZE));
	for (i = 0; i < self->num; i++)
		EXPECT_EQ(-1, trn_check(self->bo[i].map, 0, SIZE, 3));
	/* A part of it, from another chip */
	if (self->num > 1) {
		__u32 all;

		ASSERT_EQ(0, group_map(self, 1, 0, SIZE, &all));
		ASSERT_EQ(0, trn_fill(self->fd[1], self->queue[1], all, 4096, 8192, 0x99, 1));
		for (i = 0; i < self->num; i++) {
			EXPECT_EQ(-1, trn_check(self->bo[i].map, 0, 4096, 3));
			EXPECT_EQ(-1, trn_check_byte(self->bo[i].map + 4096, 8192, 0x99));
			EXPECT_EQ(-1, trn_check(self->bo[i].map + 12288, 12288, SIZE - 12288, 3));
		}
	}
	EXPECT_EQ(-EINVAL, trn_fill(self->fd[0], self->queue[0], self->all, SIZE - 8, 16, 0, 1));
}

/* Each element is different on each chip, so that an element too many or too few shows. */
TEST_F(group, reduce)
{
	struct trn_bo out;
	struct drm_trainium_op op;
	unsigned int i, n;
	__u32 *d, sum, max;

	ASSERT_EQ(0, trn_host_new(self->fd[0], SIZE, &out));
	for (i = 0; i < self->num; i++) {
		d = (__u32 *)self->bo[i].map;
		for (n = 0; n < SIZE / 4; n++)
			d[n] = (n * 2654435761u) >> (i + 1);
	}
	op = trn_op_copy(out.handle, 0, self->all, 0, SIZE);
	op.type = TRAINIUM_OP_REDUCE;
	op.flags = TRAINIUM_OP_F_COMBINE(TRAINIUM_COMBINE_SUM, TRAINIUM_DTYPE_UINT32);
	ASSERT_EQ(0, trn_run(self->fd[0], self->queue[0], &op, 1));
	d = (__u32 *)out.map;
	for (n = 0; n < SIZE / 4; n++) {
		for (i = 0, sum = 0; i < self->num; i++)
			sum += (n * 2654435761u) >> (i + 1);
		if (d[n] != sum)
			break;
	}
	EXPECT_EQ(SIZE / 4, n);

	op.flags = TRAINIUM_OP_F_COMBINE(TRAINIUM_COMBINE_MAX, TRAINIUM_DTYPE_UINT32);
	ASSERT_EQ(0, trn_run(self->fd[0], self->queue[0], &op, 1));
	for (n = 0; n < SIZE / 4; n++) {
		max = (n * 2654435761u) >> 1;
		if (d[n] != max)
			break;
	}
	EXPECT_EQ(SIZE / 4, n);
}

/* 1.5 on chip 0, 2.5 on chip 1 and so on, in the bits of each type */
static const struct {
	__u32 dtype;
	unsigned int bytes;
	__u64 value[3];
	__u64 sum;	/* of the first two */
} floats[] = {
	{ TRAINIUM_DTYPE_FP32, 4, { 0x3fc00000, 0x40200000 }, 0x40800000 },
	{ TRAINIUM_DTYPE_FP16, 2, { 0x3e00, 0x4100 }, 0x4400 },
	{ TRAINIUM_DTYPE_BF16, 2, { 0x3fc0, 0x4020 }, 0x4080 },
	{ TRAINIUM_DTYPE_FP8_E4M3, 1, { 0x3c, 0x42 }, 0x48 },
	{ TRAINIUM_DTYPE_FP8_E5M2, 1, { 0x3e, 0x41 }, 0x44 },
};

TEST_F(group, types)
{
	unsigned int t, i;
	struct trn_bo out;
	struct drm_trainium_op op;

	ASSERT_EQ(0, trn_host_new(self->fd[0], SIZE, &out));
	for (t = 0; t < ARRAY_SIZE(floats); t++) {
		__u32 size = floats[t].bytes;

		for (i = 0; i < self->num; i++)
			ASSERT_EQ(0, trn_fill(self->fd[i], self->queue[i], self->bo[i].handle, 0,
					      SIZE, i < 2 ? floats[t].value[i] : 0, size));
		op = trn_op_copy(out.handle, 0, self->all, 0, SIZE);
		op.type = TRAINIUM_OP_REDUCE;
		op.flags = TRAINIUM_OP_F_COMBINE(TRAINIUM_COMBINE_SUM, floats[t].dtype);
		ASSERT_EQ(0, trn_run(self->fd[0], self->queue[0], &op, 1));
		EXPECT_EQ(0, memcmp(out.map, &floats[t].sum, size)) {
			TH_LOG("type %u", floats[t].dtype);
		}
		EXPECT_EQ(0, memcmp(out.map, out.map + size, SIZE - size));
		op.flags = TRAINIUM_OP_F_COMBINE(TRAINIUM_COMBINE_MAX, floats[t].dtype);
		ASSERT_EQ(0, trn_run(self->fd[0], self->queue[0], &op, 1));
		EXPECT_EQ(0, memcmp(out.map, &floats[t].value[1], size));
	}
}

TEST_F(group, bad_arguments)
{
	struct drm_trainium_fabric_group call = { .op = TRAINIUM_GROUP_QUERY + 1 };
	struct drm_trainium_op op;
	__u32 handle;

	EXPECT_EQ(-EINVAL, group_call(self->fd[0], &call));
	call = (struct drm_trainium_fabric_group){ .op = TRAINIUM_GROUP_CREATE };
	EXPECT_EQ(-EINVAL, group_call(self->fd[0], &call));
	call.count = self->f.num_chips + 1;
	EXPECT_EQ(-EINVAL, group_call(self->fd[0], &call));
	call = (struct drm_trainium_fabric_group){ .op = TRAINIUM_GROUP_CREATE, .count = 2,
						   .flags = 1 };
	EXPECT_EQ(-EINVAL, group_call(self->fd[0], &call));
	call = (struct drm_trainium_fabric_group){ .op = TRAINIUM_GROUP_QUERY,
						   .group = self->id, .key = self->key + 1 };
	EXPECT_EQ(-EACCES, group_call(self->fd[0], &call));
	call.group = 0x7ff;
	call.key = self->key;
	if (self->id != 0x7ff)
		EXPECT_EQ(-ENOENT, group_call(self->fd[0], &call));

	EXPECT_EQ(-EALREADY, group_op(self, 1, TRAINIUM_GROUP_JOIN, 0));
	EXPECT_EQ(-EACCES, group_op(self, 1, TRAINIUM_GROUP_DESTROY, 0));
	EXPECT_EQ(-EALREADY, group_bind(self, 0, 0, 0, SIZE));
	EXPECT_EQ(-EINVAL, group_bind(self, 0, 0xffff, 0, SIZE));
	EXPECT_EQ(-EINVAL, group_bind(self, 0, 1, 0, 0));
	EXPECT_EQ(-EINVAL, group_bind(self, 0, 1, 1, SIZE - 1));
	EXPECT_EQ(-EINVAL, group_bind(self, 0, 1, 0, 2 * SIZE));
	EXPECT_EQ(-ENOENT, group_op(self, 0, TRAINIUM_GROUP_UNBIND, 1));
	EXPECT_EQ(-EINVAL, group_map(self, 0, 0, 1, &handle));
	EXPECT_EQ(-EINVAL, group_map(self, 0, 0xffff, SIZE, &handle));

	/* It can be reduced, and written, and nothing else. */
	EXPECT_EQ(-EINVAL, trn_copy(self->fd[0], self->queue[0], self->bo[0].handle, 0,
				    self->all, 0, SIZE));
	op = trn_op_copy(self->all, 0, self->bo[0].handle, 0, SIZE);
	op.type = TRAINIUM_OP_ACCUMULATE;
	EXPECT_EQ(-EINVAL, trn_run(self->fd[0], self->queue[0], &op, 1));
	EXPECT_EQ(MAP_FAILED, trn_map(self->fd[0], self->all, SIZE));
}

/* A slot that some member has not bound */
TEST_F(group, unbound)
{
	struct drm_trainium_query_queue q;
	__u32 all;

	ASSERT_EQ(0, group_bind(self, 0, 1, 0, SIZE));
	ASSERT_EQ(0, group_map(self, 0, 1, SIZE, &all));
	EXPECT_EQ(-EIO, trn_fill(self->fd[0], self->queue[0], all, 0, SIZE, 1, 1));
	ASSERT_EQ(0, trn_queue(self->fd[0], self->queue[0], &q));
	EXPECT_EQ(TRAINIUM_REASON_FABRIC, q.reason);
	EXPECT_EQ(0, trn_fill(self->fd[0], self->queue[0], self->all, 0, SIZE, 1, 1));
	ASSERT_EQ(0, group_op(self, 0, TRAINIUM_GROUP_UNBIND, 1));
}

TEST_F(group, member_leaves)
{
	struct drm_trainium_event event;
	__u32 state, handle;
	int events;

	events = trn_events_open(self->fd[0], 1ull << TRAINIUM_EVENT_GROUP);
	ASSERT_LE(0, events);
	close_chip(self, 1);
	ASSERT_EQ(0, trn_event_next(events, &event, TRN_PATIENCE));
	EXPECT_EQ(self->id, event.group.group);
	ASSERT_EQ(0, group_state(self, 0, &state));
	EXPECT_EQ(TRAINIUM_GROUP_BROKEN, state);
	EXPECT_EQ(-ENOTCONN, trn_fill(self->fd[0], self->queue[0], self->all, 0, SIZE, 1, 1));
	EXPECT_EQ(-ENOTCONN, group_map(self, 0, 0, SIZE, &handle));
	EXPECT_EQ(0, group_op(self, 0, TRAINIUM_GROUP_DESTROY, 0));
	EXPECT_EQ(-ENOENT, group_state(self, 0, &state));
	close(events);
	self->fd[1] = trn_open(1);
}

/* A member's chip is reset: it has left. */
TEST_F(group, member_is_reset)
{
	struct drm_trainium_reset reset = { .scope = TRAINIUM_RESET_DEVICE };
	struct drm_trainium_event event;
	__u32 state;
	int events;

	events = trn_events_open(self->fd[0], 1ull << TRAINIUM_EVENT_GROUP);
	ASSERT_LE(0, events);
	ASSERT_EQ(0, trn_ioctl(self->fd[1], DRM_IOCTL_TRAINIUM_RESET, &reset));
	ASSERT_EQ(0, trn_event_next(events, &event, TRN_PATIENCE));
	ASSERT_EQ(0, group_state(self, 0, &state));
	EXPECT_EQ(TRAINIUM_GROUP_BROKEN, state);
	EXPECT_EQ(-ENOTCONN, trn_fill(self->fd[0], self->queue[0], self->all, 0, SIZE, 1, 1));
	close(events);
}

/* The creator is gone, and with it the group, but not what it stood for. */
TEST_F(group, creator_is_killed)
{
	__u32 state;

	close_chip(self, 0);
	EXPECT_EQ(-ENOENT, group_state(self, 1, &state));
	EXPECT_EQ(0, trn_fill(self->fd[1], self->queue[1], self->bo[1].handle, 0, SIZE, 5, 1));
	self->fd[0] = trn_open(0);
}

/* Numbers come back: many more than there are groups at a time */
TEST_F(group, many)
{
	const struct drm_trainium_fabric_group create = {
		.op = TRAINIUM_GROUP_CREATE, .count = 2,
	};
	struct drm_trainium_fabric_group call;
	unsigned int i;

	for (i = 0; i < 5000; i++) {
		call = create;
		ASSERT_EQ(0, group_call(self->fd[1], &call));
		call.op = TRAINIUM_GROUP_DESTROY;
		call.count = 0;
		ASSERT_EQ(0, group_call(self->fd[1], &call));
	}
	/* A file has a limit. */
	for (i = 0; i < 65; i++) {
		call = create;
		if (group_call(self->fd[1], &call) == -EDQUOT)
			break;
	}
	EXPECT_EQ(64, i);
}

TEST_F(group, in_lists)
{
	struct drm_trainium_list_create list = {
		.op_count = 1, .op_stride = sizeof(struct drm_trainium_op),
		.stack = TRAINIUM_STACK_ANY,
	};
	struct drm_trainium_submit submit = { .flags = TRAINIUM_SUBMIT_WAIT };
	struct drm_trainium_op op = trn_op_fill(self->all, 0, SIZE, 0x66, 1);
	unsigned int i;

	list.ops = trn_ptr(&op);
	ASSERT_EQ(0, trn_ioctl(self->fd[0], DRM_IOCTL_TRAINIUM_LIST_CREATE, &list));
	submit.queue = list.list;
	submit.deadline_ns = trn_now() + TRN_PATIENCE;
	ASSERT_EQ(0, trn_ioctl(self->fd[0], DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &submit));
	for (i = 0; i < self->num; i++)
		EXPECT_EQ(-1, trn_check_byte(self->bo[i].map, SIZE, 0x66));
	ASSERT_EQ(0, group_op(self, 1, TRAINIUM_GROUP_LEAVE, 0));
	submit.deadline_ns = trn_now() + TRN_PATIENCE;
	EXPECT_GT(0, trn_ioctl(self->fd[0], DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &submit));
}

TEST_F(group, accumulate)
{
	const __u32 how = TRAINIUM_OP_F_COMBINE(TRAINIUM_COMBINE_SUM, TRAINIUM_DTYPE_UINT32);
	struct trn_bo dst, src;
	struct drm_trainium_op op;
	__u32 *d, *s, i;

	ASSERT_EQ(0, trn_host_new(self->fd[0], SIZE, &dst));
	ASSERT_EQ(0, trn_hbm_new(self->fd[0], TRAINIUM_STACK_ANY, SIZE, &src));
	d = (__u32 *)dst.map;
	s = (__u32 *)src.map;
	for (i = 0; i < SIZE / 4; i++) {
		d[i] = i;
		s[i] = 1000000 * i;
	}
	op = trn_op_copy(dst.handle, 0, src.handle, 0, SIZE);
	op.type = TRAINIUM_OP_ACCUMULATE;
	op.flags = how;
	ASSERT_EQ(0, trn_run(self->fd[0], self->queue[0], &op, 1));
	for (i = 0; i < SIZE / 4 && d[i] == 1000001 * i; i++)
		;
	EXPECT_EQ(SIZE / 4, i);

	op.size = 8;
	EXPECT_EQ(-EINVAL, trn_run(self->fd[0], self->queue[0], &op, 1));
	op.size = SIZE;
	op.flags = TRAINIUM_OP_F_COMBINE(3, 0);
	EXPECT_EQ(-EINVAL, trn_run(self->fd[0], self->queue[0], &op, 1));
	op.flags = TRAINIUM_OP_F_COMBINE(0, 8);
	EXPECT_EQ(-EINVAL, trn_run(self->fd[0], self->queue[0], &op, 1));
	op.flags = how | 2;
	EXPECT_EQ(-EINVAL, trn_run(self->fd[0], self->queue[0], &op, 1));
	op.flags = how;
	op.src = dst.handle;
	op.src_offset = SIZE / 2;
	EXPECT_EQ(-EINVAL, trn_run(self->fd[0], self->queue[0], &op, 1));
	op.size = SIZE / 2;
	EXPECT_EQ(0, trn_run(self->fd[0], self->queue[0], &op, 1));
	op.src_offset = 0;
	EXPECT_EQ(-EINVAL, trn_run(self->fd[0], self->queue[0], &op, 1));
	/* There is no group to be reduced. */
	op.src = src.handle;
	op.type = TRAINIUM_OP_REDUCE;
	EXPECT_EQ(-EINVAL, trn_run(self->fd[0], self->queue[0], &op, 1));
}

TEST_HARNESS_MAIN
