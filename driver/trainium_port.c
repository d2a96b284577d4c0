// SPDX-License-Identifier: GPL-2.0-only
/* Ports of the fabric: state, counters, control. */
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>

#include "trainium_fabric.h"

/* Between two looks at a port that somebody waits for */
#define TRN_PORT_WAIT_MS	2u

static u32 trn_port_read(const struct trn_fabric *f, u32 port, u32 reg)
{
	return trn_fabric_read(f, TRN_FAB_PORT(port) + reg);
}

static void trn_port_write(const struct trn_fabric *f, u32 port, u32 reg, u32 value)
{
	trn_fabric_write(f, TRN_FAB_PORT(port) + reg, value);
}

static u32 trn_port_state(const struct trn_fabric *f, u32 port)
{
	return trn_port_read(f, port, TRN_PORT_STATE) & 0xff;
}

/**
 * trn_ports_up - ports that carry traffic
 * @f: fabric; its lock is held
 *
 * Return: a bit for each.
 */
u64 trn_ports_up(const struct trn_fabric *f)
{
	u64 ports = 0;
	u32 port, state;

	for (port = 0; port < f->num_ports; port++) {
		state = trn_port_state(f, port);
		if ((state == TRN_PORT_UP || state == TRN_PORT_DEGRADED) &&
		    trn_port_read(f, port, TRN_PORT_ADMIN) == TRN_PORT_ADMIN_ENABLED)
			ports |= BIT_ULL(port);
	}
	return ports;
}

static u64 trn_port_counter(const struct trn_fabric *f, u32 port, u32 counter)
{
	return trn_fabric_read64(f, TRN_FAB_PORT(port) + TRN_PORT_COUNTER(counter));
}

/**
 * trn_port_check_thresholds - tell of counters that have come too far
 * @f: fabric; its lock is held
 */
void trn_port_check_thresholds(struct trn_fabric *f)
{
	u32 port, c;

	for (port = 0; port < f->num_ports; port++) {
		if (!memchr_inv(f->threshold[port], 0, sizeof(f->threshold[port])))
			continue;
		trn_port_write(f, port, TRN_PORT_COMMAND, TRN_PORT_CMD_SNAPSHOT);
		for (c = 0; c < TRN_PORT_NUM_COUNTERS; c++) {
			u64 threshold = f->threshold[port][c];
			u64 value = trn_port_counter(f, port, c);
			struct drm_trainium_event event = {
				.type = TRAINIUM_EVENT_COUNTER,
				.counter = {
					.port = port, .counter = c,
					.value = value, .threshold = threshold,
				},
			};

			if (!threshold || value < threshold)
				continue;
			f->threshold[port][c] = 0;
			f->num_thresholds--;
			trn_event_post(f->tdev, &event);
		}
	}
}

static u32 trn_peer_number(u32 peer)
{
	return peer & TRN_PORT_PEER_NODE_MASK;
}

static u32 trn_peer_port(u32 peer)
{
	return (peer & TRN_PORT_PEER_PORT_MASK) >> TRN_PORT_PEER_PORT_SHIFT;
}

static u32 trn_port_flags(const struct trn_fabric *f, u32 port, u32 peer, u32 expect)
{
	u32 flags = 0;

	if (trn_port_read(f, port, TRN_PORT_STATE) & TRN_PORT_LATCHED)
		flags |= TRAINIUM_PORT_F_LATCHED;
	if (trn_port_read(f, port, TRN_PORT_LOOPBACK))
		flags |= TRAINIUM_PORT_F_LOOPBACK;
	if (peer & TRN_PORT_PEER_VALID)
		flags |= TRAINIUM_PORT_F_PEER;
	if (peer & TRN_PORT_PEER_VALID && peer & TRN_PORT_PEER_SWITCH)
		flags |= TRAINIUM_PORT_F_PEER_SWITCH;
	if (expect & TRN_PORT_PEER_VALID)
		flags |= TRAINIUM_PORT_F_EXPECT;
	if (expect & TRN_PORT_PEER_VALID && expect & TRN_PORT_PEER_SWITCH)
		flags |= TRAINIUM_PORT_F_EXPECT_SWITCH;
	return flags;
}

static void trn_port_get(const struct trn_fabric *f, u32 port,
			 struct drm_trainium_fabric_port *p)
{
	u32 info = trn_port_read(f, port, TRN_PORT_INFO);
	u32 state = trn_port_read(f, port, TRN_PORT_STATE);
	u32 peer = trn_port_read(f, port, TRN_PORT_PEER);
	u32 expect = trn_port_read(f, port, TRN_PORT_EXPECT);
	u32 base = TRN_FAB_PORT(port), c;

	p->flags = trn_port_flags(f, port, peer, expect);
	p->kind = info & 0xff;
	p->max_lanes = info >> 8 & 0xff;
	p->admin = trn_port_read(f, port, TRN_PORT_ADMIN);
	p->state = state & 0xff;
	p->reason = state >> TRN_PORT_REASON_SHIFT & 0xff;
	p->lanes = trn_port_read(f, port, TRN_PORT_LANES);
	p->max_rate = trn_port_read(f, port, TRN_PORT_MAX_RATE);
	p->rate = trn_port_read(f, port, TRN_PORT_RATE);
	p->lane_cap = trn_port_read(f, port, TRN_PORT_LANE_CAP);
	p->rate_cap = trn_port_read(f, port, TRN_PORT_RATE_CAP);
	p->peer = trn_peer_number(peer);
	p->peer_port = trn_peer_port(peer);
	p->expect = trn_peer_number(expect);
	p->expect_port = trn_peer_port(expect);
	p->peer_serial = trn_fabric_read64(f, base + TRN_PORT_PEER_SERIAL_LO);
	p->changed_ns = trn_fabric_read64(f, base + TRN_PORT_CHANGED_LO);
	p->attempts = trn_port_read(f, port, TRN_PORT_ATTEMPTS);

	trn_port_write(f, port, TRN_PORT_COMMAND, TRN_PORT_CMD_SNAPSHOT);
	p->snapshot_ns = trn_fabric_read64(f, base + TRN_PORT_SNAP_TIME_LO);
	p->epoch = trn_port_read(f, port, TRN_PORT_EPOCH);
	for (c = 0; c < TRN_PORT_NUM_COUNTERS; c++)
		p->counters[c] = trn_port_counter(f, port, c);
}

/**
 * trn_ioctl_fabric_port - DRM_IOCTL_TRAINIUM_FABRIC_PORT
 * @drm: device
 * @data: struct drm_trainium_fabric_port
 * @file: caller
 */
int trn_ioctl_fabric_port(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct trn_device *tdev = to_trn_device(drm);
	struct drm_trainium_fabric_port *args = data;
	u32 port = args->port;
	int idx, ret;

	if (args->flags)
		return -EINVAL;
	ret = trn_fabric_hold(tdev, &idx);
	if (ret)
		return ret;
	if (port < tdev->fabric->num_ports) {
		memset(args, 0, sizeof(*args));
		args->port = port;
		trn_port_get(tdev->fabric, port, args);
	} else {
		ret = -EINVAL;
	}
	trn_fabric_release(tdev, idx);
	return ret;
}

/* Would it be the last way to somebody? */
static bool trn_port_is_last(const struct trn_fabric *f, u32 port)
{
	u64 up = trn_ports_up(f);

	return atomic_read(&f->users) && up == BIT_ULL(port);
}

static int trn_port_set_threshold(struct trn_fabric *f, u32 port, u32 counter, u64 value)
{
	u64 *threshold = &f->threshold[port][counter];

	f->num_thresholds += !!value - !!*threshold;
	*threshold = value;
	if (value)
		mod_delayed_work(system_wq, &f->work, 0);
	return 0;
}

static int trn_port_control(struct trn_fabric *f, const struct drm_trainium_fabric_ctl *args)
{
	bool last = !(args->flags & TRAINIUM_FABRIC_FORCE) && trn_port_is_last(f, args->port);
	u32 port = args->port, value = args->value;

	switch (args->op) {
	case TRAINIUM_FABRIC_ENABLE:
		trn_port_write(f, port, TRN_PORT_ADMIN, TRN_PORT_ADMIN_ENABLED);
		return 0;
	case TRAINIUM_FABRIC_DISABLE:
		if (last)
			return -EBUSY;
		trn_port_write(f, port, TRN_PORT_ADMIN, TRN_PORT_ADMIN_DISABLED);
		return 0;
	case TRAINIUM_FABRIC_DRAIN:
		if (last)
			return -EBUSY;
		trn_port_write(f, port, TRN_PORT_ADMIN, TRN_PORT_ADMIN_DRAINED);
		return 0;
	case TRAINIUM_FABRIC_LOOPBACK:
		if (last && value)
			return -EBUSY;
		trn_port_write(f, port, TRN_PORT_LOOPBACK, value);
		return 0;
	case TRAINIUM_FABRIC_TRAIN:
		trn_port_write(f, port, TRN_PORT_COMMAND, TRN_PORT_CMD_TRAIN);
		return 0;
	case TRAINIUM_FABRIC_RESET:
		trn_port_write(f, port, TRN_PORT_COMMAND, TRN_PORT_CMD_RESET);
		return 0;
	case TRAINIUM_FABRIC_CLEAR_LATCH:
		trn_port_write(f, port, TRN_PORT_COMMAND, TRN_PORT_CMD_CLEAR_LATCH);
		return 0;
	case TRAINIUM_FABRIC_CLEAR_COUNTERS:
		trn_port_write(f, port, TRN_PORT_COMMAND, TRN_PORT_CMD_CLEAR_COUNTERS);
		return 0;
	case TRAINIUM_FABRIC_LANE_CAP:
		trn_port_write(f, port, TRN_PORT_LANE_CAP, value);
		return 0;
	case TRAINIUM_FABRIC_RATE_CAP:
		trn_port_write(f, port, TRN_PORT_RATE_CAP, value);
		return 0;
	case TRAINIUM_FABRIC_THRESHOLD:
		return trn_port_set_threshold(f, port, args->counter, args->value);
	default:
		return -EINVAL;
	}
}

static int trn_port_check(const struct trn_fabric *f, const struct drm_trainium_fabric_ctl *args)
{
	u32 info;

	if (args->op > TRAINIUM_FABRIC_THRESHOLD || args->flags & ~TRAINIUM_FABRIC_FORCE ||
	    args->port >= f->num_ports || args->state || args->reason)
		return -EINVAL;
	if (args->counter && args->op != TRAINIUM_FABRIC_THRESHOLD)
		return -EINVAL;
	info = trn_port_read(f, args->port, TRN_PORT_INFO);
	switch (args->op) {
	case TRAINIUM_FABRIC_LANE_CAP:
		return args->value <= (info >> 8 & 0xff) ? 0 : -EINVAL;
	case TRAINIUM_FABRIC_RATE_CAP:
		return args->value <= trn_port_read(f, args->port, TRN_PORT_MAX_RATE) ?
		       0 : -EINVAL;
	case TRAINIUM_FABRIC_LOOPBACK:
		return args->value <= 1 ? 0 : -EINVAL;
	case TRAINIUM_FABRIC_THRESHOLD:
		return args->counter < TRN_PORT_NUM_COUNTERS ? 0 : -EINVAL;
	default:
		return args->value ? -EINVAL : 0;
	}
}

static bool trn_port_at_rest(u32 state)
{
	return state == TRN_PORT_UP || state == TRN_PORT_DEGRADED ||
	       state == TRN_PORT_FAILED || state == TRN_PORT_DISABLED;
}

/* Return: 0 once the port is at rest, -ETIME, -EINTR, -ENODEV. */
static int trn_port_wait(struct trn_device *tdev, struct drm_trainium_fabric_ctl *args)
{
	u32 state;
	int idx, ret;

	for (;;) {
		ret = trn_fabric_hold(tdev, &idx);
		if (ret)
			return ret;
		state = trn_port_read(tdev->fabric, args->port, TRN_PORT_STATE);
		trn_fabric_release(tdev, idx);

		args->state = state & 0xff;
		args->reason = state >> TRN_PORT_REASON_SHIFT & 0xff;
		if (!args->deadline_ns || trn_port_at_rest(args->state))
			return 0;
		if ((s64)ktime_get_ns() >= args->deadline_ns)
			return -ETIME;
		if (msleep_interruptible(TRN_PORT_WAIT_MS))
			return -EINTR;
	}
}

/**
 * trn_ioctl_fabric_ctl - DRM_IOCTL_TRAINIUM_FABRIC_CTL
 * @drm: device
 * @data: struct drm_trainium_fabric_ctl
 * @file: caller
 */
int trn_ioctl_fabric_ctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct trn_device *tdev = to_trn_device(drm);
	struct drm_trainium_fabric_ctl *args = data;
	int idx, ret;

	ret = trn_fabric_hold(tdev, &idx);
	if (ret)
		return ret;
	ret = trn_port_check(tdev->fabric, args);
	if (!ret)
		ret = trn_port_control(tdev->fabric, args);
	trn_fabric_release(tdev, idx);
	return ret ?: trn_port_wait(tdev, args);
}
