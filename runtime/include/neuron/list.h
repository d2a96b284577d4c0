/* SPDX-License-Identifier: MIT */
/*
 * Command lists: work that is prepared once and started many times. Since 0.2.
 */
#ifndef NEURON_LIST_H
#define NEURON_LIST_H

#include <stdint.h>

#include <neuron/device.h>
#include <neuron/fence.h>
#include <neuron/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct neuron_list - a command list; opaque */
struct neuron_list;

/**
 * neuron_list_create() - prepare work
 * @device: device
 * @stack: prefer an engine near this HBM stack, or NEURON_STACK_ANY
 * @ops: ops; the array may be reused when the call has returned
 * @op_count: number of ops, not 0
 * @list: out: the list
 *
 * A list has a DMA engine's ring of its own. Its runs follow each other; they
 * are not ordered with queues and other lists: use fences. It is of no more use
 * when one of its buffers is destroyed.
 *
 * Return: 0; -EINVAL malformed, or longer than the limits of the device;
 * -EXDEV a buffer is of another device; -EOPNOTSUPP the driver has no lists, or
 * a buffer cannot be in one; -ENOSPC no hardware rings are left; -EDQUOT a
 * limit of the open device; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_list_create(struct neuron_device *device, uint32_t stack,
				  const struct neuron_op *ops, uint32_t op_count,
				  struct neuron_list **list);

/**
 * neuron_list_destroy() - give a list back
 * @list: list, or NULL
 *
 * Does not wait: what runs already ends as usual.
 */
NEURON_API void neuron_list_destroy(struct neuron_list *list);

/**
 * neuron_list_submit() - start the work and go on
 * @list: list
 * @fence: out: the end of the work; NULL if not wanted
 *
 * Return: 0; -ENOENT a buffer of the list is gone; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_list_submit(struct neuron_list *list, struct neuron_fence **fence);

/**
 * neuron_list_run() - start the work and wait for its end
 * @list: list
 * @timeout_ns: time from now; NEURON_WAIT_FOREVER
 *
 * Return: as neuron_list_submit(); -ETIME the time has passed, and the work
 * goes on (see neuron_list_drain()); -EIO it failed; -ECANCELED it was lost to
 * a reset.
 */
NEURON_API int neuron_list_run(struct neuron_list *list, int64_t timeout_ns);

/**
 * neuron_list_drain() - wait until all work started so far has ended
 * @list: list
 * @timeout_ns: time from now; 0 looks without waiting; NEURON_WAIT_FOREVER
 *
 * Return: as neuron_queue_drain().
 */
NEURON_API int neuron_list_drain(struct neuron_list *list, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif
