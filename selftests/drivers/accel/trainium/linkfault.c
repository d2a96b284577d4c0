// SPDX-License-Identifier: GPL-2.0-only
/* Faults of the fabric, made through the model's window: what is seen of them, and when */
#include <string.h>

#include "kselftest_harness.h"
#include "trainium_fabric_util.h"
#include "trainium_fault_util.h"

#define SIZE TRN_MIB(4)

FIXTURE(linkfault) {
	int a, b;
	__u32 qa, qb;
	struct drm_trainium_query_fabric fa, fb;
	/* of a, of b, and one of b that a has not imported */
	struct trn_bo here, there, other;
	__u32 peer;
	/* A port of a that is up, in the words of the model */
	__u32 port;
	const char *bdf;
	int events;
	int log;
};

static int share(struct _test_data_linkfault *self, __u32 handle, __u32 *imported)
{
	int fd, ret;

	ret = trn_export(self->b, handle, &fd);
	if (ret)
		return ret;
	ret = trn_import(self->a, fd, imported);
	close(fd);
	return ret;
}

FIXTURE_SETUP(linkfault)
{
	self->log = trn_log_open();
	if (trn_num_devices() < 2 || !trn_can_fault(trn_bdf(0)))
		SKIP(return, "two chips with fault-window=on and iomem=relaxed are needed");
	self->bdf = trn_bdf(0);
	self->a = trn_open(0);
	self->b = trn_open(1);
	ASSERT_EQ(0, trn_fabric(self->a, &self->fa));
	ASSERT_EQ(0, trn_fabric(self->b, &self->fb));
	if (!self->fa.kind)
		SKIP(return, "the chips have no fabric");
	self->port = trn_port_up(&self->fa);
	ASSERT_EQ(0, trn_queue_create(self->a, TRAINIUM_STACK_ANY, 0, &self->qa));
	ASSERT_EQ(0, trn_queue_create(self->b, TRAINIUM_STACK_ANY, 0, &self->qb));
	ASSERT_EQ(0, trn_host_new(self->a, SIZE, &self->here));
	ASSERT_EQ(0, trn_hbm_new(self->b, TRAINIUM_STACK_ANY, SIZE, &self->there));
	ASSERT_EQ(0, trn_hbm_new(self->b, TRAINIUM_STACK_ANY, TRN_PAGE, &self->other));
	ASSERT_EQ(0, share(self, self->there.handle, &self->peer));
	self->events = trn_events_open(self->a, 1ull << TRAINIUM_EVENT_PORT |
				       1ull << TRAINIUM_EVENT_PARTITION);
	ASSERT_LE(0, self->events);
}

FIXTURE_TEARDOWN(linkfault)
{
	char line[1024];

	if (self->bdf) {
		trn_fault(self->bdf, "fabric-faults=");
		trn_fault(self->bdf, "fabric-partitions=");
	}
	close(self->a);
	close(self->b);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

/* Waits until the port is in a state; -ETIME, and how it was in the end */
static int wait_state(int fd, __u32 port, __u32 state, struct drm_trainium_fabric_port *p)
{
	__s64 end = trn_now() + TRN_PATIENCE;
	int ret;

	do {
		ret = trn_port(fd, port, p);
		if (ret || p->state == state)
			return ret;
		trn_sleep(TRN_MSEC);
	} while (trn_now() < end);
	return -ETIME;
}

/* Data arrives, and it is the right data. */
static bool moves(struct _test_data_linkfault *self, __u64 seed)
{
	trn_pattern(self->here.map, 0, SIZE, seed);
	return !trn_copy(self->a, self->qa, self->peer, 0, self->here.handle, 0, SIZE) &&
	       trn_check(self->there.map, 0, SIZE, seed) == -1;
}

/* All cables come out while data moves. */
TEST_F(linkfault, all_links_pulled)
{
	struct drm_trainium_fabric_peer path = { .chip = self->fb.chip };
	struct drm_trainium_query_queue q;
	__s64 begin;
	__u32 again;
	int ret, i;

	ASSERT_TRUE(moves(self, 1));
	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-faults=pull=%u.*", self->fa.chip));
	begin = trn_now();
	for (i = 0; i < 100; i++) {
		ret = trn_copy(self->a, self->qa, self->peer, 0, self->here.handle, 0, SIZE);
		if (ret)
			break;
	}
	EXPECT_EQ(-EIO, ret);
	EXPECT_GT(trn_limit(2 * TRN_SEC), trn_now() - begin);
	ASSERT_EQ(0, trn_queue(self->a, self->qa, &q));
	EXPECT_EQ(TRAINIUM_REASON_FABRIC, q.reason);
	ASSERT_EQ(0, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &path));
	EXPECT_EQ(TRAINIUM_PATH_DOWN, path.status);
	EXPECT_EQ(-EXDEV, share(self, self->other.handle, &again));
	/* The chips live on. */
	EXPECT_EQ(0, trn_fill(self->a, self->qa, self->here.handle, 0, SIZE, 1, 1));
	EXPECT_EQ(0, trn_fill(self->b, self->qb, self->there.handle, 0, SIZE, 2, 1));

	ASSERT_EQ(0, trn_fault(self->bdf, "fabric-faults="));
	begin = trn_now();
	while (trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &path) ||
	       path.status == TRAINIUM_PATH_DOWN)
		ASSERT_GT(TRN_PATIENCE, trn_now() - begin);
	EXPECT_TRUE(moves(self, 2));
}

/* One of many: traffic takes the others. */
TEST_F(linkfault, one_link_pulled)
{
	struct drm_trainium_fabric_port p;
	struct drm_trainium_event event;
	__u64 downs;

	ASSERT_EQ(0, trn_port(self->a, self->port, &p));
	downs = p.counters[TRAINIUM_PORT_LINK_DOWNS];
	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-faults=pull=%u.%u", self->fa.chip, self->port));
	do {
		ASSERT_EQ(0, trn_event_next(self->events, &event, TRN_PATIENCE));
	} while (event.type != TRAINIUM_EVENT_PORT || event.port.port != self->port);
	EXPECT_NE(TRAINIUM_PORT_UP, event.port.state);
	ASSERT_EQ(0, trn_port(self->a, self->port, &p));
	EXPECT_NE(TRAINIUM_PORT_UP, p.state);
	EXPECT_EQ(TRAINIUM_PORT_REASON_CABLE, p.reason);
	EXPECT_EQ(downs + 1, p.counters[TRAINIUM_PORT_LINK_DOWNS]);
	if (self->fa.ports_up & (self->fa.ports_up - 1))
		EXPECT_TRUE(moves(self, 3));
	ASSERT_EQ(0, trn_fault(self->bdf, "fabric-faults="));
	ASSERT_EQ(0, wait_state(self->a, self->port, TRAINIUM_PORT_UP, &p));
	EXPECT_TRUE(moves(self, 4));
}

TEST_F(linkfault, switch_off)
{
	struct drm_trainium_fabric_port p;

	ASSERT_EQ(0, trn_port(self->a, self->port, &p));
	if (!(p.flags & TRAINIUM_PORT_F_PEER_SWITCH))
		SKIP(return, "there is no switch");
	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-faults=off=s%u", p.peer));
	ASSERT_EQ(0, trn_port(self->a, self->port, &p));
	EXPECT_NE(TRAINIUM_PORT_UP, p.state);
	EXPECT_EQ(TRAINIUM_PORT_REASON_PEER_OFF, p.reason);
	ASSERT_EQ(0, trn_fabric(self->a, &self->fa));
	if (self->fa.ports_up)
		EXPECT_TRUE(moves(self, 5));
	ASSERT_EQ(0, trn_fault(self->bdf, "fabric-faults="));
	ASSERT_EQ(0, wait_state(self->a, self->port, TRAINIUM_PORT_UP, &p));
}

/* Two cables of different chips are exchanged. */
TEST_F(linkfault, wrong_cabling)
{
	struct drm_trainium_fabric_port p;

	ASSERT_EQ(0, trn_port(self->a, self->port, &p));
	if (!(p.flags & TRAINIUM_PORT_F_PEER_SWITCH))
		SKIP(return, "there is no switch");
	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-faults=swap=%u.%u/%u.%u", self->fa.chip,
				self->port, self->fb.chip, self->port));
	ASSERT_EQ(0, wait_state(self->a, self->port, TRAINIUM_PORT_FAILED, &p));
	EXPECT_EQ(TRAINIUM_PORT_REASON_WRONG_PEER, p.reason);
	/* What is there was read from the wire, and is not what the plan wants. */
	EXPECT_TRUE(p.flags & TRAINIUM_PORT_F_PEER);
	EXPECT_TRUE(p.peer != p.expect || p.peer_port != p.expect_port);
	if (self->fa.ports_up & (self->fa.ports_up - 1))
		EXPECT_TRUE(moves(self, 6));
	ASSERT_EQ(0, trn_fault(self->bdf, "fabric-faults="));
	ASSERT_EQ(0, wait_state(self->a, self->port, TRAINIUM_PORT_UP, &p));
}

TEST_F(linkfault, one_side_does_not_train)
{
	struct drm_trainium_fabric_port p;
	__u32 state;
	__s64 begin;

	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-faults=silent=%u.%u", self->fa.chip,
				self->port));
	begin = trn_now();
	ASSERT_EQ(0, trn_port_settle(self->a, self->port, TRAINIUM_FABRIC_RESET, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_FAILED, state);
	EXPECT_GT(trn_limit(TRN_SEC), trn_now() - begin);
	ASSERT_EQ(0, trn_port(self->a, self->port, &p));
	EXPECT_EQ(TRAINIUM_PORT_REASON_TIMEOUT, p.reason);
	ASSERT_EQ(0, trn_fault(self->bdf, "fabric-faults="));
	ASSERT_EQ(0, trn_port_settle(self->a, self->port, TRAINIUM_FABRIC_RESET, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_UP, state);
}

/* Of the end that has had enough first; -1 while none has */
static int latched_end(struct _test_data_linkfault *self, struct drm_trainium_fabric_port *p)
{
	__u32 there;

	if (trn_port(self->a, self->port, p))
		return -1;
	if (p->flags & TRAINIUM_PORT_F_LATCHED)
		return self->a;
	there = p->expect_port;
	if (p->flags & TRAINIUM_PORT_F_EXPECT_SWITCH || trn_port(self->b, there, p))
		return -1;
	return p->flags & TRAINIUM_PORT_F_LATCHED ? self->b : -1;
}

TEST_F(linkfault, flapping)
{
	__s64 end = trn_now() + TRN_PATIENCE;
	struct drm_trainium_fabric_port p;
	__u32 state;
	int fd;

	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-faults=flap=%u.%u:20", self->fa.chip,
				self->port));
	do {
		trn_sleep(TRN_MSEC);
		fd = latched_end(self, &p);
	} while (fd < 0 && trn_now() < end);
	ASSERT_LE(0, fd);
	EXPECT_EQ(TRAINIUM_PORT_FAILED, p.state);
	EXPECT_EQ(TRAINIUM_PORT_REASON_FLAPPING, p.reason);
	ASSERT_EQ(0, trn_fault(self->bdf, "fabric-faults="));
	/* It stays so until it is cleared. */
	trn_sleep(200 * TRN_MSEC);
	EXPECT_EQ(fd, latched_end(self, &p));
	EXPECT_EQ(TRAINIUM_PORT_FAILED, p.state);
	ASSERT_EQ(0, trn_port_ctl(fd, p.port, TRAINIUM_FABRIC_CLEAR_LATCH, 0, 0));
	/* Both ends may have had enough. */
	fd = latched_end(self, &p);
	if (fd >= 0)
		ASSERT_EQ(0, trn_port_ctl(fd, p.port, TRAINIUM_FABRIC_CLEAR_LATCH, 0, 0));
	EXPECT_EQ(-1, latched_end(self, &p));
	/* The other end may have given up. */
	ASSERT_EQ(0, trn_port_settle(self->a, self->port, TRAINIUM_FABRIC_TRAIN, 0, &state));
	ASSERT_EQ(0, wait_state(self->a, self->port, TRAINIUM_PORT_UP, &p));
	EXPECT_TRUE(moves(self, 11));
}

TEST_F(linkfault, lanes_lost)
{
	struct drm_trainium_fabric_port p;

	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-faults=lanes=%u.%u:1", self->fa.chip,
				self->port));
	ASSERT_EQ(0, wait_state(self->a, self->port, TRAINIUM_PORT_DEGRADED, &p));
	EXPECT_EQ(TRAINIUM_PORT_REASON_LANES, p.reason);
	EXPECT_EQ(p.max_lanes - 1, p.lanes);
	EXPECT_TRUE(moves(self, 7));
}

/* Packets are damaged on the way to b, and sent again: nobody notices but the counters. */
TEST_F(linkfault, bit_errors)
{
	struct drm_trainium_fabric_port p;
	__u64 before[2], after[2];

	ASSERT_EQ(0, trn_ports_sum(self->b, &self->fb, TRAINIUM_PORT_CRC_ERRORS, &before[0]));
	ASSERT_EQ(0, trn_ports_sum(self->a, &self->fa, TRAINIUM_PORT_CRC_ERRORS, &before[1]));
	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-faults=errors=%u.*:100", self->fb.chip));
	EXPECT_TRUE(moves(self, 8));
	ASSERT_EQ(0, trn_ports_sum(self->b, &self->fb, TRAINIUM_PORT_CRC_ERRORS, &after[0]));
	ASSERT_EQ(0, trn_ports_sum(self->a, &self->fa, TRAINIUM_PORT_CRC_ERRORS, &after[1]));
	EXPECT_LT(before[0], after[0]);
	EXPECT_EQ(before[1], after[1]);
	ASSERT_EQ(0, trn_fault(self->bdf, "fabric-faults="));
	ASSERT_EQ(0, wait_state(self->a, self->port, TRAINIUM_PORT_UP, &p));
}

TEST_F(linkfault, partition_changes)
{
	struct drm_trainium_fabric_peer path = { .chip = self->fb.chip };
	struct drm_trainium_query_queue q;
	struct drm_trainium_event event;
	__u64 blocked;
	__u32 again;

	ASSERT_TRUE(moves(self, 9));
	ASSERT_EQ(0, trn_faultf(self->bdf, "fabric-partitions=%u,%u", self->fa.chip,
				self->fb.chip));
	ASSERT_EQ(0, trn_event_next(self->events, &event, TRN_PATIENCE));
	/* One of them is in another partition now. */
	ASSERT_EQ(0, trn_fabric(self->a, &self->fa));
	ASSERT_EQ(0, trn_fabric(self->b, &self->fb));
	EXPECT_NE(self->fa.partition, self->fb.partition);
	EXPECT_LT(0, self->fa.partition_changes + self->fb.partition_changes);
	ASSERT_EQ(0, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &path));
	EXPECT_EQ(TRAINIUM_PATH_PARTITION, path.status);

	EXPECT_EQ(-EIO, trn_copy(self->a, self->qa, self->peer, 0, self->here.handle, 0, SIZE));
	ASSERT_EQ(0, trn_queue(self->a, self->qa, &q));
	EXPECT_EQ(TRAINIUM_REASON_FABRIC, q.reason);
	/* Nothing has arrived. */
	EXPECT_EQ(-1, trn_check(self->there.map, 0, SIZE, 9));
	ASSERT_EQ(0, trn_ports_sum(self->a, &self->fa, TRAINIUM_PORT_BLOCKED, &blocked));
	EXPECT_LT(0, blocked);
	EXPECT_EQ(-EXDEV, share(self, self->other.handle, &again));
	ASSERT_EQ(0, trn_fault(self->bdf, "fabric-partitions="));
	EXPECT_TRUE(moves(self, 10));
	ASSERT_EQ(0, share(self, self->other.handle, &again));
}

TEST_HARNESS_MAIN
