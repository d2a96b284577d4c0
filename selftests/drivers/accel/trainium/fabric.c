// SPDX-License-Identifier: GPL-2.0-only
/* The fabric: places, ports, paths and peer memory. Wants two chips joined by one. */
#include <fcntl.h>

#include "kselftest_harness.h"
#include "trainium_fabric_util.h"
#include "trainium_fault_util.h"

#define SIZE TRN_KIB(256)

FIXTURE(fabric) {
	int a, b;
	__u32 qa, qb;
	struct drm_trainium_query_fabric fa, fb;
	int log;
};

FIXTURE_SETUP(fabric)
{
	self->log = trn_log_open();
	if (trn_num_devices() < 2)
		SKIP(return, "two chips are needed");
	self->a = trn_open(0);
	self->b = trn_open(1);
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	if (!trn_has(self->a, TRAINIUM_FEATURE_FABRIC))
		SKIP(return, "the chips have no fabric");
	ASSERT_EQ(0, trn_fabric(self->a, &self->fa));
	ASSERT_EQ(0, trn_fabric(self->b, &self->fb));
	ASSERT_EQ(0, trn_queue_create(self->a, TRAINIUM_STACK_ANY, 0, &self->qa));
	ASSERT_EQ(0, trn_queue_create(self->b, TRAINIUM_STACK_ANY, 0, &self->qb));
}

FIXTURE_TEARDOWN(fabric)
{
	char line[1024];

	close(self->a);
	close(self->b);
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

TEST_F(fabric, place)
{
	const struct drm_trainium_query_fabric *f = &self->fa, *g = &self->fb;
	char text[64];

	EXPECT_LE(TRAINIUM_FABRIC_NEURONLINK, f->kind);
	EXPECT_GE(TRAINIUM_FABRIC_NVLINK, f->kind);
	EXPECT_EQ(f->kind, g->kind);
	EXPECT_EQ(0, memcmp(f->uuid, g->uuid, sizeof(f->uuid)));
	EXPECT_NE(f->chip, g->chip);
	EXPECT_LT(f->chip, f->num_chips);
	EXPECT_EQ(f->num_chips, g->num_chips);
	EXPECT_LT(0, f->num_ports);
	EXPECT_GE(64, f->num_ports);
	EXPECT_NE(0, f->ports_up);
	EXPECT_EQ(f->partition, g->partition);
	EXPECT_EQ(0, f->errors);

	ASSERT_LT(0, trn_read_sysfs(trn_bdf(0), "fabric/chip", text, sizeof(text)));
	EXPECT_EQ(f->chip, (__u32)atoi(text));
	ASSERT_LT(0, trn_read_sysfs(trn_bdf(0), "fabric/ports_up", text, sizeof(text)));
	EXPECT_EQ(__builtin_popcountll(f->ports_up), atoi(text));
	ASSERT_LT(0, trn_read_sysfs(trn_bdf(0), "fabric/cluster_uuid", text, sizeof(text)));
	EXPECT_EQ(36, strlen(text));
}

TEST_F(fabric, ports)
{
	struct drm_trainium_fabric_port port;
	unsigned int p, up = 0;

	for (p = 0; p < self->fa.num_ports; p++) {
		ASSERT_EQ(0, trn_port(self->a, p, &port));
		EXPECT_EQ(p, port.port);
		EXPECT_EQ(TRAINIUM_PORT_ADMIN_ENABLED, port.admin);
		EXPECT_LE(1, port.kind);
		EXPECT_LE(1, port.max_lanes);
		EXPECT_LE(1, port.max_rate);
		EXPECT_LT(0, port.snapshot_ns);
		if (port.state != TRAINIUM_PORT_UP) {
			EXPECT_FALSE(self->fa.ports_up >> p & 1);
			EXPECT_NE(TRAINIUM_PORT_REASON_NONE, port.reason);
			continue;
		}
		up++;
		EXPECT_TRUE(self->fa.ports_up >> p & 1);
		EXPECT_EQ(port.max_lanes, port.lanes);
		EXPECT_EQ(port.max_rate, port.rate);
		/* What is there is what the plan wants. */
		EXPECT_TRUE(port.flags & TRAINIUM_PORT_F_PEER);
		EXPECT_TRUE(port.flags & TRAINIUM_PORT_F_EXPECT);
		EXPECT_EQ(!(port.flags & TRAINIUM_PORT_F_PEER_SWITCH),
			  !(port.flags & TRAINIUM_PORT_F_EXPECT_SWITCH));
		EXPECT_EQ(port.expect, port.peer);
		EXPECT_EQ(port.expect_port, port.peer_port);
		EXPECT_NE(0, port.peer_serial);
	}
	EXPECT_LE(1, up);
}

TEST_F(fabric, bad_arguments)
{
	struct drm_trainium_fabric_port port = { .port = self->fa.num_ports };
	struct drm_trainium_fabric_peer peer = { .chip = self->fa.chip };
	struct drm_trainium_fabric_ctl ctl = { .op = TRAINIUM_FABRIC_THRESHOLD + 1 };
	__u32 p = trn_port_up(&self->fa);

	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PORT, &port));
	port = (struct drm_trainium_fabric_port){ .flags = 1 };
	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PORT, &port));

	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &peer));
	peer.chip = self->fa.num_chips;
	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &peer));
	peer = (struct drm_trainium_fabric_peer){ .chip = self->fb.chip, .flags = 2 };
	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &peer));

	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl));
	EXPECT_EQ(-EINVAL, trn_port_ctl(self->a, self->fa.num_ports, TRAINIUM_FABRIC_TRAIN, 0, 0));
	EXPECT_EQ(-EINVAL, trn_port_ctl(self->a, p, TRAINIUM_FABRIC_TRAIN, 1, 0));
	EXPECT_EQ(-EINVAL, trn_port_ctl(self->a, p, TRAINIUM_FABRIC_LOOPBACK, 2, 0));
	EXPECT_EQ(-EINVAL, trn_port_ctl(self->a, p, TRAINIUM_FABRIC_LANE_CAP, 1000, 0));
	EXPECT_EQ(-EINVAL, trn_port_ctl(self->a, p, TRAINIUM_FABRIC_RATE_CAP, 1ull << 40, 0));
	ctl = (struct drm_trainium_fabric_ctl){ .op = TRAINIUM_FABRIC_TRAIN, .flags = 2 };
	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl));
	ctl = (struct drm_trainium_fabric_ctl){ .op = TRAINIUM_FABRIC_TRAIN, .counter = 1 };
	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl));
	ctl = (struct drm_trainium_fabric_ctl){ .op = TRAINIUM_FABRIC_TRAIN, .state = 1 };
	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl));
	ctl = (struct drm_trainium_fabric_ctl){
		.op = TRAINIUM_FABRIC_THRESHOLD, .counter = TRAINIUM_PORT_NUM_COUNTERS,
	};
	EXPECT_EQ(-EINVAL, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl));
}

static int control_as_user(void *arg)
{
	char *path = arg;
	int fd;

	if (trn_become_user())
		return 1;
	fd = open(path, O_RDWR);
	if (fd < 0)
		return 2;
	return trn_port_ctl(fd, 0, TRAINIUM_FABRIC_TRAIN, 0, 0) == -EACCES ? 0 : 3;
}

TEST_F(fabric, control_needs_privilege)
{
	char path[64];

	ASSERT_EQ(0, trn_user_node(0, path, sizeof(path)));
	EXPECT_EQ(0, trn_in_child(control_as_user, path));
	unlink(path);
}

TEST_F(fabric, disable_and_enable)
{
	__u32 p = trn_port_up(&self->fa), state;
	struct drm_trainium_fabric_port port;
	struct drm_trainium_event event;
	int events;

	events = trn_events_open(self->a, 1ull << TRAINIUM_EVENT_PORT);
	ASSERT_LE(0, events);
	ASSERT_EQ(0, trn_port_settle(self->a, p, TRAINIUM_FABRIC_DISABLE, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_DISABLED, state);
	ASSERT_EQ(0, trn_event_next(events, &event, TRN_PATIENCE));
	EXPECT_EQ(p, event.port.port);
	EXPECT_EQ(TRAINIUM_PORT_DISABLED, event.port.state);
	EXPECT_EQ(TRAINIUM_PORT_UP, event.port.before);
	ASSERT_EQ(0, trn_fabric(self->a, &self->fa));
	EXPECT_FALSE(self->fa.ports_up >> p & 1);
	/* Again: nothing changes. */
	ASSERT_EQ(0, trn_port_settle(self->a, p, TRAINIUM_FABRIC_DISABLE, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_DISABLED, state);

	ASSERT_EQ(0, trn_port_settle(self->a, p, TRAINIUM_FABRIC_ENABLE, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_UP, state);
	do {
		ASSERT_EQ(0, trn_event_next(events, &event, TRN_PATIENCE));
	} while (event.port.state != TRAINIUM_PORT_UP);
	ASSERT_EQ(0, trn_port(self->a, p, &port));
	EXPECT_LE(2, port.attempts);
	close(events);
}

TEST_F(fabric, train_and_reset)
{
	__u32 p = trn_port_up(&self->fa), state;
	struct drm_trainium_fabric_port before, after;

	ASSERT_EQ(0, trn_port(self->a, p, &before));
	ASSERT_EQ(0, trn_port_settle(self->a, p, TRAINIUM_FABRIC_TRAIN, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_UP, state);
	ASSERT_EQ(0, trn_port_settle(self->a, p, TRAINIUM_FABRIC_RESET, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_UP, state);
	ASSERT_EQ(0, trn_port(self->a, p, &after));
	EXPECT_LT(before.attempts, after.attempts);
	EXPECT_LT(before.changed_ns, after.changed_ns);
}

/* A port takes some time to train, and the deadline has passed long ago. */
TEST_F(fabric, deadline_long_ago)
{
	struct drm_trainium_fabric_ctl ctl = {
		.op = TRAINIUM_FABRIC_RESET, .port = trn_port_up(&self->fa), .deadline_ns = -1,
	};
	__u32 state;

	EXPECT_EQ(-ETIME, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_CTL, &ctl));
	ASSERT_EQ(0, trn_port_settle(self->a, ctl.port, TRAINIUM_FABRIC_ENABLE, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_UP, state);
}

TEST_F(fabric, fewer_lanes)
{
	__u32 p = trn_port_up(&self->fa), state;
	struct drm_trainium_fabric_port port;

	ASSERT_EQ(0, trn_port(self->a, p, &port));
	if (port.max_lanes < 2)
		SKIP(return, "the link has one lane");
	ASSERT_EQ(0, trn_port_settle(self->a, p, TRAINIUM_FABRIC_LANE_CAP, 1, &state));
	EXPECT_EQ(TRAINIUM_PORT_DEGRADED, state);
	ASSERT_EQ(0, trn_port(self->a, p, &port));
	EXPECT_EQ(1, port.lanes);
	EXPECT_EQ(1, port.lane_cap);
	EXPECT_EQ(TRAINIUM_PORT_REASON_CAP, port.reason);
	ASSERT_EQ(0, trn_port_settle(self->a, p, TRAINIUM_FABRIC_LANE_CAP, 0, &state));
	EXPECT_EQ(TRAINIUM_PORT_UP, state);
	ASSERT_EQ(0, trn_port(self->a, p, &port));
	EXPECT_EQ(port.max_lanes, port.lanes);
}

TEST_F(fabric, path)
{
	struct drm_trainium_fabric_peer peer = {
		.chip = self->fb.chip, .flags = TRAINIUM_PEER_TEST,
	};
	struct drm_trainium_query_device d;

	ASSERT_EQ(0, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &peer));
	EXPECT_EQ(TRAINIUM_PATH_OK, peer.status);
	EXPECT_LE(1, peer.links);
	EXPECT_LT(0, peer.rate);
	EXPECT_LT(0, peer.latency_ns);
	EXPECT_EQ(peer.ports, peer.ports & self->fa.ports_up);
	EXPECT_NE(0, peer.ports);
	ASSERT_EQ(0, trn_device(self->b, &d));
	EXPECT_EQ(d.serial, peer.serial);
}

/* Shares a buffer of b with a. */
static int share(struct _test_data_fabric *self, __u32 handle, __u32 *imported)
{
	int fd, ret;

	ret = trn_export(self->b, handle, &fd);
	if (ret)
		return ret;
	ret = trn_import(self->a, fd, imported);
	close(fd);
	return ret;
}

TEST_F(fabric, peer_memory)
{
	struct drm_trainium_bo_info info;
	struct trn_bo there, here;
	__u32 peer;

	ASSERT_EQ(0, trn_hbm_new(self->b, TRAINIUM_STACK_ANY, SIZE, &there));
	ASSERT_EQ(0, trn_host_new(self->a, SIZE, &here));
	ASSERT_EQ(0, share(self, there.handle, &peer));
	ASSERT_EQ(0, trn_bo_info(self->a, peer, &info));
	EXPECT_EQ(TRAINIUM_BO_PEER, info.placement);
	EXPECT_EQ(SIZE, info.size);
	EXPECT_EQ(0, info.mmap_offset);

	/* Written from here, read there */
	trn_pattern(here.map, 0, SIZE, 1);
	ASSERT_EQ(0, trn_copy(self->a, self->qa, peer, 0, here.handle, 0, SIZE));
	EXPECT_EQ(-1, trn_check(there.map, 0, SIZE, 1));
	/* Written there, read from here */
	ASSERT_EQ(0, trn_fill(self->b, self->qb, there.handle, 0, SIZE, 0x1234567887654321, 8));
	ASSERT_EQ(0, trn_copy(self->a, self->qa, here.handle, 0, peer, 0, SIZE));
	EXPECT_EQ(0, memcmp(here.map, there.map, SIZE));
	/* Filled from here, at odd offsets */
	ASSERT_EQ(0, trn_fill(self->a, self->qa, peer, 4097, 70001, 0x5a, 1));
	EXPECT_EQ(-1, trn_check_byte(there.map + 4097, 70001, 0x5a));
	EXPECT_EQ(here.map[4096], there.map[4096]);
	EXPECT_EQ(here.map[4097 + 70001], there.map[4097 + 70001]);
	/* Bounds are those of the buffer. */
	EXPECT_EQ(-EINVAL, trn_fill(self->a, self->qa, peer, SIZE - 1, 2, 0, 1));
	/* It goes when its last user does. */
	trn_bo_put(self->b, &there);
	EXPECT_EQ(0, trn_fill(self->a, self->qa, peer, 0, SIZE, 0, 1));
	EXPECT_EQ(0, trn_close_handle(self->a, peer));
}

TEST_F(fabric, all_bytes_are_counted)
{
	__u64 before_tx, before_rx, tx, rx, rtx, rrx;
	struct trn_bo there, here;
	__u32 peer;

	ASSERT_EQ(0, trn_hbm_new(self->b, TRAINIUM_STACK_ANY, SIZE, &there));
	ASSERT_EQ(0, trn_hbm_new(self->a, TRAINIUM_STACK_ANY, SIZE, &here));
	ASSERT_EQ(0, share(self, there.handle, &peer));
	ASSERT_EQ(0, trn_ports_sum(self->a, &self->fa, TRAINIUM_PORT_TX_BYTES, &before_tx));
	ASSERT_EQ(0, trn_ports_sum(self->b, &self->fb, TRAINIUM_PORT_RX_BYTES, &before_rx));
	ASSERT_EQ(0, trn_copy(self->a, self->qa, peer, 0, here.handle, 0, SIZE - 3));
	ASSERT_EQ(0, trn_ports_sum(self->a, &self->fa, TRAINIUM_PORT_TX_BYTES, &tx));
	ASSERT_EQ(0, trn_ports_sum(self->b, &self->fb, TRAINIUM_PORT_RX_BYTES, &rx));
	EXPECT_EQ(SIZE - 3, tx - before_tx);
	EXPECT_EQ(SIZE - 3, rx - before_rx);
	/* A read comes the other way. */
	ASSERT_EQ(0, trn_copy(self->a, self->qa, here.handle, 0, peer, 0, 1000));
	ASSERT_EQ(0, trn_ports_sum(self->b, &self->fb, TRAINIUM_PORT_TX_BYTES, &rtx));
	ASSERT_EQ(0, trn_ports_sum(self->a, &self->fa, TRAINIUM_PORT_RX_BYTES, &rrx));
	EXPECT_LE(1000, rtx);
	EXPECT_LE(1000, rrx);
	EXPECT_EQ(0, self->fa.errors);
}

TEST_F(fabric, threshold)
{
	struct drm_trainium_fabric_peer path = { .chip = self->fb.chip };
	struct trn_bo there;
	struct drm_trainium_event event;
	struct drm_trainium_fabric_port port;
	int events, i;
	__u32 p, peer;

	events = trn_events_open(self->a, 1ull << TRAINIUM_EVENT_COUNTER);
	ASSERT_LE(0, events);
	ASSERT_EQ(0, trn_hbm_new(self->b, TRAINIUM_STACK_ANY, SIZE, &there));
	ASSERT_EQ(0, share(self, there.handle, &peer));
	/* One that is on the way, in whatever fabric */
	ASSERT_EQ(0, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &path));
	ASSERT_NE(0, path.ports);
	p = __builtin_ctzll(path.ports);
	ASSERT_EQ(0, trn_port(self->a, p, &port));
	ASSERT_EQ(0, trn_port_threshold(self->a, p, TRAINIUM_PORT_TX_BYTES,
					port.counters[TRAINIUM_PORT_TX_BYTES] + 1000));
	EXPECT_EQ(-ETIME, trn_event_next(events, &event, 700 * TRN_MSEC));
	for (i = 0; i < 64; i++)
		ASSERT_EQ(0, trn_fill(self->a, self->qa, peer, 0, SIZE, 0, 1));
	ASSERT_EQ(0, trn_event_next(events, &event, TRN_PATIENCE));
	EXPECT_EQ(p, event.counter.port);
	EXPECT_EQ(TRAINIUM_PORT_TX_BYTES, event.counter.counter);
	EXPECT_LE(event.counter.threshold, event.counter.value);
	/* Once */
	EXPECT_EQ(-ETIME, trn_event_next(events, &event, 700 * TRN_MSEC));
	close(events);
}

/* The ports of a are switched off: jobs fail, and only those that go there. */
TEST_F(fabric, path_lost)
{
	struct drm_trainium_fabric_peer path = { .chip = self->fb.chip };
	struct drm_trainium_query_queue q;
	struct trn_bo there, here;
	__u32 peer, again, state, own;
	__s64 begin;
	__u32 p;

	ASSERT_EQ(0, trn_hbm_new(self->b, TRAINIUM_STACK_ANY, SIZE, &there));
	ASSERT_EQ(0, trn_hbm_new(self->a, TRAINIUM_STACK_ANY, SIZE, &here));
	ASSERT_EQ(0, share(self, there.handle, &peer));
	ASSERT_EQ(0, trn_queue_create(self->a, TRAINIUM_STACK_ANY, 0, &own));
	for (p = 0; p < self->fa.num_ports; p++)
		if (self->fa.ports_up & ~(1ull << p) & ~((1ull << p) - 1))
			ASSERT_EQ(0, trn_port_ctl(self->a, p, TRAINIUM_FABRIC_DISABLE, 0, 0));
	/* The last one, while it is in use */
	p = 63 - __builtin_clzll(self->fa.ports_up);
	EXPECT_EQ(-EBUSY, trn_port_ctl(self->a, p, TRAINIUM_FABRIC_DISABLE, 0, 0));
	EXPECT_EQ(-EBUSY, trn_port_ctl(self->a, p, TRAINIUM_FABRIC_DRAIN, 0, 0));
	EXPECT_EQ(0, trn_copy(self->a, self->qa, peer, 0, here.handle, 0, SIZE));
	ASSERT_EQ(0, trn_port_ctl(self->a, p, TRAINIUM_FABRIC_DISABLE, 0, TRAINIUM_FABRIC_FORCE));
	ASSERT_EQ(0, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &path));
	EXPECT_EQ(TRAINIUM_PATH_DOWN, path.status);

	begin = trn_now();
	EXPECT_EQ(-EIO, trn_copy(self->a, self->qa, peer, 0, here.handle, 0, SIZE));
	EXPECT_GT(trn_limit(2 * TRN_SEC), trn_now() - begin);
	ASSERT_EQ(0, trn_queue(self->a, self->qa, &q));
	EXPECT_EQ(EIO, q.error);
	EXPECT_EQ(TRAINIUM_REASON_FABRIC, q.reason);
	/* The chip itself works, and so does the other one. */
	EXPECT_EQ(0, trn_fill(self->a, own, here.handle, 0, SIZE, 0x11, 1));
	EXPECT_EQ(0, trn_fill(self->a, self->qa, here.handle, 0, SIZE, 0x12, 1));
	EXPECT_EQ(0, trn_fill(self->b, self->qb, there.handle, 0, SIZE, 0x13, 1));
	ASSERT_EQ(0, trn_fabric(self->a, &self->fa));
	EXPECT_LT(0, self->fa.errors);
	EXPECT_EQ(0, self->fa.ports_up);

	/* No import, and no detour */
	EXPECT_EQ(0, trn_close_handle(self->a, peer));
	EXPECT_EQ(-EXDEV, share(self, there.handle, &again));

	for (p = 0; p < self->fa.num_ports; p++)
		ASSERT_EQ(0, trn_port_settle(self->a, p, TRAINIUM_FABRIC_ENABLE, 0, &state));
	ASSERT_EQ(0, share(self, there.handle, &peer));
	EXPECT_EQ(0, trn_copy(self->a, self->qa, peer, 0, here.handle, 0, SIZE));
	EXPECT_EQ(-1, trn_check_byte(there.map, SIZE, 0x12));
}

TEST_F(fabric, in_lists)
{
	struct drm_trainium_bo_create create = {
		.size = SIZE, .placement = TRAINIUM_BO_HBM, .stack = TRAINIUM_STACK_ANY,
		.flags = TRAINIUM_BO_F_PEER,
	};
	struct drm_trainium_list_create list = {
		.op_count = 1, .op_stride = sizeof(struct drm_trainium_op),
		.stack = TRAINIUM_STACK_ANY,
	};
	struct drm_trainium_submit submit = { .flags = TRAINIUM_SUBMIT_WAIT };
	struct drm_trainium_op op;
	struct trn_bo back, shared;
	__u32 peer;
	int i;

	ASSERT_EQ(0, trn_ioctl(self->b, DRM_IOCTL_TRAINIUM_BO_CREATE, &create));
	ASSERT_EQ(0, share(self, create.handle, &peer));
	ASSERT_EQ(0, trn_host_new(self->b, SIZE, &back));
	op = trn_op_fill(peer, 0, SIZE, 0x77, 1);
	list.ops = trn_ptr(&op);
	ASSERT_EQ(0, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_LIST_CREATE, &list));
	submit.queue = list.list;
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, trn_fill(self->b, self->qb, create.handle, 0, SIZE, i, 1));
		submit.deadline_ns = trn_now() + TRN_PATIENCE;
		ASSERT_EQ(0, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &submit));
		EXPECT_EQ(TRAINIUM_STATUS_DONE, submit.status);
		ASSERT_EQ(0, trn_copy(self->b, self->qb, back.handle, 0, create.handle, 0, SIZE));
		EXPECT_EQ(-1, trn_check_byte(back.map, SIZE, 0x77));
	}
	/* One that jobs of both chips wait for has no place there. */
	ASSERT_EQ(0, trn_hbm_new(self->b, TRAINIUM_STACK_ANY, SIZE, &shared));
	ASSERT_EQ(0, share(self, shared.handle, &op.dst));
	list.list = 0;
	list.descs = 0;
	EXPECT_EQ(-EOPNOTSUPP, trn_ioctl(self->a, DRM_IOCTL_TRAINIUM_LIST_CREATE, &list));
}

/* The flag keeps others out. */
TEST_F(fabric, peers_only)
{
	struct drm_trainium_bo_create create = {
		.size = SIZE, .placement = TRAINIUM_BO_HOST, .flags = TRAINIUM_BO_F_PEER,
	};

	EXPECT_EQ(-EINVAL, trn_ioctl(self->b, DRM_IOCTL_TRAINIUM_BO_CREATE, &create));
}

TEST_HARNESS_MAIN
