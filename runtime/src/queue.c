// SPDX-License-Identifier: MIT
/*
 * Queues: life, state, waiting for all of their work. Submitting is in
 * submit.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "internal.h"

_Static_assert((int)NEURON_QUEUE_FENCED == TRAINIUM_QUEUE_FENCED, "classes");
_Static_assert((int)NEURON_QUEUE_USER == TRAINIUM_QUEUE_USER, "classes");
_Static_assert((int)NEURON_QUEUE_LIST == TRAINIUM_QUEUE_LIST, "classes");
_Static_assert((int)NEURON_REASON_TIMEOUT == TRAINIUM_REASON_TIMEOUT, "reasons");
_Static_assert((int)NEURON_REASON_ABORT == TRAINIUM_REASON_ABORT, "reasons");
_Static_assert((int)NEURON_REASON_RESET == TRAINIUM_REASON_RESET, "reasons");
_Static_assert((int)NEURON_REASON_GONE == TRAINIUM_REASON_GONE, "reasons");
_Static_assert((int)NEURON_REASON_DEPENDENCY == TRAINIUM_REASON_DEPENDENCY, "reasons");
_Static_assert((int)NEURON_REASON_CLOSED == TRAINIUM_REASON_CLOSED, "reasons");
_Static_assert((int)NEURON_REASON_FABRIC == TRAINIUM_REASON_FABRIC, "reasons");

#define OPTIONS_MIN	NRN_SIZE_UPTO(struct neuron_queue_options, flags)
#define INFO_MIN	NRN_SIZE_UPTO(struct neuron_queue_info, cause)

const char *neuron_reason_string(uint32_t reason)
{
	static const char *const text[] = {
		[NEURON_REASON_NONE] = "nothing failed",
		[NEURON_REASON_TIMEOUT] = "no progress within the limit of the driver",
		[NEURON_REASON_ABORT] = "the DMA engine stopped with an error",
		[NEURON_REASON_RESET] = "lost to a reset",
		[NEURON_REASON_GONE] = "the device was removed",
		[NEURON_REASON_DEPENDENCY] = "a fence it waited for failed",
		[NEURON_REASON_CLOSED] = "the queue was destroyed",
		[NEURON_REASON_FABRIC] = "no way through the fabric",
	};

	return reason < sizeof(text) / sizeof(text[0]) ? text[reason] : "unknown reason";
}

static int create_failed(struct neuron_device *device, int error)
{
	switch (error) {
	case -ENOSPC:
		return nrn_fail(error, "%s: no queue: no hardware rings are left", device->label);
	case -EACCES:
		return nrn_fail(error, "%s: no queue: high priority wants CAP_SYS_NICE",
				device->label);
	case -EDQUOT:
		return nrn_fail(error,
				"%s: no queue: an open device may have %u queues and %u rings",
				device->label, device->limits.max_queues,
				device->limits.max_rings);
	default:
		return nrn_device_fail(device, error, "create of a queue");
	}
}

int nrn_queue_create(struct neuron_device *device, const struct neuron_queue_options *options,
		     bool owned, struct neuron_queue **out)
{
	struct neuron_queue_options given = { .stack = NEURON_STACK_ANY };
	struct drm_trainium_queue_create request = { 0 };
	struct neuron_queue *queue;
	int ret;

	if (options) {
		ret = nrn_take_options(&given, sizeof(given), options, OPTIONS_MIN,
				       "neuron_queue_options");
		if (ret)
			return ret;
	}
	if (given.flags)
		return nrn_fail(-EINVAL, "%s: unknown flags 0x%x in neuron_queue_options",
				device->label, given.flags);
	if (given.queue_class > NEURON_QUEUE_USER)
		return nrn_fail(-EINVAL, "%s: queue class %u does not exist", device->label,
				given.queue_class);
	if (given.priority < NEURON_PRIORITY_LOW || given.priority > NEURON_PRIORITY_HIGH)
		return nrn_fail(-EINVAL, "%s: priority %d does not exist: %d to %d do",
				device->label, given.priority, NEURON_PRIORITY_LOW,
				NEURON_PRIORITY_HIGH);
	if (given.num_engines > 16)
		return nrn_fail(-EINVAL, "%s: a queue over %u engines: the limit is 16",
				device->label, given.num_engines);
	if (given.stack != NEURON_STACK_ANY && given.stack >= device->num_stacks)
		return nrn_fail(-EINVAL, "%s: HBM stack %u does not exist: there are %u",
				device->label, given.stack, device->num_stacks);
	if (given.queue_class == NEURON_QUEUE_USER &&
	    !(device->features & NEURON_FEATURE_QUEUE_USER))
		return nrn_fail(-EOPNOTSUPP, "%s: the driver offers no queues of the user class",
				device->label);

	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	request.queue_class = given.queue_class;
	request.num_engines = given.num_engines;
	request.stack = given.stack;
	request.priority = given.priority;
	if (given.queue_class == NEURON_QUEUE_USER) {
		ret = nrn_completion_create(device, &queue->completion);
		if (ret) {
			free(queue);
			return ret;
		}
		nrn_completion_tell(queue->completion, &request.completion);
	}
	ret = nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_QUEUE_CREATE, &request);
	if (ret) {
		nrn_completion_free(queue->completion);
		free(queue);
		return create_failed(device, ret);
	}
	queue->device = device;
	queue->id = request.queue;
	queue->owned = owned;
	if (owned)
		nrn_device_get(device);
	*out = queue;
	return 0;
}

int neuron_queue_create(struct neuron_device *device, const struct neuron_queue_options *options,
			struct neuron_queue **queue)
{
	if (!device || !queue)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the queue" : "device");
	return nrn_queue_create(device, options, true, queue);
}

void nrn_queue_free(struct neuron_queue *queue)
{
	struct drm_trainium_queue_destroy request = { .queue = queue->id };
	struct neuron_device *device = queue->device;
	bool owned = queue->owned;

	nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_QUEUE_DESTROY, &request);
	nrn_completion_free(queue->completion);
	free(queue);
	if (owned)
		nrn_device_put(device);
}

void neuron_queue_destroy(struct neuron_queue *queue)
{
	if (queue)
		nrn_queue_free(queue);
}

static int query_queue(struct neuron_queue *queue, struct drm_trainium_query_queue *q)
{
	int ret;

	*q = (struct drm_trainium_query_queue){ 0 };
	ret = nrn_device_query(queue->device, TRAINIUM_QUERY_QUEUE, queue->id, q, sizeof(*q));
	return ret ? nrn_device_fail(queue->device, ret, "query of a queue") : 0;
}

static int work_failed(struct neuron_queue *queue, int error,
		       const struct drm_trainium_query_queue *q)
{
	nrn_fail(error, "%s: queue %u: work failed (%s): %s", queue->device->label, queue->id,
		 neuron_error_name(error), neuron_reason_string(q->reason));
	if (q->reason == TRAINIUM_REASON_TIMEOUT || q->reason == TRAINIUM_REASON_ABORT)
		nrn_fail_more(", engine %u, cause 0x%08x", q->engine, q->cause);
	return error;
}

int nrn_queue_job_failed(struct neuron_queue *queue, int error)
{
	struct drm_trainium_query_queue q;

	atomic_fetch_add(&queue->told, 1);
	if (query_queue(queue, &q))
		return error;
	return work_failed(queue, error, &q);
}

int nrn_queue_lost(struct neuron_queue *queue)
{
	struct drm_trainium_query_queue q;
	int ret = query_queue(queue, &q);

	return ret ? ret : work_failed(queue, q.error ? -(int)q.error : -ECANCELED, &q);
}

int nrn_queue_wait_all(struct neuron_queue *queue, int64_t deadline)
{
	struct drm_trainium_query_queue q;
	uint64_t told;
	int ret;

	for (;;) {
		struct drm_trainium_submit wait = {
			.queue = queue->id,
			.flags = TRAINIUM_SUBMIT_WAIT,
			.op_stride = sizeof(struct drm_trainium_op),
			.deadline_ns = deadline,
		};

		ret = nrn_backend->ioctl(queue->device->fd, DRM_IOCTL_TRAINIUM_SUBMIT, &wait);
		if (ret == -EIO || ret == -ECANCELED)
			break;
		if (!ret && wait.status == TRAINIUM_STATUS_DONE)
			break;
		if (ret && ret != -ETIME)
			return nrn_device_fail(queue->device, ret, "wait for a queue");
		/* A signal ends the call early. */
		if (ret == -ETIME || nrn_backend->now() >= deadline)
			return nrn_fail(-ETIME, "%s: queue %u: work goes on after the time given",
					queue->device->label, queue->id);
	}

	/* What the call returned may be the failure that another thread was told of. */
	ret = query_queue(queue, &q);
	if (ret)
		return ret;
	told = atomic_exchange(&queue->told, q.failed);
	if (told >= q.failed)
		return 0;
	return work_failed(queue, q.error ? -(int)q.error : -EIO, &q);
}

int neuron_queue_drain(struct neuron_queue *queue, int64_t timeout_ns)
{
	if (!queue)
		return nrn_fail(-EINVAL, "%s: no queue (NULL)", __func__);
	return nrn_queue_wait_all(queue, nrn_deadline_after(timeout_ns));
}

int neuron_queue_get_info(struct neuron_queue *queue, struct neuron_queue_info *info)
{
	struct neuron_queue_info full = { 0 };
	struct drm_trainium_query_queue q;
	int ret;

	if (!queue)
		return nrn_fail(-EINVAL, "%s: no queue (NULL)", __func__);
	ret = query_queue(queue, &q);
	if (ret)
		return ret;
	full.id = queue->id;
	full.queue_class = q.queue_class;
	full.num_rings = q.num_rings;
	full.submitted = q.submitted;
	full.completed = q.completed;
	full.failed = q.failed;
	full.error = -(int32_t)q.error;
	full.reason = q.reason;
	full.engine = q.engine;
	full.cause = q.cause;
	return nrn_copy_out(info, &full, sizeof(full), INFO_MIN, "neuron_queue_info");
}
