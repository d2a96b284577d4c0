// SPDX-License-Identifier: GPL-2.0-only
/*
 * All chips of the guest that a fabric joins: every pair moves data, every link
 * accounts for it, and all take part in one group.
 */
#include <string.h>

#include "kselftest_harness.h"
#include "trainium_fabric_util.h"

#define MAX_CHIPS 160u
/* Each chip has a buffer with a place for every other one. */
#define PLACE TRN_KIB(4)

FIXTURE(mesh) {
	unsigned int num;
	int fd[MAX_CHIPS];
	__u32 queue[MAX_CHIPS];
	__u32 bo[MAX_CHIPS];
	struct drm_trainium_query_fabric f[MAX_CHIPS];
	int log;
};

static int new_buffer(int fd, __u64 size, __u64 alignment, __u32 *handle)
{
	struct drm_trainium_bo_create create = {
		.size = size, .placement = TRAINIUM_BO_HBM, .stack = TRAINIUM_STACK_ANY,
		.flags = TRAINIUM_BO_F_PEER, .alignment = alignment,
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_BO_CREATE, &create);

	*handle = create.handle;
	return ret;
}

FIXTURE_SETUP(mesh)
{
	unsigned int i;
	__u64 granule;

	self->log = trn_log_open();
	self->num = trn_num_devices();
	ASSERT_GE(MAX_CHIPS, self->num);
	for (i = 0; i < self->num; i++) {
		self->fd[i] = trn_open(i);
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, trn_fabric(self->fd[i], &self->f[i]));
		ASSERT_EQ(0, trn_queue_create(self->fd[i], TRAINIUM_STACK_ANY, 1,
					      &self->queue[i]));
		granule = self->f[i].group_granule > PLACE ? self->f[i].group_granule : PLACE;
		ASSERT_EQ(0, new_buffer(self->fd[i], MAX_CHIPS * PLACE, granule, &self->bo[i]));
	}
	if (self->num < 2 || !self->f[0].kind)
		SKIP(return, "no chips that a fabric joins");
}

FIXTURE_TEARDOWN(mesh)
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

TEST_F(mesh, places)
{
	unsigned int i, k;

	for (i = 0; i < self->num; i++) {
		EXPECT_EQ(0, memcmp(self->f[0].uuid, self->f[i].uuid, sizeof(self->f[i].uuid)));
		EXPECT_NE(0, self->f[i].ports_up);
		EXPECT_EQ(self->f[0].partition, self->f[i].partition);
		for (k = 0; k < i; k++)
			EXPECT_NE(self->f[k].chip, self->f[i].chip);
	}
}

/* What a chip's links have sent and received */
static int traffic(struct _test_data_mesh *self, __u64 *tx, __u64 *rx)
{
	__u64 sum;
	unsigned int i;
	int ret;

	*tx = 0;
	*rx = 0;
	for (i = 0; i < self->num; i++) {
		ret = trn_ports_sum(self->fd[i], &self->f[i], TRAINIUM_PORT_TX_BYTES, &sum);
		if (ret)
			return ret;
		*tx += sum;
		ret = trn_ports_sum(self->fd[i], &self->f[i], TRAINIUM_PORT_RX_BYTES, &sum);
		if (ret)
			return ret;
		*rx += sum;
	}
	return 0;
}

/* Chip i writes its number into its place in the memory of chip j. */
TEST_F_TIMEOUT(mesh, every_pair, 240)
{
	__u64 tx[2], rx[2];
	unsigned int i, j;
	bool counted;
	struct trn_bo back;
	__u32 peer;
	int fd;

	for (j = 0; j < self->num; j++) {
		ASSERT_EQ(0, trn_export(self->fd[j], self->bo[j], &fd));
		for (i = 0; i < self->num; i++) {
			if (i == j)
				continue;
			ASSERT_EQ(0, trn_import(self->fd[i], fd, &peer)) {
				TH_LOG("from chip %u to chip %u", self->f[i].chip, self->f[j].chip);
			}
			/* All ports of all chips are many: once is enough. */
			counted = j == 0 && i == self->num - 1;
			if (counted)
				ASSERT_EQ(0, traffic(self, &tx[0], &rx[0]));
			ASSERT_EQ(0, trn_fill(self->fd[i], self->queue[i], peer, i * PLACE, PLACE,
					      0x1000 + i, 4));
			/* What chips send, chips receive, be it to forward it. */
			if (counted) {
				ASSERT_EQ(0, traffic(self, &tx[1], &rx[1]));
				EXPECT_EQ(tx[1] - tx[0], rx[1] - rx[0]);
				EXPECT_EQ(0, (tx[1] - tx[0]) % PLACE);
				EXPECT_LE(PLACE, tx[1] - tx[0]);
			}
			EXPECT_EQ(0, trn_close_handle(self->fd[i], peer));
		}
		close(fd);

		ASSERT_EQ(0, trn_host_new(self->fd[j], self->num * PLACE, &back));
		ASSERT_EQ(0, trn_copy(self->fd[j], self->queue[j], back.handle, 0, self->bo[j], 0,
				      self->num * PLACE));
		for (i = 0; i < self->num; i++) {
			__u32 *words = (__u32 *)(back.map + i * PLACE);

			EXPECT_EQ(i == j ? 0 : 0x1000 + i, words[0]);
			EXPECT_EQ(0, memcmp(words, words + 1, PLACE - 4));
		}
		trn_bo_put(self->fd[j], &back);
	}
	for (i = 0; i < self->num; i++) {
		ASSERT_EQ(0, trn_fabric(self->fd[i], &self->f[i]));
		EXPECT_EQ(0, self->f[i].errors);
	}
}

static int group_call(int fd, struct drm_trainium_fabric_group *call, __u32 op)
{
	call->op = op;
	return trn_ioctl(fd, DRM_IOCTL_TRAINIUM_FABRIC_GROUP, call);
}

/* A multicast to all, and a sum over all. */
TEST_F_TIMEOUT(mesh, one_group, 120)
{
	struct drm_trainium_fabric_group g = { .count = self->num };
	struct drm_trainium_op op;
	struct trn_bo back;
	unsigned int i;
	__u32 all, *words, sum = 0;

	if (!(self->f[0].caps & TRAINIUM_FABRIC_CAP_REDUCE))
		SKIP(return, "the fabric has no groups");
	ASSERT_EQ(0, group_call(self->fd[0], &g, TRAINIUM_GROUP_CREATE));
	g.count = 0;
	for (i = 0; i < self->num; i++)
		ASSERT_EQ(0, group_call(self->fd[i], &g, TRAINIUM_GROUP_JOIN));
	g.size = self->f[0].group_granule;
	for (i = 0; i < self->num; i++) {
		g.handle = self->bo[i];
		ASSERT_EQ(0, group_call(self->fd[i], &g, TRAINIUM_GROUP_BIND));
	}
	g.handle = 0;
	ASSERT_EQ(0, group_call(self->fd[0], &g, TRAINIUM_GROUP_MAP));
	all = g.handle;

	ASSERT_EQ(0, trn_fill(self->fd[0], self->queue[0], all, 0, PLACE, 0x77777777, 4));
	for (i = 0; i < self->num; i++) {
		ASSERT_EQ(0, trn_host_new(self->fd[i], PLACE, &back));
		ASSERT_EQ(0, trn_copy(self->fd[i], self->queue[i], back.handle, 0, self->bo[i], 0,
				      PLACE));
		EXPECT_EQ(-1, trn_check_byte(back.map, PLACE, 0x77));
		trn_bo_put(self->fd[i], &back);
		ASSERT_EQ(0, trn_fill(self->fd[i], self->queue[i], self->bo[i], 0, PLACE,
				      1 + i * i, 4));
		sum += 1 + i * i;
	}
	ASSERT_EQ(0, trn_host_new(self->fd[0], PLACE, &back));
	op = trn_op_copy(back.handle, 0, all, 0, PLACE);
	op.type = TRAINIUM_OP_REDUCE;
	op.flags = TRAINIUM_OP_F_COMBINE(TRAINIUM_COMBINE_SUM, TRAINIUM_DTYPE_UINT32);
	ASSERT_EQ(0, trn_run(self->fd[0], self->queue[0], &op, 1));
	words = (__u32 *)back.map;
	EXPECT_EQ(sum, words[0]);
	EXPECT_EQ(0, memcmp(words, words + 1, PLACE - 4));
}

TEST_HARNESS_MAIN
