// SPDX-License-Identifier: MIT
/*
 * Command lists. To the driver a list is a queue with fixed work, and so it is
 * here: what waits for a queue waits for a list.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

struct neuron_list {
	/** @queue: first, so that it is freed as one */
	struct neuron_queue queue;
};

_Static_assert(offsetof(struct neuron_list, queue) == 0, "freed by nrn_queue_free()");

static int list_failed(struct neuron_queue *queue, int error)
{
	if (error == -ENODEV)
		return nrn_device_fail(queue->device, error, "start of a list");
	return nrn_fail(error, "%s: list %u does not start: %s", queue->device->label, queue->id,
			error == -ENOENT ? "one of its buffers is gone" : neuron_strerror(error));
}

int nrn_list_create(struct neuron_device *device, uint32_t stack, const struct neuron_op *ops,
		    uint32_t op_count, bool user, struct neuron_list **out)
{
	struct neuron_list *list;
	int ret;

	if (stack != NEURON_STACK_ANY && stack >= device->num_stacks)
		return nrn_fail(-EINVAL, "%s: HBM stack %u does not exist: there are %u",
				device->label, stack, device->num_stacks);
	if (!device->limits.max_list_descs)
		return nrn_fail(-EOPNOTSUPP, "%s: the driver is too old for command lists",
				device->label);
	list = calloc(1, sizeof(*list));
	if (!list)
		return nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	list->queue.device = device;
	list->queue.owned = true;
	ret = user ? nrn_completion_create(device, &list->queue.completion) : 0;
	if (!ret)
		ret = nrn_list_make(&list->queue, stack, ops, op_count);
	if (ret) {
		nrn_completion_free(list->queue.completion);
		free(list);
		return ret;
	}
	nrn_device_get(device);
	*out = list;
	return 0;
}

int neuron_list_create(struct neuron_device *device, uint32_t stack, const struct neuron_op *ops,
		       uint32_t op_count, struct neuron_list **list)
{
	if (!device || !list)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the list" : "device");
	return nrn_list_create(device, stack, ops, op_count, false, list);
}

struct neuron_queue *neuron_list_get_queue(struct neuron_list *list)
{
	return list ? &list->queue : NULL;
}

int neuron_list_post(struct neuron_list *list, uint64_t *seqno)
{
	struct drm_trainium_submit submit = { 0 };
	struct neuron_queue *queue;
	int ret;

	if (!list)
		return nrn_fail(-EINVAL, "%s: no list (NULL)", __func__);
	queue = &list->queue;
	if (!queue->completion)
		return nrn_fail(-EINVAL, "%s: list %u is not of the user class",
				queue->device->label, queue->id);
	submit.queue = queue->id;
	ret = nrn_backend->ioctl(queue->device->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &submit);
	if (ret == -ECANCELED || ret == -EIO)
		return nrn_queue_lost(queue);
	if (ret)
		return list_failed(queue, ret);
	if (seqno)
		*seqno = submit.seqno;
	return 0;
}

uint32_t neuron_list_get_descs(const struct neuron_list *list)
{
	return list ? list->queue.list_descs : 0;
}

void neuron_list_destroy(struct neuron_list *list)
{
	if (list)
		nrn_queue_free(&list->queue);
}

int neuron_list_submit(struct neuron_list *list, struct neuron_fence **fence)
{
	struct drm_trainium_submit submit = { 0 };
	struct neuron_fence *new_fence = NULL;
	struct drm_trainium_sync out = { 0 };
	struct neuron_queue *queue;
	int ret;

	if (!list)
		return nrn_fail(-EINVAL, "%s: no list (NULL)", __func__);
	queue = &list->queue;
	if (fence && queue->completion)
		return nrn_fail(-EINVAL, "%s: list %u is of the user class: it has no fences",
				queue->device->label, queue->id);
	submit.queue = queue->id;
	if (fence) {
		ret = nrn_fence_create(queue->device, &new_fence);
		if (ret)
			return ret;
		out.handle = new_fence->syncobj;
		submit.out_syncs = (uintptr_t)&out;
		submit.out_sync_count = 1;
	}
	ret = nrn_backend->ioctl(queue->device->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &submit);
	if (ret) {
		neuron_fence_destroy(new_fence);
		return list_failed(queue, ret);
	}
	if (fence)
		*fence = new_fence;
	return 0;
}

int neuron_list_run(struct neuron_list *list, int64_t timeout_ns)
{
	struct drm_trainium_submit submit = { 0 };
	struct neuron_queue *queue;
	int ret;

	if (!list)
		return nrn_fail(-EINVAL, "%s: no list (NULL)", __func__);
	queue = &list->queue;
	submit.queue = queue->id;
	submit.flags = TRAINIUM_SUBMIT_WAIT;
	submit.deadline_ns = nrn_deadline_after(timeout_ns);
	ret = nrn_backend->ioctl(queue->device->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT, &submit);
	if (!ret && submit.status == TRAINIUM_STATUS_DONE)
		return 0;
	if (!ret)
		return nrn_queue_wait_all(queue, submit.deadline_ns);
	if (ret == -EIO || ret == -ECANCELED)
		return nrn_queue_job_failed(queue, ret);
	return list_failed(queue, ret);
}

int neuron_list_drain(struct neuron_list *list, int64_t timeout_ns)
{
	if (!list)
		return nrn_fail(-EINVAL, "%s: no list (NULL)", __func__);
	return nrn_queue_wait_all(&list->queue, nrn_deadline_after(timeout_ns));
}
