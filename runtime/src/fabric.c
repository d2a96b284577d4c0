// SPDX-License-Identifier: MIT
/*
 * The fabric: places, ports and paths. Groups are in group.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "internal.h"

_Static_assert((int)NEURON_FABRIC_NVLINK == TRAINIUM_FABRIC_NVLINK, "kinds");
_Static_assert(NEURON_FABRIC_MULTICAST == TRAINIUM_FABRIC_CAP_MULTICAST, "caps");
_Static_assert(NEURON_FABRIC_REDUCE == TRAINIUM_FABRIC_CAP_REDUCE, "caps");
_Static_assert((int)NEURON_PORT_DISABLED == TRAINIUM_PORT_DISABLED, "port states");
_Static_assert((int)NEURON_PORT_NUM_COUNTERS == TRAINIUM_PORT_NUM_COUNTERS, "counters");
_Static_assert(NEURON_PORT_LOOPBACK == TRAINIUM_PORT_F_LOOPBACK, "port flags");
_Static_assert((int)NEURON_PORT_TO_NODE == TRAINIUM_PORT_KIND_NODE, "port kinds");
_Static_assert((int)NEURON_PORT_ADMIN_DRAINED == TRAINIUM_PORT_ADMIN_DRAINED, "admin states");
_Static_assert((int)NEURON_PORT_CLEAR_COUNTERS == TRAINIUM_FABRIC_CLEAR_COUNTERS, "port ops");
_Static_assert(NEURON_PORT_FORCE == TRAINIUM_FABRIC_FORCE, "control flags");
_Static_assert((int)NEURON_PATH_BAD == TRAINIUM_PATH_BAD, "path status");
_Static_assert(NEURON_PATH_TEST == TRAINIUM_PEER_TEST, "path flags");

#define INFO_MIN	NRN_SIZE_UPTO(struct neuron_fabric_info, errors)
#define PORT_MIN	NRN_SIZE_UPTO(struct neuron_port_info, counters)
#define PATH_MIN	NRN_SIZE_UPTO(struct neuron_path_info, serial)

static const char *text_of(const char *const *texts, size_t count, uint32_t index)
{
	return index < count && texts[index] ? texts[index] : "unknown";
}

#define TEXT(texts, index) text_of(texts, sizeof(texts) / sizeof(*(texts)), index)

const char *neuron_fabric_kind_string(uint32_t kind)
{
	static const char *const texts[] = { "none", "NeuronLink", "NeuronSwitch-v1",
					     "NVLink Fusion" };

	return TEXT(texts, kind);
}

const char *neuron_port_state_string(uint32_t state)
{
	static const char *const texts[] = { "off", "detect", "training", "up", "degraded",
					     "recovery", "failed", "disabled" };

	return TEXT(texts, state);
}

const char *neuron_port_reason_string(uint32_t reason)
{
	static const char *const texts[] = {
		[TRAINIUM_PORT_REASON_NONE] = "no reason",
		[TRAINIUM_PORT_REASON_NO_PEER] = "nothing at the other end",
		[TRAINIUM_PORT_REASON_WRONG_PEER] = "wired to the wrong peer",
		[TRAINIUM_PORT_REASON_TIMEOUT] = "the other end does not train",
		[TRAINIUM_PORT_REASON_FLAPPING] = "went down too often, latched",
		[TRAINIUM_PORT_REASON_ERRORS] = "too many errors",
		[TRAINIUM_PORT_REASON_PEER_OFF] = "the other end is off or disabled",
		[TRAINIUM_PORT_REASON_LANES] = "lanes lost",
		[TRAINIUM_PORT_REASON_CAP] = "lanes or rate capped",
		[TRAINIUM_PORT_REASON_CABLE] = "link pulled",
	};

	return TEXT(texts, reason);
}

const char *neuron_path_status_string(uint32_t status)
{
	static const char *const texts[] = {
		[NEURON_PATH_OK] = "ok",
		[NEURON_PATH_NO_CHIP] = "no such chip",
		[NEURON_PATH_PARTITION] = "in another partition",
		[NEURON_PATH_DOWN] = "links on the way are down",
		[NEURON_PATH_UNTESTED] = "not tested",
		[NEURON_PATH_BAD] = "data does not arrive as it was sent",
	};

	return TEXT(texts, status);
}

static int query_fabric(struct neuron_device *device, struct drm_trainium_query_fabric *q)
{
	int ret;

	memset(q, 0, sizeof(*q));
	if (!(device->features & TRAINIUM_FEATURE_FABRIC))
		return 0;
	ret = nrn_device_query(device, TRAINIUM_QUERY_FABRIC, 0, q, sizeof(*q));
	return ret ? nrn_device_fail(device, ret, "query of the fabric") : 0;
}

int neuron_fabric_get_info(struct neuron_device *device, struct neuron_fabric_info *info)
{
	struct drm_trainium_query_fabric q;
	struct neuron_fabric_info full = { 0 };
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	ret = query_fabric(device, &q);
	if (ret)
		return ret;
	full.kind = q.kind;
	full.caps = q.caps;
	full.chip = q.chip;
	memcpy(full.uuid, q.uuid, sizeof(full.uuid));
	full.num_chips = q.num_chips;
	full.rack = q.rack;
	full.server = q.server;
	full.position = q.position;
	full.num_ports = q.num_ports;
	full.partition = q.partition;
	full.partition_changes = q.partition_changes;
	full.max_groups = q.max_groups;
	full.ports_up = q.ports_up;
	full.group_slots = q.group_slots;
	full.group_granule = q.group_granule;
	full.reduce_dtypes = q.reduce_dtypes;
	full.reduce_combines = q.reduce_combines;
	full.errors = q.errors;
	return nrn_copy_out(info, &full, sizeof(full), INFO_MIN, "neuron_fabric_info");
}

int nrn_fabric_fail(struct neuron_device *device, int error, const char *what)
{
	if (error == -EOPNOTSUPP || error == -ENOTTY)
		return nrn_fail(-EOPNOTSUPP, "%s: %s", device->label,
				device->features & TRAINIUM_FEATURE_FABRIC ?
				"the fabric does not offer this" : "the device has no fabric");
	if (error == -EACCES || error == -EPERM)
		return nrn_fail(-EPERM, "%s: control of ports needs CAP_SYS_ADMIN",
				device->label);
	return nrn_device_fail(device, error, what);
}

static int no_port(struct neuron_device *device, uint32_t port, const char *what)
{
	struct drm_trainium_query_fabric q;

	if (query_fabric(device, &q))
		return -EINVAL;
	if (port >= q.num_ports)
		return nrn_fail(-EINVAL, "%s: port %u does not exist: there are %u",
				device->label, port, q.num_ports);
	return nrn_fail(-EINVAL, "%s: port %u: %s", device->label, port, what);
}

int neuron_port_get_info(struct neuron_device *device, uint32_t port,
			 struct neuron_port_info *info)
{
	struct drm_trainium_fabric_port q = { .port = port };
	struct neuron_port_info full = { 0 };
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	_Static_assert(sizeof(q.counters) == sizeof(full.counters), "counters");
	ret = nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_FABRIC_PORT, &q);
	if (ret == -EINVAL)
		return no_port(device, port, "refused");
	if (ret)
		return nrn_fabric_fail(device, ret, "query of a port");
	full.flags = q.flags;
	full.kind = q.kind;
	full.admin = q.admin;
	full.state = q.state;
	full.reason = q.reason;
	full.max_lanes = q.max_lanes;
	full.lanes = q.lanes;
	full.max_rate = q.max_rate;
	full.rate = q.rate;
	full.lane_cap = q.lane_cap;
	full.rate_cap = q.rate_cap;
	full.peer = q.peer;
	full.peer_port = q.peer_port;
	full.expect = q.expect;
	full.expect_port = q.expect_port;
	full.peer_serial = q.peer_serial;
	full.changed_ns = q.changed_ns;
	full.snapshot_ns = q.snapshot_ns;
	full.attempts = q.attempts;
	full.epoch = q.epoch;
	memcpy(full.counters, q.counters, sizeof(full.counters));
	return nrn_copy_out(info, &full, sizeof(full), PORT_MIN, "neuron_port_info");
}

static int port_ctl(struct neuron_device *device, struct drm_trainium_fabric_ctl *ctl)
{
	int ret = nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_FABRIC_CTL, ctl);

	switch (ret) {
	case 0:
		return 0;
	case -EINVAL:
		return no_port(device, ctl->port, "no such op, or a value out of its range");
	case -EBUSY:
		return nrn_fail(ret,
				"%s: port %u is the last way to peers that are in use; "
				"NEURON_PORT_FORCE does it all the same",
				device->label, ctl->port);
	case -ETIME:
		return nrn_fail(ret, "%s: port %u is still in state %s (%s)", device->label,
				ctl->port, neuron_port_state_string(ctl->state),
				neuron_port_reason_string(ctl->reason));
	default:
		return nrn_fabric_fail(device, ret, "control of a port");
	}
}

int neuron_port_control(struct neuron_device *device, uint32_t port, uint32_t op,
			uint64_t value, uint32_t flags, int64_t timeout_ns, uint32_t *state)
{
	struct drm_trainium_fabric_ctl ctl = {
		.op = op,
		.port = port,
		.flags = flags,
		.value = value,
	};
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	/* Thresholds have a call of their own. */
	if (op > NEURON_PORT_CLEAR_COUNTERS)
		return nrn_fail(-EINVAL, "%s: an op %u of ports does not exist", device->label,
				op);
	if (timeout_ns)
		ctl.deadline_ns = nrn_deadline_after(timeout_ns);
	ret = port_ctl(device, &ctl);
	if (state && (!ret || ret == -ETIME))
		*state = ctl.state;
	return ret;
}

int neuron_port_set_threshold(struct neuron_device *device, uint32_t port, uint32_t counter,
			      uint64_t value)
{
	struct drm_trainium_fabric_ctl ctl = {
		.op = TRAINIUM_FABRIC_THRESHOLD,
		.port = port,
		.counter = counter,
		.value = value,
	};

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	if (counter >= NEURON_PORT_NUM_COUNTERS)
		return nrn_fail(-EINVAL, "%s: counter %u of a port does not exist: there are %u",
				device->label, counter, (unsigned int)NEURON_PORT_NUM_COUNTERS);
	return port_ctl(device, &ctl);
}

int neuron_fabric_get_path(struct neuron_device *device, uint32_t chip, uint32_t flags,
			   struct neuron_path_info *path)
{
	struct drm_trainium_fabric_peer q = { .chip = chip, .flags = flags };
	struct neuron_path_info full = { 0 };
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	ret = nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_FABRIC_PEER, &q);
	if (ret == -EINVAL)
		return nrn_fail(ret, "%s: chip %u is not in the domain, or is this chip itself",
				device->label, chip);
	if (ret == -ENOENT)
		return nrn_fail(ret, "%s: chip %u is not of this machine: it cannot be tested",
				device->label, chip);
	if (ret)
		return nrn_fabric_fail(device, ret, "query of a path");
	full.status = q.status;
	full.links = q.links;
	full.rate = q.rate;
	full.latency_ns = q.latency_ns;
	full.ports = q.ports;
	full.serial = q.serial;
	return nrn_copy_out(path, &full, sizeof(full), PATH_MIN, "neuron_path_info");
}
