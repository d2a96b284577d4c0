// SPDX-License-Identifier: MIT
/* The fabric of the simulated driver: two chips, one port each, one group */
#include <errno.h>
#include <string.h>

#include "mock_internal.h"

#define MOCK_KEY 0x1122334455667788ull

static struct {
	bool used;
	uint32_t wanted, joined, members;	/* @members: bit per chip */
	unsigned int owner;
	uint32_t bound;				/* bit per chip, slot 0 */
} group;

void mock_fabric_query(struct mock_file *file, struct drm_trainium_query_fabric *q)
{
	if (!(mock.features & TRAINIUM_FEATURE_FABRIC))
		return;
	q->kind = mock.torus ? TRAINIUM_FABRIC_NEURONLINK : TRAINIUM_FABRIC_NVLINK;
	q->caps = TRAINIUM_FABRIC_CAP_MULTICAST | TRAINIUM_FABRIC_CAP_REDUCE;
	memset(q->uuid, 0x5a, sizeof(q->uuid));
	q->chip = file->device;
	q->num_chips = 2;
	q->rack = 3;
	q->num_ports = 1;
	q->ports_up = mock.port_state == TRAINIUM_PORT_UP;
	q->partition = 7;
	q->max_groups = 1;
	q->group_slots = 1;
	q->group_granule = 4096;
	q->errors = 9;
}

static int get_port(struct drm_trainium_fabric_port *arg)
{
	unsigned int i;

	if (arg->port || arg->flags)
		return -EINVAL;
	arg->kind = TRAINIUM_PORT_KIND_SWITCH;
	arg->admin = TRAINIUM_PORT_ADMIN_ENABLED;
	arg->state = mock.port_state;
	arg->reason = mock.port_reason;
	arg->flags = TRAINIUM_PORT_F_EXPECT;
	arg->peer_serial = 0xabcdef;
	for (i = 0; i < TRAINIUM_PORT_NUM_COUNTERS; i++)
		arg->counters[i] = 100 + i + mock.looks * 1000000;
	return 0;
}

static int control(struct drm_trainium_fabric_ctl *arg)
{
	if (arg->port)
		return -EINVAL;
	mock.ctl = *arg;
	arg->state = mock.port_state;
	arg->reason = mock.port_reason;
	return mock.port_error;
}

static int peer(struct mock_file *file, struct drm_trainium_fabric_peer *arg)
{
	if (arg->chip > 1 || arg->chip == file->device)
		return -EINVAL;
	if (arg->flags & TRAINIUM_PEER_TEST && mock.path == TRAINIUM_PATH_UNTESTED)
		mock.path = TRAINIUM_PATH_OK;
	arg->status = mock.path;
	arg->links = mock.torus ? 1 : 2;
	arg->rate = 1800000;
	arg->latency_ns = 500;
	arg->ports = 1;
	arg->serial = 0xabcdef;
	return 0;
}

static int group_create(struct mock_file *file, struct drm_trainium_fabric_group *arg)
{
	if (!arg->count || arg->count > 2)
		return -EINVAL;
	if (group.used)
		return -ENOSPC;
	memset(&group, 0, sizeof(group));
	group.used = true;
	group.wanted = arg->count;
	group.owner = file->device;
	arg->group = 5;
	arg->key = MOCK_KEY;
	return 0;
}

static int group_map(struct mock_file *file, struct drm_trainium_fabric_group *arg)
{
	struct drm_trainium_bo_create create = {
		.size = arg->size,
		.placement = TRAINIUM_BO_HOST,
	};
	int ret = mock_bo_create(file, &create);

	if (!ret)
		mock_bo(file, create.handle)->placement = TRAINIUM_BO_GROUP;
	arg->handle = create.handle;
	return ret;
}

static int group_op(struct mock_file *file, struct drm_trainium_fabric_group *arg)
{
	uint32_t me = 1u << file->device;

	if (arg->op == TRAINIUM_GROUP_CREATE)
		return group_create(file, arg);
	if (!group.used || arg->group != 5)
		return -ENOENT;
	if (arg->key != MOCK_KEY)
		return -EACCES;
	switch (arg->op) {
	case TRAINIUM_GROUP_JOIN:
		if (group.members & me)
			return -EALREADY;
		group.members |= me;
		group.joined++;
		return 0;
	case TRAINIUM_GROUP_BIND:
		if (group.joined < group.wanted)
			return -EAGAIN;
		if (arg->count || arg->size % 4096)
			return -EINVAL;
		group.bound |= me;
		return 0;
	case TRAINIUM_GROUP_UNBIND:
		if (!(group.bound & me))
			return -ENOENT;
		group.bound &= ~me;
		return 0;
	case TRAINIUM_GROUP_LEAVE:
		group.members &= ~me;
		group.joined = 0;
		return 0;
	case TRAINIUM_GROUP_MAP:
		return group_map(file, arg);
	case TRAINIUM_GROUP_QUERY:
		arg->count = group.joined;
		arg->state = group.joined == group.wanted ? TRAINIUM_GROUP_READY :
							    TRAINIUM_GROUP_FORMING;
		return 0;
	default:
		if (file->device != group.owner)
			return -EACCES;
		group.used = false;
		return 0;
	}
}

int mock_fabric_ioctl(struct mock_file *file, unsigned long request, void *arg)
{
	if (!(mock.features & TRAINIUM_FEATURE_FABRIC))
		return -ENOTTY;
	switch (request) {
	case DRM_IOCTL_TRAINIUM_FABRIC_PORT:
		return get_port(arg);
	case DRM_IOCTL_TRAINIUM_FABRIC_CTL:
		return control(arg);
	case DRM_IOCTL_TRAINIUM_FABRIC_PEER:
		return peer(file, arg);
	case DRM_IOCTL_TRAINIUM_FABRIC_GROUP:
		return group_op(file, arg);
	default:
		return -ENOTTY;
	}
}
