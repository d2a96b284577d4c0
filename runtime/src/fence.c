// SPDX-License-Identifier: MIT
/*
 * Fences. Each stands on a binary syncobj of its own, taken from and given
 * back to a pool of the device. A timeline of a queue would need one syncobj
 * only, but would lose how a job ended: once a later point is signalled, the
 * kernel answers for an earlier one with a fence that knows no error.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int nrn_fence_create(struct neuron_device *device, struct neuron_fence **out)
{
	struct neuron_fence *fence = calloc(1, sizeof(*fence));
	int ret;

	if (!fence)
		return nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	ret = nrn_device_get_syncobj(device, &fence->syncobj);
	if (ret) {
		free(fence);
		return nrn_device_fail(device, ret, "create of a fence");
	}
	fence->device = nrn_device_get(device);
	*out = fence;
	return 0;
}

void neuron_fence_destroy(struct neuron_fence *fence)
{
	struct neuron_device *device;

	if (!fence)
		return;
	device = fence->device;
	nrn_device_put_syncobj(device, fence->syncobj, !atomic_load(&fence->shared));
	free(fence);
	nrn_device_put(device);
}

/* The work has ended: 1, or its error. */
static int end_status(struct neuron_fence *fence)
{
	int fd, status;

	status = nrn_backend->syncobj_export_sync_file(fence->device->fd, fence->syncobj, &fd);
	if (status)
		return status;
	status = nrn_backend->sync_file_status(fd);
	nrn_backend->close(fd);
	return status ? status : 1;
}

static int report(struct neuron_fence *fence, int status)
{
	if (status > 0)
		return 0;
	return nrn_fail(status, "%s: the work of a fence failed: %s (%s)", fence->device->label,
			neuron_strerror(status), neuron_error_name(status));
}

/* 1 ended well, 0 not ended at @deadline, negative error. */
static int wait_until(struct neuron_fence *fence, int64_t deadline)
{
	int status = atomic_load_explicit(&fence->done, memory_order_acquire);
	int ret;

	if (!status) {
		ret = nrn_backend->syncobj_wait(fence->device->fd, fence->syncobj, deadline);
		if (ret == -ETIME)
			return 0;
		if (ret)
			return nrn_device_fail(fence->device, ret, "wait for a fence");
		status = end_status(fence);
		if (status > 0 || status == -EIO || status == -ECANCELED)
			atomic_store_explicit(&fence->done, status, memory_order_release);
	}
	ret = report(fence, status);
	return ret ? ret : 1;
}

int neuron_fence_wait_until(struct neuron_fence *fence, int64_t deadline_ns)
{
	int ret;

	if (!fence)
		return nrn_fail(-EINVAL, "%s: no fence (NULL)", __func__);
	ret = wait_until(fence, deadline_ns);
	if (ret)
		return ret < 0 ? ret : 0;
	return nrn_fail(-ETIME, "%s: the work of a fence goes on after the time given",
			fence->device->label);
}

int neuron_fence_wait(struct neuron_fence *fence, int64_t timeout_ns)
{
	return neuron_fence_wait_until(fence, nrn_deadline_after(timeout_ns));
}

int neuron_fence_test(struct neuron_fence *fence)
{
	if (!fence)
		return nrn_fail(-EINVAL, "%s: no fence (NULL)", __func__);
	return wait_until(fence, 0);
}

int neuron_fence_export_sync_file(struct neuron_fence *fence, int *fd)
{
	int ret;

	if (!fence || !fd)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				fence ? "place for the descriptor" : "fence");
	ret = nrn_backend->syncobj_export_sync_file(fence->device->fd, fence->syncobj, fd);
	return ret ? nrn_device_fail(fence->device, ret, "export of a fence") : 0;
}

int neuron_fence_export_syncobj(struct neuron_fence *fence, int *fd)
{
	int ret;

	if (!fence || !fd)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				fence ? "place for the descriptor" : "fence");
	atomic_store(&fence->shared, true);
	ret = nrn_backend->syncobj_export(fence->device->fd, fence->syncobj, fd);
	return ret ? nrn_device_fail(fence->device, ret, "export of a fence") : 0;
}

int neuron_fence_import_sync_file(struct neuron_device *device, int fd,
				  struct neuron_fence **out)
{
	struct neuron_fence *fence;
	int ret;

	if (!device || !out)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the fence" : "device");
	ret = nrn_fence_create(device, &fence);
	if (ret)
		return ret;
	ret = nrn_backend->syncobj_import_sync_file(device->fd, fence->syncobj, fd);
	if (ret) {
		neuron_fence_destroy(fence);
		if (ret == -EBADF)
			ret = -EINVAL;
		return nrn_fail(ret, "%s: descriptor %d is no sync_file: %s", device->label, fd,
				strerror(-ret));
	}
	*out = fence;
	return 0;
}

int nrn_fence_syncobj_on(struct neuron_fence *fence, struct neuron_device *device,
			 uint32_t *handle, bool *temporary)
{
	int fd, ret;

	*temporary = false;
	if (fence->device == device) {
		*handle = fence->syncobj;
		return 0;
	}
	ret = nrn_backend->syncobj_export_sync_file(fence->device->fd, fence->syncobj, &fd);
	if (ret)
		return nrn_device_fail(fence->device, ret, "export of a fence");
	ret = nrn_device_get_syncobj(device, handle);
	if (!ret) {
		ret = nrn_backend->syncobj_import_sync_file(device->fd, *handle, fd);
		*temporary = true;
		if (ret)
			nrn_device_put_syncobj(device, *handle, true);
	}
	nrn_backend->close(fd);
	return ret ? nrn_device_fail(device, ret, "import of a fence") : 0;
}
