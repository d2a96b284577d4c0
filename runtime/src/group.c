// SPDX-License-Identifier: MIT
/*
 * Groups for multicast and reduction.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "internal.h"

_Static_assert((int)NEURON_GROUP_BROKEN == TRAINIUM_GROUP_BROKEN, "group states");

struct neuron_group {
	struct neuron_device *device;
	struct neuron_group_id id;
	/** @creator: destroys it */
	bool creator;
};

static int group_failed(struct neuron_device *device, uint32_t id, int error)
{
	const char *why = neuron_strerror(error);

	switch (error) {
	case -EACCES:
		why = "the key is wrong";
		break;
	case -EALREADY:
		why = "that is so already";
		break;
	case -EAGAIN:
		why = "members are missing";
		break;
	case -ENOTCONN:
		why = "it is broken: a member or its links are lost";
		break;
	case -EXDEV:
		why = "the chip is in another partition";
		break;
	case -ENOENT:
		why = "there is no such group, or nothing of this chip is there";
		break;
	case -ENOSPC:
		why = "no room is left";
		break;
	case -EOPNOTSUPP:
	case -ENOTTY:
	case -ENODEV:
		return nrn_fabric_fail(device, error, "group");
	default:
		break;
	}
	return nrn_fail(error, "%s: group %u: %s", device->label, id, why);
}

static int group_call(struct neuron_group *group, struct drm_trainium_fabric_group *call)
{
	int ret;

	call->group = group->id.id;
	call->key = group->id.key;
	ret = nrn_backend->ioctl(group->device->fd, DRM_IOCTL_TRAINIUM_FABRIC_GROUP, call);
	return ret ? group_failed(group->device, group->id.id, ret) : 0;
}

static int join(struct neuron_device *device, const struct neuron_group_id *id, bool creator,
		struct neuron_group **out)
{
	struct drm_trainium_fabric_group call = { .op = TRAINIUM_GROUP_JOIN };
	struct neuron_group *group = calloc(1, sizeof(*group));
	int ret;

	if (!group)
		return nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	group->device = device;
	group->id = *id;
	group->creator = creator;
	ret = group_call(group, &call);
	if (ret) {
		free(group);
		return ret;
	}
	nrn_device_get(device);
	*out = group;
	return 0;
}

static void end_created(struct neuron_device *device, const struct neuron_group_id *id)
{
	struct drm_trainium_fabric_group call = {
		.op = TRAINIUM_GROUP_DESTROY,
		.group = id->id,
		.key = id->key,
	};

	nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_FABRIC_GROUP, &call);
}

int neuron_group_create(struct neuron_device *device, uint32_t members,
			struct neuron_group **group)
{
	struct drm_trainium_fabric_group call = {
		.op = TRAINIUM_GROUP_CREATE,
		.count = members,
	};
	struct neuron_group_id id = { 0 };
	int ret;

	if (!device || !group)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the group" : "device");
	ret = nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_FABRIC_GROUP, &call);
	if (ret == -EINVAL)
		return nrn_fail(ret, "%s: no group of %u members: the domain has fewer chips",
				device->label, members);
	if (ret == -ENOSPC)
		return nrn_fail(ret, "%s: the domain has no group left", device->label);
	if (ret)
		return nrn_fabric_fail(device, ret, "create of a group");
	id.id = call.group;
	id.key = call.key;
	ret = join(device, &id, true, group);
	if (ret)
		end_created(device, &id);
	return ret;
}

int neuron_group_get_id(const struct neuron_group *group, struct neuron_group_id *id)
{
	if (!group || !id)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				group ? "place for the id" : "group");
	*id = group->id;
	return 0;
}

int neuron_group_join(struct neuron_device *device, const struct neuron_group_id *id,
		      struct neuron_group **group)
{
	if (!device || !id || !group)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				!device ? "device" : id ? "place for the group" : "id");
	if (id->reserved)
		return nrn_fail(-EINVAL, "%s: group %u: a reserved member is not 0",
				device->label, id->id);
	return join(device, id, false, group);
}

void neuron_group_destroy(struct neuron_group *group)
{
	struct drm_trainium_fabric_group call = { .op = TRAINIUM_GROUP_LEAVE };

	if (!group)
		return;
	if (group->creator)
		call.op = TRAINIUM_GROUP_DESTROY;
	group_call(group, &call);
	nrn_device_put(group->device);
	free(group);
}

int neuron_group_get_state(struct neuron_group *group, uint32_t *state, uint32_t *members)
{
	struct drm_trainium_fabric_group call = { .op = TRAINIUM_GROUP_QUERY };
	int ret;

	if (!group || !state)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				group ? "place for the state" : "group");
	ret = group_call(group, &call);
	if (ret)
		return ret;
	*state = call.state;
	if (members)
		*members = call.count;
	return 0;
}

int neuron_group_bind(struct neuron_group *group, uint32_t slot, struct neuron_buffer *buffer,
		      uint64_t offset, uint64_t size)
{
	struct drm_trainium_fabric_group call = {
		.op = TRAINIUM_GROUP_BIND,
		.count = slot,
		.offset = offset,
		.size = size,
	};
	int ret;

	if (!group || !buffer)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				group ? "buffer" : "group");
	if (buffer->device != group->device)
		return nrn_fail(-EXDEV, "%s: is not of device %s", nrn_buffer_label(buffer).text,
				group->device->label);
	ret = nrn_buffer_check(buffer, offset, size);
	if (ret)
		return ret;
	call.handle = buffer->handle;
	return group_call(group, &call);
}

int neuron_group_unbind(struct neuron_group *group, uint32_t slot)
{
	struct drm_trainium_fabric_group call = {
		.op = TRAINIUM_GROUP_UNBIND,
		.count = slot,
	};

	if (!group)
		return nrn_fail(-EINVAL, "%s: no group (NULL)", __func__);
	return group_call(group, &call);
}

int neuron_group_map(struct neuron_group *group, uint32_t slot, uint64_t size,
		     struct neuron_buffer **buffer)
{
	struct drm_trainium_fabric_group call = {
		.op = TRAINIUM_GROUP_MAP,
		.count = slot,
		.size = size,
	};
	int ret;

	if (!group || !buffer)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				group ? "place for the buffer" : "group");
	ret = group_call(group, &call);
	if (ret)
		return ret;
	return nrn_buffer_adopt(group->device, call.handle, buffer);
}
